"""The checks of members of the world: mobility, churn, antennas."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams
from edgefl.testing.calls import REPEATABLE, RETURNS, Calls, Property, accepts, skipped
from edgefl.testing.report import Report
from edgefl.testing.values import Numbers
from edgefl.world.antennas import Antenna
from edgefl.world.cells_section import Cells
from edgefl.world.churn import Churn
from edgefl.world.mobility import Area, Mobility

SEED = 11
LOOKS = 30  # at a device that has promised to stay
HOUR_S = 3_600.0  # how long promises are followed


def _looks(ids: Ids, time_s: float, until_s: Floats) -> Iterator[tuple[int, float]]:
    """Yield each device with times at which it must keep a promise that it gave at `time_s` until `until_s` [n]."""
    for device, end_s in zip(ids.tolist(), np.minimum(until_s, time_s + HOUR_S).tolist(), strict=True):
        for at_s in np.linspace(time_s, end_s, LOOKS)[:-1].tolist():
            yield device, at_s


# Mobility

AREA = Area(10.0, 250.0)
WALKERS = 8
FEW_WALKERS = 3
WALK_TIMES_S = (0.0, 0.4, 3.0, 17.5, 60.0, 61.0, 600.0, 3_600.0)
STEP_S = 0.25  # between two looks at a moving device
STEPS = 200
SLACK_M = 1e-6  # rounding of positions
DISTANCE_M = 5.0  # of the question how long a device stays near


def check_mobility(mobility: type[Mobility] | Mobility, *, jumps: bool = False, **keys: Any) -> Report:
    """Check that devices move as the world expects of them, and return the report.

    It asks for the positions of 8 devices in a cell of 250 m, up to an hour, in several orders.

    Args:
        mobility: the class, or an instance.
        jumps: whether devices may jump, as they do where they leave at one edge and come back at the other.
        keys: the keys for the check of the class.
    """
    calls = Calls(mobility, keys, Mobility, "a mobility model")
    calls.check(accepts(f"a cell of {AREA.radius_m:g} m", AREA))
    speed = Property("speed", _speeds_are_true, "no device moves farther than its speed says")
    if jumps:
        speed = skipped("speed", "devices may jump")
    where = "devices stay where `can_leave`, `moves`, `keeps_min_distance` and `keeps_to_hexagons` say"
    calls.check(
        Property(RETURNS, _positions_are_numbers),
        Property(REPEATABLE, _order_does_not_count),
        speed,
        Property("area", _keeps_to_the_cell, where),
        Property("area", _keeps_to_hexagons),
        Property("stays near", _stays_near, "`stays_within_until_s` keeps its promises"),
    )
    return calls.finished()


def _track(calls: Calls, count: int = WALKERS, area: Area = AREA) -> Calls:
    return calls.on(calls.subject.track(area, count, Streams(SEED)))


def _walk(track: Any) -> list[tuple[float, Floats, Floats]]:
    ids = np.arange(WALKERS)
    times_s = [STEP_S * step for step in range(STEPS)]
    return [(time_s, track.positions_m(ids, time_s), track.speeds_mps(ids, time_s)) for time_s in times_s]


def _positions_are_numbers(calls: Calls) -> None:
    of_track = _track(calls)
    for time_s in WALK_TIMES_S:
        of_track.array("positions_m", Numbers((WALKERS, 2)), np.arange(WALKERS), time_s)
        of_track.array("speeds_mps", Numbers((WALKERS,), least=0), np.arange(WALKERS), time_s)


def _order_does_not_count(calls: Calls) -> None:
    """Positions are a function of device and time."""
    of_track = _track(calls)
    forwards = {time_s: of_track.subject.positions_m(np.arange(WALKERS), time_s) for time_s in WALK_TIMES_S}
    backwards = _track(calls).subject
    few = _track(calls, FEW_WALKERS).subject
    for time_s in reversed(WALK_TIMES_S):
        for device in reversed(range(WALKERS)):
            position = backwards.positions_m(np.array([device]), time_s)[0]
            text = "gives other positions when times and devices are asked in another order, one by one"
            alike = np.array_equal(position, forwards[time_s][device])
            of_track.require("positions_m", alike, f"{text}: key every draw by device and leg")
        alike = np.array_equal(few.positions_m(np.arange(FEW_WALKERS), time_s), forwards[time_s][:FEW_WALKERS])
        text = f"gives the first {FEW_WALKERS} devices other positions when there are {WALKERS}"
        of_track.require("positions_m", alike, f"{text}: key every draw by its device")


def _speeds_are_true(calls: Calls) -> None:
    of_track = _track(calls)
    for (begin_s, start, slow), (_, end, fast) in pairwise(_walk(of_track.subject)):
        moved_m = np.hypot(*(end - start).T)
        excess_m = moved_m - STEP_S * np.maximum(slow, fast)
        device = int(np.argmax(excess_m))
        if excess_m[device] <= 1e-9 * moved_m[device] + SLACK_M:
            continue
        # A change of speed within the interval shows when the interval is divided.
        inner_s = np.linspace(begin_s, begin_s + STEP_S, 26).tolist()
        fastest = max(float(of_track.subject.speeds_mps(np.array([device]), at_s)[0]) for at_s in inner_s)
        text = f"moves device {device} by {moved_m[device]:.4g} m in {STEP_S:g} s at {begin_s:g} s"
        remedy = "the Doppler spread comes from `speeds_mps`, so make both the same, or pass jumps=True"
        possible = moved_m[device] <= STEP_S * fastest * (1 + 1e-6) + SLACK_M
        of_track.require("positions_m", possible, f"{text}, where its speed is {fastest:.4g} m/s: {remedy}")


def _keeps_to_the_cell(calls: Calls) -> None:
    mobility = calls.subject
    of_track = _track(calls)
    walk = _walk(of_track.subject)
    for time_s, positions, _ in walk:
        distances_m = np.hypot(*positions.T)
        is_off = not mobility.keeps_min_distance or (distances_m >= AREA.min_distance_m - SLACK_M).all()
        text = f"brings a device within {distances_m.min():.4g} m of the base station at {time_s:g} s"
        remedy = "path loss does not hold there: keep out, or set keeps_min_distance = False"
        of_track.require("positions_m", is_off, f"{text}: {remedy}")
        is_inside = of_track.subject.can_leave or (distances_m <= AREA.radius_m + SLACK_M).all()
        text = (
            f"brings a device {distances_m.max():.4g} m away at {time_s:g} s, and the cell ends at {AREA.radius_m:g} m"
        )
        of_track.require("positions_m", is_inside, f"{text}: stay inside, or let can_leave be True")
        may_move = mobility.moves or np.array_equal(positions, walk[0][1])
        of_track.require("positions_m", may_move, "changes with time: set moves = True")


def _keeps_to_hexagons(calls: Calls) -> None:
    cells = Cells(layout="hexagonal", drop="hexagons")
    if not calls.subject.keeps_to_hexagons or calls.subject.check(cells.area):
        return
    of_track = _track(calls, area=cells.area)
    for time_s, positions, _ in _walk(of_track.subject):
        nearest_m = float(cells.distances_m(positions).min())
        is_inside = cells.area.covers(positions).all() and nearest_m >= cells.min_distance_m - SLACK_M
        text = f"brings a device out of the hexagons, or within {nearest_m:.4g} m of a base station, at {time_s:g} s"
        remedy = "start at `area.points` and turn at `area.wall`, or set keeps_to_hexagons = False"
        of_track.require("positions_m", is_inside, f"{text}: {remedy}")


def _stays_near(calls: Calls) -> None:
    """Until the promised time, devices move no farther than a distance, and stay on the map or off it."""
    method = "stays_within_until_s"
    of_track = _track(calls)
    track = of_track.subject
    ids = np.arange(WALKERS)
    for time_s in (0.0, 5.0, 42.0):
        promised = Numbers((WALKERS,), least=time_s, infinite=True)
        until_s = of_track.array(method, promised, ids, time_s, np.full(WALKERS, DISTANCE_M))
        start = track.positions_m(ids, time_s)
        was_on_map = track.on_map(ids, time_s)
        for device, at_s in _looks(ids, time_s, until_s):
            one = np.array([device])
            away_m = float(np.hypot(*(track.positions_m(one, at_s)[0] - start[device])))
            is_near = away_m <= DISTANCE_M * (1 + 1e-9) + SLACK_M and track.on_map(one, at_s)[0] == was_on_map[device]
            text = f"promises that device {device} stays within {DISTANCE_M:g} m from {time_s:g}"
            text = f"{text} to {until_s[device]:.5g} s, but it is {away_m:.4g} m away at {at_s:.5g} s"
            of_track.require(method, is_near, text)


# Churn

DEVICES = 12
FEW = 5
CLASSES = 3
TIMES_S = (0.0, 0.7, 5.0, 31.0, 200.0, 3_000.0, 20_000.0)


def check_churn(churn: type[Churn] | Churn, *, depends_on_count: bool = False, **keys: Any) -> Report:
    """Check that devices come and go as the world expects of them, and return the report.

    Args:
        churn: the class, or an instance.
        depends_on_count: whether presence may depend on the number of devices, for example through a common rate.
        keys: the keys for the check of the class.
    """
    calls = Calls(churn, keys, Churn, "a churn model")
    calls.check(accepts(f"{DEVICES} devices", DEVICES))
    stays = "devices stay as long as `stays_until_s` promises, and arrive when `arrivals` says"
    calls.check(Property(RETURNS, _present_are_ids))
    calls.check(
        Property(REPEATABLE, _presence_has_no_order, cases=[(depends_on_count,)]),
        Property("stays", _stays, stays),
        Property("changes", _changes, "arrivals and departures lead from one set of present devices to the next"),
    )
    return calls.finished()


def _presence(calls: Calls, count: int = DEVICES) -> Calls:
    presence = calls.subject.presence(count, np.arange(count) % CLASSES, CLASSES, Streams(SEED))
    presence.observe_coverage(lambda ids, _: np.ones(len(ids), dtype=bool))  # no device ever leaves the cells
    return calls.on(presence)


def _present_are_ids(calls: Calls) -> None:
    of_presence = _presence(calls)
    probabilities = Numbers((DEVICES,), least=0, most=1)
    of_presence.numbers("present", of_presence.subject.probabilities, probabilities, "probabilities")
    for index, time_s in enumerate(TIMES_S):
        ids = of_presence.array("present", Numbers((None,), least=0, most=DEVICES - 1, whole=True), time_s, index)
        of_presence.require("present", (np.diff(ids) > 0).all(), f"returned {ids}, expected ascending ids")


def _presence_has_no_order(calls: Calls, depends_on_count: bool) -> None:  # noqa: FBT001 - a case of a property
    """Presence is a function of device and time, in a smaller population, too."""
    forwards = _presence(calls)
    found = [forwards.subject.present(time_s, index) for index, time_s in enumerate(TIMES_S)]
    backwards = _presence(calls).subject
    few = _presence(calls, FEW).subject
    for index, time_s in reversed(list(enumerate(TIMES_S))):
        alike = np.array_equal(backwards.present(time_s, index), found[index])
        text = "returns other devices when times are asked in another order: key every draw by its device"
        forwards.require("present", alike, text)
        first_few = found[index][found[index] < FEW]
        alike = depends_on_count or np.array_equal(few.present(time_s, index), first_few)
        text = f"returns others of the first {FEW} devices when there are {DEVICES}"
        remedy = "key every draw by its device, or pass depends_on_count=True if that is meant"
        forwards.require("present", alike, f"{text}: {remedy}")


def _stays(calls: Calls) -> None:
    """Present devices stay as long as they promise, and absent ones arrive."""
    if calls.subject.by_round:
        return
    of_presence = _presence(calls)
    presence = of_presence.subject
    ids = np.arange(DEVICES)
    for index, time_s in enumerate(TIMES_S[:-1]):
        here = np.isin(ids, presence.present(time_s, index))
        promised = Numbers((DEVICES,), least=time_s, infinite=True)
        until_s = presence.stays_until_s(ids, time_s)
        of_presence.numbers("stays_until_s", until_s, promised)
        text = "promises that an absent device stays: return the time that was asked"
        of_presence.require("stays_until_s", (until_s[~here] <= time_s).all(), text)
        for device, at_s in _looks(ids[here], time_s, until_s[here]):
            text = f"promises that device {device} stays from {time_s:g} to {until_s[device]:.6g} s"
            is_there = device in presence.present(at_s, index)
            of_presence.require("stays_until_s", is_there, f"{text}, but it is away at {at_s:.6g} s")
        if not here.all():
            at_s, coming = presence.arrivals(time_s)
            was_away = np.isinf(at_s) or np.isin(coming, ids[~here]).all()
            text = f"returned devices {coming} at {at_s:g} s, where {ids[~here]} were away at {time_s:g} s"
            of_presence.require("arrivals", at_s >= time_s and was_away, text)


def _changes(calls: Calls) -> None:
    """Changes lead to the devices that are then present."""
    if calls.subject.by_round:
        return
    of_presence = _presence(calls)
    asked = _presence(calls).subject
    for before_s, after_s in pairwise(TIMES_S):
        members = set(asked.present(before_s, 0).tolist())
        happened = of_presence.subject.changes(before_s, after_s)
        for device, came in zip(happened.ids.tolist(), happened.came.tolist(), strict=True):
            does = "arrive while it is present" if came else "leave while it is away"
            text = f"lets device {device} {does}, between {before_s:g} and {after_s:g} s"
            of_presence.require("changes", came != (device in members), text)
            members ^= {device}
        expected = asked.present(after_s, 0)
        text = f"leaves {sorted(members)} present at {after_s:g} s, where `present` returns {expected}"
        of_presence.require("changes", members == set(expected.tolist()), text)


# Antennas

# The middles of equal steps in both angles; a beam of 2 degrees is still seen.
ZENITH_DEG = (np.arange(360)[:, None] + 0.5) / 2.0
AZIMUTH_DEG = np.arange(720)[None, :] / 2.0 - 179.75
SLACK = 1.1
"""The largest mean over the sphere: TR 38.901's column, which neglects coupling between elements, has 1.06."""

