"""TiFL: tiers of devices that are alike in speed."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, NonNegativeFloat, model_validator

from edgefl.coordination.selection.base import Selection, draws, weighted
from edgefl.coordination.server_view import DeviceReports, ServerView
from edgefl.core.arrays import Bools, Floats, Ids, Ints
from edgefl.core.section import Count, fault_at
from edgefl.core.streams import Streams

Weights = Annotated[tuple[NonNegativeFloat, ...], Field(strict=False, min_length=1)]

PROFILED, LATENCY_S, DRAWN, WEIGHT, LOSS_BEFORE = range(5)
"""Columns of the memory: of device i, in row i, how often it was profiled and the sum of its latencies then; of tier t,
in row t, how often it was drawn, its weight (all 0: as at first) and its loss at the last review of the tiers."""


class TiFL(Selection):
    """Devices of one tier of latency a round, drawn adaptively by loss if wanted (TiFL: Chai et al., HPDC 2020).

    Devices are profiled in their first `profile_rounds` participations, and stand by their mean latency in tiers of
    equal size. A round draws a tier by `probabilities`, and participants within it uniformly. With `adaptive`
    (algorithm 2), the tiers are reviewed every `interval` rounds: if the loss of the tier that was drawn last has not
    fallen since, the tiers get new weights, the highest loss most. A tier that has been drawn `credits` times is drawn
    no more.
    """

    count_varies: ClassVar[bool] = True  # a tier may have fewer devices than a round asks for
    memory_width: ClassVar[int] = 5  # the columns above

    tiers: Count = 5  # Number of tiers of latency.
    profile_rounds: Count = 1  # Number of participations that measure a device's latency.
    # Probabilities of the tiers, fastest first, in proportion; by default all are alike.
    probabilities: Weights | None = None
    adaptive: bool = False  # Whether tiers with higher losses become more probable.
    interval: Count = 10  # Drawn rounds from one review of the tiers to the next, I.
    credits: Count | None = None  # How often each tier may be drawn; by default without limit.

    @model_validator(mode="after")
    def _check_probabilities(self) -> TiFL:
        if self.probabilities is None:
            return self
        if len(self.probabilities) != self.tiers:
            given = len(self.probabilities)
            raise fault_at(("probabilities",), f"must have one number for each of {self.tiers} tiers, got {given}")
        if not sum(self.probabilities):
            raise fault_at(("probabilities",), "must not all be 0")
        return self

    @property
    def report_floats(self) -> int:
        """If it is adaptive, devices report their loss."""
        return int(self.adaptive)

    @property
    def needs_losses(self) -> bool:
        """If it is adaptive, tiers' losses stand for the paper's accuracies on the tiers' test samples."""
        return self.adaptive

    def check(self, count: int, participants: int) -> str | None:
        """Return why there cannot be so many tiers; None if there can."""
        if self.tiers <= count:
            return None
        return f"tiers must be at most devices.count = {count}, got {self.tiers}"

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return devices that are to be profiled, if there are any, and otherwise those of a tier."""
        new = present[view.memory[present, PROFILED] < self.profile_rounds]
        members = new
        if not len(new):
            tier = self.tiers_of(view.memory)[present]
            # No device draws a number of this attempt in a round, so it is free for the round's tier.
            draw = float(draws(np.zeros(1, dtype=np.int64), index, streams, attempt=1)[0])
            members = present[tier == self._drawn(tier, view.memory, draw)]
        return weighted(members, np.ones(len(members)), draws(members, index, streams), participants)

    def tiers_of(self, memory: Floats) -> Ints:
        """Return the tier [devices] of each device, 0 the fastest; -1: not profiled yet."""
        profiled = np.flatnonzero(memory[:, PROFILED] >= self.profile_rounds)
        tier = np.full(len(memory), -1)
        mean_s = memory[profiled, LATENCY_S] / memory[profiled, PROFILED]
        order = np.argsort(mean_s, kind="stable")
        tier[profiled[order]] = np.arange(len(profiled)) * self.tiers // max(len(profiled), 1)
        return tier

    def _drawn(self, tier: Ints, memory: Floats, draw: float) -> int:
        """Return the tier of a round, one of those [n] of the devices that can be asked."""
        there = np.bincount(tier, minlength=self.tiers) > 0
        weight = there * self._weights(memory) * self._has_credits(memory)
        if not weight.any():  # no tier with a credit and a chance is present
            weight = there.astype(np.float64)
        limits = np.cumsum(weight) / weight.sum()
        return int(np.searchsorted(limits, draw, side="right"))

    def _weights(self, memory: Floats) -> Floats:
        weight = memory[: self.tiers, WEIGHT]
        if weight.any():
            return weight
        return np.array(self.probabilities or np.ones(self.tiers), dtype=np.float64)

    def _has_credits(self, memory: Floats) -> Bools:
        """Return which tiers [tiers] may still be drawn."""
        if self.credits is None:
            return np.ones(self.tiers, dtype=bool)
        return np.asarray(memory[: self.tiers, DRAWN] < self.credits)

    def remember(self, memory: Floats, reports: DeviceReports, view: ServerView) -> Floats:
        """Return profiles and books after a round."""
        after = memory.copy()
        tier = self.tiers_of(memory)
        of_round = tier[reports.ids]
        new = of_round < 0
        np.add.at(after[:, PROFILED], reports.ids[new], 1)
        np.add.at(after[:, LATENCY_S], reports.ids[new], reports.round_trip_s[new])
        if new.all():
            return after
        last = int(np.bincount(of_round[~new]).argmax())
        after[last, DRAWN] += 1
        if self.adaptive and after[: self.tiers, DRAWN].sum() % self.interval == 0:
            loss = self._losses(tier, view)
            if after[last, LOSS_BEFORE] and loss[last] >= after[last, LOSS_BEFORE]:
                after[: self.tiers, WEIGHT] = changed_weights(loss, self._has_credits(after))
            after[: self.tiers, LOSS_BEFORE] = loss
        return after

    def _losses(self, tier: Ints, view: ServerView) -> Floats:
        """Return the mean loss of a sample in each tier [tiers], as its devices reported last; inf if none has."""
        known = (tier >= 0) & ~np.isnan(view.loss)
        samples = np.bincount(tier[known], view.samples[known], minlength=self.tiers)
        total = np.bincount(tier[known], (view.samples * view.loss)[known], minlength=self.tiers)
        return np.asarray(np.divide(total, samples, out=np.full(self.tiers, np.inf), where=samples > 0))


def changed_weights(loss: Floats, has_credits: Bools) -> Floats:
    """Return weights [tiers] that fall by equal steps from the highest loss to the lowest; 0 without credits."""
    weight = np.zeros(len(loss))
    open_tiers = np.flatnonzero(has_credits)
    order = open_tiers[np.argsort(loss[open_tiers], kind="stable")]
    steps = len(order)
    weight[order] = np.arange(1, steps + 1) / (steps * (steps + 1) / 2)
    return weight
