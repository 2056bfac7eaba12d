"""Sentences on what a run's time and energy are made of, and why it takes more or less than another one."""

from collections.abc import Sequence
from typing import NamedTuple

from edgefl.core.units import ENERGY, TIME, Unit, digits, instead, percent, quantity
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.tables import counted
from edgefl.results.report.why import causes, decomposition
from edgefl.results.report.why.causes import ALIKE, Difference
from edgefl.results.report.why.decomposition import OTHERS, Decomposition, Factors

WORDS = {
    "setup": "setting up",
    "download": "download",
    "compute": "computing",
    "upload": "upload",
    "wait": "waiting",
    "evaluation": "evaluation on devices",
    OTHERS: "other messages",
}
LEAST_SHARE = 0.01  # of a round: smaller parts are not mentioned
EXPLAINED = 0.8  # the largest parts are named that make up this share of a difference
LOST = 0.02  # a difference in the share of received updates that is worth mentioning


class Side(NamedTuple):
    """A run of a comparison, or runs that differ only in their seed or in keys that both sides vary alike."""

    label: str
    runs: Sequence[Run]  # one at least

    @property
    def name(self) -> str:
        """The label, in quotation marks if it has a comma."""
        if "," in self.label:
            return f"“{self.label}”"
        return self.label


def of_run(run: Run) -> str:
    """Return what a run's time and energy are made of, up to its highest target or as a whole; "" without rounds."""
    accuracy = _highest_common([run], _accuracies([run]))
    parts = _parts([run], accuracy)
    if parts is None:
        return ""
    text = _made_of("round", parts.time, TIME)
    if accuracy is not None:
        text = f"To {percent(accuracy)}: {text}"
    if parts.participations and parts.energy.total:
        text += f"; {_made_of('participation', parts.energy, ENERGY)}"
    return f"{text}."


def of_pair(own: Side, reference: Side, accuracies: Sequence[float] = (), *, over: str = "seeds") -> str:
    """Return why a run takes more or less time and energy than a reference, up to a target or by round.

    Args:
        own: the run, or runs with several seeds, whose means count.
        reference: what it is compared with.
        accuracies: targets; the highest counts that all runs have reached. Without any, rounds are compared.
        over: what the runs of a side are.

    Returns:
        An empty text where either has no rounds, or was read without its devices.
    """
    runs = [*own.runs, *reference.runs]
    targets = sorted({*accuracies, *_accuracies(runs)})
    accuracy = _highest_common(runs, targets)
    parts = _parts(own.runs, accuracy)
    other = _parts(reference.runs, accuracy)
    if parts is None or other is None or not other.time.total:
        return ""
    text = ""
    # The effects of a study are geometric means over pairs: a ratio of means would be a second one of the same fact.
    has_ratio = over == "seeds"
    counts = dict.fromkeys((str(len(own.runs)), str(len(reference.runs))))
    if len(runs) > 2:
        text = f"Means over {' and '.join(counts)} {over}: "
    if accuracy is None:
        text += _missed((own, reference), targets)
        text += f"A round of {own.name} takes {_times(parts.time.each, other.time.each)} one of {reference.name}: "
        text += _each(parts.time, other.time, TIME)
    else:
        times = _times(parts.time.total, other.time.total)
        if not has_ratio:
            times = f"{instead(parts.time.total, other.time.total, TIME)} with"
        text += f"To {percent(accuracy)}, {own.name} takes {times} {reference.name}: "
        text += _product("round", parts.time, other.time, TIME)
    # Updates that overlap have no phases by round that could be set against those of rounds.
    if parts.in_rounds == other.in_rounds:
        keys = causes.differences(own.runs[0].scenario, reference.runs[0].scenario)
        text += _reasons(parts, other, keys)
    text += f"{_lost(parts, other)}."
    if parts.energy.total and other.energy.total:
        text += f" {_energy(parts.energy, other.energy, whole=accuracy is not None, has_ratio=has_ratio)}."
    return text


def _accuracies(runs: Sequence[Run]) -> list[float]:
    return [float(target["accuracy"]) for run in runs for target in run.targets]


def _highest_common(runs: Sequence[Run], accuracies: Sequence[float]) -> float | None:
    """Return the highest target that all runs have reached; None without one."""
    reached = [accuracy for accuracy in accuracies if all(_reached(run, accuracy) for run in runs)]
    return max(reached, default=None)


def _reached(run: Run, accuracy: float) -> bool:
    return decomposition.rounds_to(run, accuracy) is not None


def _parts(runs: Sequence[Run], accuracy: float | None) -> Decomposition | None:
    """Return the means of the parts of runs, up to a target if there is one; None if a run has no parts."""
    found = []
    for run in runs:
        parts = decomposition.whole(run)
        if accuracy is not None:
            parts = decomposition.to_target(run, accuracy)
        if parts is None:
            return None
        found.append(parts)
    return decomposition.mean(found)


