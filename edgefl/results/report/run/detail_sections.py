"""The sections on the world, on time and energy, on data; and, of several runs, on each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from edgefl.core.units import ENERGY, TIME
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.run import bottleneck, narrative, phase_bars
from edgefl.results.report.run.sessions_table import sessions_table
from edgefl.results.report.run.share_bars import share_bars
from edgefl.results.report.shared import label_heatmap
from edgefl.results.report.shared.card import Card, card_html, plot_area, titled_card
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import ENERGY_PHASES, Figure, StyledRun, prose
from edgefl.results.report.shared.tables import swatch

MOST_UNFOLDED = 4  # so many runs are all unfolded when the page opens; of more runs only the first ones
FIRST_UNFOLDED = 2


def detail_sections(
    runs: Sequence[StyledRun], world: Sequence[list[Card]], costs: Sequence[list[Card]], data_section: str
) -> str:
    """Return all sections after the learning curves.

    Args:
        runs: the runs on the page.
        world: for each run, the cards on where its devices were and what happened to them.
        costs: for each run, the cards on where its time and energy went.
        data_section: who holds which labels, as HTML.
    """
    drawn_runs = [run for run, cards in zip(runs, costs, strict=True) if cards]
    if not drawn_runs:  # no participation ended
        return data_section
    time_bars = share_bars(drawn_runs, phase_bars.time_phases([run.data for run in drawn_runs]), TIME)
    energy_phases = phase_bars.present_phases([run.data for run in drawn_runs], ENERGY_PHASES)
    energy_bars = share_bars(drawn_runs, energy_phases, ENERGY)
    # The bars of one run stand above its charts by round; those of several runs below each other, to be compared.
    if len(runs) == 1:
        time_card, energy_card, *other_cards = costs[0]
        cost_blocks = [card_html(time_card, "Time", time_bars), card_html(energy_card, "Energy", energy_bars)]
        cost_blocks += [card_html(card) for card in other_cards]
        world_blocks = [card_html(card) for card in world[0]]
        world_section = _grid("world", "In the world", world_blocks)
        cost_section = _grid("costs", "Where a round goes", cost_blocks)
        return world_section + cost_section + data_section

    share_blocks = [titled_card("Time", time_bars), titled_card("Energy", energy_bars)]
    shared: list[str] = []
    if len(drawn_runs) == len(runs):
        shared = narrative.shared_sentences([run.data for run in runs])
    run_blocks = []
    for index, run in enumerate(runs):
        if costs[index]:
            is_open = len(runs) <= MOST_UNFOLDED or index < FIRST_UNFOLDED
            run_blocks.append(_run_block(run, [*costs[index], *world[index]], shared, is_open=is_open))
    cost_section = _grid("costs", "Where a round goes", share_blocks)
    return cost_section + data_section + _grid("each-run", "Run by run", run_blocks, _shared_story(shared))


def _grid(name: str, title: str, blocks: Iterable[str], lead: str = "") -> str:
    """Return a section with blocks side by side, below what is said of all of them."""
    return f'<section id="{name}"><h2>{title}</h2>{lead}<div class="grid whole">{"".join(blocks)}</div></section>'


def _run_block(run: StyledRun, cards: Sequence[Card], shared: Sequence[str], *, is_open: bool) -> str:
    """Return everything about one of several runs, under its name, but for the sentences that all of them share."""
    inner = narrative_text(run.data, shared) + sessions_card(run.data)
    inner += "".join(card_html(card) for card in cards)
    return _foldable(swatch(run), inner, is_open=is_open)


def _shared_story(shared: Sequence[str]) -> str:
    """Return the sentences that are true of all runs; an empty text where there are none."""
    if not shared:
        return ""
    return f'<p class="story">{prose(" ".join(["In all runs:", *shared]))}</p>'


def _foldable(title: str, inner: str, *, is_open: bool) -> str:
    attribute = " open" if is_open else ""
    return f'<details class="run"{attribute}><summary>{title}</summary>{inner}</details>'


def narrative_text(run: Run, shared: Sequence[str] = ()) -> str:
    """Return what happened in a run, in a few sentences; an empty text for a run without any round.

    The first sentence, on the bottleneck, stands out.

    Args:
        run: the run.
        shared: sentences that the page has said already.
    """
    sentences = [prose(sentence) for sentence in narrative.sentences(run) if sentence not in shared]
    if not sentences:
        return ""
    first = prose(bottleneck.sentence(run))
    if sentences[0] == first:
        sentences[0] = f"<strong>{first}</strong>"
    return f'<p class="story">{" ".join(sentences)}</p>'


def sessions_card(run: Run) -> str:
    """Return the table of a run's sessions; an empty text where there are not several."""
    table = sessions_table(run)
    if not table:
        return ""
    return titled_card("Sessions", table)


def data_figures(tables: Sequence[tuple[ColumnArrays, Sequence[StyledRun]]]) -> dict[str, Figure]:
    """Return the figures of the tables of ``labels.csv``, by name."""
    return {_data_figure_name(index): label_heatmap.figure(table) for index, (table, _) in enumerate(tables)}


def _data_figure_name(index: int) -> str:
    return f"labels-{index}"


def data_section(
    runs: Sequence[StyledRun], tables: Sequence[tuple[ColumnArrays, Sequence[StyledRun]]], figures: dict[str, Figure]
) -> str:
    """Return who holds which labels: once for runs that have the same data; folded where there are many tables.

    Args:
        runs: all runs on the page.
        tables: the tables of ``labels.csv``, each with the runs that have it.
        figures: their figures by name, as `data_figures` returns them.
    """
    blocks = []
    for index, (table, table_runs) in enumerate(tables):
        name = _data_figure_name(index)
        caption = escape(label_heatmap.caption(table))
        plot = plot_area(name, label_heatmap.height(figures[name]))
        block = titled_card("Samples by label and device", f'<p class="note">{caption}</p>{plot}')
        if len(table_runs) < len(runs):  # a table that all runs share needs no names
            names = "".join(f"<span>{swatch(run)}</span> " for run in table_runs)
            is_open = len(tables) <= MOST_UNFOLDED or index < FIRST_UNFOLDED
            block = _foldable(names, block, is_open=is_open)
        blocks.append(block)
    if not blocks:
        return ""
    return f'<section id="labels"><h2>Who holds what</h2>{"".join(blocks)}</section>'