SAME_DB = 1e-6


def check_antenna(antenna: type[Antenna] | Antenna, **keys: Any) -> Report:
    """Check that a pattern radiates no more power than the antenna is fed, and return the report."""
    calls = Calls(antenna, keys, Antenna, "an antenna")
    calls.check(
        Property("power", _radiates_what_it_is_fed, "the mean of the gain over the sphere is about 1 at most (0 dBi)"),
        Property("directional", _is_round, "without `directional` the gain is the same all around"),
    )
    return calls.finished()


def _pattern_dbi(calls: Calls) -> Floats:
    wanted = Numbers((ZENITH_DEG.size, AZIMUTH_DEG.size))
    pattern_dbi: Floats = calls.array("pattern_dbi", wanted, ZENITH_DEG, AZIMUTH_DEG)
    return pattern_dbi


def _radiates_what_it_is_fed(calls: Calls) -> None:
    rings = np.mean(10.0 ** (_pattern_dbi(calls) / 10.0), axis=1)
    area = np.sin(np.radians(ZENITH_DEG[:, 0]))  # of each ring
    mean = float(np.average(rings, weights=area))
    text = f"radiates {mean:.3g} times as much as it is fed, on average over all directions"
    calls.require("pattern_dbi", mean <= SLACK, f"{text}: lower its gain by {10 * np.log10(mean):.2g} dB")


def _is_round(calls: Calls) -> None:
    is_round = calls.subject.directional or np.ptp(_pattern_dbi(calls), axis=1).max() <= SAME_DB
    calls.require("pattern_dbi", is_round, "depends on the azimuth: set directional to True")
