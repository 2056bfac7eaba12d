"""One emulation, from a scenario to its results: build the parts, run the event loop, write the folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from edgefl.coordination.policies import POLICIES
from edgefl.core import interrupts
from edgefl.core.arrays import Floats
from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import DivergedError, InputError, RunError, Taken, trail
from edgefl.core.extras import check_loads
from edgefl.core.files import MOST_NAME_BYTES, FileGroup, cut_to_bytes, locked, read_text, write_atomically
from edgefl.core.machine import one_numpy_thread, processor, rare_collections
from edgefl.core.own_files import remove_half_written
from edgefl.core.plugins import attributing
from edgefl.core.ray_cluster import connected, told_by_machines
from edgefl.learning.partitions.base import holdings
from edgefl.learning.record import Journal, Pace
from edgefl.learning.storage import storage
from edgefl.learning.torch_device import choose_device
from edgefl.records.ledger import Columns
from edgefl.records.result_files import ResultFile
from edgefl.results import provenance, run_folder, writer
from edgefl.results.csv_format import csv_bytes, csv_pieces
from edgefl.results.integrity import DATA_DIGEST, MANIFEST_FILE, SUMMARY_DIGEST, SUMMARY_FILE, check_all
from edgefl.results.progress import Progress, SoFar, is_under_way
from edgefl.results.provenance import PROCESSOR
from edgefl.results.reader import text_of
from edgefl.results.result import Result, read_result
from edgefl.results.result_tables import MEASURED_TABLES, described, described_in, own_tables
from edgefl.results.summary import summarize
from edgefl.runs.assembly import build
from edgefl.runs.data_division import Divided, accuracy_columns, divide
from edgefl.runs.extension import check_begun, check_data, check_plugins, is_of_this_processor
from edgefl.runs.plan_keys import as_begun, keys_of_plan, with_keys
from edgefl.runs.result_needs import check_disk, check_ledger, disk_needs, rows_of
from edgefl.runs.what_if_points import check_points
from edgefl.scenario import Scenario, dump
from edgefl.scenario.yaml_reader import NotYaml, parse
from edgefl.server import clock
from edgefl.server.replay import RoundListener
from edgefl.server.trajectories import trajectories
from edgefl.world.control import BY_SCENARIO, Control

log = logging.getLogger(__name__)

Status = Literal["running", "finished", "interrupted", "failed"]

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
    cluster: str | None = None  # address of a Ray cluster whose machines train, or auto; None: this machine
    beside_others: bool = False  # what is in the folder, and has no name of a result, may be anything
    extendable: bool = True  # keep the last state of a finished run that took long, for further rounds


def silent(row: Mapping[str, Any]) -> None:
    """Report no progress."""


def default_folder(scenario: Scenario) -> Path:
    """Return the folder for a scenario's results if the user names none."""
    return RESULTS / cut_to_bytes(scenario.name, MOST_NAME_BYTES) / f"seed-{scenario.seed}"


def run(scenario: Scenario, options: Options, progress: RoundListener = silent) -> Result:
    """Run a scenario until it ends or something stops it; finished rounds are never lost.

    A resumed run runs the world again from the beginning; what it has learned is on record and is not learned again.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
        RunError: the results cannot be written.
    """
    options = _anchored(options)
    if options.out is not None:
        _check_folder(options.out, options, scenario)
        if options.resume:
            scenario = as_begun(scenario, _begun(options.out))
            finished = _finished(options.out, scenario, beside_others=options.beside_others)
            if finished is not None:
                if not options.extendable and not options.share:
                    _drop_record(options.out)
                with suppress(OSError):  # results may lie where nothing can be changed any more
                    remove_half_written(options.out)  # of the report, which is written last
                return finished
    with Emulation(scenario, options, progress) as emulation:
        with suppress(Exception, KeyboardInterrupt):  # `finish` knows what ended the run, and tells it
            emulation.advance()
        return emulation.finish()


def begin(
    scenario: Scenario, options: Options, progress: RoundListener = silent, control: Control = BY_SCENARIO
) -> Emulation:
    """Begin a run that somebody else drives: its parts are built, its folder is open, its clock stands at 0.

    `run` does the same and drives it to its end, with the same results, byte by byte::

        with begin(scenario, options) as emulation:
            emulation.advance()
            result = emulation.finish()

    Args:
        scenario: what to run.
        options: how to run it.
        progress: called with each round's row when it is complete.
        control: takes decisions in place of the scenario; by default nobody does.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
    """
    options = _anchored(options)
    if options.out is not None:
        _check_folder(options.out, options, scenario)
        if options.resume:
            scenario = as_begun(scenario, _begun(options.out))
            if _finished(options.out, scenario, beside_others=options.beside_others) is not None:
                raise InputError(f"{options.out}: holds a finished run; choose another folder")
    return Emulation(scenario, options, progress, control)


