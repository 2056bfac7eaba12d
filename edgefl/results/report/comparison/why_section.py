"""Why runs take more or less than the first: sentences for pages and texts, and columns of parts for tables."""

from collections.abc import Sequence
from typing import Any

from edgefl.results.report.comparison import error_margins, seed_groups
from edgefl.results.report.comparison.pooled_seeds import PooledRuns
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.templates import Html, render
from edgefl.results.report.why import decomposition, sentences
from edgefl.results.report.why.decomposition import ENERGY_PARTS, OTHERS, TIME_PARTS, Decomposition
from edgefl.results.report.why.sentences import Side

Columns = dict[str, Any]


def section(runs: Sequence[StyledRun], groups: Sequence[PooledRuns] = ()) -> Html:
    """Return why each run, or each group of runs with several seeds, takes more or less than the first."""
    sides = [Side(run.label, [run.data]) for run in runs]
    if groups:
        sides = [Side(group.look.label, [run.data for run in group.runs]) for group in groups]
    found = [sentences.of_pair(side, sides[0]) for side in sides[1:]]
    accuracies = [target["accuracy"] for run in runs for target in run.data.targets]
    margins = error_margins.sentences(sides, accuracies)
    return render(
        "comparison/why.html.j2",
        sentences=[sentence for sentence in found if sentence],
        margins=margins,
        title=error_margins.TITLE,
    )


def sentences_by_run(runs: Sequence[Run], accuracies: Sequence[float]) -> list[str]:
    """Return for each run why it takes more or less than the first; of runs with several seeds, by their means.

    Empty texts for the runs that differ from the first in no more than their seed.
    """
    reference, *others = [Side(group.label, group.runs) for group in seed_groups.grouped(runs)]
    of_run = {id(run): "" for run in runs}
    for side in others:
        sentence = sentences.of_pair(side, reference, accuracies)
        of_run |= {id(run): sentence for run in side.runs}
    return [of_run[id(run)] for run in runs]


def columns(run: Run | None, accuracies: dict[str, float]) -> Columns:
    """Return the parts of a run's time and energy, as a whole and to targets; None for unknown numbers.

    The run is None if only its curve is known; `accuracies` of targets are keyed by the prefixes of their columns.
    """
    parts: dict[str, Decomposition | None] = dict.fromkeys(["", *accuracies])
    if run is not None:
        parts |= {prefix: decomposition.to_target(run, accuracy) for prefix, accuracy in accuracies.items()}
        parts[""] = decomposition.whole(run)
    found: Columns = {}
    for prefix, of_prefix in parts.items():
        found |= _columns(prefix, of_prefix)
    return found


def _columns(prefix: str, parts: Decomposition | None) -> Columns:
    names = ["participations", *(f"{part}_s" for part in TIME_PARTS)]
    names += [f"{part}_energy_j" for part in (*ENERGY_PARTS, OTHERS)]
    columns = [f"{prefix}{name}" for name in names]
    if parts is None:
        return dict.fromkeys(columns)
    values = [parts.participations, *parts.time_s.values(), *parts.energy_j.values()]
    return dict(zip(columns, values, strict=True))
