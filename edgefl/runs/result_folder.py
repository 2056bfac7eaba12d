"""The folder of one run, from its first check until its results are written."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import InputError, RunError, Taken
from edgefl.core.files import FileGroup, locked, read_text, write_atomically
from edgefl.core.own_files import remove_half_written
from edgefl.core.written_yaml import NotYaml
from edgefl.learning.partitions.base import holdings
from edgefl.learning.record import Journal
from edgefl.records.result_files import ResultFile
from edgefl.results import provenance, run_folder, writer
from edgefl.results.csv_format import csv_bytes
from edgefl.results.integrity import MANIFEST_FILE, SUMMARY_DIGEST, SUMMARY_FILE, check_all
from edgefl.results.progress import is_under_way
from edgefl.results.reader import text_of
from edgefl.results.report.shared.questions import with_targets
from edgefl.results.result import Result, read_result
from edgefl.results.result_tables import described_in
from edgefl.runs.data_division import Divided
from edgefl.runs.extension import check_begun, check_plugins, is_of_this_processor
from edgefl.scenario import Scenario, dump
from edgefl.scenario.yaml_reader import parse

log = logging.getLogger(__name__)

FolderState = tuple[tuple[str, int], ...]  # names of the result files in a folder, and when they were written [ns]


class ResultFolder:
    """A run's folder, with the record of its learning, which no other process may use.

    The run will write `own` tables of measures from outside. It may read the records of other runs in the folders
    `shared`; if it `shares`, other runs will read its own record.

    Raises:
        InputError: another process uses the record, or it cannot be read.
    """

    def __init__(
        self, path: Path, own: Sequence[ResultFile], *, resume: bool, shared: tuple[Path, ...], shares: bool
    ) -> None:
        self.path = path
        self._own = own
        self._before = _state_of(path)
        self.record = _journal(path, shared, resume=resume, shares=shares)

    def close(self) -> None:
        """Release the record."""
        self.record.close()

    def begin(self, scenario: Scenario, divided: Divided, manifest: Mapping[str, Any]) -> None:
        """Keep other processes out of the folder, and write the files that are known before the first round.

        Raises:
            Taken: another process runs there, or has run there since this one began.
            InputError: a user's file has the name of a result.
        """
        self._lock()
        self.record.open()
        writer.open_folder(self.path)
        run_folder.remove_progress(self.path)
        running = {**manifest, "wall_s": None, "status": "running", "error": None}
        with FileGroup(self.path) as files:
            # The manifest appears first: a folder with nothing else belongs to a run that was killed here.
            files.write(MANIFEST_FILE, _manifest(self.path, running))
            files.write(run_folder.SCENARIO_FILE, dump(scenario).encode())
            if divided.data.one_class_each:
                files.write(run_folder.LABELS_FILE, csv_bytes(holdings(divided.data.train_y, divided.parts)))

    def _lock(self) -> None:
        self.record.lock()
        try:
            if _state_of(self.path) != self._before:
                text = "another process has run there meanwhile; choose another folder with -o, or resume it"
                raise Taken(f"{self.path}: {text}")
            run_folder.check_files(self.path, self._own)  # there may be new files of the user
        except InputError:
            self.record.withdraw()
            raise

    def write(self, result: Result) -> None:
        """Write a result.

        Raises:
            RunError: the folder cannot be written, or no longer belongs to this run.
        """
        self._check_place()
        _write(self.path, result)

    def _check_place(self) -> None:
        """Check that the folder still belongs to this run, even if it was removed and made again."""
        if self.record.holds_lock:
            return
        if is_under_way(self.path):
            raise RunError(f"{self.path}: was removed, and another process is running there now: the results are lost")
        try:
            run_folder.check_files(self.path, self._own)
        except InputError as error:
            raise RunError(f"{error}; the results of the run are lost") from None

    def tidy_record(self, *, extendable: bool, best: str | None) -> None:
        """Delete the record of a finished run, except for the state that it can be extended from.

        Its best model, under the key `best` of the record, may still be the best one then.
        """
        if not self.record.holds_lock:
            return
        if not extendable or not self.record.conclude(best):
            run_folder.remove_checkpoints(self.path)


# Before a run begins


def check_place(folder: Path, own: Sequence[ResultFile], *, overwrite: bool, resume: bool, beside_others: bool) -> None:
    """Check that results can be written to a folder without replacing a user's file.

    Raises:
        InputError: they cannot.
    """
    run_folder.check_folder(folder, may_hold_run=overwrite or resume, beside_others=beside_others)
    if resume:
        check_all(folder)  # first, as it names damaged files
    run_folder.check_files(folder, own)


def begun(folder: Path) -> Any:
    """Return the content of the scenario.yaml in a folder; None if it cannot be read."""
    try:
        content, _ = parse(read_text(folder / run_folder.SCENARIO_FILE))
    except (OSError, ValueError, NotYaml):
        return None  # `finished` reports it
    return content


def finished(folder: Path, scenario: Scenario, *, beside_others: bool) -> Result | None:
    """Return the finished result in a folder; None if its run is unfinished, to be extended, or not begun.

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
            log.info("%s: has no record of its learning: its rounds are learned again", folder)
        return None
    result.summary = dict(with_targets(folder, result.summary, scenario.targets))
    return result


