"""Sweeps: many runs side by side, with an index of their results; common learning is done once."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError

from edgefl.core.errors import InputError
from edgefl.core.extras import check_loads
from edgefl.core.files import write_atomically
from edgefl.core.machine import ADDRESS_SPACE, SHARED_CORES, THREADS, cores, memory_limits
from edgefl.core.own_files import alone, remove_half_written
from edgefl.core.plugin_import import NO_PLUGINS
from edgefl.learning.torch_device import gpu_count
from edgefl.results.run_folder import LOCK
from edgefl.runs import emulation, what_if
from edgefl.runs.cluster import Cluster
from edgefl.runs.emulation import RESULTS, Options
from edgefl.runs.families import Family, families_of, unfinished
from edgefl.runs.pool import Pool
from edgefl.runs.report_page import write_report
from edgefl.runs.sweep_folder import CONTENT, as_begun, begun_ns, check_folder, check_still, clear, content_of
from edgefl.runs.sweep_index import INDEX, SweepIndex
from edgefl.runs.sweep_run import SweepRun
from edgefl.runs.sweep_warnings import WarningKinds, collected_warnings
from edgefl.runs.workers import WorkerPool
from edgefl.scenario import Sweep, load

LOG_FORMAT = "edgefl: %(message)s"  # as on the command line
THREAD_VARIABLES = (THREADS, "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

OnRunEnd = Callable[[Sequence[str], str, str], None]
"""Called with the statuses of all runs, and the folder and status of the run that has ended."""


def ignore(statuses: Sequence[str], folder: str, status: str) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class SweepOptions:
    """Options of a sweep; none changes a result, apart from rounding between CPU and GPU."""

    out: Path | None = None  # the folder of the sweep; None: results/<name>
    workers: int | None = None  # how many runs at a time; None: one for each GPU, or else for each core
    device: str = "auto"  # auto | cpu | cuda | cuda:i
    cluster: str | None = None  # address of a Ray cluster, or auto; None: this machine
    gpus_per_run: float | None = None  # on a cluster; None: one if the cluster has any
    train: bool = True  # False prices the worlds without learning, whatever the sweep file says
    resume: bool = False  # continue the sweep in the folder
    overwrite: bool = False  # replace the sweep in the folder
    growing: bool = False  # a resumed sweep may have other points, if common ones are the same
    report: bool = True  # write a page about all runs at the end
    apart: bool = False  # each run has its own process and shares no learning, so their times can be compared


@dataclass(frozen=True)
class SweepResult:
    """A sweep that has ended, or was interrupted."""

    folder: Path
    runs: list[SweepRun]
    report: Path | None  # None if no run has finished, or no page was wanted

    @property
    def index(self) -> Path:
        """The table of all runs."""
        return self.folder / INDEX


class Task(NamedTuple):
    """A run to be sent to a process, perhaps on another machine."""

    scenario: dict[str, Any]
    options: Options
    log_level: int  # least level of the messages that the process shows


def do_nothing() -> None:
    """Do nothing."""


def run(
    sweep: Sweep, options: SweepOptions, on_run_end: OnRunEnd = ignore, on_begin: Callable[[], None] = do_nothing
) -> SweepResult:
    """Run all points of a sweep, and report on finished ones; a point that fails does not stop others.

    After each run `on_run_end` is called; `on_begin` when the sweep can no longer be refused, before any change.

    Raises:
        InputError: the options or the folder do not allow the sweep to run; nothing was written.
        RunError: the report cannot be written.
    """
    if options.workers is not None and options.workers < 1:
        raise InputError(f"--workers {options.workers}: must be >= 1")
    if not options.train:
        sweep = replace(sweep, train=False)
    out = (options.out or RESULTS / sweep.name).absolute()
    if options.resume:
        sweep = as_begun(out, sweep)
    content = content_of(sweep)
    before = begun_ns(out)
    check_folder(out, sweep, resume=options.resume, overwrite=options.overwrite, growing=options.growing)
    gpus = _gpus(options, train=sweep.train)
    # The lock keeps other processes out of the folder.
    with _joined(options, train=sweep.train) as cluster, alone(out / LOCK):
        check_still(out, content, before)
        on_begin()
        if not options.resume:
            clear(out)
        remove_half_written(out)
        write_atomically(out / CONTENT, content.encode())
        runs = [SweepRun(number, point, out / point.place) for number, point in enumerate(sweep.points)]
        for sweep_run in runs:
            sweep_run.read_folder()
        index = SweepIndex(out, sweep.keys, runs)

        warnings = WarningKinds()

        def on_end(ended: SweepRun) -> None:
            place = str(ended.point.place)
            warnings.show(place, ended.warnings)
            index.note_end()
            statuses = [sweep_run.status for sweep_run in runs]
            on_run_end(statuses, place, ended.status)

        # From here on, there is always an index of all runs.
        index.write()
        try:
            with _until_interrupted():
                _run_all(runs, cluster, options, gpus, train=sweep.train, on_end=on_end)
        finally:
            for sweep_run in runs:
                sweep_run.interrupt()
            index.write()
            warnings.show_repeated()
    page = None
    if options.report and any(sweep_run.status == "finished" for sweep_run in runs):
        page = write_report(out)
    return SweepResult(out, runs, page)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Leave the block when the user or the batch system interrupts it."""
    try:
        yield
    except KeyboardInterrupt:
        return
    except PydanticSerializationError as error:
        # Pydantic turns an interrupt while it writes a scenario into this error.
        if "KeyboardInterrupt" not in str(error):
            raise


