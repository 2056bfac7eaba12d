"""An emulation from scenario to results: builds the parts, runs the event loop, writes the folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from edgefl.coordination.policies import POLICIES
from edgefl.core import interrupts
from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import DivergedError, InputError, RunError, trail
from edgefl.core.extras import check_loads
from edgefl.core.files import MOST_NAME_BYTES, cut_to_bytes
from edgefl.core.machine import one_numpy_thread, processor, rare_collections
from edgefl.core.plugins import attributing
from edgefl.core.ray_cluster import told_by_machines
from edgefl.learning.record import Pace
from edgefl.results import provenance
from edgefl.results.integrity import DATA_DIGEST, DATA_LACKS
from edgefl.results.progress import Progress, RemainingTime
from edgefl.results.provenance import PROCESSOR
from edgefl.results.result import Result
from edgefl.results.result_tables import MEASURED_TABLES, description_of, own_tables
from edgefl.runs.assembly import build
from edgefl.runs.data_division import divide
from edgefl.runs.extension import check_data
from edgefl.runs.plan_keys import as_begun, keys_of_plan, with_keys
from edgefl.runs.recorded import Recorded, divided_wall_s
from edgefl.runs.result_folder import ResultFolder, begun, check_place, finished, tidy_finished
from edgefl.runs.result_needs import check_disk, check_ledger, disk_needs, rows_of
from edgefl.runs.training_place import joined, learning_device
from edgefl.runs.what_if_points import check_points
from edgefl.scenario import Scenario
from edgefl.server import clock
from edgefl.server.evaluation import RoundListener
from edgefl.world.control import BY_SCENARIO, Control

log = logging.getLogger(__name__)

Status = Literal["running", "finished", "interrupted", "failed"]

RESULTS = Path("results")  # the parent of all result folders, unless the user names one


@dataclass(frozen=True)
class Options:
    """Options of a run; none changes a result, apart from rounding between CPU and GPU."""

    out: Path | None = None  # the result folder; None keeps the results in memory
    device: str = "auto"  # auto | cpu | cuda | cuda:i
    train: bool = True  # False prices the world without any learning
    overwrite: bool = False  # replace the results in the folder
    resume: bool = False  # continue the run in the folder
    pace: Pace | None = None  # of checkpoints; None: they take at most two per cent of the time
    share: bool = False  # keep the record of learning for other runs
    shared: tuple[Path, ...] = ()  # result folders of other runs with such records
    cluster: str | None = None  # address of a Ray cluster whose machines train, or auto; None: this machine
    beside_others: bool = False  # the folder may hold other files, without names of results
    extendable: bool = True  # keep the last state of a long finished run, for more rounds


def silent(row: Mapping[str, Any]) -> None:
    """Report no progress."""


def default_folder(scenario: Scenario) -> Path:
    """Return the default folder of a scenario's results."""
    return RESULTS / cut_to_bytes(scenario.name, MOST_NAME_BYTES) / f"seed-{scenario.seed}"


def run(scenario: Scenario, options: Options, progress: RoundListener = silent) -> Result:
    """Run a scenario until it ends or is stopped; finished rounds are never lost.

    A resumed run runs the world again from the beginning, and takes recorded learning from its record.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
        RunError: the results cannot be written.
    """
    options = _anchored(options)
    if options.out is not None:
        scenario, before = _looked_at(options.out, options, scenario)
        if before is not None:
            tidy_finished(options.out, keeps_record=options.extendable or options.share)
            return before
    with Emulation(scenario, options, progress) as emulation:
        with suppress(Exception, KeyboardInterrupt):  # `finish` reports it
            emulation.advance()
        result = emulation.finish()
        if note := emulation.server.link.channel.border_note():
            log.warning("%s", note)
        return result


