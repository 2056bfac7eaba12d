"""Sentences on what a run's time and energy are made of, and why it takes more or less than another one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edgefl.core.units import ENERGY, TIME, Unit, digits, percent, quantity
from edgefl.results.report.shared.read import Run
from edgefl.results.report.why import causes, decomposition
from edgefl.results.report.why.causes import ALIKE, Difference
from edgefl.results.report.why.decomposition import OTHERS, Decomposition

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
OTHERWISE = 0.05  # a part is named, too, that changes by more than this share of the round
LOST = 0.02  # a difference in the share of received updates that is worth mentioning


class Side(NamedTuple):
    """A run of a comparison, or runs that differ only in their seed or in keys that both sides vary alike."""

    label: str
    runs: Sequence[Run]  # one at least


def of_run(run: Run) -> str:
    """Return what a run's time and energy are made of, up to its highest target or as a whole; "" without rounds."""
    accuracy = _highest_common([Side("", [run])], _accuracies([run]))
    parts = _parts([run], accuracy)
    if parts is None:
        return ""
    rounds = f"{_rounds(parts)} of {quantity(parts.round_s, TIME)}"
    until = "" if accuracy is None else f"To {percent(accuracy)}: "
    time = f"{until}{rounds} ({_made_of(parts.time_s, parts.rounds, TIME)})"
    count = parts.participations
    if not count or not parts.total_j:
        return f"{time}."
    participations = f"{digits(count)} {_plural('participation', count)} of {quantity(parts.participation_j, ENERGY)}"
    return f"{time}; {participations} ({_made_of(parts.energy_j, count, ENERGY)})."


def of_pair(own: Side, reference: Side, accuracies: Sequence[float] = (), *, over: str = "seeds") -> str:
    """Return why a run takes more or less time and energy than a reference, up to a target or by round.

    Args:
        own: the run, or runs with several seeds, of which the means count.
        reference: what it is compared with.
        accuracies: targets; the highest counts that all runs have reached. Without any, rounds are compared.
        over: what the runs of a side are.

    Returns:
        An empty text where either has no rounds, or was read without its devices.
    """
    targets = sorted({*accuracies, *_accuracies([*own.runs, *reference.runs])})
    accuracy = _highest_common([own, reference], targets)
    parts = _parts(own.runs, accuracy)
    other = _parts(reference.runs, accuracy)
    if parts is None or other is None or not other.total_s:
        return ""
    keys = causes.differences(own.runs[0].scenario, reference.runs[0].scenario)
    means = ""
    if max(parts.runs, other.runs) > 1:
        means = f"Means over {_counts(parts.runs, other.runs)} {over}: "
    missed = _missed(own, reference, targets) if accuracy is None else ""
    time = _time(_quoted(own.label), _quoted(reference.label), parts, other, keys, accuracy)
    energy = _energy(parts, other, accuracy)
    return " ".join(text for text in (means + missed + time, energy) if text)


def _accuracies(runs: Sequence[Run]) -> list[float]:
    return [float(target["accuracy"]) for run in runs for target in run.targets]


def _highest_common(sides: Sequence[Side], accuracies: Sequence[float]) -> float | None:
    """Return the highest target that all runs have reached; None without one."""
    for accuracy in sorted(accuracies, reverse=True):
        if all(_reached(run, accuracy) for side in sides for run in side.runs):
            return accuracy
    return None


def _reached(run: Run, accuracy: float) -> bool:
    return decomposition.rounds_to(run, accuracy) is not None


def _parts(runs: Sequence[Run], accuracy: float | None) -> Decomposition | None:
    found = []
    for run in runs:
        parts = decomposition.whole(run) if accuracy is None else decomposition.to_target(run, accuracy)
        if parts is None:
            return None
        found.append(parts)
    return decomposition.mean(found)


def _counts(own: int, reference: int) -> str:
    if own == reference:
        return f"{own}"
    return f"{own} and {reference}"


def _missed(own: Side, reference: Side, targets: Sequence[float]) -> str:
    """Return which side has not reached the lowest target."""
    if not all(run.learned for side in (own, reference) for run in side.runs):
        return ""
    for accuracy in targets:
        missing = [
            _quoted(side.label) for side in (own, reference) if not all(_reached(run, accuracy) for run in side.runs)
        ]
        if missing:
            return f"{' and '.join(missing)} did not reach {percent(accuracy)}. "
    return ""


# Time


def _time(
    label: str,
    other_label: str,
    own: Decomposition,
    other: Decomposition,
    keys: Sequence[Difference],
    accuracy: float | None,
) -> str:
    lengths = f"{quantity(own.round_s, TIME)} instead of {quantity(other.round_s, TIME)}"
    same_length = _alike(own.round_s, other.round_s)
    more = own.round_s > other.round_s
    if accuracy is None:
        text = f"A round of {label} takes {_times(own.round_s, other.round_s)} one of {other_label}"
        if not same_length:
            text += f": {lengths}"
    else:
        text = f"To {percent(accuracy)}, {label} takes {_times(own.total_s, other.total_s)} {other_label}"
        same_rounds = own.rounds == other.rounds
        if same_rounds and same_length:
            text += f": {_rounds(own)} of {quantity(own.round_s, TIME)} each"
        elif same_length:
            text += f": {_rounds(own)} instead of {digits(other.rounds)}, of {quantity(own.round_s, TIME)} each"
        elif same_rounds:
            text += f": {_rounds(own)} each, of {lengths}"
        else:
            conjunction = "and" if (own.rounds > other.rounds) == more else "but"
            text += f": {_rounds(own)} instead of {digits(other.rounds)}, {conjunction} of {lengths}"
    # Updates that overlap have no phases by round that could be set against those of rounds.
    if not same_length and own.in_rounds == other.in_rounds:
        text += _reasons(own, other, keys, more=more)
    return f"{text}{_lost(own, other)}."