def _anchored(options: Options) -> Options:
    """Return the options with absolute paths: code from outside may change the working directory during the run."""
    out = None
    if options.out is not None:
        out = options.out.absolute()
    return replace(options, out=out, shared=tuple(folder.absolute() for folder in options.shared))


def _check_folder(folder: Path, options: Options, scenario: Scenario) -> None:
    """Check that the results can be written to a folder, and that no file of the user's would be replaced there.

    Raises:
        InputError: they cannot, or one would.
    """
    may_hold_run = options.overwrite or options.resume
    run_folder.check_folder(folder, may_hold_run=may_hold_run, beside_others=options.beside_others)
    if options.resume:
        check_all(folder)  # first: it knows which of the run's files are damaged
    run_folder.check_files(folder, own_tables(scenario.report))


def _learning_device(options: Options) -> str:
    """Return where to train."""
    if not options.train or options.cluster is not None:
        return "cpu"
    return choose_device(options.device)


def _joined(options: Options, undo: ExitStack) -> Any:
    """Return the Ray cluster whose machines train, which is left at the end; None: this machine trains.

    Raises:
        InputError: it cannot be joined, or the options do not go together.
    """
    if options.cluster is None:
        return None
    if not options.train:
        raise InputError("--cluster: its machines train, and --no-train means that nobody does: leave one of them out")
    if options.device not in {"auto", "cpu"}:
        raise InputError(
            f"--device {options.device}: a run on a cluster trains on its processors: leave it out, "
            "or run on the machine that has the GPU, without --cluster"
        )
    ray = connected(options.cluster)
    undo.callback(ray.shutdown)
    return ray


