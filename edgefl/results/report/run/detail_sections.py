"""The sections on the world, on time and energy, on data; and, of several runs, on each run."""

from collections.abc import Sequence
from typing import NamedTuple

from edgefl.core.units import ENERGY, TIME
from edgefl.results.report.run import narrative, phase_bars
from edgefl.results.report.run.phase_bars import share_bars
from edgefl.results.report.run.sessions_table import sessions_table
from edgefl.results.report.shared import label_heatmap
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.style import ENERGY_PHASES, StyledRun
from edgefl.results.report.shared.templates import Html, render

SIDE_BY_SIDE = 2  # so many runs are unfolded when the page opens; of more, each has the whole width once unfolded


class RunBlock(NamedTuple):
    """All about one of several runs."""

    run: StyledRun
    story: Html
    sessions: Html | str
    cards: Sequence[Card]


class LabelsBlock(NamedTuple):
    """A map of labels and devices, and the runs that have it; none where all runs do."""

    card: Card
    runs: Sequence[StyledRun]
    open: bool


def detail_sections(
    runs: Sequence[StyledRun], world: Sequence[list[Card]], costs: Sequence[list[Card]], labels: Sequence[LabelsBlock]
) -> Html:
    """Return all sections after the learning curves, from the cards of each run on its world and on its costs."""
    drawn_runs = [run for run, cards in zip(runs, costs, strict=True) if cards]
    if not drawn_runs:  # no participation ended
        return render("run/details.html.j2", world=[], costs=[], labels=labels, runs=[])
    time_phases = phase_bars.time_phases([run.data for run in drawn_runs])
    energy_phases = phase_bars.present_phases([run.data for run in drawn_runs], ENERGY_PHASES)
    time = Card("", "Time", {}, key=time_phases, bars=share_bars(drawn_runs, time_phases, TIME))
    energy = Card("", "Energy", {}, key=energy_phases, bars=share_bars(drawn_runs, energy_phases, ENERGY))
    # The bars of one run stand above its charts by round; those of several runs below each other, to be compared.
    if len(runs) == 1:
        time_card, energy_card, *others = costs[0]
        time = time._replace(name=time_card.name)
        energy = energy._replace(name=energy_card.name)
        cost_cards = [time, energy, *others]
        return render("run/details.html.j2", world=world[0], costs=cost_cards, labels=labels, runs=[])

    blocks = []
    for index, run in enumerate(runs):
        if costs[index]:
            cards = [*costs[index], *world[index]]
            blocks.append(RunBlock(run, narrative.section(run.data), sessions_table(run.data), cards))
    return render(
        "run/details.html.j2",
        world=[],
        costs=[],
        labels=labels,
        runs=blocks,
        side_by_side=len(blocks) <= SIDE_BY_SIDE,
        time=time,
        energy=energy,
    )


def labels_blocks(runs: Sequence[StyledRun]) -> list[LabelsBlock]:
    """Return a map for each table of ``labels.csv``: once for runs that have the same data."""
    tables = label_heatmap.runs_by_data(runs)
    blocks = []
    for index, (table, table_runs) in enumerate(tables):
        figure = label_heatmap.figure(table)
        height = label_heatmap.height(figure)
        title = "Samples by label and device"
        card = Card(f"labels-{index}", title, figure, label_heatmap.caption(table), height=height)
        named: Sequence[StyledRun] = []
        if len(table_runs) < len(runs):
            named = table_runs
        blocks.append(LabelsBlock(card, named, open=index == 0))
    return blocks
