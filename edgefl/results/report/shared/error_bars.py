"""Error bars of times and energies, by the held-out errors of the laws that price a run, as pages say them."""

from collections.abc import Mapping, Sequence
from typing import Any

from edgefl.core.units import Unit, as_number, percent, quantity
from edgefl.records.quantities import QUANTITIES
from edgefl.results.report.shared.read import Run
from edgefl.world.error_draws import COVERAGE

ENDS = {
    name: [one.name for one in QUANTITIES.values() if one.end_of == name]
    for name in dict.fromkeys(one.end_of for one in QUANTITIES.values() if one.end_of)
}
NEVER = ("propagation at your site", "how the model learns", "chance, which other seeds show")


def bar(costs: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    """Return the ends of the bar of a time or an energy, from what a summary says of a run or a target; or None."""
    low, high = (as_number(costs.get(end)) for end in ENDS[name])
    if low is None or high is None:
        return None
    return low, high


def bar_text(costs: Mapping[str, Any], name: str, units: Sequence[Unit]) -> str:
    """Return a bar such as ``90 %: 10.4 min to 14.9 min``; an empty text without one."""
    ends = bar(costs, name)
    if ends is None:
        return ""
    return f"{percent(COVERAGE)}: {quantity(ends[0], units)} to {quantity(ends[1], units)}"


def with_bar(costs: Mapping[str, Any], name: str, units: Sequence[Unit]) -> str:
    """Return a time or an energy with its bar, if it has one: ``12.1 min (90 %: 10.4 min to 14.9 min)``."""
    value = quantity(costs.get(name), units)
    text = bar_text(costs, name, units)
    return f"{value} ({text})" if text else value


def sentence(run: Run) -> str:
    """Return what the bars of a run hold, and what they do not; an empty text without any."""
    about = run.summary.get("held_out")
    if not isinstance(about, Mapping):
        return ""
    known = [QUANTITIES[name] for name in ENDS if bar(run.summary, name)]
    bars = [f"{one.title} {with_bar(run.summary, one.name, one.units)}" for one in known]
    missing = ", ".join([*about.get("missing", ()), *NEVER])
    return (
        f"Error bars of the whole run, by the errors of its laws on numbers that they were not fitted to: "
        f"{', '.join(bars)}. Not in these bars: {missing}."
    )
