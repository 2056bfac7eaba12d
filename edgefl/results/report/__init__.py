"""The report: one self-contained HTML page made from the files of one or several result folders, or of a sweep."""

from collections.abc import Sequence
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.files import write_for_user
from edgefl.core.own_files import check_replaceable
from edgefl.results.report import sweep
from edgefl.results.report.page import render
from edgefl.results.report.shared.read import Run, load_all
from edgefl.results.report.sweep.selection import NO_CHOICE, StudyChoice
from edgefl.results.run_folder import PAGE

__all__ = ["write", "write_pages_of_runs"]


def write(sources: Sequence[Path | Run], out: Path, choice: StudyChoice = NO_CHOICE) -> Path:
    """Write the page for result folders, or runs in memory, to ``out``, never half of it, and return its path.

    For the folders of sweeps ``statistics.csv`` is written beside it. A choice is of points, a target or an end of it.

    Raises:
        InputError: a folder is not a result folder or one of its files cannot be read, one line for each folder;
            or the page cannot be written.
    """
    if not sources:
        raise InputError("report: name at least one result folder")
    folders = [source for source in sources if isinstance(source, Path)]
    sweep_folders = [folder for folder in folders if sweep.is_sweep(folder)]
    if 0 < len(sweep_folders) < len(sources):
        raise InputError(f"report: {sweep_folders[0]} is a sweep's folder: name only sweeps beside it")
    if sweep_folders:
        return sweep.write(sweep_folders, out, choice)
    if choice.is_made:
        raise InputError("report: --target, --at, --where: only of a sweep: ask runs with `edgefl compare`")
    # All folders are read before the page is begun, so that one error names all that cannot be read.
    read = iter(load_all(folders, so_far=True))
    runs = [source if isinstance(source, Run) else next(read) for source in sources]
    above = ""
    if len(folders) == len(sources) == 1:
        above = sweep.sweep_link(folders[0], out)
    write_for_user(out, render(runs, above).encode())
    return out


def write_pages_of_runs(folder: Path) -> list[Path]:
    """Write the page of each finished run of a sweep into its result folder, and return their paths.

    They link to the page of the sweep, which must be there already.

    Raises:
        InputError: the folder is not a sweep's, a run lies outside it or cannot be read, or a page cannot be written.
    """
    runs = sweep.run_folders(folder)
    for run in runs:
        check_replaceable(run, {sweep.PAGE: PAGE})
    return [write([run], run / sweep.PAGE) for run in runs]