def _rounds(parts: Decomposition) -> str:
    return f"{digits(parts.rounds)} {_plural('round', parts.rounds)}"


def _reasons(own: Decomposition, other: Decomposition, keys: Sequence[Difference], *, more: bool) -> str:
    """Return the causes of a longer (or shorter) round, then what changes the other way or stays the same."""
    changes = {part: own.round_part_s(part) - other.round_part_s(part) for part in own.time_s}
    named = _largest(changes, more=more)
    found = causes.of_parts(named, own, other, keys, more=more)
    text = f", because {listed(found)}" if found else ""
    others = [part for part, change in changes.items() if part not in named and abs(change) > OTHERWISE * other.round_s]
    facts = []
    for part in [*named, *others]:
        with_them = (changes[part] > 0) == more
        if not (with_them and causes.of_parts([part], own, other, keys, more=more)):
            facts.append(_part_text(part, own, other))
    if facts:
        text += f"; {listed(facts)}"
    computing = own.round_part_s("compute")
    if "compute" not in [*named, *others] and computing > 0 and _alike(computing, other.round_part_s("compute")):
        text += "; computing is the same"
    return text


def _largest(changes: Mapping[str, float], *, more: bool) -> list[str]:
    """Return the parts that make up most of a change in one direction, the largest first."""
    sign = 1.0 if more else -1.0
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


def _lost(own: Decomposition, other: Decomposition) -> str:
    """Return how many updates arrived, where this differs."""
    ended = own.received + own.lost
    other_ended = other.received + other.lost
    if not ended or not other_ended:
        return ""
    share = own.received / ended
    other_share = other.received / other_ended
    if abs(share - other_share) < LOST:
        return ""
    return f"; {percent(round(share, 3))} of its updates are used instead of {percent(round(other_share, 3))}"


# Energy


def _energy(own: Decomposition, other: Decomposition, accuracy: float | None) -> str:
    if not own.total_j or not other.total_j:
        return ""
    costs = f"{quantity(own.participation_j, ENERGY)} instead of {quantity(other.participation_j, ENERGY)}"
    same_cost = _alike(own.participation_j, other.participation_j)
    more = own.participation_j > other.participation_j
    if accuracy is None:
        if same_cost:
            return f"A participation takes the same energy, {quantity(own.participation_j, ENERGY)}."
        text = f"A participation takes {_times(own.participation_j, other.participation_j, 'as much')} energy: {costs}"
    else:
        text = f"It takes {_times(own.total_j, other.total_j, 'as much')} energy"
        same_count = own.participations == other.participations
        participations = f"{digits(own.participations)} {_plural('participation', own.participations)}"
        if same_count and same_cost:
            text += f": {participations} of {quantity(own.participation_j, ENERGY)} each"
        elif same_cost:
            text += f": {participations} instead of {digits(other.participations)}"
            text += f", of {quantity(own.participation_j, ENERGY)} each"
        elif same_count:
            text += f": {participations} each, of {costs}"
        else:
            conjunction = "and" if (own.participations > other.participations) == more else "but"
            text += f": {participations} instead of {digits(other.participations)}"
            text += f", {conjunction} of {costs}"
    if not same_cost:
        text += _energy_reasons(own, other, more=more)
    if accuracy is not None and own.bs_energy_j and other.bs_energy_j:
        text += f"; base stations draw {_times(own.bs_energy_j, other.bs_energy_j, 'as much')}"
    return f"{text}."


def _energy_reasons(own: Decomposition, other: Decomposition, *, more: bool) -> str:
    changes = {part: own.participation_part_j(part) - other.participation_part_j(part) for part in own.energy_j}
    facts = []
    for part in _largest(changes, more=more):
        own_j = quantity(own.participation_part_j(part), ENERGY)
        facts.append(f"{WORDS[part]} {own_j} instead of {quantity(other.participation_part_j(part), ENERGY)}")
    return f" ({', '.join(facts)})"


# Words


def _times(own: float, other: float, word: str = "as long as") -> str:
    """Return ``1.42 times as long as``, or ``as long as``."""
    if _alike(own, other):
        return word
    return f"{own / other:.3g} times {word}"


def _part_text(part: str, own: Decomposition, other: Decomposition) -> str:
    own_s = quantity(own.round_part_s(part), TIME)
    return f"{WORDS[part]} takes {own_s} instead of {quantity(other.round_part_s(part), TIME)}"


def _made_of(sums: Mapping[str, float], count: float, units: Sequence[Unit]) -> str:
    """Return the parts of a round or a participation, the largest first."""
    total = sum(sums.values())
    shown = {part: value for part, value in sums.items() if value > LEAST_SHARE * total}
    ordered = sorted(shown, key=lambda part: -shown[part])
    return ", ".join(f"{WORDS[part]} {quantity(shown[part] / count, units)}" for part in ordered)


def listed(texts: Sequence[str]) -> str:
    """Return texts with commas, and "and" before the last."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def _quoted(label: str) -> str:
    """Return a label, in quotation marks if it has a comma."""
    return f"“{label}”" if "," in label else label


def _plural(noun: str, count: float) -> str:
    return noun if count == 1 else f"{noun}s"


def _alike(own: float, other: float) -> bool:
    return abs(own - other) <= ALIKE * abs(other)