class Emulation:
    """A run that has begun: `advance` moves its virtual time on, `finish` writes its results, once.

    Use it as a context manager, or call `close`: it holds the lock on its folder, and the learner's processes.

    Args:
        scenario: what to run.
        options: how to run it.
        progress: called with each round's row when it is complete.
        control: takes decisions in place of the scenario; by default nobody does.

    Raises:
        InputError: the scenario cannot be run; nothing was written.
    """

    def __init__(
        self,
        scenario: Scenario,
        options: Options,
        progress: RoundListener = silent,
        control: Control = BY_SCENARIO,
    ) -> None:
        self.scenario = scenario
        self.options = options
        self.status: Status = "running"
        self.error: str | None = None  # what ended a run that failed or was interrupted
        self.diverged: str | None = None  # what diverged, and in which round, if that is why it failed
        self._bug: Exception | None = None  # an error in edgefl itself that ended it
        self._plugins = plugins_in(scenario)
        with (
            attributing(self._plugins, InputError),
            ExitStack() as undo,
        ):
            # A run that cannot begin releases what it holds.
            undo.enter_context(one_numpy_thread())  # to the end: models are tested in the background, after `advance`
            self._journal: Journal | None = None
            before = _state_of(options.out)
            if options.out is not None:
                self._journal = undo.enter_context(closing(_journal(options, options.out)))
            cluster = _joined(options, undo)
            self._begin(progress, control, cluster)
            undo.callback(self.server.replay.close)
            rounds: object = scenario.server.policy.run(self.server)  # what a plug-in returns is not known
            if not isinstance(rounds, Generator):
                name = POLICIES.name_of(scenario.server.policy)
                raise InputError(f"server.policy: {name}: run must be a generator that yields events of server.env")
            if options.out is not None and self._journal is not None:
                _lock(options.out, self._journal, before, own_tables(scenario.report))
                _open(options.out, self._journal, self._resolved, self._divided, self._described_manifest())
            self._rounds = self.server.env.process(self._guarded(rounds))
            self._held = undo.pop_all()

    def _begin(self, progress: RoundListener, control: Control, cluster: Any) -> None:
        """Build the parts, and note how long that took; see `build`."""
        self._began_s = time.perf_counter()
        self._cpu_began_s = provenance.cpu_s()
        self._rows_so_far: Progress | None = None
        if self.options.out is not None:
            self._rows_so_far = Progress(self.options.out)
        self._manifest = {
            # To ask git would take longer than many an episode of an agent, which stays in memory.
            **provenance.environment(git=self.options.out is not None),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "plugins": [plugin.described() for plugin in self._plugins],
        }
        if own := own_tables(self.scenario.report):
            self._manifest[MEASURED_TABLES] = [described(table) for table in own]
        keeping = None
        if self._journal is not None:
            keeping = (self._journal, self.options.pace or Pace())
        self._divided = divide(self.scenario)
        if self.options.train and self.options.out is not None:
            self._note_data(self.options.out)
        rows = rows_of(self.scenario)
        check_ledger(rows, on_disk=self.options.out is not None)
        check_points(self.scenario)
        if self.options.out is not None:
            check_loads("pyarrow.parquet")  # which writes the event log
        # Only now, as torch takes long to import: most scenarios that cannot be run have been refused by then.
        if self.options.train and not self.options.shared:  # what others have learned needs no torch
            check_loads("torch")
        device = _learning_device(self.options)
        self._manifest["device"] = device
        processors = [self._manifest[PROCESSOR]]
        if cluster is not None:
            self._manifest["cluster_processors"] = told_by_machines(cluster, processor)
            # Where all machines are alike, it does not matter to the record which of them trained.
            processors += [found for found in self._manifest["cluster_processors"] if found not in processors]
        self.server = build(
            self.scenario,
            device,
            train=self.options.train,
            progress=partial(self._note_round, progress),
            divided=self._divided,
            keeping=keeping,
            control=control,
            cluster=cluster,
            processors=processors,
            rows_in=self.options.out,
        )
        if self.options.out is not None:  # only now that the scenario's classes from outside have been tried
            check_disk(self.options.out, disk_needs(self.scenario, self._divided, rows, train=self.options.train))
        # What results name as their scenario: it says by which plan was trained, where the user's leaves that open.
        self._resolved = self.scenario
        if plan := self._learner_described():
            self._resolved = with_keys(self.scenario, keys_of_plan(plan))
        self._setup_s = time.perf_counter() - self._began_s

    def _note_data(self, folder: Path) -> None:
        """Note the digest of the data in the manifest; a run that goes on must go on with the same data."""
        digest = self._divided.data.digest
        if self.options.resume:
            check_data(folder, self.scenario.data.dataset, digest)
        self._manifest[DATA_DIGEST] = digest

    def _note_round(self, progress: RoundListener, row: Mapping[str, Any]) -> None:
        """Hand on the row of a round, and let pages about the run under way have it now and then."""
        progress(row)
        if self._rows_so_far is not None:
            self._rows_so_far.note_round(self._so_far)

    def _so_far(self) -> SoFar:
        """Return what the run has recorded so far."""
        ledger = self.server.ledger
        tables: dict[str, Iterable[bytes]] = {
            "rounds.csv": [csv_bytes(ledger.round_columns())],
            "devices.csv": csv_pieces(ledger.device_names, ledger.device_blocks()),
        }
        tracks = self._more_tables(None).get(run_folder.TRACKS_FILE)
        # A model from outside may draw or remember when it is asked: it is asked no more often than the run needs it.
        if tracks is not None and not self._plugins:
            tables[run_folder.TRACKS_FILE] = [csv_bytes(tracks())]
        return SoFar(tables, self._summary(None))

    def _guarded(self, rounds: Generator[clock.Event, Any, None]) -> Generator[clock.Event, Any, None]:
        """Run the policy's process; an exception of a plug-in gets its line before SimPy makes a copy of it."""
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
        """Run the event loop, and return True as long as the run goes on.

        Args:
            until: an event of the clock `server.env`, or a virtual time [s]: the loop stops when it has come. The
                loop stops at the end of the run in any case; None: only there.

        Raises:
            RunError: something has stopped the run.
            KeyboardInterrupt: the user has.
            Exception: an error in edgefl itself, or in the driver's own code that the event loop called.
        """
        if self.status != "running":
            return False
        with self._noting_errors(), rare_collections():
            ended = clock.advance(self.server.env, self._rounds, until)
        if ended:
            self.status = "finished"
        return not ended

    def settle(self) -> None:
        """Wait until the accuracies of all rounds that have ended are known, and stand in the ledger.

        Raises:
            RunError: learning has failed.
        """
        with self._noting_errors():
            self.server.replay.settle(wait=True)

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        """Note what stops the run, and let it pass on to whoever drives the run."""
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
        """Note an error that has stopped the run; what has stopped it before stays its reason."""
        self.stop("failed", self.error or str(error))
        if isinstance(error, DivergedError):
            self.diverged = error.what

    def stop(self, status: Status, message: str) -> None:
        """Note what has stopped the run before its end; a driver calls this when its own code has failed."""
        self.status = status
        self.error = message

    def finish(self) -> Result:
        """Wait for learning, write the results, release what the run holds, and return the results.

        A run that has not come to its end counts as interrupted; its finished rounds are its results.

        Raises:
            RunError: the results cannot be written.
            Exception: the error in edgefl itself that ended the run; it is raised once the finished rounds are on disk.
        """
        if self.status == "running":
            self.stop("interrupted", f"stopped at {self.server.env.now:.6g} s, before its end")
        # A second signal must not destroy what the first one has left to be written.
        with self._held, interrupts.deferred():
            result = self._collect()
            # Only now that the finished rounds are on disk: a bug in round 900 must not lose the 899 before it.
            if self._bug is not None:
                raise self._bug
            if result.status == "finished" and not self.options.share:
                self._tidy_record()
            return result

    def _collect(self) -> Result:
        """Wait for learning, write the results, and return them."""
        server = self.server
        scenario = self.scenario
        trained = None
        accuracies = None
        # Learning is lazy: the last rounds may still have to be learned, which may fail as well.
        try:
            with attributing(self._plugins, RunError):
                trained = server.replay.trained()
                accuracies = server.replay.finish()
                if self.status == "finished" and self._worth_keeping:
                    server.replay.keep()
        except RunError as error:
            self.fail(error)
            log.debug("learning ends: %s", trail(error))
        summary = self._summary(accuracies)
        if scenario.in_sessions.several:
            summary["storage"] = self._storage()
        server.replay.close()
        wall_s = _wall_s(time.perf_counter() - self._began_s, self._setup_s, server.replay.learning_s)
        result = Result(
            scenario=self._resolved.model_dump(mode="json"),
            summary={**summary, "wall_s": wall_s},
            trained=trained,
            status=self.status,
            ledger=server.ledger,
            error=self.error,
            folder=self.options.out,
            manifest=self._described_manifest() | self._described_end(wall_s["total"]),
            resolved=self._resolved,
            more_tables=self._more_tables(accuracies),
        )
        if self.options.out is not None:
            self._check_place(self.options.out)
            _write(self.options.out, result)
        return result

    def _check_place(self, folder: Path) -> None:
        """Check that the folder is still this run's, even if it was removed and another one of its name was made.

        Raises:
            RunError: another process is running there now, or a file of the user's has a name of a result.
        """
        if self._journal is None or self._journal.holds_lock:
            return
        if is_under_way(folder):
            raise RunError(f"{folder}: was removed, and another process is running there now: the results are lost")
        try:
            run_folder.check_files(folder, own_tables(self.scenario.report))
        except InputError as error:
            raise RunError(f"{error}; the results of the run are lost") from None

    def _summary(self, accuracies: Floats | None) -> dict[str, Any]:
        """Return the summary of the rounds that have ended.

        Args:
            accuracies: accuracy of the final model on each device's own samples; None if they are not known.
        """
        return summarize(
            self.server.ledger,
            self.scenario.targets,
            self.scenario.report.last_tests,
            accuracies,
            by_session=self.scenario.in_sessions.several,
            devices=self.scenario.devices.count,
        )

    def _storage(self) -> dict[str, int]:
        """Return what the server and a device keep from round to round, see `storage`."""
        scenario = self.scenario
        known = len(self._divided.parts)
        if not scenario.in_sessions.keep_state:
            known = known // scenario.groups  # the server's state is about one group at a time
        history_bytes = max((row["history_bytes"] for row in self.server.ledger.rounds), default=0)
        model_bytes = int(self.server.payload.model_bits / 8)
        return storage(scenario.algorithm, scenario.learning, model_bytes, known, history_bytes)

    def _more_tables(self, accuracies: Floats | None) -> dict[str, Callable[[], Columns]]:
        """Return what makes the tables that are not in the ledger, by their files: few results are asked for them.

        Args:
            accuracies: accuracy of the final model on each device's own samples; None without learning.
        """
        tables: dict[str, Callable[[], Columns]] = {}
        data = self._divided.data
        if accuracies is not None:
            tables[run_folder.DEVICE_ACCURACY_FILE] = partial(accuracy_columns, accuracies, self._divided.own_parts)
        if data.classes:
            tables[run_folder.LABELS_FILE] = partial(holdings, data.train_y, self._divided.parts)
        if self.scenario.mobility.moves:
            ledger = self.server.ledger
            tables[run_folder.TRACKS_FILE] = partial(
                trajectories, self.server.world, ledger.participants, ledger.time_s
            )
        return tables

    def _tidy_record(self) -> None:
        """Delete what a finished run has on record, but for the state from which it can be extended."""
        if self.options.out is None or self._journal is None or not self._journal.holds_lock:
            return
        if not self._worth_keeping or not self._journal.conclude():
            run_folder.remove_checkpoints(self.options.out)

    @property
    def _worth_keeping(self) -> bool:
        """True if a finished run keeps its last state, from which it can be extended by further rounds."""
        if not self.options.extendable or self.options.share:
            return False
        # A short run is learned again faster than its state is written, and leaves nothing behind.
        return self.options.pace is not None or self.server.replay.learning_s > Pace.FIRST_S

    def _described_manifest(self) -> dict[str, Any]:
        """Return what the manifest says about machine, time and learner."""
        return {**self._manifest, "learner": self._learner_described()}

    def _described_end(self, wall_s: float) -> dict[str, Any]:
        """Return what the manifest says about the run's end."""
        described: dict[str, Any] = {"wall_s": wall_s, "status": self.status, "error": self.error}
        if self.diverged is not None:
            described["diverged"] = self.diverged
        return described | {"resources": provenance.used_resources(self._cpu_began_s)}

    def _learner_described(self) -> Mapping[str, Any] | None:
        """Return how devices' updates are trained; the plan on record if this process has trained none."""
        described = self.server.replay.described()
        if described is None and self._journal is not None:
            plan: Mapping[str, Any] | None = self._journal.outcome("plan")
            return plan
        return described


