"""One emulation, from a scenario to its results: build the parts, run the event loop, write the folder."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.errors import InputError, RunError
from edgefl.core.files import write_atomically
from edgefl.core.machine import rare_collections
from edgefl.learning.partitions.base import holdings
from edgefl.learning.record import Journal, Pace
from edgefl.learning.torch_device import choose_device
from edgefl.results import provenance, writer
from edgefl.results.result import Result, read_result
from edgefl.results.summary import summarize
from edgefl.runs.assembly import build
from edgefl.runs.data_division import Divided, divide
from edgefl.scenario import Scenario, dump
from edgefl.server.ledger import Columns
from edgefl.server.replay import RoundListener
from edgefl.server.server import Server
from edgefl.server.trajectories import trajectories

RESULTS = Path("results")  # below which results are written, unless the user names a folder


@dataclass(frozen=True)
class Options:
    """Choices about how to run; none changes a result, apart from rounding between CPU and GPU."""

    out: Path | None = None  # the result folder; None keeps the results in memory
    device: str = "auto"  # auto | cpu | cuda | cuda:i
    train: bool = True  # False prices the world without any learning
    overwrite: bool = False  # replace the results in the folder
    resume: bool = False  # continue the run in the folder
    pace: Pace | None = None  # how often checkpoints are written; None: they take at most two per cent of the time
    share: bool = False  # keep the record of what has been learned, for other runs
    shared: tuple[Path, ...] = ()  # result folders of other runs that have kept theirs


class Outcome(NamedTuple):
    """Status and error with which the event loop ended, and the model that was learned by then."""

    status: str  # finished | interrupted | failed
    error: str | None
    bug: Exception | None  # an error in edgefl itself that ended it
    parameters: npt.NDArray[np.float32] | None  # [d] the global model; None without learning
    accuracies: Any  # [devices] of the final model on each device's own samples; None if not known


def silent(row: Mapping[str, Any]) -> None:
    """Report no progress."""


def default_folder(scenario: Scenario) -> Path:
    """Return the folder for a scenario's results if the user names none."""
    return RESULTS / scenario.name / f"seed-{scenario.seed}"


def run(scenario: Scenario, options: Options, progress: RoundListener = silent) -> Result:
    """Run a scenario until it ends or something stops it; finished rounds are never lost.

    A resumed run runs the world again from the beginning; what it has learned is on record and is not learned again.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
        RunError: the results cannot be written.
    """
    device = "cpu"
    if options.train:  # without learning torch is not even imported
        device = choose_device(options.device)
    if options.out is None:
        return _run(scenario, options, device, progress, None)
    writer.check_folder(options.out, overwrite=options.overwrite or options.resume)
    if options.resume:
        finished = _finished(options.out, scenario)
        if finished is not None:
            return finished
    records_of_others = [folder / writer.CHECKPOINTS for folder in options.shared]
    own_record = options.out / writer.CHECKPOINTS
    with closing(Journal(own_record, fresh=not options.resume, others=records_of_others)) as journal:
        result = _run(scenario, options, device, progress, journal)
        if result.status == "finished" and not options.share:
            shutil.rmtree(own_record, ignore_errors=True)
        return result


def _run(scenario: Scenario, options: Options, device: str, progress: RoundListener, journal: Journal | None) -> Result:
    """Run a scenario on a device, with the journal of a result folder if there is one.

    Raises:
        Exception: an error in edgefl itself; it is raised once the finished rounds are on disk.
    """
    began_s = time.perf_counter()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    keeping = None
    if journal is not None:
        keeping = (journal, options.pace or Pace())
    divided = divide(scenario)
    server = build(scenario, device, train=options.train, progress=progress, divided=divided, keeping=keeping)
    with closing(server.replay):
        setup_s = time.perf_counter() - began_s
        manifest = {**provenance.environment(), "device": device, "started": started}
        if options.out is not None and journal is not None:
            _open(options.out, journal, scenario, divided, {**manifest, "learner": server.replay.described()})
        outcome = _run_event_loop(scenario, server)
        summary = summarize(
            server.ledger,
            scenario.targets,
            scenario.report.last_tests,
            outcome.accuracies,
            by_session=scenario.in_sessions.several,
        )
    wall_s = _wall_s(time.perf_counter() - began_s, setup_s, server.replay.learning_s)
    result = Result(
        scenario=scenario.model_dump(mode="json"),
        summary={**summary, "wall_s": wall_s},
        parameters=outcome.parameters,
        status=outcome.status,
        ledger=server.ledger,
        error=outcome.error,
        folder=options.out,
    )
    if options.out is not None:
        tracks = None
        if scenario.mobility.moves:
            tracks = trajectories(server.world, server.ledger.participants, server.ledger.time_s)
        learner = server.replay.described()
        _write(options.out, result, tracks, {**manifest, "learner": learner, "wall_s": wall_s["total"]})
    # Only now that the finished rounds are on disk: a bug in round 900 must not lose the 899 before it.
    if outcome.bug is not None:
        raise outcome.bug
    return result


