"""Estimates of a ledger's memory and of the results' disk space, before a run begins."""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.machine import tightest_limit
from edgefl.core.row_store import MOST_HELD_BYTES
from edgefl.core.units import BYTES, quantity
from edgefl.learning.memory_needs import BYTES_OF, vectors_of
from edgefl.learning.record import KEPT_STATES
from edgefl.results import run_folder
from edgefl.runs.data_division import Divided
from edgefl.scenario import Scenario

log = logging.getLogger(__name__)

# Measured on runs of 1 to 50 participants; the least values are for rows with the columns of all runs only.
LEAST_ROUND_BYTES = 40  # of rounds.csv: 20 columns, each of a character and a separator
ROUND_BYTES = 99  # of rounds.csv
PARTICIPANT_BYTES = 190  # of devices.csv
EVENT_BYTES = 12  # of events.parquet, for all events of a participant
LEAST_LEDGER_BYTES = 1200  # of memory for a round: a mapping of 20 numbers
LEDGER_ROUND_BYTES = 3500  # of memory for a round
LEDGER_PARTICIPANT_BYTES = 220  # for a participant and its events, of memory or of the file of moved rows
MOST_PARTICIPANT_BYTES = 2 * MOST_HELD_BYTES  # of memory, if they can move: participants, and events


class DiskNeed(NamedTuple):
    """A part of a result folder, and its size."""

    what: str
    least_bytes: float  # if the run reaches its end
    likely_bytes: float


class Expected(NamedTuple):
    """The numbers of rows of a run that follow from its scenario."""

    rounds: int  # 0 if the run may end early
    participants: float  # in all rounds


def expected_participants(scenario: Scenario) -> float:
    """Return the mean number of participants of a round if all devices of a group are present."""
    present = scenario.devices.count / scenario.groups
    return scenario.server.selection.expected(min(scenario.participants, int(present)), present)


def rows_of(scenario: Scenario) -> Expected:
    """Return the numbers of rows of a run; 0 if it may end early."""
    # With a key `stop`, the number of rounds is often not meant to be reached.
    may_stop = bool(scenario.stop.model_dump(exclude_none=True))
    if may_stop or not scenario.churn.always_present or scenario.devices.battery is not None:
        return Expected(0, 0.0)
    if scenario.server.policy.exchanges:
        return Expected(0, 0.0)  # a driver from outside ends the run
    rounds = scenario.in_sessions.total
    participants = expected_participants(scenario)
    rows = participants
    candidates = scenario.devices.count / scenario.groups
    if scenario.server.policy.overlapping:
        rows = 1.0  # of each aggregation
        candidates = max(candidates - participants, 0.0)
    if scenario.server.csi.request_bits:
        rows += candidates  # each reports its channel
    evaluation = scenario.server.device_evaluation
    if evaluation is not None:
        asked = participants
        if evaluation.devices == "present":
            asked = scenario.devices.count / scenario.groups
        rows += asked / evaluation.every
    return Expected(rounds, rounds * max(1.0, rows))


def check_ledger(rows: Expected, *, on_disk: bool) -> None:
    """Check that a run's rows fit into the memory; warn if they probably do not.

    Raises:
        InputError: they cannot.
    """
    name, limit_bytes = tightest_limit()
    participant_bytes = rows.participants * LEDGER_PARTICIPANT_BYTES
    if on_disk:
        participant_bytes = min(participant_bytes, MOST_PARTICIPANT_BYTES)
    likely_bytes = rows.rounds * LEDGER_ROUND_BYTES + participant_bytes
    least_bytes = rows.rounds * LEAST_LEDGER_BYTES
    there = f"and there are {quantity(limit_bytes, BYTES)} ({name})"
    if least_bytes > limit_bytes:
        text = f"the rows of {rows.rounds:,} rounds need at least {quantity(least_bytes, BYTES)} of memory, {there}"
        raise InputError(f"rounds: {text}: lower rounds")
    if likely_bytes > limit_bytes:
        text = (
            f"the rows of {rows.rounds:,} rounds are likely to need {quantity(likely_bytes, BYTES)} of memory, {there}"
        )
        log.warning("warning: rounds: %s", text)


def disk_needs(scenario: Scenario, divided: Divided, rows: Expected, *, train: bool) -> list[DiskNeed]:
    """Return the disk space that a result folder needs."""
    needs = [
        DiskNeed("rounds.csv", rows.rounds * LEAST_ROUND_BYTES, rows.rounds * ROUND_BYTES),
        DiskNeed("devices.csv", 0.0, rows.participants * PARTICIPANT_BYTES),
        DiskNeed("events.parquet", 0.0, rows.participants * EVENT_BYTES),
    ]
    moved_bytes = rows.participants * LEDGER_PARTICIPANT_BYTES
    if moved_bytes > MOST_PARTICIPANT_BYTES:
        needs.append(DiskNeed("participants until the run ends", 0.0, moved_bytes))
    if not train:
        return needs
    data = divided.data
    model_bytes = float(BYTES_OF[data.dtype]) * scenario.network.parameters(data.shape, data.outputs)
    vectors = vectors_of(scenario.learning)
    devices = len(divided.parts)
    part_takers = min(devices, rows.participants)
    state_bytes = model_bytes * (1 + vectors.kept + vectors.rows * devices + vectors.states * part_takers)
    if scenario.report.best_model:
        needs.append(DiskNeed("the best model", model_bytes, 2 * model_bytes))  # also on record until the run ends
    return [
        *needs,
        DiskNeed("the trained model", model_bytes, model_bytes),
        # One more is written before the oldest is deleted. A run without room for checkpoints continues without them.
        DiskNeed("checkpoints", 0.0, (KEPT_STATES + 1) * state_bytes),
    ]


def check_disk(folder: Path, needs: Sequence[DiskNeed]) -> None:
    """Check that results fit on the disk; warn if they probably do not.

    Raises:
        InputError: they cannot.
    """
    free = free_bytes(folder)
    if free is None:
        return
    largest = max(needs, key=lambda need: need.likely_bytes)
    there = f"most of it for {largest.what}, and {quantity(free, BYTES)} are free there"
    least_bytes = sum(need.least_bytes for need in needs)
    if least_bytes > free:
        text = f"the results take at least {quantity(least_bytes, BYTES)}, {there}"
        raise InputError(f"{folder}: {text}: choose a folder on another disk with -o")
    likely_bytes = sum(need.likely_bytes for need in needs)
    if likely_bytes > free:
        text = f"the results are likely to take {quantity(likely_bytes, BYTES)}, {there}"
        log.warning("warning: %s: %s", folder, text)


def free_bytes(folder: Path) -> float | None:
    """Return the room for a folder's results, including replaced ones of an earlier run; None if it is unknown."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    try:
        disk = shutil.disk_usage(existing)
    except OSError:
        return None
    if disk.total == 0:  # the file system does not tell
        return None
    return float(disk.free) + _earlier_bytes(folder)


def _earlier_bytes(folder: Path) -> int:
    paths = [folder / name for name in run_folder.RESULT_FILES]
    paths += (folder / run_folder.CHECKPOINTS).glob("*")
    return sum(path.stat().st_size for path in paths if path.is_file())
