"""One emulation, from a scenario to its results: build the parts, run the event loop, write the folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefl import results
from edgefl.errors import InputError, RunError
from edgefl.ledger import Ledger
from edgefl.payload import measure
from edgefl.radio import Link
from edgefl.results import Result
from edgefl.scenario import Scenario, dump
from edgefl.server import Progress, Server
from edgefl.streams import Streams
from edgefl.summary import summarize
from edgefl.world import World

if TYPE_CHECKING:
    from edgefl.learner import Learner


@dataclass(frozen=True)
class Options:
    """How to run, which never changes a result but for rounding between CPU and GPU."""

    out: Path | None = None  # None keeps the results in memory
    device: str = "auto"  # auto | cpu | cuda | cuda:i
    train: bool = True
    overwrite: bool = False


def silent(row: Mapping[str, Any]) -> None:
    """No progress reports."""


def run(scenario: Scenario, options: Options, progress: Progress = silent) -> Result:
    """Run a scenario to its end, or to the first reason to stop; finished rounds are never lost.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
    """
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    if options.out is not None:
        results.check_folder(options.out, overwrite=options.overwrite)
    device = choose_device(options.device) if options.train else "cpu"
    server = build(scenario, device, train=options.train, progress=progress)
    setup_s = time.perf_counter() - began
    manifest = {**results.environment(), "device": device, "started": started, "wall_s": None, "status": "running"}
    if options.out is not None:
        results.open_folder(options.out)
        results.write_json(options.out / "manifest.json", {**manifest, "error": None, "digests": {}})
        results.write_atomically(options.out / "scenario.yaml", dump(scenario).encode())
    status, error = _drive(server)
    result = _result(scenario, server, status, error)
    if server.learner is not None:
        server.learner.close()
    total = time.perf_counter() - began
    learning = server.learning_s
    result.summary["wall_s"] = {
        "total": round(total, 3),
        "setup": round(setup_s, 3),
        "learning": round(learning, 3),
        "world": round(total - setup_s - learning, 3),
    }
    if options.out is not None:
        result.folder = options.out
        results.write_ledger(options.out, server.ledger, result.parameters)
        results.write_json(options.out / "summary.json", result.summary)
        manifest |= {"wall_s": round(total, 3), "status": status}
        final = {**manifest, "error": error, "digests": results.digests(options.out)}
        results.write_json(options.out / "manifest.json", final)
    return result


def build(scenario: Scenario, device: str, *, train: bool, progress: Progress) -> Server:
    """Load the data and put the parts together.

    Raises:
        InputError: data, partition, model or devices cannot be had as the scenario says.
    """
    streams = Streams(scenario.seed)
    data = scenario.data.dataset.load()
    parts = scenario.data.partition.split(data.train_y, scenario.devices.count, streams.generator("partition"))
    if reason := scenario.model.check(data.shape, data.classes):
        raise InputError(f"model.kind: {reason}")
    world = World(scenario.devices, scenario.cells, scenario.mobility, scenario.churn, streams)
    sizes = np.array([len(part) for part in parts])
    payload = measure(scenario.model, scenario.algorithm, scenario.training, data, sizes)
    learner: Learner | None = None
    if train:
        from edgefl.learner import Learner

        learner = Learner(scenario.model, scenario.algorithm, scenario.training, data, parts, streams, device)
    link = Link(scenario.radio, scenario.cells, streams)
    return Server(scenario, world, link, payload, learner, Ledger(), streams, progress)


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


def _drive(server: Server) -> tuple[str, str | None]:
    """Run the event loop; how it ended, and why."""
    try:
        server.env.run(server.env.process(server.scenario.server.policy.run(server)))
    except KeyboardInterrupt:
        return "interrupted", "interrupted by the user"
    except RunError as error:
        return "failed", str(error)
    return "finished", None


def _result(scenario: Scenario, server: Server, status: str, error: str | None) -> Result:
    accuracies = parameters = None
    if server.learner is not None:
        w = server.state["w"]
        accuracies = server.learner.device_accuracies(w) if server.ledger.rounds else None
        parameters = w.cpu().numpy().astype(np.float32)
    summary = summarize(server.ledger, scenario.targets, accuracies)
    return Result(scenario.model_dump(mode="json"), summary, parameters, status, server.ledger, error)
