"""The transmission engines: how many slots one attempt of each transfer takes, and the draws behind it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

import channel
from channel.transfer import MAX_SLOTS, Innovations, TransferTooLong, Walk
from edgefl.core.arrays import Bools, Complex, Floats, Ints, Rows
from edgefl.core.errors import RunError
from edgefl.core.streams import Streams
from edgefl.radio.budget import Budget
from edgefl.radio.carrier import FADING, FAST, WEAK, Participants, Way

NOTICEABLE_S = 2.0


@dataclass(frozen=True)
class Attempt:
    """One attempt of each of some participants' transfers [r]."""

    way: Way
    who: Participants
    rows: Rows  # which participants
    number: int  # of the attempt, from 0
    payload_bits: Floats  # as if all slots carried nothing else
    mean_snr: Floats
    bandwidth_hz: Floats
    start: Complex  # fading gains before the first slot
    limit_slots: Ints | None  # where each is cut short

    @property
    def ids(self) -> Ints:
        """The participants' devices."""
        return self.who.drop.ids[self.rows]

    @property
    def correlation(self) -> Floats:
        """Of the fading between slots."""
        return self.who.correlation[self.rows]

    @property
    def k_factor(self) -> Floats:
        """Ricean K."""
        return self.who.drop.k_factor[self.rows]

    @property
    def hold_slots(self) -> Ints:
        """Slots of a block of fading."""
        return self.who.hold_slots[self.rows]

    @property
    def still(self) -> Bools:
        """Whose channel does not change."""
        return np.asarray((np.abs(self.correlation) == 1.0) | np.isinf(self.k_factor))

    def only(self, at: npt.NDArray[np.intp]) -> Attempt:
        """The same for some of the transfers."""
        return replace(
            self,
            rows=self.rows[at],
            payload_bits=self.payload_bits[at],
            mean_snr=self.mean_snr[at],
            bandwidth_hz=self.bandwidth_hz[at],
            start=self.start[at],
            limit_slots=None if self.limit_slots is None else self.limit_slots[at],
        )


class Engine:
    """Carries attempts by `slots` or by `fast`, as the scenario says; holds what walking has cost."""

    def __init__(self, budget: Budget, streams: Streams) -> None:
        self.budget, self.streams, self.radio = budget, streams, budget.radio
        self._walking_s = 0.0  # wall-clock
        self.needless_s = 0.0  # wall-clock of slots that `fast` would not walk

    def carry(self, attempt: Attempt) -> Walk:
        """Slots, bits and the fading afterwards.

        Raises:
            RunError: a link is too weak for its payload, and nothing limits its time.
        """
        try:
            if self.radio.transfer == "fast" and (attempt.hold_slots == 1).all():
                return self._estimated(attempt)
            began = time.perf_counter()
            walk = self._walked(attempt)
        except TransferTooLong as error:
            raise RunError(f"round {attempt.who.index + 1}: {error}; {WEAK}") from None
        self._count(attempt, walk.slots, time.perf_counter() - began)
        return walk

    def innovations(self, way: Way, who: Participants, rows: Rows, number: int) -> Innovations:
        """The fading's draws during one attempt of each of `rows`: a stream of its own for each."""
        ids, key = who.drop.ids[rows], (who.index, who.attempts_before + number)
        return channel.transfer.innovations_of(
            cache(lambda place: self.streams.sequence(FADING[way], int(ids[place]), *key))
        )

    def _walked(self, attempt: Attempt) -> Walk:
        """Slot by slot, each with its own draws."""
        draws = self.innovations(attempt.way, attempt.who, attempt.rows, attempt.number)
        rest = self.budget.efficiency, attempt.k_factor, attempt.hold_slots
        if attempt.limit_slots is not None:
            link = *self._link(attempt), draws, attempt.start
            return channel.transfer.walk_until(attempt.limit_slots, *link, *rest)
        duration_s, gain = channel.transfer.walk(*self._link(attempt), draws, attempt.start, MAX_SLOTS, *rest)
        return Walk(np.rint(duration_s / self.radio.slot_s).astype(np.int64), attempt.payload_bits, gain)

    def _estimated(self, attempt: Attempt) -> Walk:
        """By `fast`; the fading afterwards is a new draw, and bits before a limit are in proportion.

        What `fast` would walk itself is walked here where there is a limit: it may not end before.
        """
        limit, count = attempt.limit_slots, 3 * (attempt.who.attempts_before + attempt.number + 1)
        normals = self.streams.normal(FAST[attempt.way], attempt.ids, attempt.who.index, count=count)[:, -3:]
        gain = np.where(attempt.still, attempt.start, (normals[:, 1] + 1j * normals[:, 2]) * np.sqrt(0.5))
        if limit is None:
            return Walk(self._fast(attempt, normals[:, 0]).astype(np.int64), attempt.payload_bits, gain)
        slot_bits = attempt.bandwidth_hz * self.radio.slot_s * self.budget.mean_bps_hz(attempt.mean_snr)
        needed = attempt.payload_bits / np.maximum(slot_bits, 1e-300)
        walks = attempt.still | self._walks(attempt)
        estimated, walked = np.flatnonzero(~walks & (needed < MAX_SLOTS)), np.flatnonzero(walks)
        needed[estimated] = self._fast(attempt.only(estimated), normals[estimated, 0])
        used = np.minimum(needed, limit).astype(np.int64)
        sent = attempt.payload_bits * np.divide(used, needed, out=np.ones(len(used)), where=needed > 0)
        used[walked], sent[walked], _ = self._walked(attempt.only(walked))
        return Walk(used, sent, gain)

    def _fast(self, attempt: Attempt, normals: Floats) -> Floats:
        """Slots [r] that transfers take if nothing cuts them short."""
        draws = self.innovations(attempt.way, attempt.who, attempt.rows, attempt.number)
        rest = attempt.start, MAX_SLOTS, self.budget.efficiency, attempt.k_factor
        duration_s = channel.transfer.fast(*self._link(attempt), normals, draws, *rest)
        return np.rint(duration_s / self.radio.slot_s)

    def _link(self, attempt: Attempt) -> tuple[Floats, Floats, Floats, float, Floats]:
        """What all functions of `channel.transfer` begin with."""
        snr, bandwidth = attempt.mean_snr, attempt.bandwidth_hz
        return attempt.payload_bits, snr, bandwidth, self.radio.slot_s, attempt.correlation

    def _walks(self, attempt: Attempt) -> Bools:
        """Which transfers `fast` walks."""
        return channel.first_passage.walked(*self._link(attempt), self.budget.efficiency, attempt.k_factor)

    def _count(self, attempt: Attempt, slots: Ints, wall_s: float) -> None:
        """Note what those slots have cost that `fast` would not have walked."""
        self._walking_s += wall_s
        if self._walking_s < NOTICEABLE_S:  # the tables of `fast` take as long
            return
        needless = ~self._walks(attempt) & ~attempt.still & (attempt.hold_slots == 1)
        self.count_needless(wall_s * int(slots[needless].sum()) / max(int(slots.sum()), 1))

    def count_needless(self, wall_s: float) -> None:
        """Add to the wall-clock that `transfer: fast` would have saved."""
        if self.radio.transfer == "slots":
            self.needless_s += wall_s
