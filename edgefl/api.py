"""The Python interface: the verbs of the command line, with results in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefl.core.errors import InputError
from edgefl.core.files import opened
from edgefl.core.own_files import check_not_read, check_replaceable
from edgefl.learning.record import Pace
from edgefl.results import metrics, what_if_table
from edgefl.results import report as report_page
from edgefl.results.export.effects_table import EffectTable, effect_rows, effect_table
from edgefl.results.participation import updates_of
from edgefl.results.reader import FINISHED_STATUS
from edgefl.results.report.comparison import comparison
from edgefl.results.report.comparison.comparison import ComparedRun, Comparison, ComparisonOptions
from edgefl.results.report.shared.questions import Question
from edgefl.results.report.shared.read import Run, load_all, with_devices
from edgefl.results.report.sweep import is_sweep
from edgefl.results.report.sweep.gathering import gathered, has_points
from edgefl.results.report.sweep.selection import StudyChoice
from edgefl.results.result import Result, read_result
from edgefl.results.run_folder import PAGE, SCENARIO_FILE
from edgefl.results.targets import end_of
from edgefl.runs import notebook, sweeps, what_if_points
from edgefl.runs import what_if as what_if_prices
from edgefl.runs.emulation import RESULTS, Options
from edgefl.runs.emulation import run as run_scenario
from edgefl.runs.main_guard import check_guard
from edgefl.runs.report_page import REPORT, write_report
from edgefl.runs.sweep_index import INDEX
from edgefl.runs.sweeps import SweepOptions
from edgefl.scenario import Scenario, changed, load, load_sweep
from edgefl.scenario.overrides import with_seed
from edgefl.scenario.python_values import as_in_yaml
from edgefl.server.evaluation import RoundListener

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare", "load", "read", "report", "run", "sweep", "what_if"]

Source = str | Path | Result


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    device: str = "auto",
    cluster: str | None = None,
    train: bool = True,
    overwrite: bool = False,
    resume: bool = False,
    pace: Pace | None = None,
    extendable: bool = True,
    progress: RoundListener | None = None,
) -> Result:
    """Run one emulation.

    Args:
        scenario: a YAML file, the same as nested mappings, or a loaded scenario.
        overrides: "dotted.key=value" each.
        seed: replaces the scenario's seed.
        out: result folder; None keeps everything in memory.
        device: auto, cpu, cuda or cuda:i.
        cluster: address of a Ray cluster whose machines train, or auto (docs/cluster.md); this machine if not given.
        train: False prices the world (latency, energy, participation) without any learning.
        overwrite: replace the results that are in `out` already.
        resume: continue the run of the same scenario in `out`, or begin it if there is none.
        pace: when checkpoints are written; by default they take at most two per cent of the time.
        extendable: whether a finished run keeps its last state, so that it can be extended.
        progress: called with each finished round's row; by default IPython and notebooks show a bar, programs nothing.

    Returns:
        The result; `result.status` tells whether the run finished, was interrupted or failed.

    Raises:
        InputError: the input is wrong; nothing was run, nothing was written.
        RunError: the results cannot be written.
    """
    folder = None
    if out is not None:
        folder = Path(out).absolute()  # code from outside may change the working directory
        if overwrite and isinstance(scenario, str | Path):
            check_not_read(Path(scenario), folder / SCENARIO_FILE)
    scenario = loaded(scenario, overrides, seed)
    options = Options(folder, device, train, overwrite, resume, pace, cluster=cluster, extendable=extendable)
    with notebook.shown(progress, scenario.name, scenario.in_sessions.total) as listener:
        result = run_scenario(scenario, options, listener)
    if folder is not None:
        if result.status == FINISHED_STATUS:
            what_if_prices.price_at_end(folder, scenario)
        write_report(folder)  # the finished rounds of a failed or interrupted run are results, too
    return result


def loaded(
    scenario: str | Path | Mapping[str, Any] | Scenario, overrides: Sequence[str] = (), seed: int | None = None
) -> Scenario:
    """Return the scenario that `run` would run; the arguments are those of `run`.

    Raises:
        InputError: the input is wrong.
    """
    changes = with_seed(overrides, seed)
    if not isinstance(scenario, Scenario):
        return load(scenario, changes, needs_files=True)
    if changes:
        return changed(scenario, changes)
    return scenario


def sweep(
    source: str | Path | Mapping[str, Any],
    *,
    overrides: Sequence[str] = (),
    out: str | Path | None = None,
    workers: int | None = None,
    device: str = "auto",
    cluster: str | None = None,
    gpus_per_run: float | None = None,
    train: bool = True,
    resume: bool = False,
    overwrite: bool = False,
) -> pd.DataFrame:
    """Run a sweep file in processes; the calling program needs `if __name__ == "__main__":`.

    IPython and notebooks show a bar of ended runs, programs nothing.

    Args:
        source: the sweep file, or the same as nested mappings, whose `base` may be a scenario's mapping.
        overrides: "dotted.key=value" each, for all points.
        out: folder of all result folders; results/<name> if not given.
        workers: runs at a time; as many as there are GPUs, or cores, if not given.
        device: auto, cpu, cuda or cuda:i.
        cluster: address of a Ray cluster, or auto (docs/cluster.md); this machine if not given.
        gpus_per_run: of the cluster, a part of one or whole ones; one if not given and the cluster has any.
        train: False prices the worlds without any learning.
        resume: run what is missing in `out`.
        overwrite: replace an earlier sweep in `out`.

    Returns:
        The index: one row for each run, with its values, status, folder, totals and targets.

    Raises:
        InputError: the input is wrong, or the program has no such line; nothing was run, nothing was written.
        RunError: the report cannot be written.
    """
    if cluster is None:
        check_guard()
    here = Path.cwd()  # code from outside may change it
    loaded_sweep = load_sweep(source, overrides)
    options = SweepOptions(
        out=here / (out or RESULTS / loaded_sweep.name),
        workers=workers,
        device=device,
        cluster=cluster,
        gpus_per_run=gpus_per_run,
        train=train,
        resume=resume,
        overwrite=overwrite,
    )
    with notebook.runs_shown(loaded_sweep.name, len(loaded_sweep.points)) as listener:
        result = sweeps.run(loaded_sweep, options, listener)
    return _index(result.index)


def read(folder: str | Path) -> Result | pd.DataFrame:
    """Return the result of a run's folder, or the index of a sweep's folder, as `sweep` returns it.

    Tables and model are read when they are needed.

    Raises:
        InputError: the folder holds neither, or one of its files cannot be read.
    """
    path = Path(folder)
    if not is_sweep(path):
        return read_result(path)
    try:
        return _index(path / INDEX)
    except (OSError, ValueError) as error:
        raise InputError(f"{path / INDEX}: cannot be read: {error}") from None


def _index(path: Path) -> pd.DataFrame:
    import pandas as pd  # late, as it is slow to import

    # Only empty cells and nan are missing values; pandas would include texts such as "None" and "NA".
    with opened(path) as stream:
        return pd.read_csv(stream, keep_default_na=False, na_values=["", "nan"])


def what_if(
    folder: str | Path,
    over: Mapping[str, Sequence[Any] | str],
    *,
    out: str | Path | None = None,
    workers: int | None = None,
) -> pd.DataFrame:
    """Price a finished run again with other values of some keys, one at a time, without learning (docs/what-if.md).

    Args:
        folder: the run's result folder.
        over: by key, a list of values or a range such as "5e6..100e6" or "5e6..100e6:16".
        out: file for the table; by default the table and the page in the folder are written.
        workers: values at a time; as many as there are cores, if not given.

    Returns:
        The run itself, and one row for each value, with the columns of what_if.csv; NaN for empty cells.

    Raises:
        InputError: the folder holds no finished run, or a key or a value cannot be priced; nothing was written.
        RunError: the table or the page cannot be written.
    """
    import pandas as pd

    listed: dict[str, Sequence[Any]] = {}
    for key, values in over.items():
        listed[key] = as_in_yaml(values, "over", (key,))
        if isinstance(values, str):
            listed[key] = what_if_points.parse_over(f"{key}={values}")[1]
    path = Path(folder).absolute()  # code from outside may change the working directory
    file = None if out is None else Path(out).absolute()
    rows = what_if_prices.price_folder(path, listed, lambda _: "what_if", out=file, workers=workers)
    if file is None:
        write_report(path)
    return pd.DataFrame(what_if_table.columns_of(rows))


def report(
    sources: Source | Sequence[Source],
    out: str | Path | None = None,
    *,
    runs: bool = False,
    target: float | str | None = None,
    at: str | None = None,
    where: Sequence[str] = (),
) -> Path:
    """Write one self-contained HTML page about one or several runs, or about a sweep (docs/sweep-report.md).

    Args:
        sources: result folders or results, side by side on the page; or the folder of a sweep.
        out: the page; None: `report.html` in the only folder, or else in the working directory.
        runs: also write and link the pages of a sweep's finished runs.
        target: of a sweep, an accuracy or a limit such as "test_loss<0.5" that the page shows too.
        at: of a sweep, the end of the rounds that count, such as "600s", "1.5kJ" or "20rounds".
        where: of a sweep, the points that count, "KEY=V,V" each.

    Returns:
        The path of the page.

    Raises:
        InputError: a folder holds no results, or the page cannot be written, or would replace a user's file that
            `out` does not name.
    """
    if isinstance(sources, str | Path | Result):
        sources = [sources]
    found: list[Path | Run] = []
    for source in sources:
        if not isinstance(source, Result):
            found.append(Path(source))
        elif source.folder is not None:
            found.append(source.folder)
        else:
            found.append(source.as_run())
    if out is None:
        out = Path(REPORT)
        if len(found) == 1 and isinstance(found[0], Path):
            out = found[0] / out
        check_replaceable(Path(out).parent, {REPORT: PAGE})
    choice = StudyChoice(where=tuple(where), target=None if target is None else str(target), at=at)
    if not runs:
        return report_page.write(found, Path(out), choice)
    folder = found[0]
    if len(found) > 1 or not isinstance(folder, Path) or not is_sweep(folder):
        raise InputError("report: --runs: writes the pages of the runs of a sweep: name the folder of one sweep only")
    page = report_page.write([folder], Path(out), choice)
    report_page.write_pages_of_runs(folder)
    return report_page.write([folder], page, choice)  # again, with links to the new pages


def compare(
    runs: Source | Sequence[Source],
    *,
    targets: Sequence[float | str] = (),
    relative: Sequence[float] = (),
    last: int = 50,
    initial: int = 10,
    at: str | None = None,
    where: Sequence[str] = (),
    facet: Sequence[str] = (),
    baseline: Sequence[str] = (),
    measures: Sequence[str] = (),
) -> pd.DataFrame:
    """Compare runs with the first of them, the reference (docs/metrics.md has the columns); or the keys of a sweep.

    Args:
        runs: result folders or results, the reference first; or a sweep's folder, several ones, or points of sweeps.
        targets: accuracies besides those of the scenarios, or limits of columns of rounds.csv, such as
            "test_loss<0.5"; of a sweep, the one that is compared.
        relative: targets as fractions of the reference's best accuracy.
        last: the number of last tests for mean and standard deviation.
        initial: the number of first rounds of each session for the initial mean.
        at: the end of the rounds that count, such as "600s", "1.5kJ" or "20rounds"; by default that of the run.
        where: of a sweep, the points that count, "KEY=V,V" each.
        facet: of a sweep, keys at each of whose values the others are compared.
        baseline: of a sweep, methods, "KEY=V", a point or a run to compare with; by default the first values.
        measures: of a sweep, the measures, such as "time"; by default all that were measured.

    Returns:
        One row for each run; NaN if nothing was measured or a target was never reached. Of a sweep, one row for each
        measure and value of a key against the baseline value, all else equal (docs/sweep-report.md).

    Raises:
        InputError: a folder holds no results, a number is wrong, or a sweep has no such key, value or measure.
    """
    import pandas as pd

    if isinstance(runs, str | Path | Result):
        runs = [runs]
    choice = StudyChoice(where=where, facet=facet, baseline=baseline, measure=measures)
    folders = [Path(run) for run in runs if not isinstance(run, Result)]
    if has_points(folders):
        if len(folders) < len(runs):
            raise InputError("compare: results in memory have no sweep: compare them with runs")
        if len(targets) > 1 or relative:
            raise InputError("compare: of a sweep, name at most one target, and no relative one")
        choice = replace(choice, target=str(targets[0]) if targets else None, at=at)
        return pd.DataFrame(effect_rows(effects_of(folders, choice)))
    if choice.is_made:
        raise InputError("compare: where, facet, baseline, measures: only of sweeps and points of sweeps")
    compared = compare_with_first(runs, ComparisonOptions(targets, relative, last, initial, at))
    return pd.DataFrame(list(compared.rows))


def effects_of(folders: Sequence[Path], choice: StudyChoice) -> EffectTable:
    """Return the effects of each key, all else equal: of a sweep, of several ones, or of points of sweeps.

    Raises:
        InputError: a folder cannot be read, or has no such key, value or measure.
    """
    return effect_table(gathered(folders), choice)


def compare_with_first(runs: Sequence[str | Path | Result], options: ComparisonOptions) -> Comparison:
    """Return a comparison of runs with the first of them.

    Raises:
        InputError: a folder holds no results, with one line each; or a number is wrong.
    """
    if len(runs) == 1:
        raise InputError(f"compare: name a reference and the runs to compare with it: {runs[0]} is alone")
    # All folders are read first, so that one error names all faults.
    folders = [Path(run) for run in runs if not isinstance(run, Result)]
    read = iter(load_all(folders, details=False))
    compared: list[ComparedRun] = []
    question = Question(end=end_of(options.at) if options.at else None)
    for run in runs:
        if isinstance(run, Result) and options.at is None:
            compared.append(_compared(run))
            continue
        known = run.as_run() if isinstance(run, Result) else with_devices(next(read))
        compared.append(comparison.compared_run(question.of(known), _name(run)))
    return comparison.compare(compared, options)


def _name(run: str | Path | Result) -> str:
    if isinstance(run, Result):
        return str(run.folder or f"{run.scenario['name']} · seed {run.scenario['seed']}")
    return str(run)


def _compared(result: Result) -> ComparedRun:
    if result.ledger is None or result.resolved is not None:
        return comparison.compared_run(result.as_run(), _name(result))
    columns = result.ledger.round_columns()  # a ledger that was filled by hand may have rounds only
    updates = updates_of(lambda column: metrics.total_of(columns, column))
    curve = metrics.accuracy_curve(columns)
    return ComparedRun(_name(result), result.scenario, result.status, curve, updates=updates, rounds=columns)