def _missed(sides: Sequence[Side], targets: Sequence[float]) -> str:
    """Return which side has not reached the lowest target."""
    if not targets or not all(run.learned for side in sides for run in side.runs):
        return ""
    missing = [side.name for side in sides if not all(_reached(run, targets[0]) for run in side.runs)]
    if not missing:
        return ""
    return f"{' and '.join(missing)} did not reach {percent(targets[0])}. "


def _reasons(own: Decomposition, other: Decomposition, keys: Sequence[Difference]) -> str:
    """Return the causes of longer (or shorter) rounds, and the times of the parts that have no known cause."""
    if _alike(own.time.each, other.time.each):
        return ""
    more = own.time.each > other.time.each
    named = _largest(own.time, other.time)
    found = causes.of_parts(named, own, other, keys, more=more)
    text = ""
    if found:
        text = f", because {listed(found)}"
    unexplained = [part for part in named if not causes.of_parts([part], own, other, keys, more=more)]
    return text + _changes(unexplained, own.time, other.time, TIME)


def _lost(own: Decomposition, other: Decomposition) -> str:
    ended = own.received + own.lost
    other_ended = other.received + other.lost
    if not ended or not other_ended:
        return ""
    share = own.received / ended
    other_share = other.received / other_ended
    if abs(share - other_share) < LOST:
        return ""
    return f"; {percent(round(share, 3))} of its updates are used instead of {percent(round(other_share, 3))}"


def _energy(own: Factors, other: Factors, *, whole: bool, has_ratio: bool) -> str:
    """Return how the energy up to a target, or that of a participation, differs from another one."""
    if whole:
        times = instead(own.total, other.total, ENERGY)
        if has_ratio:
            times = f"{_times(own.total, other.total, 'as much')} energy"
        text = f"It takes {times}: "
        text += _product("participation", own, other, ENERGY)
    else:
        text = f"A participation takes {_times(own.each, other.each, 'as much')} energy: {_each(own, other, ENERGY)}"
    if _alike(own.each, other.each):
        return text
    return text + _changes(_largest(own, other), own, other, ENERGY)


def _largest(own: Factors, other: Factors) -> list[str]:
    """Return the parts that make up most of a change, the largest first."""
    changes = {part: own.parts[part] - other.parts[part] for part in own.parts}
    sign = 1.0
    if own.each < other.each:
        sign = -1.0
    in_direction = {part: sign * change for part, change in changes.items() if sign * change > 0}
    left = (1 - EXPLAINED) * sum(in_direction.values())
    remaining = sum(in_direction.values())
    named = []
    for part in sorted(in_direction, key=lambda name: -in_direction[name]):
        if remaining <= left:
            break
        named.append(part)
        remaining -= in_direction[part]
    return named


# Words


def _made_of(noun: str, factors: Factors, units: Sequence[Unit]) -> str:
    """Return such as ``6 rounds of 4.04 s (upload 3 s, computing 1.04 s)``."""
    shown = {part: value for part, value in factors.parts.items() if value > LEAST_SHARE * factors.each}
    ordered = sorted(shown, key=lambda part: -shown[part])
    parts = ", ".join(f"{WORDS[part]} {quantity(shown[part], units)}" for part in ordered)
    return f"{counted(factors.count, noun)} of {quantity(factors.each, units)} ({parts})"


def _product(noun: str, own: Factors, other: Factors, units: Sequence[Unit]) -> str:
    """Return such as ``6 rounds instead of 7, of 4.04 s instead of 2.27 s``."""
    count = counted(own.count, noun)
    each = _each(own, other, units)
    if own.count != other.count:
        return f"{count} instead of {digits(other.count)}, of {each}"
    if _alike(own.each, other.each):
        return f"{count} of {each}"
    return f"{count} each, of {each}"


def _each(own: Factors, other: Factors, units: Sequence[Unit]) -> str:
    if _alike(own.each, other.each):
        return f"{quantity(own.each, units)} each"
    return instead(own.each, other.each, units)


def _changes(parts: Sequence[str], own: Factors, other: Factors, units: Sequence[Unit]) -> str:
    """Return parts in brackets, such as ``(upload 3 s instead of 1.5 s)``; an empty text without any."""
    if not parts:
        return ""
    texts = [f"{WORDS[part]} {instead(own.parts[part], other.parts[part], units)}" for part in parts]
    return f" ({', '.join(texts)})"


def _times(own: float, other: float, word: str = "as long as") -> str:
    """Return ``1.42 times as long as``, or ``as long as``."""
    if _alike(own, other):
        return word
    return f"{own / other:.3g} times {word}"


def listed(texts: Sequence[str]) -> str:
    """Return texts with commas, and "and" before the last."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def _alike(own: float, other: float) -> bool:
    return abs(own - other) <= ALIKE * abs(other)
