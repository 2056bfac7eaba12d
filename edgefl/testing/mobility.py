"""The check of a mobility model."""

from itertools import pairwise
from typing import Any

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.streams import Streams
from edgefl.testing.calls import Calls, kind
from edgefl.testing.report import Check, Report
from edgefl.world.cells_section import Cells
from edgefl.world.mobility import Area, Mobility
from edgefl.world.mobility.base import Track

AREA = Area(10.0, 250.0)
DEVICES = 8
FEW = 3
SEED = 11
TIMES_S = (0.0, 0.4, 3.0, 17.5, 60.0, 61.0, 600.0, 3_600.0)
STEP_S = 0.25  # between two looks at a moving device
STEPS = 200
SLACK_M = 1e-6  # rounding of positions
DISTANCE_M = 5.0  # of the question how long a device stays near

Walk = list[tuple[float, Floats, Floats]]  # time, positions and speeds of all devices


def check_mobility(mobility: type[Mobility] | Mobility, *, jumps: bool = False, **keys: Any) -> Report:
    """Check that devices move as the world expects of them, and return the report.

    It asks for the positions of 8 devices in a cell of 250 m, up to an hour, in several orders.

    Args:
        mobility: the class, or an instance.
        jumps: whether devices may jump, as they do where they leave at one edge and come back at the other.
        keys: the keys with which the class is checked.
    """
    calls = Calls(mobility, keys, Mobility, "a mobility model")
    subject = calls.subject
    reason = subject.check(AREA)
    if reason:
        calls.wrong("check", f"refuses a cell of {AREA.radius_m:g} m ({reason}): check it with other keys")
        return calls.report.raise_faults()
    speed = calls.begin("speed", "no device moves farther than its speed says")
    meaning = "devices stay where `can_leave`, `moves`, `keeps_min_distance` and `keeps_to_hexagons` say"
    area = calls.begin("area", meaning)
    near = calls.begin("stays near", "`stays_within_until_s` keeps its promises")
    with calls.noting("a track"):
        of_track = calls.on(subject.track(AREA, DEVICES, Streams(SEED)))
        _check_positions(calls, of_track)
        walk = _walk(of_track.subject)
        _check_speeds(of_track, speed, walk, jumps=jumps)
        _check_area(of_track, area, subject, walk)
        _check_near(of_track, near)
        _check_hexagons(calls, area)
    return calls.finished()


def _check_positions(calls: Calls[Mobility], of_track: Calls[Track]) -> None:
    """Check that positions are a function of device and time."""
    ids = np.arange(DEVICES)
    found = {}
    for time_s in TIMES_S:
        found[time_s] = of_track.array("positions_m", ids, time_s, shape=(DEVICES, 2))
        speeds_mps = of_track.array("speeds_mps", ids, time_s, shape=(DEVICES,), of="speeds")
        if (speeds_mps < 0).any():
            of_track.reject("speeds_mps", "returned a speed below 0")
    backwards = calls.subject.track(AREA, DEVICES, Streams(SEED))
    alone = calls.subject.track(AREA, FEW, Streams(SEED))
    for time_s in reversed(TIMES_S):
        for device in reversed(range(DEVICES)):
            position = backwards.positions_m(np.array([device]), time_s)[0]
            if not np.array_equal(position, found[time_s][device]):
                text = "gives other positions when times and devices are asked in another order, one by one"
                of_track.note(calls.repeatable, "positions_m", f"{text}: key every draw by device and leg")
                return
        if not np.array_equal(alone.positions_m(np.arange(FEW), time_s), found[time_s][:FEW]):
            text = f"gives the first {FEW} devices other positions when there are {DEVICES}"
            of_track.note(calls.repeatable, "positions_m", f"{text}: key every draw by its device")
            return


def _walk(track: Track) -> Walk:
    """Return time, positions and speeds of all devices at short intervals."""
    ids = np.arange(DEVICES)
    times_s = [STEP_S * step for step in range(STEPS)]
    return [(time_s, track.positions_m(ids, time_s), track.speeds_mps(ids, time_s)) for time_s in times_s]