def _journal(options: Options, folder: Path) -> Journal:
    """Open the record of what a run learns, in its result folder."""
    # On a cluster, others may have learned on another type of processor: that is not joined with what is learned here.
    alike = [other for other in options.shared if is_of_this_processor(other)]
    if options.shared and not alike:
        log.warning("what other runs have learned is of another type of processor: it is learned again on this one")
    records_of_others = [other / run_folder.CHECKPOINTS for other in alike]
    return Journal(folder / run_folder.CHECKPOINTS, fresh=not options.resume, others=records_of_others)


FolderState = tuple[tuple[str, int], ...]  # names of the result files in a folder, and when they were written [ns]


def _state_of(folder: Path | None) -> FolderState:
    """Return which result files a folder holds, and when each was written."""
    found = []
    if folder is not None:
        for name in (*run_folder.RESULT_FILES, *run_folder.FILES_OF_MANY_RUNS):
            if name == run_folder.REPORT_FILE:
                continue  # whoever looks at a run may write its page at any time
            with suppress(FileNotFoundError, NotADirectoryError):
                found.append((name, (folder / name).stat().st_mtime_ns))
    return tuple(found)


def _lock(folder: Path, journal: Journal, before: FolderState, own: Sequence[ResultFile]) -> None:
    """Keep other processes out of the folder, before anything in it is changed.

    Raises:
        Taken: another process runs there, or has run there since this one began.
        InputError: a file of the user's has a name of a result.
    """
    journal.lock()
    try:
        if _state_of(folder) != before:
            text = "another process has run there meanwhile; choose another folder with -o, or resume it"
            raise Taken(f"{folder}: {text}")
        run_folder.check_files(folder, own)  # a user's file may have come since
    except InputError:
        journal.withdraw()
        raise


