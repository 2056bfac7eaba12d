"""Oort."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, NonNegativeFloat

from edgefl.coordination.selection.base import Selection, draws, weighted
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Floats, Ids
from edgefl.core.section import Count, Share
from edgefl.core.streams import Streams

Percentage = Annotated[float, Field(ge=0, le=100)]

LEAST_SCORE = 1e-9  # so that every device that is near enough can be drawn
LEAST_RANGE = 1e-4  # of utilities, so that scaling equal ones does not divide by zero (as in the program)
RANGE_MARGIN = 0.999  # the least useful device keeps a positive scaled utility (as in the program)


class Oort(Selection):
    """Oort: samples times loss, more after long absence, less if slow; some new devices (Lai et al., OSDI 2021).

    Algorithm 1, with names and scaling of the authors' program. The mean training loss that comes with an update stands
    for the root of its samples' mean squared loss. New devices are drawn uniformly, as nothing is known of their speed.
    """

    report_floats: ClassVar[int] = 1  # devices report their loss; the server's clock measures the rest
    needs_losses: ClassVar[bool] = True  # statistical utility is samples times loss

    exploration_factor: Share = 0.9  # Share of the participants that have never reported, epsilon.
    exploration_decay: Share = 0.98  # Factor on the exploration each round.
    exploration_min: Share = 0.2  # Least exploration.
    # Exponent of the penalty on devices slower than the preferred duration T, alpha.
    round_penalty: NonNegativeFloat = 2.0
    round_threshold: Percentage = 30.0  # Percentile of the round trips seen so far that is the preferred duration T.
    pacer_step: Count = 20  # Rounds that the pacer compares with those before, W.
    pacer_delta: Percentage = 5.0  # Added to round_threshold when W rounds bring less utility than the W before.
    cut_off_util: Share = 0.95  # Least share of the last device's score for others to be drawn in its place, c.
    clip_bound: Share = 0.95  # Quantile at which utilities are cut.

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return exploited devices, then explored ones; each group fills up if the other is too small."""
        never_reported = np.isnan(view.loss[present])
        new = present[never_reported]
        known = present[~never_reported]
        exploration = max(self.exploration_factor * self.exploration_decay**index, self.exploration_min)
        wanted = int(participants * (1 - exploration) + 1e-9)  # 10 (1 - 0.9) is one, too, in spite of rounding
        exploited = min(max(wanted, participants - len(new)), len(known))
        best = known[:0]
        if exploited:
            best = self._exploit(known, exploited, draws(known, index, streams, attempt=1), view)
        explored = weighted(new, np.ones(len(new)), draws(new, index, streams), participants - exploited)
        return np.concatenate([best, explored])

    def _exploit(self, known: Ids, count: int, draw: Floats, view: ServerView) -> Ids:
        """Return `count` of devices [n], drawn by their scores among those close to the best `count`."""
        score = self.scores(known, view)
        last_of_the_best = np.sort(score)[-count]
        near = score >= self.cut_off_util * last_of_the_best
        return weighted(known[near], np.maximum(score[near], LEAST_SCORE), draw[near], count)

    def scores(self, known: Ids, view: ServerView) -> Floats:
        """Return the utilities [n] of devices that have reported.

        The statistical utility is scaled to 0..1. Devices whose last participation is long ago get a bonus, as their
        loss may have changed, and devices slower than T get a penalty (the system's utility).
        """
        utility = view.samples[known] * view.loss[known]
        low = RANGE_MARGIN * utility.min()
        high = utility.max()
        clipped = np.minimum(utility, np.quantile(utility, self.clip_bound))
        scaled = (clipped - low) / max(high - low, LEAST_RANGE)
        rounds = len(view.round_losses) + 1
        score = scaled + np.sqrt(0.1 * np.log(rounds) / view.last_round[known])
        preferred_s = self.preferred_s(view)
        round_trip_s = view.round_trip_s[known]
        slow = round_trip_s > preferred_s
        score[slow] *= (preferred_s / round_trip_s[slow]) ** self.round_penalty
        return np.asarray(score)

    def preferred_s(self, view: ServerView) -> float:
        """Return the preferred duration T [s]: the percentile of all last round trips that the pacer has reached."""
        percentile = self.round_threshold + self.pacer_delta * declines(view.round_losses, self.pacer_step)
        return float(np.nanpercentile(view.round_trip_s, min(percentile, 100.0)))


def declines(utility: Sequence[float], step: int) -> int:
    """Return how often `step` rounds together have brought less utility than the `step` rounds before them."""
    whole = len(utility) // step * step  # the last window counts only when it is complete
    windows = np.array(utility[:whole]).reshape(-1, step).sum(axis=1)
    return int((np.diff(windows) < 0).sum())
