"""Chargers: when devices are plugged in, and when a battery that has run out will have been charged."""

from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.world.battery_parameters import DAY_S, BatteryParameters

LEAST_RISE = 1e-9  # of the capacity: a level that rises by less in a day rises by rounding only
ROUNDING = 1e-12  # of a time: an event that is so little later than the charger's switch is later by rounding only


class ChargerState(NamedTuple):
    """The state of the chargers of devices [n]."""

    window: Ids  # the number of the window that began last
    plugged: Bools  # whether that window is still open
    until_s: Floats  # when it closes, or the next one opens; inf: never


def initial_state(parameters: BatteryParameters) -> ChargerState:
    """Return the chargers' state [devices] at time 0, which is midnight."""
    rows = np.arange(len(parameters.from_s))
    begins_s = np.cumsum(parameters.cycle_s, axis=1) - parameters.cycle_s  # of each window, since the first one began
    since_first_s = -parameters.from_s % DAY_S
    began = begins_s <= since_first_s[:, None]
    # Times count from the latest beginning of the first window, perhaps yesterday's. So that window has begun.
    window = np.maximum(began.sum(axis=1) - 1, 0)
    since_s = since_first_s - begins_s[rows, window]
    length_s = parameters.window_s[rows, window]
    has_power = parameters.charging_w[rows, window] > 0
    plugged = (since_s < length_s) & has_power
    until_s = np.where(plugged, length_s, parameters.cycle_s[rows, window]) - since_s
    ever_switches = (parameters.charging_w > 0).any(axis=1) & (parameters.window_s[:, 0] < DAY_S)
    return ChargerState(window, plugged, np.where(ever_switches, until_s, np.inf))


def next_phase(parameters: BatteryParameters, rows: Ids, window: Ids, plugged: Bools) -> tuple[Ids, Bools, Floats]:
    """Return the next phase of chargers: its window [n], whether that is open [n], and how long the phase lasts [n].

    A pause follows each window, and the next window each pause.

    Args:
        parameters: the batteries [devices].
        rows: the devices [n].
        window: the number of the window that began last [n].
        plugged: whether it was open until now [n].
    """
    windows = parameters.window_s.shape[1]
    window = np.where(plugged, window, (window + 1) % windows)
    length_s = parameters.window_s[rows, window]
    pause_s = parameters.cycle_s[rows, window] - length_s
    return window, ~plugged, np.where(plugged, pause_s, length_s)


def charged_s(parameters: BatteryParameters, level_j: Floats, charger: ChargerState, now_s: float) -> Floats:
    """Return when devices [n] that have run out are charged enough to come back; inf: never.

    Such devices draw `resting_w`. So one day turns a level ``x`` into ``max(x + a, b)``, with the same ``a`` and ``b``
    every day: the level either ends the day higher by ``a``, or was clipped on the way. From the second day on, the
    level either rises by ``a`` each day or does not rise. Two days are followed phase by phase; then all days but the
    last of a rise are skipped.

    Args:
        parameters: the batteries of these devices [n].
        level_j: their levels [n].
        charger: their chargers [n].
        now_s: the time.
    """
    rows = np.arange(len(level_j))
    resting_w = parameters.resting_w
    phases_a_day = 2 * parameters.window_s.shape[1]
    window, plugged, until_s = charger
    time_s = np.full(len(level_j), now_s)
    lasts_s = np.where(np.isinf(until_s), 0.0, until_s - now_s)
    found_s = np.full(len(level_j), np.inf)
    peak_j = np.full(len(level_j), -np.inf)  # highest level of the second day
    daily_j = []  # the level after the present phase, and one, two, ... days later
    for phase in range(4 * phases_a_day + 1):
        gain_w = np.where(plugged, parameters.charging_w[rows, window], 0.0) - resting_w
        with np.errstate(divide="ignore", invalid="ignore"):
            reached_s = time_s + (parameters.resume_j - level_j) / gain_w
        reached = np.isinf(found_s) & (gain_w > 0) & (reached_s <= until_s * (1 + ROUNDING))
        found_s = np.where(reached, np.minimum(reached_s, until_s), found_s)
        level_j = np.clip(level_j + gain_w * lasts_s, 0.0, parameters.capacity_j)
        time_s = np.where(np.isinf(until_s), time_s, until_s)
        window, plugged, lasts_s = next_phase(parameters, rows, window, plugged)
        until_s = until_s + lasts_s
        # Levels after the same phase of different days can be compared.
        if phase % phases_a_day == 0:
            daily_j.append(level_j)
        if phase > phases_a_day:
            peak_j = np.maximum(peak_j, level_j)
        if phase == 2 * phases_a_day:
            rise_j = daily_j[2] - daily_j[1]
            with np.errstate(divide="ignore", invalid="ignore"):
                # A battery that is full at the end of the fifth day, up to rounding, does not need a sixth.
                days = np.ceil((parameters.resume_j - peak_j) / rise_j * (1 - ROUNDING)) - 1
            days = np.maximum(days, 0.0)
            days = np.where(rise_j > LEAST_RISE * parameters.capacity_j, days, 0.0)
            level_j = level_j + days * rise_j
            time_s = time_s + days * DAY_S
            until_s = until_s + days * DAY_S
    return found_s
