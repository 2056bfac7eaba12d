"""The section "Learning", and the comparison of several runs with the first."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edgefl.results.report.comparison import comparison, learning_curves, pooled_seeds
from edgefl.results.report.comparison.comparison import ComparisonOptions
from edgefl.results.report.comparison.comparison_tables import TABLE_LEGEND, Block, accuracy_blocks, updates_block
from edgefl.results.report.comparison.pooled_seeds import PooledRuns
from edgefl.results.report.shared import views
from edgefl.results.report.shared.style import Figure, StyledRun
from edgefl.results.report.shared.tables import Cell
from edgefl.results.report.shared.templates import Html, render


class RunsTable(NamedTuple):
    """A table of a comparison: a row for each run."""

    title: str
    head: Sequence[str]
    body: Sequence[Sequence[Cell]]


def learning_section(
    runs: Sequence[StyledRun], figures: Mapping[str, Figure], groups: Sequence[PooledRuns] = ()
) -> Html:
    """Return the learning curves with the choice of their horizontal axis, or the reason why there are none.

    ``groups`` has the same runs, where those that differ only in their seed are pooled.
    """
    curves_note = ""
    if groups:
        curves_note = pooled_seeds.curves_note(groups)
    axis = "round"
    if any(run.data.has("time_s") for run in runs):
        axis = "time"
    return render(
        "comparison/learning.html.j2",
        figures=figures,
        titles=learning_curves.TITLES,
        notes=_notes(runs),
        key=[group.look for group in groups] or runs,
        curves_note=curves_note,
        axes=views.AXES,
        axis=axis,
    )


def _notes(runs: Sequence[StyledRun]) -> list[str]:
    notes = []
    if len(runs) == 1:  # charts of several runs have no marks of sessions
        session_legend = views.legend(runs[0].data)
        if session_legend:
            notes.append(session_legend)
    for run in runs:
        name = run.label
        if len(runs) == 1:
            name = "This run"
        if not run.data.length:
            notes.append(f"{name} ended no round: there is nothing to draw.")
        elif not run.data.learned:  # an empty chart would look like a defect of the page
            notes.append(f"{name} was priced without learning (--no-train): there is no accuracy and no loss.")
    return notes


def comparison_section(runs: Sequence[StyledRun], groups: Sequence[PooledRuns] = ()) -> Html:
    """Return several runs compared with the first: accuracies, and the costs of targets.

    Where seeds are pooled, each run is compared with that of the first group under the same seed.
    """
    blocks = _blocks(runs)
    reference = runs[0]
    if groups:
        blocks = _blocks_by_seed(groups)
        reference = groups[0].look
    return render(
        "comparison/comparison.html.j2",
        blocks=blocks,
        reference=reference,
        by_seed=bool(groups),
        legend=TABLE_LEGEND,
    )


def _blocks(runs: Sequence[StyledRun]) -> list[RunsTable]:
    if len(runs) < 2:
        return []
    return [_runs_table(block.title, block.head, runs, block.body) for block in _compared(runs)]


def _compared(runs: Sequence[StyledRun]) -> list[Block]:
    compared_runs = [comparison.compared_run(run.data, run.label) for run in runs]
    compared = comparison.compare(compared_runs, ComparisonOptions())
    blocks = [updates_block(compared), *accuracy_blocks(compared)]
    return [block for block in blocks if block is not None]


def _blocks_by_seed(groups: Sequence[PooledRuns]) -> list[RunsTable]:
    """Return the runs of all groups but the first, compared with that of the first group under the same seed.

    Runs with other seeds are not compared, as they met other devices and channels.
    """
    first, *others = groups
    bodies: dict[str, list[Sequence[str]]] = {}
    heads: dict[str, Sequence[str]] = {}
    compared: list[StyledRun] = []
    for group in others:
        for seed, run in group.seeds.items():
            if seed not in first.seeds:
                continue
            blocks = _compared([first.seeds[seed], run])
            if blocks:
                compared.append(run)
            for block in blocks:
                heads[block.title] = block.head
                bodies.setdefault(block.title, []).append(block.body[1])
    # Only a block that all pairs have is shown.
    return [
        _runs_table(title, heads[title], compared, body) for title, body in bodies.items() if len(body) == len(compared)
    ]


def _runs_table(title: str, head: Sequence[str], runs: Sequence[StyledRun], body: Sequence[Sequence[str]]) -> RunsTable:
    return RunsTable(title, ["run", *head], [[run, *cells] for run, cells in zip(runs, body, strict=True)])
