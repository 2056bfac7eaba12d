"""Sweeps: many runs, of which those that learn the same learn it once; an index above their result folders."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from edgefl.core.errors import InputError, RunError
from edgefl.core.files import locked, write_atomically
from edgefl.core.machine import cores
from edgefl.learning.torch_device import gpu_count
from edgefl.results.csv_format import csv_bytes
from edgefl.results.writer import CHECKPOINTS, check_folder
from edgefl.runs import emulation
from edgefl.runs.assembly import setting_of_learning
from edgefl.runs.cluster import Cluster
from edgefl.runs.emulation import Options
from edgefl.runs.pool import Died, Pool
from edgefl.scenario import Scenario, Sweep, SweepPoint, load

INDEX, CONTENT, LOCK = "index.csv", "sweep.yaml", Path("checkpoints") / "lock"
TOTALS = ("rounds", "time_s", "energy_j", "final_accuracy", "best_accuracy", "bytes_down", "bytes_up", "wasted_j")


@dataclass(eq=False)
class Run:
    """One point and what has become of it."""

    point: SweepPoint
    folder: Path
    status: str = "waiting"  # running | finished | interrupted | failed
    error: str | None = None
    summary: Mapping[str, Any] | None = None


class Task(NamedTuple):
    """What a process gets; on another machine, too."""

    scenario: dict[str, Any]
    out: Path  # absolute, as are those of others
    device: str
    train: bool
    share: bool
    shared: tuple[Path, ...]


Shown = Callable[[Sequence[str], str, str], None]  # all statuses; the folder and status of who has ended


def nobody(statuses: Sequence[str], folder: str, status: str) -> None:
    """No progress reports."""


def run(
    sweep: Sweep,
    out: Path,
    *,
    workers: int | None = None,
    device: str = "auto",
    cluster: str | None = None,
    gpus_per_run: float | None = None,
    resume: bool = False,
    overwrite: bool = False,
    shown: Shown = nobody,
) -> list[Run]:
    """Run all points; one that fails leaves the others alone.

    Args:
        sweep: the points.
        out: the folder of the sweep.
        workers: runs at a time; as many as GPUs, or cores, where not given.
        device: where to train.
        cluster: address of a Ray cluster, or auto; this machine where not given.
        gpus_per_run: of the cluster; one where not given and it has any.
        resume: go on with what is there.
        overwrite: replace what is there.
        shown: called after each run.

    Raises:
        InputError: nothing can be run as asked for; nothing was written.
    """
    content = _content(sweep)
    _check_folder(out, content, resume=resume, overwrite=overwrite)
    with _joined(cluster, gpus_per_run, workers, device, train=sweep.train) as joined, closing(locked(out / LOCK)):
        if not resume:
            _clear(out)
        write_atomically(out / CONTENT, content.encode())
        runs = [Run(point, out / point.place) for point in sweep.points]
        for one in runs:
            _look(one)

        def done(one: Run) -> None:
            write_atomically(out / INDEX, index(sweep.keys, runs))
            shown([each.status for each in runs], str(one.point.place), one.status)

        try:
            _work_off(sweep, runs, joined, workers, device, done)
        except KeyboardInterrupt:
            for one in runs:
                one.status = "interrupted" if one.status in {"running", "waiting"} else one.status
        write_atomically(out / INDEX, index(sweep.keys, runs))
    shutil.rmtree(out / LOCK.parent)
    return runs


def _check_folder(out: Path, content: str, *, resume: bool, overwrite: bool) -> None:
    """Whether the sweep can be run there.

    Raises:
        InputError: it cannot, as what is there is another sweep, something else, or not to be written.
    """
    check_folder(out, overwrite=overwrite or resume)
    names = {path.name for path in out.iterdir()} if out.exists() else set()
    if CONTENT not in names and names - {LOCK.parent.name}:
        raise InputError(f"{out}: holds something else than a sweep; choose another folder with -o")
    if resume and CONTENT in names and (out / CONTENT).read_text(encoding="utf-8") != content:
        text = "was begun with another sweep; choose another folder with -o, or replace it with --overwrite"
        raise InputError(f"{out}: {text}")


def _clear(out: Path) -> None:
    """Remove an earlier sweep: what it says it has written, and nothing else.

    Raises:
        InputError: it does not say so.
    """
    if not (out / CONTENT).exists():
        return
    try:
        earlier = yaml.safe_load((out / CONTENT).read_text(encoding="utf-8"))
        labels = {str(point["folder"]).split("/")[0] for point in earlier["points"]}
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        raise InputError(f"{out / CONTENT}: is damaged; remove the folder, or choose another with -o") from None
    for label in labels - {"", ".", ".."}:
        shutil.rmtree(out / label, ignore_errors=True)
    for name in (CONTENT, INDEX, "statistics.csv", "report.html"):
        (out / name).unlink(missing_ok=True)


def _content(sweep: Sweep) -> str:
    """The sweep as it is resumed, and reported on: every point whole."""
    points = [{"values": dict(point.values), "folder": str(point.place), "digest": _digest(point.scenario)}
              for point in sweep.points]  # fmt: skip
    content = {"name": sweep.name, "keys": list(sweep.keys), "train": sweep.train, "points": points}
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _digest(scenario: Scenario) -> str:
    return hashlib.sha256(scenario.model_dump_json().encode()).hexdigest()[:16]


def _look(run: Run) -> None:
    """Take in what a run's folder says."""
    try:
        manifest = json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))
        if manifest["status"] == "finished":
            run.summary = json.loads((run.folder / "summary.json").read_text(encoding="utf-8"))
            run.status = "finished"
    except (OSError, ValueError, KeyError):
        return