@contextmanager
def _joined(options: SweepOptions, *, train: bool) -> Iterator[Cluster | None]:
    """Join the cluster on which a sweep is to run; None stands for this machine."""
    if options.cluster is None:
        if options.gpus_per_run is not None:
            raise InputError("--gpus-per-run: needs --cluster; on this machine each run has one GPU: leave it out")
        yield None
        return
    if options.device.startswith("cuda:"):
        raise InputError(f"--device {options.device}: Ray chooses among the GPUs of a cluster; leave the number out")
    data_folder = os.environ.get("EDGEFL_DATA")
    settings: dict[str, str] = {}
    if data_folder:
        # A task has another working directory.
        settings["EDGEFL_DATA"] = str(Path(data_folder).absolute())
    if NO_PLUGINS in os.environ:
        settings[NO_PLUGINS] = os.environ[NO_PLUGINS]
    gpus = options.gpus_per_run
    if not train or options.device == "cpu":
        gpus = 0.0
    cluster = Cluster(work, options.cluster, gpus=gpus, most=options.workers, settings=settings)
    with closing(cluster):
        yield cluster


def _run_all(
    runs: Sequence[SweepRun],
    cluster: Cluster | None,
    options: SweepOptions,
    gpus: int,
    *,
    train: bool,
    on_end: Callable[[SweepRun], None],
) -> None:
    families = unfinished(families_of(runs, learning=train and not options.apart))
    workers: WorkerPool = cluster or _processes(len(families), options, gpus)
    with closing(workers):
        while True:
            _begin_ready(families, workers, options.device, train=train)
            if not workers.busy:
                return
            for number, answer in workers.answers():
                runs[number].end(answer)
                on_end(runs[number])
            families = unfinished(families)


def _begin_ready(families: Sequence[Family], workers: WorkerPool, device: str, *, train: bool) -> None:
    for family in families:
        for sweep_run in family.ready():
            if not workers.room:
                return
            sweep_run.begin()
            workers.begin(sweep_run.number, _task(sweep_run, family, device, train=train))


def _task(sweep_run: SweepRun, family: Family, device: str, *, train: bool) -> Task:
    scenario = sweep_run.point.scenario.model_dump(mode="json")
    # If a machine is lost, its task begins again elsewhere, and resumes the first attempt.
    options = Options(
        sweep_run.folder.absolute(),
        device,
        train,
        resume=True,
        share=train and len(family.runs) > 1,
        shared=tuple(folder.absolute() for folder in family.records()),
        beside_others=True,
        extendable=False,
    )
    # The other process does not know --quiet.
    return Task(scenario, options, logging.getLogger("edgefl").getEffectiveLevel())


def work(task: Task) -> tuple[str, str | None, Mapping[str, Any], list[str]]:
    """Run a point in its own process; return its status, the reason of a failure, its summary and its warnings."""
    logging.basicConfig(format=LOG_FORMAT, level=max(task.log_level, logging.WARNING))
    logging.getLogger("edgefl").setLevel(task.log_level)
    scenario = load(task.scenario)
    with collected_warnings() as warnings:
        result = emulation.run(scenario, task.options)
        if result.status == "finished" and task.options.out is not None:
            what_if.price_at_end(task.options.out, scenario, workers=1)  # the sweep uses all cores
    return result.status, result.error, result.summary, warnings


def process_count(options: SweepOptions, *, train: bool) -> int:
    """Return how many processes of this machine run side by side, at most."""
    return _count(options, _gpus(options, train=train))


def _count(options: SweepOptions, gpus: int) -> int:
    return options.workers or gpus or cores()


def _gpus(options: SweepOptions, *, train: bool) -> int:
    """Return how many GPUs of this machine the runs may use; check that torch loads if memory is limited."""
    if not train or options.cluster is not None:
        return 0
    if ADDRESS_SPACE in memory_limits():
        check_loads("torch")  # or each run would fail
    if options.device == "cpu":
        return 0
    return gpu_count()


def _processes(families: int, options: SweepOptions, gpus: int) -> Pool:
    workers = _count(options, gpus)
    # At first only one run of each family is busy, so no cores are kept for more.
    threads = max(1, cores() // min(workers, max(1, families)))

    def settings(slot: int) -> dict[str, str]:
        variables = {**dict.fromkeys(THREAD_VARIABLES, str(threads)), SHARED_CORES: "1"}
        if options.device in {"auto", "cuda"} and gpus:
            variables["CUDA_VISIBLE_DEVICES"] = str(slot % gpus)
        return variables

    return Pool(work, workers, settings, reuse=not options.apart)
