"""The tape of a run's replay: where devices were, what each did when, and how the rounds ended.

Times are whole ticks and positions whole grid steps, too fine to be seen. Columns hold the differences from row to row:
small numbers, which pack well.
"""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgefl.core.arrays import Floats, Ids, Ints, Rows
from edgefl.core.units import short
from edgefl.records.statuses import REPORTED
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.run import cell_map, coverage, phase_bars, trajectories, wasted_energy
from edgefl.results.report.run.timeline import NOT_CROSSED
from edgefl.results.report.shared import resources
from edgefl.results.report.shared.describe import at
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import even_pick

MOST_PARTICIPATIONS = 30_000  # on a page
MOST_DEVICES = 2000  # as on the map
FEWEST_DEVICES = 50
SLACK = 1.2  # an even pick of devices may have somewhat more than its share of the participations
TICKS = 1_000_000  # of a tape
GRID_STEPS = 20_000  # from the middle of the map to its border
# How a device gets from one known position to the next
STAYS = 0  # it is drawn at the first until it is at the second
WALKS = 1  # it is drawn on the straight line between both
AWAY = 2  # it is not drawn
# Kinds of events
CAME = 0
LEFT = 1
HANDED_OVER = 2
RAN_EMPTY = 3
CHARGED = 4
KINDS = {
    "arrival": CAME,
    "departure": LEFT,
    "handover": HANDED_OVER,
    "reestablished": HANDED_OVER,
    "battery_empty": RAN_EMPTY,
    "battery_charged": CHARGED,
}
COLUMNS_OF_EVENTS = ("arrivals", "departures", "handovers", "link_failures", "depleted")  # of rounds.csv
LONG_AGO = -TICKS  # of what held before the run began
NONE = -1


class Choice(NamedTuple):
    """The devices that a replay shows [n], the number of all that took part or were tracked, and its length."""

    devices: Ids
    known: int
    rows: Rows  # of devices.csv: their participations
    until_s: float
    rounds: int  # that it shows


class Stops(NamedTuple):
    """Known positions [n] of one device, in order of time, and how it gets from each to the next."""

    time_s: Floats
    position_m: Floats  # [n, 2]
    then: Ints


