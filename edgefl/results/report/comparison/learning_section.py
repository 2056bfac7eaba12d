"""The section "Learning", and the comparison of several runs with the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from edgefl.results.report.comparison import comparison, learning_curves, pooled_seeds
from edgefl.results.report.comparison.pooled_seeds import PooledRuns
from edgefl.results.report.shared import tables, views
from edgefl.results.report.shared.card import plot_area, titled_card
from edgefl.results.report.shared.style import Figure, StyledRun

AXIS_BUTTONS = {"round": "Rounds", "time": "Virtual time", "energy": "Energy"}  # by the names of the views


def learning_section(
    runs: Sequence[StyledRun], figures: Mapping[str, Figure], groups: Sequence[PooledRuns] = ()
) -> str:
    """Return the learning curves with the choice of their horizontal axis, or the reason why there are none.

    Args:
        runs: the runs.
        figures: the curves.
        groups: the same runs, where those that differ only in their seed are pooled.
    """
    key = _run_key(runs)
    if groups:
        key = _run_key([group.look for group in groups])
        key += f'<p class="note">{escape(pooled_seeds.curves_note(groups))}</p>'
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in _notes(runs))
    if not figures:
        return f'<section id="learning"><h2>Learning</h2>{notes}</section>'
    cards = "".join(titled_card(learning_curves.TITLES[name], plot_area(name)) for name in figures)
    return (
        f'<section id="learning"><div class="head"><h2>Learning</h2>{_axis_buttons(runs)}</div>{notes}{key}'
        f'<div class="grid lead">{cards}</div></section>'
    )


def _notes(runs: Sequence[StyledRun]) -> list[str]:
    """Return the meaning of the session marks, and for each run without a learning curve the reason."""
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
        elif not run.data.learned:  # an empty chart would look like a fault of the page
            notes.append(f"{name} was priced without learning (--no-train): there is no accuracy and no loss.")
    return notes


def _run_key(runs: Sequence[StyledRun]) -> str:
    """Return the key to the colours of several runs."""
    if len(runs) == 1:
        return ""
    swatches = "".join(f"<span>{tables.swatch(run)}</span>" for run in runs)
    return f'<div class="key">{swatches}</div>'


def _axis_buttons(runs: Sequence[StyledRun]) -> str:
    """Return the choice of the horizontal axis, which is virtual time at first, or rounds where none has passed."""
    selected = "time"
    if not any(run.data.has("time_s") for run in runs):
        selected = "round"
    buttons = ""
    for name, text in AXIS_BUTTONS.items():
        pressed = str(name == selected).lower()
        buttons += f'<button type="button" data-view="{name}" aria-pressed="{pressed}">{text}</button>'
    return f'<div class="toggle" role="group" aria-label="Horizontal axis">{buttons}</div>'


def comparison_section(runs: Sequence[StyledRun], groups: Sequence[PooledRuns] = ()) -> str:
    """Return several runs compared with the first: accuracies, and what the targets took.

    Where seeds are pooled, each run is compared with that of the first group under the same seed.
    """
    if groups:
        return _comparison_by_seed(groups)
    if len(runs) < 2:
        return ""
    compared_runs = [comparison.compared_run(run.data, run.label) for run in runs]
    compared = comparison.compare(compared_runs, comparison.ComparisonOptions())
    blocks = comparison.accuracy_blocks(compared)
    if not blocks:
        return ""
    cards = "".join(titled_card(block.title, _runs_table(block, runs)) for block in blocks)
    return (
        f'<section id="comparison"><h2 data-short="Comparison">Comparison with {tables.swatch(runs[0])}</h2>'
        f'<p class="note">{escape(comparison.TABLE_LEGEND)}</p><div class="grid">{cards}</div></section>'
    )


def _comparison_by_seed(groups: Sequence[PooledRuns]) -> str:
    """Return the runs of all groups but the first, compared with that of the first group under the same seed.

    Runs of other seeds are not compared, as they met other devices and channels.
    """
    first, *others = groups
    bodies: dict[str, list[Sequence[str]]] = {}
    heads: dict[str, Sequence[str]] = {}
    compared: list[StyledRun] = []
    for group in others:
        for seed, run in group.seeds.items():
            if seed not in first.seeds:
                continue
            pair = [comparison.compared_run(one.data, one.label) for one in (first.seeds[seed], run)]
            blocks = comparison.accuracy_blocks(comparison.compare(pair, comparison.ComparisonOptions()))
            if blocks:
                compared.append(run)
            for block in blocks:
                heads[block.title] = block.head
                bodies.setdefault(block.title, []).append(block.body[1])
    cards = ""
    for title, body in bodies.items():
        if len(body) == len(compared):  # a block that all pairs have
            block = comparison.Block(title, heads[title], body)
            cards += titled_card(title, _runs_table(block, compared))
    if not cards:
        return ""
    return (
        '<section id="comparison">'
        f'<h2 data-short="Comparison">Comparison with {tables.swatch(first.look)}, seed by seed</h2>'
        f'<p class="note">{escape(comparison.TABLE_LEGEND)}</p><div class="grid">{cards}</div></section>'
    )


def _runs_table(block: comparison.Block, runs: Sequence[StyledRun]) -> str:
    """Return a table of a comparison, whose rows are the runs."""
    head = ["run", *map(escape, block.head)]
    body = []
    for run, cells in zip(runs, block.body, strict=True):
        body.append([tables.swatch(run), *map(escape, cells)])
    return tables.table(head, body, "runs", block.title)