@contextmanager
def _joined(
    address: str | None, gpus: float | None, workers: int | None, device: str, *, train: bool
) -> Iterator[Cluster | None]:
    """The cluster that a sweep is worked off on; none where this machine does it."""
    if address is None:
        if gpus is not None:
            raise InputError("--gpus-per-run: is for --cluster; on this machine a run has a GPU of its own")
        yield None
        return
    if device.startswith("cuda:"):
        raise InputError(f"--device {device}: Ray chooses among the GPUs of a cluster; leave the number out")
    named = os.environ.get("EDGEFL_DATA")
    settings = {"EDGEFL_DATA": str(Path(named).absolute())} if named else {}
    gpus = gpus if train and device != "cpu" else 0.0
    with closing(Cluster(work, address, gpus=gpus, most=workers, settings=settings)) as cluster:
        yield cluster


def _work_off(
    sweep: Sweep,
    runs: Sequence[Run],
    cluster: Cluster | None,
    workers: int | None,
    device: str,
    done: Callable[[Run], None],
) -> None:
    """Begin a run wherever there is room, and hear of each that ends."""
    families = _families(runs, learning=sweep.train)
    with closing(cluster or _processes(len(families), workers or _places(device), device)) as pool:
        while True:
            for family, one in _ready(families):
                if not pool.room:
                    break
                one.status = "running"
                pool.begin(runs.index(one), _task(one, family, device, train=sweep.train))
            if not pool.busy:
                return
            for number, value in pool.answers():
                _end(runs[number], value)
                done(runs[number])
            families = [family for family in families if not _over(family)]


