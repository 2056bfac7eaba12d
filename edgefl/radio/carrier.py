"""What carries a round's transfers in virtual time, whoever shares the band with whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import simpy

import channel
from edgefl.core.arrays import Floats
from edgefl.core.streams import Purpose
from edgefl.radio.large_scale import Drop

Bits = tuple[Floats | float, float]  # down, for all participants alike or [n], and up

Way = Literal["down", "up"]
OnAir = Callable[[int, Way, float], None]  # told a device, a direction, and the share of time its radio is on from now
Computing = Callable[[Floats], Floats]  # how long participants [n] compute, by how long their downloads took [n]
FADING: dict[Way, Purpose] = {"down": "fading_down", "up": "fading_up"}
FAST: dict[Way, Purpose] = {"down": "fast_down", "up": "fast_up"}
FAULT: dict[Way, Purpose] = {"down": "fault_down", "up": "fault_up"}
GRID = 1e-6  # of a slot: two times that near are one
WEAK = "check the radio section's powers and bandwidth, or set radio.faults.max_transfer_s"


def ignore_on_air(device: int, way: Way, air: float) -> None:
    """Nobody wants to know whose radio is on."""


def slots_over(time_s: float, slot_s: float) -> int:
    """Slots that are over by a time."""
    return math.floor(time_s / slot_s + GRID)


def slots_begun(time_s: float, slot_s: float) -> int:
    """Slots that have begun before a time: the next border of a slot, from this time on."""
    return math.ceil(time_s / slot_s - GRID)


class Leg(NamedTuple):
    """One participant's download or upload, all its attempts together."""

    duration_s: float
    air_s: float  # of it with the radio on: in its turns, in the frame's direction
    sent_bits: float  # what was sent in vain, too
    delivered: bool
    cut: str = ""  # who cut it short, if somebody did

    def after(self, other: Leg) -> Leg:
        """With another one before it, which has cost what it has cost."""
        return self._replace(
            duration_s=other.duration_s + self.duration_s,
            air_s=other.air_s + self.air_s,
            sent_bits=other.sent_bits + self.sent_bits,
        )


@dataclass(frozen=True)
class Participants:
    """A round's participants [n] as the link sees them."""

    index: int  # of the selection that chose them, from 0: the key of their draws
    drop: Drop
    correlation: Floats  # of the fading between slots
    hold_slots: npt.NDArray[np.int64]  # in block fading; else 1
    tx_power_w: Floats
    start: npt.NDArray[np.complex128]  # fading gain when the round begins
    gap: npt.NDArray[np.complex128]  # draws for the fading's jump over the computing
    attempts_before: int = 0  # of each, in the same direction: part of the key of their draws

    def __len__(self) -> int:
        return len(self.drop.ids)

    def only(self, rows: npt.NDArray[np.intp]) -> Participants:
        """Some of them."""
        arrays = ("correlation", "hold_slots", "tx_power_w", "start", "gap")
        return replace(self, drop=self.drop.only(rows), **{name: getattr(self, name)[rows] for name in arrays})

    def after(self, gain: npt.NDArray[np.complex128], gap_slots: npt.ArrayLike) -> npt.NDArray[np.complex128]:
        """Fading gains [n] `gap_slots` [n] after a download has left `gain` [n]."""
        return channel.fading.advance(gain, self.correlation, gap_slots, self.gap)


class Carrier(Protocol):
    """Carries the transfers of one round. A participant that is interrupted gets what was sent so far."""

    def download(self, row: int) -> Generator[simpy.Event, Any, Leg]:
        """The model's way to a participant, from now on."""

    def upload(self, row: int) -> Generator[simpy.Event, Any, Leg]:
        """The update's way back, from now on."""
