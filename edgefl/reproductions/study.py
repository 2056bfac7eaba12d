"""A study: the runs of a recipe in a folder, a row of readings for each run, and their comparison.

The folder holds `runs`, a sweep; `measured.csv`, a row for each run, which stays when the runs are deleted; and the
pages.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from edgefl.core import own_files
from edgefl.core.errors import InputError
from edgefl.reproductions import pages
from edgefl.reproductions.comparison import Comparison, compare, missing
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.library import Library
from edgefl.reproductions.needs import lacking, needs
from edgefl.reproductions.plan import Plan, PlannedRun
from edgefl.reproductions.plan import plan as plan_of
from edgefl.reproductions.readings.base import Reading, columns_of
from edgefl.reproductions.records import LACKS, Row, Rows, merged, read_rows, write_rows
from edgefl.reproductions.scenarios import scenarios_of, settings_digest
from edgefl.reproductions.study_folder import (
    MARKS,
    MEASURED,
    RUNS,
    check_folder,
    default_folder,
    is_begun,
    local_rows,
    recorded_rows,
)
from edgefl.results.integrity import DATA_LACKS
from edgefl.results.run_folder import LOCK
from edgefl.runs import sweep_folder, sweeps
from edgefl.runs.sweep_folder import scenario_digest
from edgefl.runs.sweeps import OnRunEnd, SweepOptions, ignore
from edgefl.scenario import Scenario, Sweep, SweepPoint


@dataclass(frozen=True)
class StudyOptions:
    """Choices about how to run a study; none changes a result, apart from rounding between CPU and GPU."""

    out: Path | None = None  # its folder; None: results/reproductions/PAPER/ITEM/SCALE
    workers: int | None = None  # runs at a time
    cluster: str | None = None  # address of a Ray cluster
    device: str = "auto"
    resume: bool = False  # run what is missing in the folder
    overwrite: bool = False  # replace what is in the folder
    record: bool = False  # count recorded rows as measured, and add the new ones to them


@dataclass(frozen=True)
class StudyResult:
    """A study that has ended, or was interrupted."""

    folder: Path
    comparison: Comparison
    failed: Mapping[str, str]  # why, by the run's folder
    interrupted: bool


def run(library: Library, plan: Plan, options: StudyOptions, on_run_end: OnRunEnd = ignore) -> StudyResult:
    """Run the missing runs of a recipe, read them, and write the comparison.

    Args:
        library: the recipe's library.
        plan: the recipe's plan.
        options: how to run it.
        on_run_end: called after each run.

    Raises:
        InputError: data are missing, the folder holds another study, or another process runs there; nothing was
            written.
        RunError: results cannot be written or read.
    """
    for need in lacking(needs(plan)):
        text = f"needs the dataset {need.name}, which is not here: {need.remedy}{_smaller(library, plan)}"
        raise InputError(f"{plan.entry.name}: {text}")
    if plan.recipe.apart and options.cluster is not None:
        text = "measures processor time and memory of single processes, which a cluster's are not: leave --cluster out"
        raise InputError(f"{plan.entry.name}: {text}")
    study = _Study(library, plan, options)
    with study.alone():
        return study.run(on_run_end)


def _smaller(library: Library, plan: Plan) -> str:
    """Return a remedy: another scale of the recipe, whose data are all here; empty if there is none."""
    for scale in plan.entry.recipe.scale_names:
        if scale != plan.scale and not lacking(needs(plan_of(library, plan.entry, scale))):
            return f"; --scale {scale} takes only data that are here"
    return ""


class _Study:
    """The runs of one plan in one folder."""

    def __init__(self, library: Library, plan: Plan, options: StudyOptions) -> None:
        self._plan = plan
        self._options = options
        self._folder = (options.out or default_folder(plan.entry, plan.scale)).absolute()
        self._library = library
        self._record = library.recorded(plan.entry, plan.scale)
        self._measures: Mapping[str, Reading] = library.measures(plan.entry.runs_of)
        self._scenarios: Mapping[tuple[str, ...], Scenario] = scenarios_of(plan)
        self._digests = {key: scenario_digest(scenario) for key, scenario in self._scenarios.items()}
        self._rows: Rows = {}
        self._unreadable: dict[str, str] = {}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out of the folder."""
        check_folder(self._folder, overwrite=self._options.overwrite)
        with own_files.alone(self._folder / LOCK):
            check_folder(self._folder, overwrite=self._options.overwrite)  # files may have come since
            self._read_rows()
            yield

    def _read_rows(self) -> None:
        """Read the folder's rows; refuse an unfinished study without --resume, and another recipe's."""
        folder = self._folder
        self._rows = {}
        if self._options.record:
            self._rows = recorded_rows(self._library, self._plan)
        if self._options.overwrite:
            return
        rows = local_rows(self._plan, folder)
        changed = [row for key, row in rows.items() if key in self._digests and row.digest != self._digests[key]]
        if changed:
            text = f"{len(changed)} of its runs were measured with other scenarios: the recipe has been edited since"
            if any(row.origin.get("version") != changed[0].origin.get("version") for row in rows.values()):
                text = f"{text}, or edgefl is another version"
            remedy = "choose another folder with -o, or start again with --overwrite"
            raise InputError(f"{folder / MEASURED}: {text}; {remedy}")
        self._rows |= rows
        if is_begun(folder) and self._missing() and not (self._options.resume or self._options.record):
            left = len(self._missing())
            text = f"holds a study with {left} of {len(self._plan.runs)} runs missing"
            raise InputError(f"{folder}: {text}: run them with --resume, or start again with --overwrite")

    def _missing(self) -> list[PlannedRun]:
        return [run for run in self._plan.runs if missing(self._plan, run.key, self._rows)]

    def run(self, on_run_end: OnRunEnd) -> StudyResult:
        """Run the missing runs, and write and return the comparison."""
        runs = {str(run.place): run for run in self._missing()}

        def on_end(statuses: Sequence[str], place: str, status: str) -> None:
            if status == "finished":  # read as soon as it ends, so that an interrupted study keeps its row
                self._read(runs[place])
            on_run_end(statuses, place, status)

        failed: dict[str, str] = {}
        interrupted = False
        if runs:
            result = sweeps.run(self._sweep(list(runs.values())), self._sweep_options(), on_end, on_begin=self._begin)
            for ended in result.runs:
                place = str(ended.point.place)
                if ended.status == "finished" and missing(self._plan, runs[place].key, self._rows):
                    self._read(runs[place])  # it had finished before, but was not read
                if ended.status == "failed" and not self._note_divergence(runs[place]):
                    failed[place] = ended.error or "failed"
                interrupted = interrupted or ended.status in {"interrupted", "pending"}
        else:
            if self._options.overwrite:
                sweep_folder.clear(self._folder / RUNS)
            self._begin()
        if self._options.record:
            self._record_others()
        comparison = compare(self._plan, self._rows)
        pages.write(comparison, self._folder)
        return StudyResult(self._folder, comparison, {**failed, **self._unreadable}, interrupted)

    def _begin(self) -> None:
        """Remove half-written files, and the rows of a study that starts over; the sweep removes its runs."""
        own_files.remove_half_written(self._folder)
        if self._options.overwrite:
            own_files.remove(self._folder / MEASURED, MARKS[MEASURED])

    def _sweep(self, runs: Sequence[PlannedRun]) -> Sweep:
        points = [SweepPoint(run.label, run.point, self._scenarios[run.key]) for run in runs]
        name = self._plan.entry.name.replace("/", "-")
        return Sweep(name, tuple(self._plan.axes), tuple(points), self._plan.recipe.train)

    def _sweep_options(self) -> SweepOptions:
        return SweepOptions(
            out=self._folder / RUNS,
            workers=self._options.workers,
            cluster=self._options.cluster,
            device=self._options.device,
            resume=not self._options.overwrite,
            overwrite=self._options.overwrite,
            growing=True,  # more seeds, or runs whose folders have been deleted
            report=False,  # the study has a page of its own
            apart=self._plan.recipe.apart,
        )

    def _read(self, run: PlannedRun) -> None:
        try:
            row = read_run(self._plan, run, self._folder / RUNS / run.place, self._measures, self._digests[run.key])
        except InputError as error:
            self._unreadable[str(run.place)] = str(error)  # the other runs go on
            return
        self._keep(row)

    def _note_divergence(self, run: PlannedRun) -> bool:
        """Keep a divergence, which is a result; return False if the run failed for another reason."""
        row = read_divergence(self._plan, run, self._folder / RUNS / run.place, self._digests[run.key])
        if row is None:
            return False
        self._keep(row)
        return True

    def _keep(self, row: Row) -> None:
        """Write a row into the folder and, with `record`, into the record."""
        row = merged(self._rows.get(row.key), row)
        self._rows[row.key] = row
        order = {planned.key: number for number, planned in enumerate(self._plan.runs)}
        own = [row for row in self._rows.values() if row.digest]  # recorded rows have none
        # Rows of other seeds, which are not in this plan, come last.
        own.sort(key=lambda one: order.get(one.key, len(order)))
        write_rows(self._folder / MEASURED, own)
        if self._options.record:
            self._add_to_record({row.key: row})

    def _record_others(self) -> None:
        """Add this plan's rows of the folder that were measured without `record`, such as on another machine."""
        known = recorded_rows(self._library, self._plan)
        self._add_to_record({key: row for key, row in self._rows.items() if key in self._digests and key not in known})

    def _add_to_record(self, rows: Rows) -> None:
        if not rows:
            return
        recorded = read_rows(self._record, self._plan.axes)
        # Recorded rows have no digest: they count until the recipe changes.
        recorded |= {key: replace(row, digest="") for key, row in rows.items()}
        write_rows(self._record, recorded.values())


