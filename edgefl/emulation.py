"""One emulation, from a scenario to its results: build the parts, run the event loop, write the folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgefl import results
from edgefl.aggregator import Progress
from edgefl.datasets import Data
from edgefl.errors import InputError, RunError
from edgefl.files import write_atomically
from edgefl.ledger import Columns, Ledger
from edgefl.mobility.static import Static
from edgefl.partitions.base import Indices, Marks, holdings
from edgefl.payload import BITS_PER_FLOAT, measure, measure_split
from edgefl.protocols.split import Split
from edgefl.radio import Link
from edgefl.results import Result
from edgefl.scenario import Scenario, dump
from edgefl.selection import SELECTIONS
from edgefl.server import Server
from edgefl.sessions import Groups
from edgefl.streams import Streams
from edgefl.summary import summarize
from edgefl.trajectories import trajectories
from edgefl.world import World

if TYPE_CHECKING:
    from edgefl.learner import Learner


IMAGE_AXES = (2, 3)  # [H, W] or [channels, H, W]


@dataclass(frozen=True)
class Options:
    """How to run, which never changes a result but for rounding between CPU and GPU."""

    out: Path | None = None  # None keeps the results in memory
    device: str = "auto"  # auto | cpu | cuda | cuda:i
    train: bool = True
    overwrite: bool = False


class Divided(NamedTuple):
    """A dataset, and the numbers of the samples that each device holds."""

    data: Data
    parts: list[Indices]  # for training
    test_parts: list[Indices] | None = None  # for testing, where the test set is divided


def silent(row: Mapping[str, Any]) -> None:
    """No progress reports."""


def run(scenario: Scenario, options: Options, progress: Progress = silent) -> Result:
    """Run a scenario to its end, or to the first reason to stop; finished rounds are never lost.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
        RunError: the results cannot be written.
    """
    clock = time.perf_counter
    began, started = clock(), datetime.now(UTC).isoformat(timespec="seconds")
    if options.out is not None:
        results.check_folder(options.out, overwrite=options.overwrite)
    device = choose_device(options.device) if options.train else "cpu"
    divided = divide(scenario)
    server = build(scenario, device, train=options.train, progress=progress, divided=divided)
    setup_s = clock() - began
    learner = server.aggregator.learner.described() if server.aggregator.learner else None
    manifest = {**results.environment(), "device": device, "learner": learner, "started": started}
    if options.out is not None:
        results.open_folder(options.out)
        _write_manifest(options.out, {**manifest, "wall_s": None, "status": "running", "error": None})
        write_atomically(options.out / "scenario.yaml", dump(scenario).encode())
        if divided.data.classes:
            results.write_labels(options.out, holdings(divided.data.train_y, divided.parts))
    result, bug = _drive(scenario, server)
    result.summary["wall_s"] = _wall_s(clock() - began, setup_s, server.aggregator.learning_s)
    if options.out is not None:
        result.folder = options.out
        still = isinstance(scenario.mobility, Static)
        gone = None if still else trajectories(server.world, result.ledger.participants, result.ledger.time_s)
        _write(result, gone, {**manifest, "wall_s": result.summary["wall_s"]["total"]})
    if bug is not None:
        raise bug
    return result


def _write(result: Result, gone: Columns | None, manifest: dict[str, Any]) -> None:
    """Write a finished result to its folder, with where its devices have gone if they move."""
    folder = result.folder
    if folder is None:
        return
    try:
        results.write_ledger(folder, result.ledger, result.parameters)
        if gone is not None:
            results.write_tracks(folder, gone)
        results.write_json(folder / "summary.json", result.summary)
        _write_manifest(folder, {**manifest, "status": result.status, "error": result.error})
    except OSError as error:
        raise RunError(f"{folder}: the results cannot be written: {error.strerror}") from None


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    results.write_json(folder / "manifest.json", {**manifest, "digests": results.digests(folder)})


def _wall_s(total: float, setup: float, learning: float) -> dict[str, float]:
    """Where the machine's time went; what is left is the world's: event loop, radio, ledger."""
    parts = {"total": total, "setup": setup, "learning": learning, "world": total - setup - learning}
    return {name: round(value, 3) for name, value in parts.items()}


def divide(scenario: Scenario) -> Divided:
    """Load the data and divide them among the devices.

    Raises:
        InputError: there are no such data, or they cannot be divided so.
    """
    section, streams = scenario.data, Streams(scenario.seed)
    data = section.dataset.load()
    parts = section.partition.assign(data.train_y, data.owner, scenario.devices.count, streams.generator("partition"))
    if section.test_partition == "none":
        return Divided(data, parts)
    if not data.classes:
        raise InputError("data.test_partition: like_train needs samples with labels: leave it out")
    train, test = Marks(data.train_y, data.owner), Marks(data.test_y, data.test_owner)
    return Divided(data, parts, section.partition.assign_test(train, parts, test, streams.generator("test_partition")))


def build(
    scenario: Scenario, device: str, *, train: bool, progress: Progress, divided: Divided | None = None
) -> Server:
    """Put the parts together; the data are loaded and divided where they are not given.

    Raises:
        InputError: data, partition, model or devices cannot be had as the scenario says.
    """
    streams = Streams(scenario.seed)
    data, parts, test_parts = divided or divide(scenario)
    for samples in (data.train_x, data.test_x):
        if reason := scenario.model.misfit(samples, data.classes):
            raise InputError(f"model.kind: {reason}")
    if scenario.data.augmentation and len(data.shape) not in IMAGE_AXES:
        raise InputError(f"data.augmentation: needs images, got samples of shape {list(data.shape)}")
    wanted = scenario.report.contributions
    if wanted and wanted.value == "accuracy" and not data.classes:
        raise InputError("report.contributions.value: accuracy needs samples with labels: set it to loss")
    presence = scenario.churn.presence(len(parts), _lowest_labels(data, parts), data.classes, streams)
    world = World(scenario.devices, scenario.cells, scenario.mobility, presence, streams)
    groups = Groups.of(scenario, data.train_y, data.test_y, parts, data.classes)
    sizes = np.array([len(part) for part in parts])
    if scenario.learning.lasting() and (data.ranked or not data.classes):
        raise InputError("sessions.initialisation: continuous needs samples with classes to distil")
    weighed = scenario.learning, scenario.training, data, sizes, scenario.cost
    payload, split, cut = measure(scenario.model, *weighed), None, None
    if isinstance(policy := scenario.server.policy, Split):
        front = scenario.model.front(policy.cut, data.shape, data.classes)
        split, cut = measure_split(scenario.model, front, *weighed), front.parameters
    selection = scenario.server.selection
    payload = replace(payload, up_bits=payload.up_bits + BITS_PER_FLOAT * selection.reports)
    if selection.by_loss and not train:
        name = SELECTIONS.name_of(selection)
        raise InputError(f"server.selection: {name} chooses by losses, and without learning there are none")
    learner: Learner | None = None
    if scenario.model.init.kind != "default":
        scenario.model.init.vector(scenario.model.parameters(data.shape, data.classes))  # wrong also without learning
    if train:
        from edgefl.learner import Learner

        args = scenario.model, scenario.learning, scenario.training, data, parts, streams, device
        augmentation, report = scenario.data.augmentation, scenario.report
        learner = Learner(*args, augmentation=augmentation, cut=cut, report=report, test_parts=test_parts)
    link = Link(scenario.radio, scenario.cells, streams)
    return Server(scenario, world, groups, link, payload, learner, Ledger(), streams, progress, split)


def _lowest_labels(data: Data, parts: list[Indices]) -> Indices:
    """The first of the classes that each device has samples of; 0 without labels."""
    if not data.classes:
        return np.zeros(len(parts), dtype=np.int64)
    starts = np.cumsum([0, *map(len, parts[:-1])])
    return np.asarray(np.minimum.reduceat(data.train_y[np.concatenate(parts)], starts), dtype=np.int64)


def choose_device(name: str) -> str:
    """The torch device behind auto, cpu, cuda or cuda:i.

    Raises:
        InputError: there is no such device.
    """
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if count else "cpu"
    known = ["cpu", *(["cuda"] if count else []), *(f"cuda:{index}" for index in range(count))]
    if name not in known:
        raise InputError(f"--device {name}: not on this machine; there is: auto, {', '.join(known)}")
    return name


def _drive(scenario: Scenario, server: Server) -> tuple[Result, Exception | None]:
    """Run the event loop, then sum up what was finished; also the error of ours that ended it, if one did."""
    status, message, bug = "finished", None, None
    try:
        server.env.run(server.env.process(scenario.server.policy.run(server)))
    except KeyboardInterrupt:
        status, message = "interrupted", "interrupted by the user"
    except RunError as error:
        status, message = "failed", str(error)
    except Exception as error:  # noqa: BLE001 - raised again when the finished rounds are on disk
        status, message, bug = "failed", repr(error), error
    parameters = server.aggregator.state["w"].cpu().numpy().astype(np.float32) if server.aggregator.learner else None
    accuracies = None
    try:
        accuracies = server.aggregator.finish()
    except RunError as error:
        status, message = "failed", message or str(error)
    wanted = scenario.targets, scenario.report.last_tests
    summary = summarize(server.ledger, *wanted, accuracies, by_session=scenario.in_sessions.several)
    return Result(scenario.model_dump(mode="json"), summary, parameters, status, server.ledger, message), bug
