"""What a run lost where many of its updates were not used: the first that a reader must know."""

from edgefl.core.units import digits, quantity
from edgefl.results.participation import Updates
from edgefl.results.report.run import wasted_energy
from edgefl.results.report.shared.read import Run
from edgefl.results.report.why.decomposition import UNFINISHED


def sentence(run: Run) -> str:
    """Return how many updates arrived, why others did not, and what these cost; empty unless many were lost."""
    if not run.updates.many_lost:
        return ""
    text = _received(run.updates)
    # The outcomes of devices.csv say more than the causes that are counted: a departure, or an empty battery.
    outcome_of = wasted_energy.outcomes(run)
    lost = [each for each in wasted_energy.energy_by_outcome(run) if each not in (*wasted_energy.NOT_LOST, UNFINISHED)]
    ends = [f"{quantity((outcome_of == each).sum())} {wasted_energy.outcome_text(each)}" for each in lost]
    if ends:
        text += f"; not used: {', '.join(ends)}"
    share = wasted_energy.lost_share(run)
    if share is None or not run.updates.received:
        return f"{text}."
    return f"{text}. {digits(100 * share, 1)} % of the energy went into updates that were not used."


def _received(updates: Updates) -> str:
    ended = quantity(updates.ended)
    if not updates.received:
        return f"None of {ended} updates was received"
    if updates.received == 1:
        return f"Only 1 of {ended} updates was received"
    return f"Only {quantity(updates.received)} of {ended} updates were received"