def read_run(plan: Plan, run: PlannedRun, folder: Path, measures: Mapping[str, Reading], digest: str = "") -> Row:
    """Return the row of a finished run.

    Args:
        plan: the plan that has the run.
        run: the run.
        folder: its result folder.
        measures: the readings.
        digest: of its scenario.

    Raises:
        InputError: the folder is damaged, or lacks what a reading needs.
    """
    finished = FinishedRun(folder)
    texts: dict[str, str] = {}
    for name, reading in measures.items():
        texts |= columns_of(name, reading.read(finished))
    return Row(run.point, run.seed, texts, _origin(plan, run, finished), digest)


def read_divergence(plan: Plan, run: PlannedRun, folder: Path, digest: str = "") -> Row | None:
    """Return the row of a failed run that diverged; None if it failed for another reason (arguments: `read_run`)."""
    failed = FinishedRun(folder)
    try:
        manifest = failed.documents.manifest
        origin = _origin(plan, run, failed)
    except InputError:  # it failed before it wrote anything
        return None
    if "diverged" not in manifest:
        return None
    return Row(run.point, run.seed, {}, origin, digest, diverged=str(manifest["diverged"]))


def _origin(plan: Plan, run: PlannedRun, finished: FinishedRun) -> dict[str, str]:
    """Return the origin of a row, by the columns `records.ORIGIN`."""
    manifest = finished.documents.manifest
    try:
        began = datetime.fromisoformat(manifest["started"])
        took_s = f"{round(manifest['wall_s'])}"
    except (KeyError, OverflowError, TypeError, ValueError):
        text = "started must be a date, and wall_s a number of seconds; the file is damaged"
        raise InputError(f"{finished.folder}/manifest.json: {text}") from None
    return {
        "version": str(manifest.get("edgefl", "")),
        "commit": str(manifest.get("git") or "")[:7],
        "date": str(began.date()),
        "took_s": took_s,
        "settings": settings_digest(plan, run),
        LACKS: str(manifest.get(DATA_LACKS, "")),
    }