def tidy_finished(folder: Path, *, keeps_record: bool) -> None:
    """Remove the remains of a finished run; raise `Taken` if another process is continuing the run.

    Raises:
        Taken: another process is continuing the run.
    """
    if not keeps_record and (folder / run_folder.LOCK).exists():
        with closing(locked(folder / run_folder.LOCK, make=False)):
            run_folder.remove_checkpoints(folder)
    with suppress(OSError):  # the results may be read-only
        remove_half_written(folder)  # of the report, which is written last


# Its record and its files


def _journal(folder: Path, shared: tuple[Path, ...], *, resume: bool, shares: bool) -> Journal:
    # On a cluster, others may have learned on another type of processor: such learning is not shared.
    alike = [other for other in shared if is_of_this_processor(other)]
    if shared and not alike:
        log.warning("other runs have learned on another type of processor: their learning is repeated on this one")
    records_of_others = [other / run_folder.CHECKPOINTS for other in alike]
    checkpoints = folder / run_folder.CHECKPOINTS
    return Journal(checkpoints, fresh=not resume, others=records_of_others, shared=shares)


def _state_of(folder: Path) -> FolderState:
    found = []
    for name in (*run_folder.RESULT_FILES, *run_folder.FILES_OF_MANY_RUNS):
        if name == run_folder.REPORT_FILE:
            continue  # a user may write the page at any time
        with suppress(FileNotFoundError, NotADirectoryError):
            found.append((name, (folder / name).stat().st_mtime_ns))
    return tuple(found)


def _write(folder: Path, result: Result) -> None:
    if result.ledger is None:
        return
    try:
        with FileGroup(folder) as files:
            _write_beginnings_again(files, result)
            writer.write_ledger(files, result.ledger)
            if result.trained is not None:
                writer.write_model(files, run_folder.MODEL_FILE, result.trained, result.scenario)
            if result.best is not None:
                writer.write_model(files, run_folder.BEST_MODEL_FILE, result.best, result.scenario)
            for name, columns in result.more_tables.items():
                if name != run_folder.LABELS_FILE:  # written at the beginning
                    files.write(name, csv_bytes(columns()))
            files.write(SUMMARY_FILE, writer.json_bytes(result.summary))
        # Before the manifest says that the run has ended.
        run_folder.remove_progress(folder)
        write_atomically(folder / MANIFEST_FILE, _manifest(folder, result.manifest))
    except OSError as error:
        raise RunError(f"{folder}: the results cannot be written: {error.strerror}") from None


def _write_beginnings_again(files: FileGroup, result: Result) -> None:
    """Write the files of the beginning again, if the folder has been removed since."""
    folder = files.folder
    if (folder / run_folder.SCENARIO_FILE).exists() or result.resolved is None:
        return
    log.warning("%s: was removed while the run was under way; its results are written, its record is lost", folder)
    files.write(run_folder.SCENARIO_FILE, dump(result.resolved).encode())
    if run_folder.LABELS_FILE in result.more_tables:
        files.write(run_folder.LABELS_FILE, csv_bytes(result.more_tables[run_folder.LABELS_FILE]()))


def _manifest(folder: Path, manifest: Mapping[str, Any]) -> bytes:
    """Return the manifest as JSON, with digests of the files in the folder now."""
    digests: dict[str, Any] = {"digests": provenance.digests(folder, described_in(manifest, folder))}
    if (folder / SUMMARY_FILE).exists():
        digests[SUMMARY_DIGEST] = provenance.digest(folder / SUMMARY_FILE)
    return writer.json_bytes({**manifest, **digests})
