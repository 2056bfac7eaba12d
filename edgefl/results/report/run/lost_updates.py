"""What a run lost where many of its updates were not used: the first that a reader must know."""

from edgefl.core.units import digits, quantity
from edgefl.results.report.run import wasted_energy
from edgefl.results.report.shared.read import Run

CAUSE_TEXTS = {
    "late": "too late or cut short",
    "departed": "lost as the device left or its battery ran out",
    "failed": "lost in transfers",
}


def sentence(run: Run) -> str:
    """Return how many updates arrived, why others did not, and what these cost; empty unless many were lost."""
    updates = run.updates
    if not updates.many_lost:
        return ""
    arrived = f"{quantity(updates.received)} of {quantity(updates.ended)} updates arrived and were used"
    causes = [f"{quantity(count)} were {CAUSE_TEXTS[cause]}" for cause, count in updates.losses.items() if count]
    text = f"{'Only ' if updates.received else ''}{arrived}: {', '.join(causes)}."
    share = wasted_energy.lost_share(run)
    if share is None:
        return text
    return f"{text} {digits(100 * share, 1)} % of the energy went into updates that were not used."
