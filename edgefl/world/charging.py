"""Chargers: when devices are plugged in, and when a battery that has run out will have been charged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.world.battery_parameters import DAY_S, BatteryParameters

LEAST_RISE = 1e-9  # of the capacity: a level that rises by less in a day does not rise, but for rounding


class ChargerState(NamedTuple):
    """The state of the chargers of devices [n]."""

    window: Ids  # the number of the window that began last
    plugged: Bools  # whether it is still open
    until_s: Floats  # when it closes, or the next one opens; inf: never


def initial_state(parameters: BatteryParameters) -> ChargerState:
    """Return the chargers' state [devices] at time 0, which is midnight."""
    rows = np.arange(len(parameters.from_s))
    begins_s = np.cumsum(parameters.cycle_s, axis=1) - parameters.cycle_s  # of each window, after the first one's
    since_first_s = -parameters.from_s % DAY_S
    began = begins_s <= since_first_s[:, None]
    # Times are counted from the first window's latest beginning, which may be yesterday's; so at least it has begun.
    window = np.maximum(began.sum(axis=1) - 1, 0)
    since_s = since_first_s - begins_s[rows, window]
    length_s = parameters.window_s[rows, window]
    has_power = parameters.charging_w[rows, window] > 0
    plugged = (since_s < length_s) & has_power
    until_s = np.where(plugged, length_s, parameters.cycle_s[rows, window]) - since_s
    ever_switches = (parameters.charging_w > 0).any(axis=1) & (parameters.window_s[:, 0] < DAY_S)
    return ChargerState(window, plugged, np.where(ever_switches, until_s, np.inf))


def next_phase(parameters: BatteryParameters, rows: Ids, window: Ids, plugged: Bools) -> tuple[Ids, Bools, Floats]:
    """Return what follows a window [n], or the pause after it: the window, whether it is open, how long that lasts.

    Args:
        parameters: the batteries [devices].
        rows: the devices [n].
        window: the number of the window that began last [n].
        plugged: whether it is open until now [n].
    """
    windows = parameters.window_s.shape[1]
    window = np.where(plugged, window, (window + 1) % windows)
    length_s = parameters.window_s[rows, window]
    pause_s = parameters.cycle_s[rows, window] - length_s
    return window, ~plugged, np.where(plugged, pause_s, length_s)


def charged_s(own: BatteryParameters, level_j: Floats, charger: ChargerState, now_s: float) -> Floats:
    """Return when devices [n] that have run out are charged enough to come back; inf: never.

    They take no part, so a day takes a level ``x`` to ``max(x + a, b)``, where a and b are the same every day: the
    level either ends the day higher by a, or was clipped on the way. So from the second day on the level does not rise
    any more than in the first one, or it rises by a each day. All but the last of these days are passed over at once.

    Args:
        own: their batteries [n].
        level_j: what is in them [n].
        charger: their chargers [n].
        now_s: the time.
    """
    rows = np.arange(len(level_j))
    phases_a_day = 2 * own.window_s.shape[1]
    window, plugged, until_s = charger
    time_s = np.full(len(level_j), now_s)
    lasts_s = np.where(np.isinf(until_s), 0.0, until_s - now_s)
    found_s = np.full(len(level_j), np.inf)
    peak_j = np.full(len(level_j), -np.inf)  # of the second day
    daily_j = []  # the level after the present phase, and one, two, ... days later
    for phase in range(4 * phases_a_day + 1):
        gain_w = np.where(plugged, own.charging_w[rows, window], 0.0) - own.idle_w
        with np.errstate(divide="ignore", invalid="ignore"):
            reached_s = time_s + (own.resume_j - level_j) / gain_w
        reached = np.isinf(found_s) & (gain_w > 0) & (reached_s <= until_s)
        found_s = np.where(reached, reached_s, found_s)
        level_j = np.clip(level_j + gain_w * lasts_s, 0.0, own.capacity_j)
        time_s = np.where(np.isinf(until_s), time_s, until_s)
        window, plugged, lasts_s = next_phase(own, rows, window, plugged)
        until_s = until_s + lasts_s
        # After the same phase of each day levels can be compared.
        if phase % phases_a_day == 0:
            daily_j.append(level_j)
        if phase > phases_a_day:
            peak_j = np.maximum(peak_j, level_j)
        if phase == 2 * phases_a_day:
            rise_j = daily_j[2] - daily_j[1]
            with np.errstate(divide="ignore", invalid="ignore"):
                days = np.maximum(np.ceil((own.resume_j - peak_j) / rise_j) - 1, 0.0)
            days = np.where(rise_j > LEAST_RISE * own.capacity_j, days, 0.0)
            level_j = level_j + days * rise_j
            time_s = time_s + days * DAY_S
            until_s = until_s + days * DAY_S
    return found_s