def _check_speeds(calls: Calls[Track], check: Check, walk: Walk, *, jumps: bool) -> None:
    if jumps:
        check.meaning = "not checked: devices may jump"
        return
    for (begin_s, start, slow), (_, end, fast) in pairwise(walk):
        moved_m = np.hypot(*(end - start).T)
        most_m = STEP_S * np.maximum(slow, fast)
        device = int(np.argmax(moved_m - most_m))
        if moved_m[device] > most_m[device] * (1 + 1e-9) + SLACK_M:
            # A change of speed within the interval shows when the interval is divided.
            inner = np.linspace(begin_s, begin_s + STEP_S, 26)
            fastest = max(float(calls.subject.speeds_mps(np.array([device]), at)[0]) for at in inner.tolist())
            if moved_m[device] > STEP_S * fastest * (1 + 1e-6) + SLACK_M:
                text = f"moves device {device} by {moved_m[device]:.4g} m in {STEP_S:g} s at {begin_s:g} s"
                remedy = "the Doppler spread comes from `speeds_mps`, so make both the same, or pass jumps=True"
                calls.note(check, "positions_m", f"{text}, where its speed is {fastest:.4g} m/s: {remedy}")
                return


def _check_area(calls: Calls[Track], check: Check, mobility: Mobility, walk: Walk) -> None:
    """Check that devices stay in the cell, and off the base station, if the model says so."""
    for time_s, positions, _ in walk:
        distances_m = np.hypot(*positions.T)
        if mobility.keeps_min_distance and (distances_m < AREA.min_distance_m - SLACK_M).any():
            text = f"brings a device within {distances_m.min():.4g} m of the base station at {time_s:g} s"
            remedy = "path loss does not hold there: keep out, or set keeps_min_distance = False"
            calls.note(check, "positions_m", f"{text}: {remedy}")
            return
        if not calls.subject.can_leave and (distances_m > AREA.radius_m + SLACK_M).any():
            text = f"brings a device {distances_m.max():.4g} m away at {time_s:g} s"
            remedy = "stay inside, or let can_leave be True"
            calls.note(check, "positions_m", f"{text}, and the cell ends at {AREA.radius_m:g} m: {remedy}")
            return
        if not mobility.moves and not np.array_equal(positions, walk[0][1]):
            calls.note(check, "positions_m", "changes with time: set moves = True")
            return


def _check_hexagons(calls: Calls[Mobility], check: Check) -> None:
    cells = Cells(layout="hexagonal", drop="hexagons")
    mobility = calls.subject
    if not mobility.keeps_to_hexagons or mobility.check(cells.area):
        return
    track = mobility.track(cells.area, DEVICES, Streams(SEED))
    for time_s, positions, _ in _walk(track):
        nearest_m = float(cells.distances_m(positions).min())
        if cells.area.covers(positions).all() and nearest_m >= cells.min_distance_m - SLACK_M:
            continue
        text = f"brings a device out of the hexagons, or within {nearest_m:.4g} m of a base station, at {time_s:g} s"
        remedy = "start at `area.points` and turn at `area.wall`, or set keeps_to_hexagons = False"
        calls.on(track).note(check, "positions_m", f"{text}: {remedy}")
        return


def _check_near(calls: Calls[Track], check: Check) -> None:
    """Check a promise: until a time, devices move no farther than a distance, and stay on the map or off it."""
    method = "stays_within_until_s"
    track = calls.subject
    ids = np.arange(DEVICES)
    for time_s in (0.0, 5.0, 42.0):
        until_s = calls.of(method, ids, time_s, np.full(DEVICES, DISTANCE_M))
        if not isinstance(until_s, np.ndarray) or until_s.shape != (DEVICES,) or not (until_s >= time_s).all():
            calls.reject(method, f"returned {kind(until_s)}, expected times {[DEVICES]} from {time_s:g} s on")
        for device, end_s in zip(ids.tolist(), np.minimum(until_s, time_s + 3_600.0).tolist(), strict=True):
            one = np.array([device])
            start = track.positions_m(one, time_s)[0]
            was_on_map = track.on_map(one, time_s)[0]
            for at_s in np.linspace(time_s, end_s, 30)[:-1].tolist():
                away_m = float(np.hypot(*(track.positions_m(one, at_s)[0] - start)))
                if away_m > DISTANCE_M * (1 + 1e-9) + SLACK_M or track.on_map(one, at_s)[0] != was_on_map:
                    text = f"promises that device {device} stays within {DISTANCE_M:g} m"
                    text = f"{text} from {time_s:g} to {end_s:.5g} s, but it is {away_m:.4g} m away at {at_s:.5g} s"
                    calls.note(check, method, text)
                    return
