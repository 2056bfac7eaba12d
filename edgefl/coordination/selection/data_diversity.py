"""The diversity of devices' samples."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import NonNegativeFloat, model_validator

from edgefl.coordination.selection.base import Selection, draws, lowest
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Floats, Ids, Ints
from edgefl.core.section import fault_at
from edgefl.core.streams import Streams


class DataDiversity(Selection):
    """Diverse labels, many samples and long absence, weighted (the index of DAS: Taïk et al., IEEE TCCN 8(1), 2022).

    Each of the three is scaled to 0..1. The diversity of a device's labels is the Gini-Simpson or Shannon's index over
    its greatest value. `coverage` looks at the chosen set instead of single devices: at the sum over classes of the
    root of the number of samples. The device that adds most comes next, which gives at least 1 - 1/e of the best set's
    value (Nemhauser, Wolsey & Fisher, 1978).
    """

    needs_labels: ClassVar[bool] = True  # devices tell at registration how many samples of each class they have

    # Diversity of each device's labels (gini_simpson, shannon), or of those of the chosen set (coverage).
    measure: Literal["gini_simpson", "shannon", "coverage"] = "gini_simpson"
    diversity: NonNegativeFloat = 1.0  # Weight of the labels' diversity.
    size: NonNegativeFloat = 1.0  # Weight of the number of samples.
    age: NonNegativeFloat = 1.0  # Weight of the rounds since a device last took part.

    @model_validator(mode="after")
    def _check_weights(self) -> DataDiversity:
        if not self.diversity + self.size + self.age:
            raise fault_at(("diversity",), "diversity, size and age must not all be 0: give one of them a weight")
        return self

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices with the highest weighted sums; ties are drawn."""
        labels = self._labels(view)[present]
        rounds = len(view.round_losses)
        samples = labels.sum(axis=1)
        score = self.size * _scaled(samples) + self.age * _scaled(rounds - view.last_round[present])
        draw = draws(present, index, streams)
        if self.measure == "coverage":
            return present[covering(labels, score, self.diversity, participants, draw)]
        score = score + self.diversity * diversity(labels, self.measure)
        return lowest(present, -score, draw, participants)

    def _labels(self, view: ServerView) -> Ints:
        if view.labels is None:
            raise RuntimeError("the view has no labels: set `needs_labels` in the selection")
        return view.labels


def diversity(labels: Ints, measure: Literal["gini_simpson", "shannon"]) -> Floats:
    """Return the diversity [n] of labels [n, classes]: 0 with a single class, 1 with all of them equally often."""
    classes = labels.shape[1]
    if classes == 1:
        return np.zeros(len(labels))
    share = labels / labels.sum(axis=1, keepdims=True)
    if measure == "gini_simpson":
        return np.asarray((1 - (share**2).sum(axis=1)) / (1 - 1 / classes))
    logarithm = np.log(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logarithm).sum(axis=1) / np.log(classes))


def covering(labels: Ints, score: Floats, weight: float, count: int, draw: Floats) -> Ints:
    """Return `count` rows of [n] that together have most, chosen one after another by what they add.

    Args:
        labels: [n, classes] samples of each class.
        score: [n] value that each adds in any case.
        weight: of the coverage, which is 1 for all rows together.
        count: how many rows.
        draw: [n] the lower one comes first in a tie.
    """
    whole = np.sqrt(labels.sum(axis=0)).sum()
    covered = np.zeros(labels.shape[1])
    left = np.argsort(draw, kind="stable")
    chosen = []
    for _ in range(count):
        gain = np.sqrt(covered + labels[left]).sum(axis=1) - np.sqrt(covered).sum()
        place = int(np.argmax(weight * gain / whole + score[left]))
        row = int(left[place])
        chosen.append(row)
        covered += labels[row]
        left = np.delete(left, place)
    return np.array(chosen, dtype=np.int64)


def _scaled(numbers: Ints) -> Floats:
    """Return numbers [n] over the greatest of them; 0 if that is 0."""
    return np.asarray(numbers / max(int(numbers.max()), 1))
