"""One key changed, all else equal: each value of a key against its baseline, over all settings of the other keys."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.units import digits
from edgefl.results import statistics
from edgefl.results.report.shared.tables import counted
from edgefl.results.report.sweep.estimates import SIGNIFICANCE_LEVEL
from edgefl.results.report.sweep.measures import SweepMeasure, difference_text, p_text
from edgefl.results.report.sweep.study import Study, SweptKey
from edgefl.results.statistics import Matched


class KeyEffect(NamedTuple):
    """A measure with one value of a key against it with the baseline value, in matched pairs of runs.

    The runs of a pair have the same seed and the same values of all other keys. `p` is adjusted after Holm for all
    effects on the measure.
    """

    measure: SweepMeasure
    key: SweptKey
    level: int
    baseline: int
    matched: Matched
    reached: int  # pairs where the level has a number: of a target, where it was reached
    baseline_reached: int
    p: float

    @property
    def is_significant(self) -> bool:
        """Return whether the effect is hardly chance."""
        return self.p < SIGNIFICANCE_LEVEL


def effects(
    study: Study, measure: SweepMeasure, baselines: Sequence[int], points: Sequence[int] | None = None
) -> list[KeyEffect]:
    """Return the effects of all values of all keys on a measure, over some points of a sweep, or all.

    The `baselines` are the numbers of the baseline values [keys].
    """
    if points is None:
        points = range(len(study.points))
    found = []
    for number, key in enumerate(study.keys):
        baseline = baselines[number]
        runs = {level: _runs_at(study, measure, number, level, points) for level in range(len(key.texts))}
        for level in range(len(key.texts)):
            # A value may occur at other points only.
            if level != baseline and runs[level] and runs[baseline]:
                effect = _effect(measure, key, (level, baseline), (runs[level], runs[baseline]))
                found.append(effect)
    adjusted = statistics.holm([effect.matched.p for effect in found])
    return [effect._replace(p=float(p)) for effect, p in zip(found, adjusted, strict=True)]


def effect_between(study: Study, measure: SweepMeasure, number: int, level: int, baseline: int = 0) -> KeyEffect:
    """Return the effect of one value of a key, all given by their numbers; its p-value is that of this one test."""
    points = range(len(study.points))
    ours = _runs_at(study, measure, number, level, points)
    theirs = _runs_at(study, measure, number, baseline, points)
    effect = _effect(measure, study.keys[number], (level, baseline), (ours, theirs))
    return effect._replace(p=effect.matched.p)


def _runs_at(
    study: Study, measure: SweepMeasure, number: int, level: int, points: Sequence[int]
) -> dict[tuple[int, ...], float]:
    """Return the values of the finished runs at one value of a key, by the values of the other keys and the seed."""
    values = study.numbers[measure.name]
    seeds = study.numbers["seed"]
    runs = {}
    for point in points:
        indices = study.points[point].value_indices
        if indices[number] != level:
            continue
        for row in study.finished_rows[point]:
            setting = (*indices[:number], *indices[number + 1 :], int(seeds[row]))
            runs[setting] = float(values[row])
    return runs


def _effect(
    measure: SweepMeasure,
    key: SweptKey,
    levels: tuple[int, int],
    runs: tuple[dict[tuple[int, ...], float], dict[tuple[int, ...], float]],
) -> KeyEffect:
    ours, theirs = runs
    settings = [setting for setting in theirs if setting in ours]
    values = np.array([ours[setting] for setting in settings], np.float64)
    reference = np.array([theirs[setting] for setting in settings], np.float64)
    seeds = [setting[-1] for setting in settings]
    matched = statistics.matched(reference, values, seeds, ratios=not measure.is_share)
    reached = int(np.isfinite(values).sum())
    baseline_reached = int(np.isfinite(reference).sum())
    level, baseline = levels
    return KeyEffect(measure, key, level, baseline, matched, reached, baseline_reached, math.nan)


# Texts


def ratio_text(matched: Matched) -> str:
    """Return a ratio with its confidence interval: ``0.71 (0.66 to 0.77)``; an empty text without one."""
    if not math.isfinite(matched.ratio):
        return ""
    text = digits(matched.ratio)
    # Of pairs with one and the same ratio the interval is a point.
    if matched.ratio_low < matched.ratio_high < math.inf:
        text += f" ({digits(matched.ratio_low)} to {digits(matched.ratio_high)})"
    return text


def pairs_text(effect: KeyEffect) -> str:
    """Return the number of pairs, and how many of them are known if not all are: ``32 of 48``."""
    matched = effect.matched
    if matched.known == matched.n:
        return f"{matched.n:,}"
    return f"{matched.known:,} of {matched.n:,}"


def seeds_text(effect: KeyEffect) -> str:
    """Return the number of seeds of the known pairs: ``4 seeds``."""
    return counted(effect.matched.difference.n, "seed")


def effect_sentence(effect: KeyEffect, title: str) -> str:
    """Return an effect in words, to be quoted; `title` is that of the measure, with its goal.

    Such as ``With Mine instead of FedAvg, the time to 80 % is multiplied by 0.71 (95 % CI 0.66 to 0.77; 48 pairs
    under 4 seeds; p < 0.001).``
    """
    key = effect.key
    level = key.named_texts[effect.level]
    baseline = key.texts[effect.baseline]
    matched = effect.matched
    if not matched.n:
        return f"{level} and {baseline} have no runs that are otherwise equal."
    opening = f"With {level} instead of {baseline}, the {title}"
    reach = _reach_text(effect)
    if not matched.known:
        return f"{opening} cannot be compared, as no pair has both numbers{reach}."
    difference = matched.difference
    if difference.mean == 0 and difference.half == 0:
        return f"{opening} is the same in all {matched.known:,} known pairs{reach}."
    pairs = pairs_text(effect)
    noun = "pair" if pairs == "1" else "pairs"
    facts = [f"{pairs} {noun} under {seeds_text(effect)}"]
    if math.isfinite(matched.ratio):
        change = f"is multiplied by {digits(matched.ratio)}"
        if matched.ratio_low < matched.ratio_high < math.inf:
            facts.insert(0, f"95 % CI {digits(matched.ratio_low)} to {digits(matched.ratio_high)}")
    else:
        change = f"changes by {difference_text(difference, effect.measure)}"
    if math.isfinite(effect.p):
        facts.append(p_text(effect.p))
    text = f"{opening} {change} ({'; '.join(facts)})"
    if effect.p >= SIGNIFICANCE_LEVEL:
        text += ", which may be chance"
    return f"{text}{reach}."


def _reach_text(effect: KeyEffect) -> str:
    """Return how often each of the two reached the target; an empty text where both always did."""
    matched = effect.matched
    if not effect.measure.bound or matched.known == matched.n:
        return ""
    texts = effect.key.texts
    ours = f"{texts[effect.level]} reached it in {effect.reached:,} of {matched.n:,} pairs"
    return f"; {ours}, {texts[effect.baseline]} in {effect.baseline_reached:,}"