def begin(
    scenario: Scenario,
    options: Options,
    progress: RoundListener = silent,
    control: Control = BY_SCENARIO,
    env: clock.Clock | None = None,
) -> Emulation:
    """Begin a run that the caller drives: its parts are built, its folder is open, its clock is at 0.

    `run` does the same and drives the run to its end, with the same results, byte by byte::

        with begin(scenario, options) as emulation:
            emulation.advance()
            result = emulation.finish()

    Args:
        scenario: what to run.
        options: how to run it.
        progress: called with each round's row when it is complete.
        control: takes decisions instead of the scenario.
        env: the clock, if the control waits on it; None: a new one.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
    """
    options = _anchored(options)
    if options.out is not None:
        scenario, before = _looked_at(options.out, options, scenario)
        if before is not None:
            raise InputError(f"{options.out}: holds a finished run; choose another folder")
    return Emulation(scenario, options, progress, control, env)


def _anchored(options: Options) -> Options:
    """Return the options with absolute paths: code from outside may change the working directory during the run."""
    out = None
    if options.out is not None:
        out = options.out.absolute()
    return replace(options, out=out, shared=tuple(folder.absolute() for folder in options.shared))


def _looked_at(folder: Path, options: Options, scenario: Scenario) -> tuple[Scenario, Result | None]:
    """Return the scenario to run, with the plan of a run begun in the folder, and the finished result if it has one."""
    overwrite = options.overwrite
    check_place(
        folder,
        own_tables(scenario.report),
        overwrite=overwrite,
        resume=options.resume,
        beside_others=options.beside_others,
    )
    if not options.resume:
        return scenario, None
    scenario = as_begun(scenario, begun(folder))
    return scenario, finished(folder, scenario, beside_others=options.beside_others)


