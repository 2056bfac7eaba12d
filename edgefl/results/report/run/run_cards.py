"""All figures of one run, in the page's order.

To add a figure, write a module with a function ``card(run, runs)`` that returns a `Card`, or None for a run that has
nothing to draw; add it to one of the two lists below; and test the figure against the columns that it draws.
"""

from collections.abc import Callable, Sequence

from edgefl.results.report.run import (
    battery,
    cell_load,
    cell_map,
    device_energy,
    phase_bars,
    population,
    timeline,
    times_chosen,
    wasted_energy,
)
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.read import Run

# Each returns the card of the first argument; the second are all runs on the page, whose charts may share a scale.
MakeCard = Callable[[Run, Sequence[Run]], Card | None]
WORLD_CARDS: tuple[MakeCard, ...] = (
    cell_map.card,
    timeline.card,
    population.card,
    times_chosen.card,
    population.handovers_card,
    battery.card,
)
COST_CARDS: tuple[MakeCard, ...] = (
    phase_bars.time_card,
    phase_bars.energy_card,
    device_energy.card,
    wasted_energy.card,
    cell_load.card,
)


def world_cards(index: int, runs: Sequence[Run]) -> list[Card]:
    """Return the cards on where the devices of the ``index``-th run were and what happened to them."""
    return _cards(WORLD_CARDS, index, runs)


def cost_cards(index: int, runs: Sequence[Run]) -> list[Card]:
    """Return the cards on where the time and energy of the ``index``-th run went."""
    return _cards(COST_CARDS, index, runs)


def _cards(makers: Sequence[MakeCard], index: int, runs: Sequence[Run]) -> list[Card]:
    """Return the cards that the run has data for; each name ends in the run's index, as names are unique on a page."""
    run = runs[index]
    if not run.participations["row"].size:  # every card is about participations
        return []
    cards = []
    for make_card in makers:
        card = make_card(run, runs)
        if card is not None:  # the run has data for it
            cards.append(card._replace(name=f"{card.name}-{index}"))
    return cards