def _drop_record(folder: Path) -> None:
    """Delete what a finished run has on record.

    Raises:
        Taken: another process is going on with the run.
    """
    if not (folder / run_folder.LOCK).exists():
        return
    with closing(locked(folder / run_folder.LOCK, make=False)):
        run_folder.remove_checkpoints(folder)


def _open(folder: Path, journal: Journal, scenario: Scenario, divided: Divided, manifest: Mapping[str, Any]) -> None:
    """Write the files that are known before the first round."""
    journal.open()
    writer.open_folder(folder)
    run_folder.remove_progress(folder)
    running = {**manifest, "wall_s": None, "status": "running", "error": None}
    with FileGroup(folder) as files:
        # The manifest appears first: a folder with nothing else is that of a run which was killed here.
        files.write(MANIFEST_FILE, _manifest(folder, running))
        files.write(run_folder.SCENARIO_FILE, dump(scenario).encode())
        if divided.data.classes:
            writer.write_labels(files, holdings(divided.data.train_y, divided.parts))


def _begun(folder: Path) -> Any:
    """Return the content of the scenario.yaml in a folder; None if there is none that can be read."""
    try:
        content, _ = parse(read_text(folder / run_folder.SCENARIO_FILE))
    except (OSError, ValueError, NotYaml):
        return None  # `_finished` says what is wrong
    return content