class Emulation:
    """A run that has begun: `advance` moves its virtual time on, `finish` writes its results, once.

    Use it as a context manager, or call `close`: it holds the lock on its folder, and the learner's processes.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
    """

    def __init__(
        self,
        scenario: Scenario,
        options: Options,
        progress: RoundListener = silent,
        control: Control = BY_SCENARIO,
        env: clock.Clock | None = None,
    ) -> None:
        self.scenario = scenario
        self.options = options
        self.status: Status = "running"
        self.error: str | None = None  # why a run failed or was interrupted
        self.diverged: str | None = None  # what diverged, and in what round
        self._bug: Exception | None = None  # an error in edgefl that ended the run
        self._plugins = plugins_in(scenario)
        with attributing(self._plugins, InputError), ExitStack() as undo:
            # A run that cannot begin releases what it holds.
            undo.enter_context(one_numpy_thread())  # to the end, as models are tested in the background
            self._folder: ResultFolder | None = None
            if options.out is not None:
                own = own_tables(scenario.report)
                folder = ResultFolder(
                    options.out, own, resume=options.resume, shared=options.shared, shares=options.share
                )
                self._folder = undo.enter_context(closing(folder))
            cluster = joined(options.cluster, options.device, undo, train=options.train)
            self._begin(progress, control, env or clock.new_clock(), cluster)
            undo.callback(self.server.replay.close)
            rounds: object = scenario.server.policy.run(self.server)
            if not isinstance(rounds, Generator):
                name = POLICIES.name_of(scenario.server.policy)
                raise InputError(f"server.policy: {name}: run must be a generator that yields events of server.env")
            if self._folder is not None:
                self._folder.begin(self._resolved, self._divided, self._described_manifest())
            self._rounds = self.server.env.process(self._guarded(rounds))
            self._held = undo.pop_all()

    def _begin(self, progress: RoundListener, control: Control, env: clock.Clock, cluster: Any) -> None:
        """Build the parts, and note how long that took; see `build`."""
        self._began_s = time.perf_counter()
        self._cpu_began_s = provenance.cpu_s()
        self._rows_so_far: Progress | None = None
        if self.options.out is not None:
            self._rows_so_far = Progress(self.options.out)
        rounds = None if self.scenario.server.policy.exchanges else self.scenario.in_sessions.total
        self._remaining = RemainingTime(rounds, self.scenario.stop)
        self._manifest = {
            # Not for results in memory: git takes longer than many an agent's episode.
            **provenance.environment(git=self.options.out is not None),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "plugins": [plugin.described() for plugin in self._plugins],
        }
        if own := own_tables(self.scenario.report):
            self._manifest[MEASURED_TABLES] = [description_of(table) for table in own]
        keeping = None
        if self._folder is not None:
            keeping = (self._folder.record, self.options.pace or Pace())
        self._divided = divide(self.scenario)
        if self.options.train and self.options.out is not None:
            self._note_data(self.options.out)
        rows = rows_of(self.scenario)
        check_ledger(rows, on_disk=self.options.out is not None)
        check_points(self.scenario)
        if self.options.out is not None:
            check_loads("pyarrow.parquet")  # which writes the event log
        # Last, as torch takes long to import: most wrong scenarios have been refused by now.
        if self.options.train and not self.options.shared:  # shared learning needs no torch
            check_loads("torch")
        options = self.options
        device = learning_device(options.device, options.cluster, train=options.train)
        self._manifest["device"] = device
        processors = [self._manifest[PROCESSOR]]
        if cluster is not None:
            self._manifest["cluster_processors"] = told_by_machines(cluster, processor)
            # If all machines are alike, the record does not depend on which of them trained.
            processors += [found for found in self._manifest["cluster_processors"] if found not in processors]
        self.server = build(
            self.scenario,
            device,
            train=self.options.train,
            progress=partial(self._note_round, progress),
            divided=self._divided,
            keeping=keeping,
            control=control,
            env=env,
            cluster=cluster,
            processors=processors,
            rows_in=self.options.out,
        )
        self._recorded = Recorded(self.scenario, self._divided, self.server, may_ask=not self._plugins)
        if self.options.out is not None:  # after classes from outside have been tried
            check_disk(self.options.out, disk_needs(self.scenario, self._divided, rows, train=self.options.train))
        # The scenario of the results names the training plan, even if the user's leaves it open.
        self._resolved = self.scenario
        if plan := self._learner_described():
            self._resolved = with_keys(self.scenario, keys_of_plan(plan))
        self._setup_s = time.perf_counter() - self._began_s

    def _note_data(self, folder: Path) -> None:
        """Note the digest of the data in the manifest, and what they lack; a resumed run must have the same data."""
        data = self._divided.data
        digest = data.digest
        if self.options.resume:
            check_data(folder, self.scenario.data.dataset, digest)
        self._manifest[DATA_DIGEST] = digest
        if data.lacks:
            self._manifest[DATA_LACKS] = data.lacks

    def _note_round(self, progress: RoundListener, row: Mapping[str, Any]) -> None:
        """Pass on the row of a round, and write the tables for pages about the run now and then."""
        progress(row)
        self._remaining.note_round(row)
        if self._rows_so_far is not None:
            self._rows_so_far.note_round(lambda: self._recorded.so_far(self._remaining.text))

    def _guarded(self, rounds: Generator[clock.Event, Any, None]) -> Generator[clock.Event, Any, None]:
        """Run the policy's process; plug-ins' exceptions get their lines before SimPy copies them."""
        with attributing(self._plugins, RunError):
            yield from rounds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder and the learner. Results that `finish` has not written stay unwritten."""
        self._held.close()

    def advance(self, until: clock.Event | float | None = None) -> bool:
        """Run the event loop, and return True until the run has ended.

        Args:
            until: an event of the clock `server.env`, or a virtual time [s], at which the loop stops; None: it only
                stops at the end of the run.

        Raises:
            RunError: the run failed.
            KeyboardInterrupt: the user has stopped it.
            Exception: an error in edgefl, or in the driver's code that the event loop called.
        """
        if self.status != "running":
            return False
        with self._noting_errors(), rare_collections():
            ended = clock.advance(self.server.env, self._rounds, until)
        if ended:
            self.status = "finished"
        return not ended

    def settle(self) -> None:
        """Wait until the ledger has the accuracies of all finished rounds.

        Raises:
            RunError: learning has failed.
        """
        with self._noting_errors():
            self.server.replay.settle(wait=True)

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        try:
            with attributing(self._plugins, RunError):
                yield
        except KeyboardInterrupt:
            self.stop("interrupted", "interrupted by the user")
            self.server.replay.give_up()
            raise
        except RunError as error:
            self.fail(error)
            log.debug("the run ends: %s", trail(error))
            raise
        except Exception as error:
            self.stop("failed", repr(error))
            self._bug = error
            raise

    def fail(self, error: RunError) -> None:
        """Note an error that has stopped the run, unless another error has stopped it before."""
        self.stop("failed", self.error or str(error))
        if isinstance(error, DivergedError):
            self.diverged = error.what

    def stop(self, status: Status, message: str) -> None:
        """Note why the run stopped early; a driver calls this if its own code fails."""
        self.status = status
        self.error = message

    def finish(self) -> Result:
        """Wait for learning, write and return the results, and release the run's resources.

        A run that has not ended counts as interrupted; its finished rounds are its results.

        Raises:
            RunError: the results cannot be written.
            Exception: an error in edgefl ended the run; it is raised once the finished rounds are on disk.
        """
        if self.status == "running":
            self.stop("interrupted", f"stopped at {self.server.env.now:.6g} s, before its end")
        # A second signal must not interrupt the writing.
        with self._held, interrupts.deferred():
            result = self._collect()
            # Only now: a bug in round 900 must not lose the 899 rounds before it.
            if self._bug is not None:
                raise self._bug
            if self._folder is not None and result.status == "finished" and not self.options.share:
                self._folder.tidy_record(extendable=self._worth_keeping, best=self.server.replay.best_key)
            return result

    def _collect(self) -> Result:
        server = self.server
        trained = None
        accuracies = None
        # Learning is lazy: the last rounds may not be learned yet, and learning may fail.
        try:
            with attributing(self._plugins, RunError):
                trained = server.replay.trained()
                accuracies = server.replay.finish()
                if self.status == "finished" and self._worth_keeping:
                    server.replay.keep()
        except RunError as error:
            self.fail(error)
            log.debug("learning ends: %s", trail(error))
        summary = self._recorded.last_summary(accuracies)
        best = None
        if server.replay.best is not None:
            best = server.replay.best.trained()
        server.replay.close()
        wall_s = divided_wall_s(time.perf_counter() - self._began_s, self._setup_s, server.replay.learning_s)
        result = Result(
            scenario=self._resolved.model_dump(mode="json"),
            summary={**summary, "wall_s": wall_s},
            trained=trained,
            best=best,
            status=self.status,
            ledger=server.ledger,
            error=self.error,
            folder=self.options.out,
            manifest=self._described_manifest() | self._described_end(wall_s["total"]),
            resolved=self._resolved,
            more_tables=self._recorded.more_tables(accuracies),
        )
        if self._folder is not None:
            self._folder.write(result)
        return result

    @property
    def _worth_keeping(self) -> bool:
        """Whether a finished run keeps its last state, so that it can be extended by more rounds."""
        if not self.options.extendable or self.options.share:
            return False
        # A short run is learned again faster than its state is written.
        return self.options.pace is not None or self.server.replay.learning_s > Pace.FIRST_S

    def _described_manifest(self) -> dict[str, Any]:
        return {**self._manifest, "learner": self._learner_described()}

    def _described_end(self, wall_s: float) -> dict[str, Any]:
        described: dict[str, Any] = {"wall_s": wall_s, "status": self.status, "error": self.error}
        if self.diverged is not None:
            described["diverged"] = self.diverged
        return described | {"resources": provenance.used_resources(self._cpu_began_s)}

    def _learner_described(self) -> Mapping[str, Any] | None:
        """Return the training plan; the recorded one if this process has trained nothing."""
        described = self.server.replay.described()
        if described is None and self._folder is not None:
            plan: Mapping[str, Any] | None = self._folder.record.outcome("plan")
            return plan
        return described
