"""What Python users call: the same as the command line does, with results in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgefl.emulation import Options, silent
from edgefl.emulation import run as run_scenario
from edgefl.report import write
from edgefl.results import Result
from edgefl.scenario import Scenario, load
from edgefl.server import Progress

__all__ = ["load", "report", "run"]


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    device: str = "auto",
    train: bool = True,
    overwrite: bool = False,
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
        progress: called with each finished round's row.

    Returns:
        The result; `result.status` tells whether the run finished, was interrupted or failed.

    Raises:
        InputError: the input is wrong; nothing was run, nothing was written.
    """
    extra = [] if seed is None else [f"seed={seed}"]
    if not isinstance(scenario, Scenario):
        scenario = load(scenario, [*overrides, *extra])
    elif overrides or extra:
        scenario = load(scenario.model_dump(mode="json"), [*overrides, *extra])
    folder = None if out is None else Path(out)
    result = run_scenario(scenario, Options(folder, device, train, overwrite), progress)
    if folder is not None:
        report([folder], folder / "report.html")
    return result


def report(folders: Sequence[str | Path], out: str | Path) -> Path:
    """Write one self-contained HTML page about one or several result folders.

    Raises:
        InputError: a folder holds no results, or the page cannot be written.
    """
    return write([Path(folder) for folder in folders], Path(out))
