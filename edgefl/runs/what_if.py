"""Prices a finished run again with other values of a key, without learning (`edgefl what-if`).

The world is run again for each value, which takes as long as `--no-train`; the learning is known. This is right only if
the server gives learning the same commands as in the run: the same updates, from the same models, in the same rounds.
Values with another digest of commands are refused.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.coordination.policies import POLICIES
from edgefl.coordination.selection import SELECTIONS
from edgefl.core import own_files
from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import InputError, RunError
from edgefl.core.files import write_for_user
from edgefl.core.machine import one_numpy_thread, rare_collections
from edgefl.core.plugins import attributing
from edgefl.results import what_if_table, writer
from edgefl.results.csv_format import csv_bytes, csv_cell
from edgefl.results.integrity import MANIFEST_FILE, WHAT_IF_FILE
from edgefl.results.reader import FINISHED_STATUS, json_of, rows_of, text_of
from edgefl.results.run_folder import REPORT_FILE, RESULT_MARKS
from edgefl.results.summary import summarize
from edgefl.results.what_if_table import WhatIfRow
from edgefl.runs import side_by_side
from edgefl.runs.assembly import build
from edgefl.runs.data_division import Divided, divide
from edgefl.runs.emulation import silent
from edgefl.runs.known_learning import LEARNED_COLUMNS, KnownLearning, LearnsOtherwise, RowsOfRun, known_learning
from edgefl.runs.what_if_points import Over, WhatIfPoint, Where, points_of
from edgefl.scenario import Scenario, load
from edgefl.server import clock
from edgefl.server.server import Server

log = logging.getLogger(__name__)

ROUNDS_FILE = "rounds.csv"
LOCK = Path(".what-if") / "lock"  # locked by the process that prices the run
OnPoint = Callable[[int, int], None]  # called with the number of priced points, and of all points


def ignore(done: int, points: int) -> None:
    """Report nothing."""


class Priced(NamedTuple):
    """A scenario that has been priced."""

    summary: Mapping[str, Any]
    key: str  # digest of all commands to learning


@dataclass(frozen=True)
class FinishedRun:
    """The finished run of a folder."""

    folder: Path
    scenario: Scenario
    rows: Sequence[Mapping[str, Any]]  # of rounds.csv

    @property
    def has_learned(self) -> bool:
        """Whether anything was learned; a run of `--no-train` only has prices, and any key of it may vary."""
        return any(row.get(name) is not None for row in self.rows for name in LEARNED_COLUMNS)


def price_folder(
    folder: Path,
    over: Over,
    where: Where = str,
    *,
    out: Path | None = None,
    workers: int | None = None,
    on_point: OnPoint = ignore,
) -> list[WhatIfRow]:
    """Price a finished run with other values of some keys, one key at a time, and write the table.

    Returns a row of the run itself, and the rows of the values. For messages `where` returns the place of a key's
    values. Without `out` it is the table of the folder, where rows of other keys stay. At most `workers` points are
    priced at a time; None: one for each core.

    Raises:
        InputError: the folder holds no finished run, a key or value is wrong, or no value of a key can be priced;
            nothing was written.
        RunError: the table cannot be written.
    """
    if workers is not None and workers < 1:
        raise InputError(f"--workers {workers}: must be >= 1")
    if not over:
        raise InputError("what-if: name at least one key and its values, such as radio.bandwidth_hz=5e6..100e6")
    run = read_finished(folder)
    if out is None:
        own_files.check_replaceable(folder, {name: RESULT_MARKS[name] for name in (WHAT_IF_FILE, REPORT_FILE)})
        own_files.check_lock(folder / LOCK)
    points = points_of(run.scenario, over, where, has_learned=run.has_learned)
    rows = _priced_rows(run, points, workers, on_point)
    _check_any(rows, where)
    if out is not None:
        write_for_user(out, csv_bytes(what_if_table.columns_of(rows)))
        return rows
    _write(folder, rows)
    return rows


def price_at_end(folder: Path, scenario: Scenario, workers: int | None = None) -> None:
    """Price the values of `report.what_if` after a run, unless its folder has them already.

    Values that cannot be priced only cause warnings, as the run has finished.

    Raises:
        RunError: the table cannot be written.
    """
    over = scenario.report.what_if
    if not over:
        return
    points = points_of(scenario, over, lambda _: "report.what_if")
    wanted = {(point.key, what_if_table.value_cell(point.value)) for point in points}
    try:
        if wanted <= {(row.key, row.value) for row in what_if_table.read_table(folder)}:
            return
    except InputError as error:
        log.warning("warning: %s", error)
    try:
        rows = _priced_rows(FinishedRun(folder, scenario, _rows(folder)), points, workers, ignore)
    except InputError as error:
        log.warning("warning: report.what_if: %s", error)
        return
    for row in rows:
        if row.refused:
            log.warning("warning: report.what_if: %s: %s", row.key, row.refused)
    _write(folder, rows)


def read_finished(folder: Path) -> FinishedRun:
    """Return the finished run of a folder.

    Raises:
        InputError: there is none, or its scenario cannot be loaded here.
    """
    text_of(folder, "scenario.yaml")  # refuses a folder without results
    manifest = json_of(folder, MANIFEST_FILE)
    status = manifest.get("status")
    if status != FINISHED_STATUS:
        text = f"its run is {status}, and only a finished one can be priced again"
        raise InputError(f"{folder}: {text}: continue it with edgefl run --resume")
    scenario = load(folder / "scenario.yaml")
    return FinishedRun(folder, scenario, _rows(folder))


def _rows(folder: Path) -> list[Mapping[str, Any]]:
    try:
        return list(rows_of(folder, ROUNDS_FILE))
    except (ValueError, KeyError) as error:
        raise InputError(f"{folder / ROUNDS_FILE}: is damaged: {error}") from None


def _check_any(rows: Sequence[WhatIfRow], where: Where) -> None:
    faults = []
    for key in dict.fromkeys(row.key for row in rows[1:]):
        of_key = [row for row in rows if row.key == key]
        if all(row.refused for row in of_key):
            first = of_key[0]
            others = "; none of its other values can be priced either" if len(of_key) > 1 else ""
            faults.append(f"{where(key)}: {key}: {first.value}: {first.refused}{others}")
    if faults:
        raise InputError(*faults)


def _write(folder: Path, rows: Sequence[WhatIfRow]) -> None:
    try:
        before = what_if_table.read_table(folder)
    except InputError:
        before = []  # a damaged table is replaced
    with own_files.alone(folder / LOCK):
        writer.write_what_if(folder, what_if_table.columns_of(what_if_table.merged(before, rows)))


# Prices


def _priced_rows(
    run: FinishedRun, points: Sequence[WhatIfPoint], workers: int | None, on_point: OnPoint
) -> list[WhatIfRow]:
    known = None
    if run.has_learned:
        known = known_learning(run.folder, run.rows, needs_losses=run.scenario.server.selection.needs_losses)
    with attributing(plugins_in(run.scenario), InputError), rare_collections(), one_numpy_thread():
        divided = divide(run.scenario)  # the same for all points
        began_s = time.monotonic()
        own = _priced_itself(run, divided, known)
        count = side_by_side.processes(workers, len(points), time.monotonic() - began_s)

        def priced(number: int) -> WhatIfRow:
            return _priced_point(run, points[number], divided, known, own)

        rows = [what_if_table.row_of("", None, own.summary)]
        for row in side_by_side.each(priced, len(points), count):
            rows.append(row)
            on_point(len(rows) - 1, len(points))
    return rows


def _priced_itself(run: FinishedRun, divided: Divided, known: KnownLearning | None) -> Priced:
    """Price the run itself, which gives the digests of its commands."""
    try:
        server = _finished_server(run.scenario, divided, known)
    except RunError as error:
        raise InputError(f"{run.folder}: cannot be run again here: {error}") from None
    if known is not None and isinstance(known.record, RowsOfRun):
        known.record.close_keys()
    difference = _difference(run.rows, server.ledger.rounds)
    if difference:
        text = f"gives other results here than its folder has ({difference}), so it is not priced"
        causes = "by another version, on another type of processor, with other data, or with a driver from outside"
        hint = f"it was made {causes}; run its scenario again"
        raise InputError(f"{run.folder}: {text}: {hint}")
    return Priced(_summary(run.scenario, server), server.replay.key)


def _difference(rows: Sequence[Mapping[str, Any]], here: Sequence[Mapping[str, Any]]) -> str:
    """Return the first difference between the rows of a rounds.csv and the rows computed here, or an empty text."""
    if len(rows) != len(here):
        return f"{len(here)} rounds instead of {len(rows)}"
    for number, (row, row_here) in enumerate(zip(rows, here, strict=True), 1):
        # Only common columns: not all that was learned is known here.
        for name in row.keys() & row_here.keys():
            if csv_cell(row[name]) != csv_cell(row_here[name]):
                return f"row {number}, {name}: {csv_cell(row_here[name])} instead of {csv_cell(row[name])}"
    return ""


def _priced_point(
    run: FinishedRun, point: WhatIfPoint, divided: Divided, known: KnownLearning | None, own: Priced
) -> WhatIfRow:
    value = what_if_table.value_cell(point.value)
    if point.scenario == run.scenario:
        return what_if_table.row_of(point.key, point.value, own.summary)
    try:
        if known is None:  # its data may differ, too
            divided = divide(point.scenario)
        server = _finished_server(point.scenario, divided, known, own)
    except LearnsOtherwise as error:
        policy = POLICIES.name_of(point.scenario.server.policy)
        selection = SELECTIONS.name_of(point.scenario.server.selection)
        deciders = f"server.policy: {policy}, server.selection: {selection}"
        reason = f"{error} ({deciders}), so something else is learned: use edgefl sweep"
        return WhatIfRow(point.key, value, reason)
    except (InputError, RunError) as error:
        return WhatIfRow(point.key, value, " ".join(str(error).split()))
    return what_if_table.row_of(point.key, point.value, _summary(point.scenario, server))


def _finished_server(
    scenario: Scenario, divided: Divided, known: KnownLearning | None, own: Priced | None = None
) -> Server:
    """Run a scenario to its end with the learning of a finished run, and return its server."""
    server = build(scenario, "cpu", train=False, progress=silent, divided=divided, known=known)
    rounds = scenario.server.policy.run(server)
    try:
        clock.advance(server.env, server.env.process(rounds))
    except LearnsOtherwise:
        number = len(server.ledger.rounds) + 1
        which = "other updates arrive"
        if scenario.data.drift is not None:
            which = "other updates, or updates of other data, arrive"
        raise LearnsOtherwise(f"from round {number} on, {which} than in the run") from None
    if known is not None and own is not None and server.replay.key != own.key:
        count = len(server.ledger.rounds)
        if count != own.summary["rounds"]:
            raise LearnsOtherwise(f"ends after {count} rounds instead of {own.summary['rounds']}")
        raise LearnsOtherwise("devices leave at other times than in the run")
    server.replay.finish()
    return server


def _summary(scenario: Scenario, server: Server) -> Mapping[str, Any]:
    return summarize(server.ledger, scenario.targets, scenario.report.last_tests, None)
