"""What Python users call: the same as the command line does, with results in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefl.core.errors import InputError, RunError
from edgefl.learning.record import Pace
from edgefl.results import metrics
from edgefl.results.report import comparison, write
from edgefl.results.report.comparison import Compared, Wanted
from edgefl.results.report.read import load_all
from edgefl.results.result import Result
from edgefl.runs import sweeps
from edgefl.runs.emulation import Options, silent
from edgefl.runs.emulation import run as run_scenario
from edgefl.scenario import Scenario, load, load_sweep
from edgefl.server.replay import Progress

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare", "load", "report", "run", "sweep"]


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    device: str = "auto",
    train: bool = True,
    overwrite: bool = False,
    resume: bool = False,
    pace: Pace | None = None,
    progress: Progress = silent,
) -> Result:
    """Run one emulation.

    Args:
        scenario: a YAML file, the same as nested mappings, or a loaded scenario.
        overrides: "dotted.key=value" each.
        seed: replaces the scenario's seed.
        out: result folder; None keeps everything in memory.
        device: auto, cpu, cuda or cuda:i.
        train: False prices the world (latency, energy, participation) without any learning.
        overwrite: replace the results that are in `out` already.
        resume: go on with the run of the same scenario that is in `out`; begin it where there is none.
        pace: when checkpoints are written; by default they take at most two per cent of the time.
        progress: called with each finished round's row.

    Returns:
        The result; `result.status` tells whether the run finished, was interrupted or failed.

    Raises:
        InputError: the input is wrong; nothing was run, nothing was written.
        RunError: the results cannot be written.
    """
    extra = [] if seed is None else [f"seed={seed}"]
    if not isinstance(scenario, Scenario):
        scenario = load(scenario, [*overrides, *extra])
    elif overrides or extra:
        scenario = load(scenario.model_dump(mode="json"), [*overrides, *extra])
    folder = None if out is None else Path(out)
    result = run_scenario(scenario, Options(folder, device, train, overwrite, resume, pace), progress)
    if folder is not None:
        try:
            report([folder], folder / "report.html")
        except InputError as error:  # a full disk is no wrong input: the run has been run
            raise RunError(str(error)) from None
    return result


def sweep(
    source: str | Path,
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
    """Run a sweep file; a program that calls this needs `if __name__ == "__main__":`, as its runs are other processes.

    Args:
        source: the sweep file.
        overrides: "dotted.key=value" each, for all points.
        out: folder of all result folders; results/<name> where not given.
        workers: runs at a time; as many as GPUs, or cores, where not given.
        device: auto, cpu, cuda or cuda:i.
        cluster: address of a Ray cluster, or auto (docs/cluster.md); this machine where not given.
        gpus_per_run: of the cluster, a part of one or whole ones; one where not given and it has any.
        train: False prices the worlds without any learning.
        resume: run what is missing in `out`.
        overwrite: replace an earlier sweep in `out`.

    Returns:
        The index: one row a run, with its values, status, folder, totals and targets.

    Raises:
        InputError: the input is wrong; nothing was run, nothing was written.
    """
    import pandas as pd

    found = load_sweep(source, overrides)
    found = found if train else replace(found, train=False)
    folder = Path("results") / found.name if out is None else Path(out)
    runs = sweeps.run(
        found,
        folder,
        workers=workers,
        device=device,
        cluster=cluster,
        gpus_per_run=gpus_per_run,
        resume=resume,
        overwrite=overwrite,
    )
    if any(one.status == "finished" for one in runs):
        report([folder], folder / "report.html")
    return pd.read_csv(folder / sweeps.INDEX)


def report(folders: Sequence[str | Path], out: str | Path) -> Path:
    """Write one self-contained HTML page about one or several result folders, or a sweep's (docs/sweep-report.md).

    Raises:
        InputError: a folder holds no results, or the page cannot be written.
    """
    return write([Path(folder) for folder in folders], Path(out))


def compare(
    runs: Sequence[str | Path | Result],
    *,
    targets: Sequence[float] = (),
    relative: Sequence[float] = (),
    last: int = 50,
    initial: int = 10,
) -> pd.DataFrame:
    """Compare runs with the first of them, the reference (docs/metrics.md has the columns).

    Args:
        runs: result folders or results, the reference first.
        targets: accuracies beside those of the scenarios.
        relative: targets as parts of the reference's best accuracy.
        last: over how many of the last tests mean and standard deviation are taken.
        initial: over how many of each session's first rounds the mean is taken.

    Returns:
        One row a run; NaN where nothing was measured or a target was never reached.

    Raises:
        InputError: a folder holds no results, or a number makes no sense.
    """
    import pandas as pd

    wanted = Wanted(targets, relative, last, initial)
    return pd.DataFrame(list(comparison.compare([_compared(run) for run in runs], wanted).rows))


def _compared(run: str | Path | Result) -> Compared:
    if not isinstance(run, Result):
        (found,) = load_all([Path(run)], details=False)
        return comparison.of_run(found, str(run))
    name = run.folder or f"{run.scenario['name']} · seed {run.scenario['seed']}"
    columns = (
        run.ledger.round_columns() if run.ledger else {str(name): run.rounds[name].tolist() for name in run.rounds}
    )
    return Compared(str(name), run.scenario, run.status, metrics.accuracy_curve(columns))
