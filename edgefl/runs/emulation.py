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
from typing import Any

from edgefl.core.errors import InputError, RunError
from edgefl.core.files import write_atomically
from edgefl.core.machine import rare_collections
from edgefl.learning.partitions.base import holdings
from edgefl.learning.record import Journal, Pace
from edgefl.learning.torch_device import choose_device
from edgefl.results import provenance, writer
from edgefl.results.result import Result, read_result
from edgefl.results.summary import summarize
from edgefl.runs.assembly import build, divide
from edgefl.scenario import Scenario, dump
from edgefl.server.ledger import Columns
from edgefl.server.replay import Progress
from edgefl.server.server import Server
from edgefl.server.trajectories import trajectories


@dataclass(frozen=True)
class Options:
    """How to run, which never changes a result but for rounding between CPU and GPU."""

    out: Path | None = None  # None keeps the results in memory
    device: str = "auto"  # auto | cpu | cuda | cuda:i
    train: bool = True
    overwrite: bool = False
    resume: bool = False  # go on with what is in the folder
    pace: Pace | None = None  # of checkpoints; as seldom as they are cheap where not given
    share: bool = False  # leave on record what has been learned, for other runs
    shared: tuple[Path, ...] = ()  # result folders of such runs


def silent(row: Mapping[str, Any]) -> None:
    """No progress reports."""


def run(scenario: Scenario, options: Options, progress: Progress = silent) -> Result:
    """Run a scenario to its end, or to the first reason to stop; finished rounds are never lost.

    To resume, the world is run again from the beginning, and what is on record of the learning is not learned again.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
        RunError: the results cannot be written.
    """
    device = choose_device(options.device) if options.train else "cpu"
    if options.out is None:
        return _run(scenario, options, device, progress, None)
    writer.check_folder(options.out, overwrite=options.overwrite or options.resume)
    if options.resume and (finished := _finished(options.out, scenario)):
        return finished
    others = [folder / writer.CHECKPOINTS for folder in options.shared]
    with closing(Journal(options.out / writer.CHECKPOINTS, fresh=not options.resume, others=others)) as journal:
        result = _run(scenario, options, device, progress, journal)
        if result.status == "finished" and not options.share:
            shutil.rmtree(options.out / writer.CHECKPOINTS, ignore_errors=True)
        return result


def _run(scenario: Scenario, options: Options, device: str, progress: Progress, journal: Journal | None) -> Result:
    """Run it on a device, with the journal of a result folder if there is one."""
    clock = time.perf_counter
    began, started = clock(), datetime.now(UTC).isoformat(timespec="seconds")
    keeping = None if journal is None else (journal, options.pace or Pace())
    divided = divide(scenario)
    server = build(scenario, device, train=options.train, progress=progress, divided=divided, keeping=keeping)
    with closing(server.replay):
        setup_s = clock() - began
        manifest = {**provenance.environment(), "device": device, "started": started}
        if options.out is not None and journal is not None:
            writer.open_folder(options.out)
            journal.open()
            _write_manifest(options.out, {**manifest, **_under_way(server)})
            write_atomically(options.out / "scenario.yaml", dump(scenario).encode())
            if divided.data.classes:
                writer.write_labels(options.out, holdings(divided.data.train_y, divided.parts))
        result, bug = _drive(scenario, server)
    result.summary["wall_s"] = _wall_s(clock() - began, setup_s, server.replay.learning_s)
    if options.out is not None:
        result.folder, learner = options.out, server.replay.described()
        gone = None
        if scenario.mobility.moves and result.ledger is not None:
            gone = trajectories(server.world, result.ledger.participants, result.ledger.time_s)
        _write(result, gone, {**manifest, "learner": learner, "wall_s": result.summary["wall_s"]["total"]})
    if bug is not None:
        raise bug
    return result


def _under_way(server: Server) -> dict[str, Any]:
    """The manifest's entries that are not known before the end."""
    return {"learner": server.replay.described(), "wall_s": None, "status": "running", "error": None}


def _finished(folder: Path, scenario: Scenario) -> Result | None:
    """The result that a folder has already; None where there is something to go on with, or to begin.

    Raises:
        InputError: it has something else.
    """
    there, here = folder / "scenario.yaml", dump(scenario)
    if not there.exists():
        begun = {writer.CHECKPOINTS, "manifest.json"}
        names = {path.name for path in folder.iterdir() if path.suffix != ".part"} if folder.exists() else set()
        if names <= begun:
            return None  # nothing is there, or it ended before it began
        raise InputError(f"{folder}: holds something else than a run; choose another folder with -o")
    lines = there.read_text(encoding="utf-8").splitlines()
    for before, now in zip_longest(lines, here.splitlines()):
        if before != now:
            was, is_now = (repr(line.strip()) if line else "nothing" for line in (before, now))
            text = f"was begun with another scenario: {was} there, {is_now} here"
            raise InputError(f"{folder}: {text}; choose another folder with -o, or replace it with --overwrite")
    result = read_result(folder)
    return result if result.status == "finished" else None


def _write(result: Result, gone: Columns | None, manifest: dict[str, Any]) -> None:
    """Write a finished result to its folder, with where its devices have gone if they move."""
    folder = result.folder
    if folder is None or result.ledger is None:
        return
    try:
        writer.write_ledger(folder, result.ledger, result.parameters)
        if gone is not None:
            writer.write_tracks(folder, gone)
        writer.write_json(folder / "summary.json", result.summary)
        _write_manifest(folder, {**manifest, "status": result.status, "error": result.error})
    except OSError as error:
        raise RunError(f"{folder}: the results cannot be written: {error.strerror}") from None


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    writer.write_json(folder / "manifest.json", {**manifest, "digests": provenance.digests(folder)})


def _wall_s(total: float, setup: float, learning: float) -> dict[str, float]:
    """Where the machine's time went; what is left is the world's: event loop, radio, ledger."""
    parts = {"total": total, "setup": setup, "learning": learning, "world": total - setup - learning}
    return {name: round(value, 3) for name, value in parts.items()}


def _drive(scenario: Scenario, server: Server) -> tuple[Result, Exception | None]:
    """Run the event loop, then sum up what was finished; also the error of ours that ended it, if one did."""
    status, message, bug = "finished", None, None
    try:
        with rare_collections():
            server.env.run(server.env.process(scenario.server.policy.run(server)))
    except KeyboardInterrupt:
        status, message = "interrupted", "interrupted by the user"
        server.replay.give_up()
    except RunError as error:
        status, message = "failed", str(error)
    except Exception as error:  # noqa: BLE001 - raised again when the finished rounds are on disk
        status, message, bug = "failed", repr(error), error
    parameters, accuracies = None, None
    try:
        parameters = server.replay.parameters()
        accuracies = server.replay.finish()
    except RunError as error:
        status, message = "failed", message or str(error)
    wanted = scenario.targets, scenario.report.last_tests
    summary = summarize(server.ledger, *wanted, accuracies, by_session=scenario.in_sessions.several)
    return Result(scenario.model_dump(mode="json"), summary, parameters, status, server.ledger, message), bug