def _open(folder: Path, journal: Journal, scenario: Scenario, divided: Divided, manifest: Mapping[str, Any]) -> None:
    """Write the files that are known before the first round."""
    writer.open_folder(folder)
    journal.open()
    _write_manifest(folder, {**manifest, "wall_s": None, "status": "running", "error": None})
    write_atomically(folder / "scenario.yaml", dump(scenario).encode())
    if divided.data.classes:
        writer.write_labels(folder, holdings(divided.data.train_y, divided.parts))


def _run_event_loop(scenario: Scenario, server: Server) -> Outcome:
    """Run the event loop until it ends or something stops it; then wait for learning to finish."""
    status = "finished"
    message: str | None = None
    bug: Exception | None = None
    try:
        with rare_collections():
            server.env.run(server.env.process(scenario.server.policy.run(server)))
    except KeyboardInterrupt:
        status = "interrupted"
        message = "interrupted by the user"
        server.replay.give_up()
    except RunError as error:
        status = "failed"
        message = str(error)
    except Exception as error:  # noqa: BLE001 - raised again when the finished rounds are on disk
        status = "failed"
        message = repr(error)
        bug = error
    parameters = None
    accuracies = None
    # Learning is lazy: the last rounds may still have to be learned, which may fail as well.
    try:
        parameters = server.replay.parameters()
        accuracies = server.replay.finish()
    except RunError as error:
        status = "failed"
        message = message or str(error)
    return Outcome(status, message, bug, parameters, accuracies)


def _finished(folder: Path, scenario: Scenario) -> Result | None:
    """Return the finished result that a folder holds; None if its run is unfinished or has not begun.

    Raises:
        InputError: the folder holds something else, or a run of another scenario.
    """
    file = folder / "scenario.yaml"
    if not file.exists():
        if not folder.exists():
            return None
        names = {path.name for path in folder.iterdir() if path.suffix != ".part"}  # an unfinished file does not count
        if names <= {writer.CHECKPOINTS, "manifest.json"}:
            return None  # a run was killed before its first round
        raise InputError(f"{folder}: holds other files than a run's; choose another folder with -o")
    before = file.read_text(encoding="utf-8").splitlines()
    now = dump(scenario).splitlines()
    for line_before, line_now in zip_longest(before, now):
        if line_before != line_now:
            text = f"was begun with another scenario, with {_quoted(line_before)} in place of {_quoted(line_now)}"
            raise InputError(f"{folder}: {text}; choose another folder with -o, or replace it with --overwrite")
    result = read_result(folder)
    if result.status != "finished":
        return None
    return result


def _quoted(line: str | None) -> str:
    """Return a line of a scenario as messages show it."""
    if not line:  # one of the two scenarios is shorter
        return "nothing"
    return repr(line.strip())


def _write(folder: Path, result: Result, tracks: Columns | None, manifest: Mapping[str, Any]) -> None:
    """Write a result to its folder, and the devices' trajectories if they move.

    Raises:
        RunError: the folder cannot be written.
    """
    if result.ledger is None:
        return
    try:
        writer.write_ledger(folder, result.ledger, result.parameters)
        if tracks is not None:
            writer.write_tracks(folder, tracks)
        writer.write_json(folder / "summary.json", result.summary)
        _write_manifest(folder, {**manifest, "status": result.status, "error": result.error})
    except OSError as error:
        raise RunError(f"{folder}: the results cannot be written: {error.strerror}") from None


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, with digests of the files that the folder holds now."""
    writer.write_json(folder / "manifest.json", {**manifest, "digests": provenance.digests(folder)})


def _wall_s(total: float, setup: float, learning: float) -> dict[str, float]:
    """Return how the wall-clock time [s] divides into setup, learning and world."""
    # The world (event loop, radio, ledger) is not measured: it is what the others leave.
    world = total - setup - learning
    parts = {"total": total, "setup": setup, "learning": learning, "world": world}
    return {name: round(value, 3) for name, value in parts.items()}
