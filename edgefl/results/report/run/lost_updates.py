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
    received = (
        f"Only {quantity(updates.received)} of {quantity(updates.ended)} updates {_were(updates.received)} received"
    )
    if not updates.received:
        received = f"None of {quantity(updates.ended)} updates was received"
    causes = []
    for cause, count in updates.losses.items():
        if count:
            causes.append(f"{quantity(count)} {_were(count)} {CAUSE_TEXTS[cause]}")
    text = f"{received}: {', '.join(causes)}."
    share = wasted_energy.lost_share(run)
    if share is None:
        return text
    return f"{text} {digits(100 * share, 1)} % of the energy went into updates that were not used."


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