def chosen(run: Run, most: int) -> Choice | None:
    """Return the devices and the time that the replay of a run shows; None for a run in which nothing could move.

    With more than ``most`` participations it shows fewer devices, and where these are too many still, fewer rounds.
    """
    every_row = _rows_with_position(run)
    if not every_row.size or not run.rounds["time_s"][-1] > 0:
        return None
    tracked = _tracked(run)
    took_part = np.unique(run.devices["device"][every_row]).astype(np.int64)
    others = np.setdiff1d(took_part, tracked)
    wanted = MOST_DEVICES
    if len(every_row) > most:
        wanted = min(wanted, max(FEWEST_DEVICES, len(took_part) * most // len(every_row)))
    devices = np.union1d(tracked, others[even_pick(len(others), max(wanted - len(tracked), 0))])
    rows = every_row[np.isin(run.devices["device"][every_row], devices)]
    rounds = run.length
    if len(rows) > SLACK * most:
        rounds = max(1, int(np.sort(run.devices["row"][rows])[most - 1]))
        rows = rows[run.devices["row"][rows] < rounds]
        devices = np.union1d(tracked, run.devices["device"][rows]).astype(np.int64)
    until_s = float(run.rounds["time_s"][rounds - 1])
    return Choice(devices, len(tracked) + len(others), rows, until_s, rounds)


def _rows_with_position(run: Run) -> Rows:
    has_position = np.isfinite(run.devices["x_m"]) & np.isfinite(run.devices["y_m"])
    return np.flatnonzero(has_position & (run.devices["status"] != REPORTED))


def _tracked(run: Run) -> Ids:
    if run.tracks is None:
        return np.empty(0, dtype=np.int64)
    return np.unique(run.tracks["device"]).astype(np.int64)


def packed(run: Run, choice: Choice) -> str:
    """Return the tape as JSON, as gzip in base64."""
    text = json.dumps(tape(run, choice), separators=(",", ":"), allow_nan=False)
    return resources.packed(text.encode())


def tape(run: Run, choice: Choice) -> dict[str, Any]:
    """Return the tape: what the script ``replay.js`` plays."""
    cells = coverage.cells_of(run)
    sites_m = np.empty((0, 2))
    sectors = 1
    if cells:
        sites_m = cells.sites_m
        sectors = cells.sectors
    step_m = cell_map.frame_of(run, cells).half_m / GRID_STEPS
    events = _events(run, choice, sectors)
    stops = _stops(run, choice)
    place_of = {device: place for place, device in enumerate(choice.devices.tolist())}
    lengths = [len(device_stops.time_s) for device_stops in stops]
    positions_m = np.concatenate([device_stops.position_m for device_stops in stops])
    times_s = np.concatenate([device_stops.time_s for device_stops in stops])
    return {
        "tick_s": choice.until_s / TICKS,
        "step_m": step_m,
        "devices": _steps(choice.devices),
        "stops": {
            "device": _steps(np.repeat(np.arange(len(stops)), lengths)),
            "time": _steps(_ticks(times_s, choice.until_s)),
            "x": _steps(np.rint(positions_m[:, 0] / step_m).astype(np.int64)),
            "y": _steps(np.rint(positions_m[:, 1] / step_m).astype(np.int64)),
            "then": _steps(np.concatenate([device_stops.then for device_stops in stops])),
        },
        "works": _works(run, choice, place_of, sectors),
        "events": events,
        "rounds": _rounds(run, choice),
        "sites": {"x": short(sites_m[:, 0], 7), "y": short(sites_m[:, 1], 7)},
    }


def _ticks(time_s: Floats, until_s: float) -> Ints:
    return np.asarray(np.rint(time_s / until_s * TICKS), dtype=np.int64)


def _steps(column: NDArray[np.integer[Any]]) -> list[int]:
    return [int(step) for step in np.diff(column, prepend=0)]


# Positions of devices


def _stops(run: Run, choice: Choice) -> list[Stops]:
    rows_of = _by_device(run.devices["device"][choice.rows], choice.devices)
    phases_s = phase_bars.durations_s(run, choice.rows)
    starts_s = phase_bars.starts_s(run, choice.rows, phases_s)
    tracks_of: list[Rows] = [np.empty(0, dtype=np.intp)] * len(choice.devices)
    if run.tracks is not None:
        tracks_of = _by_device(run.tracks["device"], choice.devices)
    positions_m = np.stack([run.devices["x_m"], run.devices["y_m"]], axis=-1)[choice.rows]
    stops = []
    for own_rows, track_rows in zip(rows_of, tracks_of, strict=True):
        order = own_rows[np.argsort(starts_s[own_rows], kind="stable")]
        began = Stops(starts_s[order], positions_m[order], np.full(len(order), STAYS))
        if run.tracks is not None and len(track_rows):
            stops.append(_tracked_stops(run.tracks, track_rows, began, choice.until_s))
        else:
            stops.append(_untracked_stops(began))
    return stops


def _by_device(column: Floats, devices: Ids) -> list[Rows]:
    order = np.argsort(column, kind="stable")
    first = np.searchsorted(column[order], devices, side="left")
    last = np.searchsorted(column[order], devices, side="right")
    return [order[begin:end] for begin, end in zip(first.tolist(), last.tolist(), strict=True)]


def _untracked_stops(began: Stops) -> Stops:
    """Return the positions of an untracked device: where each participation began, until the next one."""
    has_moved = np.any(np.diff(began.position_m, axis=0) != 0, axis=1)
    kept = np.flatnonzero(np.append(True, has_moved))
    time_s = began.time_s[kept]
    time_s[0] = 0.0  # its position before its first participation is not known
    return Stops(time_s, began.position_m[kept], began.then[kept])


def _tracked_stops(tracks: ColumnArrays, rows: Rows, began: Stops, until_s: float) -> Stops:
    """Return the positions of a tracked device: its rows of tracks.csv, and where its participations began."""
    track_time_s = tracks["time_s"][rows]
    jumps = np.zeros(len(rows), dtype=bool)
    jumps[trajectories.breaks(tracks, rows)] = True
    then = np.where(jumps, STAYS, WALKS)
    then[:-1][trajectories.was_away(tracks, rows)] = AWAY
    interval_s = trajectories.interval_s(tracks)
    if track_time_s[-1] + interval_s < until_s:
        then[-1] = AWAY  # it has left the map for good
    track_m = np.stack([tracks["x_m"][rows], tracks["y_m"][rows]], axis=-1)
    # Between two rows a device leaves the position of a participation as it left the row before; to the first it walks.
    previous = np.searchsorted(track_time_s, began.time_s, side="right") - 1
    began_then = np.where(previous < 0, WALKS, then[previous])
    is_new = ~np.isin(began.time_s, track_time_s)
    time_s = np.concatenate([track_time_s, began.time_s[is_new]])
    position_m = np.concatenate([track_m, began.position_m[is_new]])
    then = np.concatenate([then, began_then[is_new]])
    order = np.argsort(time_s, kind="stable")
    stops = Stops(time_s[order], position_m[order], then[order])
    if stops.time_s[0] > 0:  # it comes later
        first = Stops(np.zeros(1), stops.position_m[:1], np.array([AWAY]))
        stops = Stops(*(np.concatenate(columns) for columns in zip(first, stops, strict=True)))
    return stops


# Activities of devices


def _works(run: Run, choice: Choice, place_of: dict[int, int], sectors: int) -> dict[str, Any]:
    phases_s = phase_bars.durations_s(run, choice.rows)
    starts_s = phase_bars.starts_s(run, choice.rows, phases_s)
    places = np.array([place_of[device] for device in run.devices["device"][choice.rows].tolist()])
    before, after = _peers(run, choice.rows, starts_s, places)
    order = np.lexsort((starts_s, places))
    rows = choice.rows[order]
    # Phases end in whole ticks, so that rounding does not add up. A device that sets up is not seen to take part yet.
    begins_s, *ends_s = starts_s + np.cumsum(phases_s, axis=0)
    start = _ticks(begins_s[order], choice.until_s)
    ends = _ticks(np.array(ends_s)[:, order], choice.until_s)
    outcomes, outcome = np.unique(wasted_energy.outcomes(run)[rows], return_inverse=True)
    works = {
        "device": _steps(places[order]),
        "start": _steps(start),
        "download": (ends[0] - start).tolist(),
        "compute": (ends[1] - ends[0]).tolist(),
        "upload": (ends[2] - ends[1]).tolist(),
        "wait": (ends[3] - ends[2]).tolist(),
        "site": _steps(run.devices["cell"][rows].astype(np.int64) // sectors),
        "round": _steps(run.devices["row"][rows]),
        "outcome": _steps(outcome),
        "outcomes": [
            {"text": wasted_energy.outcome_text(text), "lost": text not in NOT_CROSSED} for text in outcomes.tolist()
        ],
    }
    if at(run.scenario, "server.policy.links") == "device_to_device":
        works |= {"before": _steps(before[order]), "after": _steps(after[order])}
    return works


def _peers(run: Run, rows: Rows, starts_s: Floats, places: Ints) -> tuple[Ints, Ints]:
    """Return the places of the devices before and after each participation [n] in its round; `NONE` at its ends."""
    order = np.lexsort((starts_s, run.devices["row"][rows]))
    round_row = run.devices["row"][rows][order]
    is_same = np.diff(round_row) == 0
    before = np.full(len(rows), NONE)
    after = np.full(len(rows), NONE)
    before[order[1:][is_same]] = places[order[:-1][is_same]]
    after[order[:-1][is_same]] = places[order[1:][is_same]]
    return before, after


def _events(run: Run, choice: Choice, sectors: int) -> dict[str, Any]:
    log = _event_log(run)
    is_chosen = np.isin(log["device"], choice.devices) & (log["time_s"] <= choice.until_s)
    place = np.searchsorted(choice.devices, log["device"][is_chosen])
    time = _ticks(log["time_s"][is_chosen], choice.until_s)
    kind = np.array([KINDS[name] for name in log["kind"][is_chosen].tolist()], dtype=np.int64)
    site = log["cell"][is_chosen].astype(np.int64) // sectors
    # A device whose first event is an arrival was absent before.
    of_presence = np.flatnonzero((kind == CAME) | (kind == LEFT))
    _, first = np.unique(place[of_presence], return_index=True)
    late = of_presence[first][kind[of_presence[first]] == CAME]
    place = np.concatenate([place[late], place])
    time = np.concatenate([np.full(len(late), LONG_AGO), time])
    kind = np.concatenate([np.full(len(late), LEFT), kind])
    site = np.concatenate([site[late], site])
    order = np.lexsort((time, place))
    return {
        "device": _steps(place[order]),
        "time": _steps(time[order]),
        "kind": _steps(kind[order]),
        "site": _steps(site[order]),
    }


def _event_log(run: Run) -> ColumnArrays:
    """Return the events that a replay shows; none for a run in memory, and for a folder without an event log."""
    log = None
    if run.on_batteries or any(run.has(column) for column in COLUMNS_OF_EVENTS):
        log = run.read_events(KINDS)
    if log is None:
        empty = np.empty(0)
        return {"device": empty, "time_s": empty, "kind": np.empty(0, dtype=np.str_), "cell": empty}
    return log


def _rounds(run: Run, choice: Choice) -> dict[str, Any]:
    rounds = {name: column[: choice.rounds] for name, column in run.rounds.items()}
    tested = np.isfinite(rounds["test_accuracy"])
    return {
        "time": _steps(_ticks(rounds["time_s"], choice.until_s)),
        "session": _steps(rounds["session"].astype(np.int64)),
        "round": _steps(rounds["round"].astype(np.int64)),
        "received": _steps(np.cumsum(rounds["received"]).astype(np.int64)),
        "energy_j": short(rounds["energy_j"]),
        "accuracy": short(100 * rounds["test_accuracy"]) if tested.any() else [],
    }
