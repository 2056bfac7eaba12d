"""The check of a selection."""

from dataclasses import replace
from typing import Any

import numpy as np

from edgefl.coordination.selection import Selection
from edgefl.coordination.server_view import DeviceReports, DeviceTracker, ServerView
from edgefl.core.arrays import Ids, Ints
from edgefl.core.streams import Streams
from edgefl.testing.calls import Calls, kind
from edgefl.testing.forecasts import made_up_forecast
from edgefl.testing.report import Report

DEVICES = 20
ROUNDS = 40
SEED = 5
CLASSES = 4
DEADLINE_S = 60.0  # of a round, in forecasts
STANDARD_ERRORS = 5  # by which a mean may differ from what is expected


def check_selection(selection: type[Selection] | Selection, *, participants: int = 5, **keys: Any) -> Report:
    """Check that a selection chooses as a server expects of it, and return the report.

    It chooses in 40 rounds among 20 devices, of which some are away; they report times, energies, batteries and losses.
    If it `needs_csi`, it sees forecasts of their channels; if it has a `memory_width`, it remembers.

    Args:
        selection: the class, or an instance.
        participants: how many devices a round wants.
        keys: the keys with which the class is checked.
    """
    calls = Calls(selection, keys, Selection, "a selection")
    subject = calls.subject
    count = calls.begin("number of participants", "is `expected`, on average")
    reason = subject.check(DEVICES, participants)
    if reason:
        text = f"refuses {participants} of {DEVICES} devices ({reason}): check it with other keys or `participants`"
        calls.wrong("check", text)
        return calls.report.raise_faults()
    chosen: list[tuple[float, int]] = []  # how many could be asked, how many were chosen
    with calls.noting("a round"):
        _play_rounds(calls, participants, chosen)
    excess = np.array([number - subject.expected(participants, present) for present, number in chosen])
    if subject.count_varies:
        if (excess > 0).any():
            text = f"is exceeded by {excess.max():.3g}: with `count_varies` it is the most that `choose` may return"
            calls.note(count, "expected", text)
    elif len(chosen) == ROUNDS:
        allowed = STANDARD_ERRORS * excess.std() / np.sqrt(len(excess)) + 1e-9
        if abs(excess.mean()) > allowed:
            text = f"is {-excess.mean():+.2g} away from the mean number that `choose` returns (over {ROUNDS} rounds)"
            calls.note(count, "expected", f"{text}: algorithms divide by it, so make both the same")
    return calls.finished()


def _play_rounds(calls: Calls[Selection], participants: int, chosen: list[tuple[float, int]]) -> None:
    """Play the rounds; enter how many devices could be asked, and how many of them were chosen, in each."""
    selection = calls.subject
    rng = np.random.default_rng(SEED)
    streams = Streams(SEED)
    samples = rng.integers(5, 50, DEVICES)
    labels = rng.multinomial(samples, np.full(CLASSES, 1 / CLASSES))
    tracker = DeviceTracker(samples, selection.memory_width, labels)
    for index in range(ROUNDS):
        away = rng.choice(DEVICES, 4, replace=False)
        present = np.setdiff1d(np.arange(DEVICES), away)
        if index == 0:
            present = np.arange(DEVICES)  # all are new: the server knows nothing of them
        if index == 1:
            present = present[:1]
        wanted = min(participants, len(present))
        asked = present
        if selection.polls:
            seen = _with_forecast(selection, tracker.view, present, rng)
            asked = calls.of("candidates", present, wanted, index, streams, seen)
            _check_ids(calls, "candidates", asked, present)
            _check_polled(calls, samples[asked])
            asked = np.sort(asked)
            tracker.note_poll(asked, rng.uniform(0.1, 3.0, len(asked)))
            wanted = min(wanted, len(asked))
        view = _with_forecast(selection, tracker.view, asked, rng)
        ids = calls.of("choose", asked, wanted, index, streams, view)
        _check_ids(calls, "choose", ids, asked)
        presence = np.zeros(DEVICES)
        presence[asked] = 1.0
        chosen.append((float(selection.asked(presence).sum()), len(ids)))
        tracker.note_sent(ids)
        heard = tracker.close_round(_reports(np.sort(ids), rng))
        if selection.memory_width:
            _remember(calls, heard, tracker)


def _with_forecast(selection: Selection, view: ServerView, asked: Ids, rng: np.random.Generator) -> ServerView:
    """Return the view with a forecast of the devices [n] that are asked, if the selection needs one."""
    if not selection.needs_csi:
        return view
    return replace(view, forecast=made_up_forecast(asked, rng, DEADLINE_S))


def _remember(calls: Calls[Selection], heard: DeviceReports, tracker: DeviceTracker) -> None:
    """Let the selection remember a round, and check the form of its memory."""
    view = tracker.view
    memory = calls.of("remember", view.memory, heard, view)
    if not isinstance(memory, np.ndarray) or memory.shape != view.memory.shape or np.isnan(memory).any():
        text = f"returned {kind(memory)}, expected numbers [devices, k], none of them nan: {list(view.memory.shape)}"
        calls.reject("remember", text)
    tracker.keep(memory)


def _check_ids(calls: Calls[Selection], method: str, ids: Any, present: Ids) -> None:
    """Check that ids are those of present devices, each once."""
    if not isinstance(ids, np.ndarray) or ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        calls.reject(method, f"returned {kind(ids)}, expected an array [n] of ids (int64)")
    strangers = np.setdiff1d(ids, present)
    if len(strangers):
        calls.reject(method, f"returned devices {strangers}, which are not among those that it was given")
    if len(np.unique(ids)) < len(ids):
        calls.reject(method, f"returned a device twice: {ids}")


def _check_polled(calls: Calls[Selection], samples: Ints) -> None:
    polled = calls.of("polled_samples", samples)
    shape = (len(samples),)
    if not isinstance(polled, np.ndarray) or polled.shape != shape or (polled < 1).any() or (polled > samples).any():
        text = f"returned {kind(polled)}, expected from 1 to all of each device's samples {list(shape)}"
        calls.wrong("polled_samples", text)


def _reports(ids: Ids, rng: np.random.Generator) -> DeviceReports:
    """Return what devices report at the end of a round; some updates are lost."""
    count = len(ids)
    return DeviceReports(
        ids=ids,
        received=rng.random(count) < 0.8,
        round_trip_s=rng.uniform(1.0, 20.0, count),
        energy_j=rng.uniform(0.1, 5.0, count),
        battery_j=rng.uniform(10.0, 100.0, count),
        loss=rng.uniform(0.1, 3.0, count),
    )