def _processes(families: int, workers: int, device: str) -> Pool:
    """On this machine."""
    threads = max(1, cores() // min(workers, max(1, families)))
    return Pool(work, workers, lambda place: _settings(place, threads, device))


def _families(runs: Sequence[Run], *, learning: bool) -> list[list[Run]]:
    """Runs that may learn the same are together, where there is anything left to run."""
    families: dict[str, list[Run]] = defaultdict(list)
    for number, one in enumerate(runs):
        families[setting_of_learning(one.point.scenario) if learning else str(number)].append(one)
    return [family for family in families.values() if not _over(family)]


def _ready(families: Sequence[list[Run]]) -> Iterator[tuple[list[Run], Run]]:
    """Who may begin: of a family one alone until it has finished; the others then find on record what it learned."""
    for family in families:
        waiting = [one for one in family if one.status == "waiting"]
        if _learned(family):
            yield from ((family, one) for one in waiting)
        elif waiting and all(one.status != "running" for one in family):
            yield family, waiting[0]


def _learned(family: Sequence[Run]) -> tuple[Path, ...]:
    """The folders of those that have finished and left on record what they learned."""
    return tuple(one.folder for one in family if one.status == "finished" and (one.folder / CHECKPOINTS).is_dir())


def _over(family: Sequence[Run]) -> bool:
    """Whether nothing is left of a family to run; what its members have on record is then of no more use."""
    if any(one.status in {"waiting", "running"} for one in family):
        return False
    for folder in _learned(family):
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return True


def _task(one: Run, family: Sequence[Run], device: str, *, train: bool) -> Task:
    scenario = one.point.scenario.model_dump(mode="json")
    shared = tuple(folder.absolute() for folder in _learned(family))
    return Task(scenario, one.folder.absolute(), device, train, train and len(family) > 1, shared)


def work(task: Task) -> tuple[str, str | None, Mapping[str, Any]]:
    """A run, in a process of its own; how it ended, why if it failed, and its summary."""
    options = Options(task.out, task.device, task.train, resume=True, share=task.share, shared=task.shared)
    result = emulation.run(load(task.scenario), options)
    return result.status, result.error, result.summary


def _end(one: Run, answer: Any) -> None:
    """Enter how a run has ended."""
    if isinstance(answer, Exception):
        known = isinstance(answer, (InputError, RunError, Died))
        one.status, one.error = "failed", str(answer) if known else repr(answer)
    else:
        one.status, one.error, summary = answer
        one.summary = summary if one.status == "finished" else None


def _settings(place: int, threads: int, device: str) -> dict[str, str]:
    """Cores and GPUs are divided among the processes."""
    settings = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    if device in {"auto", "cuda"} and (gpus := gpu_count()):
        settings["CUDA_VISIBLE_DEVICES"] = str(place % gpus)
    return settings


def index(keys: Sequence[str], runs: Sequence[Run]) -> bytes:
    """The index of a sweep: one row a run, with its values, its status and its totals; empty where there is none."""
    reached = [{f"{each['accuracy']:.6g}": each for each in _targets(one)} for one in runs]
    targets = dict.fromkeys(itertools.chain.from_iterable(reached))
    columns: dict[str, list[Any]] = defaultdict(list)
    for one, took in zip(runs, reached, strict=True):
        summary: Mapping[str, Any] = one.summary or {}
        columns["point"].append(one.point.label)
        columns["seed"].append(one.point.scenario.seed)
        for key in keys:
            columns[key].append(_plain(one.point.values.get(key)))
        for name in ("status", "error"):
            columns[name].append(getattr(one, name))
        columns["folder"].append(str(one.point.place))
        for name in TOTALS:
            columns[name].append(summary.get(name))
        for target, name in itertools.product(targets, ("round", "time_s", "energy_j")):
            columns[f"target_{target}_{name}"].append(took.get(target, {}).get(name))
    return csv_bytes(columns)


def _targets(one: Run) -> list[Mapping[str, Any]]:
    return [target for target in (one.summary or {}).get("targets", ()) if target["accuracy"] is not None]


def _plain(value: Any) -> Any:
    """A value as it stands in a cell: numbers and words as they are, the rest as JSON."""
    return value if value is None or isinstance(value, (int, float, str)) else json.dumps(value)


def _places(device: str) -> int:
    """GPUs, where they train; else cores."""
    if device != "cpu" and (gpus := gpu_count()):
        return gpus
    return cores()
