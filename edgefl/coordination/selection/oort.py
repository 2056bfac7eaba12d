"""Oort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeFloat

from edgefl.coordination.selection.base import Selection, draws, weighted
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Floats, Ids
from edgefl.core.section import Count
from edgefl.core.streams import Streams

Share = Annotated[float, Field(ge=0, le=1)]
Percent = Annotated[float, Field(ge=0, le=100)]
LEAST = 1e-9  # score, so that each can be drawn


class Oort(Selection):
    """Oort: samples times loss, more for who was long away, less for the slow; some new ones (Lai et al., OSDI 2021).

    Algorithm 1, with names and scaling of the authors' program. The mean training loss that comes with an update stands
    for the root of its samples' mean squared loss. Who is new is drawn uniformly: nothing is known of their speed.
    """

    exploration_factor: Share = 0.9  # epsilon: part of the participants that has never been heard
    exploration_decay: Share = 0.98  # of it, each round
    exploration_min: Share = 0.2  # below which it does not fall
    round_penalty: NonNegativeFloat = 2.0  # alpha, of devices slower than the preferred duration T
    round_threshold: Percent = 30.0  # T is this percentile of the round trips that the server has seen
    pacer_step: Count = 20  # W, rounds
    pacer_delta: Percent = 5.0  # added to round_threshold when W rounds bring less utility than the W before
    cut_off_util: Share = 0.95  # c: who has this part of the last one's score may be drawn in its place
    clip_bound: Share = 0.95  # quantile at which utilities are cut

    @property
    def reports(self) -> int:
        """The loss; the server has a clock."""
        return 1

    @property
    def by_loss(self) -> bool:
        """Statistical utility is made of it."""
        return True

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, known: ServerView) -> Ids:
        """Exploited ones first, then explored ones; each group fills up where the other is too small."""
        new = np.isnan(known.loss[present])
        fresh, seen = present[new], present[~new]
        exploration = max(self.exploration_factor * self.exploration_decay**index, self.exploration_min)
        wanted = int(participants * (1 - exploration) + 1e-9)  # 10 (1 - 0.9) is one, too
        exploited = min(max(wanted, participants - len(fresh)), len(seen))
        best = self._exploit(seen, exploited, draws(seen, index, streams, attempt=1), known) if exploited else seen[:0]
        others = weighted(fresh, np.ones(len(fresh)), draws(fresh, index, streams), participants - exploited)
        return np.concatenate([best, others])

    def _exploit(self, seen: Ids, count: int, draw: Floats, known: ServerView) -> Ids:
        """`count` of devices [n], by their scores, of those that come near the best `count`."""
        score = self.scores(seen, known)
        enough = score >= self.cut_off_util * np.sort(score)[-count]
        return weighted(seen[enough], np.maximum(score[enough], LEAST), draw[enough], count)

    def scores(self, seen: Ids, known: ServerView) -> Floats:
        """Utilities [n] of devices that have been heard: statistical, scaled to 0..1, and for time; of the system."""
        utility = known.samples[seen] * known.loss[seen]
        low, high = 0.999 * utility.min(), utility.max()
        scaled = (np.minimum(utility, np.quantile(utility, self.clip_bound)) - low) / max(high - low, 1e-4)
        rounds = len(known.total_loss) + 1
        score = scaled + np.sqrt(0.1 * np.log(rounds) / known.last[seen])
        preferred_s, trip_s = self.preferred_s(known), known.trip_s[seen]
        late = trip_s > preferred_s
        score[late] *= (preferred_s / trip_s[late]) ** self.round_penalty
        return np.asarray(score)

    def preferred_s(self, known: ServerView) -> float:
        """T: the percentile of all last round trips that the pacer has come to."""
        percentile = self.round_threshold + self.pacer_delta * falls(known.total_loss, self.pacer_step)
        return float(np.nanpercentile(known.trip_s, min(percentile, 100.0)))


def falls(utility: Sequence[float], step: int) -> int:
    """How often `step` rounds together have brought less utility than the `step` rounds before them."""
    windows = np.array(utility[: len(utility) // step * step]).reshape(-1, step).sum(axis=1)
    return int((np.diff(windows) < 0).sum())