def _finished(folder: Path, scenario: Scenario, *, beside_others: bool) -> Result | None:
    """Return the finished result that a folder holds; None if its run is unfinished, to be extended, or not begun.

    Args:
        folder: the folder.
        scenario: what is to be run in it.
        beside_others: a run may begin beside what else is in the folder.

    Raises:
        InputError: the folder holds something else, or a run of another scenario.
    """
    file = folder / run_folder.SCENARIO_FILE
    if not file.exists():
        if not folder.exists():
            return None
        names = run_folder.names_in(folder)
        if beside_others or names <= {run_folder.CHECKPOINTS, MANIFEST_FILE}:
            return None  # a run was killed before its first round
        raise run_folder.holds_others(folder, "run", names)
    extends = check_begun(folder, text_of(folder, file.name), scenario)
    result = read_result(folder)
    if result.status != "finished":
        return None
    check_plugins(folder, plugins_in(scenario))
    if extends:
        if not (folder / run_folder.CHECKPOINTS).exists():
            log.info("%s: kept no record of what it learned: its rounds are learned again", folder)
        return None
    return result


def _write(folder: Path, result: Result) -> None:
    """Write a result to its folder.

    Raises:
        RunError: the folder cannot be written.
    """
    if result.ledger is None:
        return
    try:
        with FileGroup(folder) as files:
            _write_beginnings_again(files, result)
            writer.write_ledger(files, result.ledger)
            if result.trained is not None:
                writer.write_model(files, result.trained, result.scenario)
            if run_folder.DEVICE_ACCURACY_FILE in result.more_tables:
                writer.write_device_accuracies(files, result.more_tables[run_folder.DEVICE_ACCURACY_FILE]())
            if run_folder.TRACKS_FILE in result.more_tables:
                writer.write_tracks(files, result.more_tables[run_folder.TRACKS_FILE]())
            files.write(SUMMARY_FILE, writer.json_bytes(result.summary))
        run_folder.remove_progress(
            folder
        )  # before the manifest says that the run has ended: nothing must be left of it then
        write_atomically(folder / MANIFEST_FILE, _manifest(folder, result.manifest))
    except OSError as error:
        raise RunError(f"{folder}: the results cannot be written: {error.strerror}") from None


def _write_beginnings_again(files: FileGroup, result: Result) -> None:
    """Write what was known before the first round, if the folder has been removed since."""
    folder = files.folder
    if (folder / run_folder.SCENARIO_FILE).exists() or result.resolved is None:
        return
    log.warning("%s: was removed while the run was under way; its results are written, its record is lost", folder)
    files.write(run_folder.SCENARIO_FILE, dump(result.resolved).encode())
    if run_folder.LABELS_FILE in result.more_tables:
        writer.write_labels(files, result.more_tables[run_folder.LABELS_FILE]())


def _manifest(folder: Path, manifest: Mapping[str, Any]) -> bytes:
    """Return the manifest as JSON, with digests of the files that the folder holds now."""
    digests: dict[str, Any] = {"digests": provenance.digests(folder, described_in(manifest, folder))}
    if (folder / SUMMARY_FILE).exists():
        digests[SUMMARY_DIGEST] = provenance.digest(folder / SUMMARY_FILE)
    return writer.json_bytes({**manifest, **digests})


def _wall_s(total: float, setup: float, learning: float) -> dict[str, float]:
    """Return how the wall-clock time [s] divides into setup, learning and world."""
    # The world (event loop, radio, ledger) is not measured: it is what the others leave.
    world = total - setup - learning
    parts = {"total": total, "setup": setup, "learning": learning, "world": world}
    return {name: round(value, 3) for name, value in parts.items()}
