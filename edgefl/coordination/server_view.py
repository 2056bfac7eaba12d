"""What a server can know of its devices: what they said when they registered, and what parts that have ended showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Floats, Ints

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class ServerView:
    """Arrays over devices, not to be written to; a selection has nothing else by which to tell devices apart.

    All but `samples` and `latest` is of parts that had ended when the last round did.
    """

    samples: Ints  # held, reported at registration
    parts: Ints  # how often it has taken part, to whatever end
    last: Ints  # the round, from 1, in which its last part ended; 0: never
    trip_s: Floats  # from sending the model to the update, by the server's clock; nan: never
    energy_j: Floats  # of radio and processor in its last part, as it reported; nan: never
    battery_j: Floats  # in its battery after its last part, as it reported; inf: it has none; nan: never
    loss: Floats  # mean training loss that came with its last update, or its last answer to a poll; nan: never
    total_loss: Sequence[float]  # samples times loss, over the updates of each round that has ended
    latest: int = -1  # the device that was sent the model last


class DeviceReports(NamedTuple):
    """What the server has seen of devices [n] whose parts have ended in a round."""

    ids: Ints
    received: Bools  # whether an update has come; what follows counts only then, but for the first
    trip_s: Floats  # how long the server has waited for it, in vain or not
    energy_j: Floats  # as in ServerView
    battery_j: Floats
    loss: Floats


class DeviceTracker:
    """Holds what the server knows.

    Args:
        samples: [devices] held by each.
    """

    def __init__(self, samples: Ints) -> None:
        count = len(samples)
        self._parts, self._last = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self._trip_s, self._energy_j, self._battery_j, self._loss = (np.full(count, np.nan) for _ in range(4))
        self._total_loss: list[float] = []
        self.known = ServerView(
            samples=_read_only(samples),
            parts=_read_only(self._parts),
            last=_read_only(self._last),
            trip_s=_read_only(self._trip_s),
            energy_j=_read_only(self._energy_j),
            battery_j=_read_only(self._battery_j),
            loss=_read_only(self._loss),
            total_loss=self._total_loss,
        )

    def asked(self, ids: Ints) -> None:
        """Devices [n] are sent the model, in this order."""
        if len(ids):
            self.known = replace(self.known, latest=int(ids[-1]))

    def answered(self, ids: Ints, loss: Floats) -> None:
        """Devices [n] have said which loss [n] the model has on their samples."""
        self._loss[ids] = loss

    def enter(self, seen: DeviceReports) -> None:
        """A round has ended."""
        ids, received, trip_s, *reported = seen
        self._parts[ids] += 1
        self._last[ids] = len(self._total_loss) + 1
        self._trip_s[ids] = np.where(received, trip_s, np.fmax(self._trip_s[ids], trip_s))  # in vain: at least so long
        heard = ids[received]
        for array, values in zip((self._energy_j, self._battery_j, self._loss), reported, strict=True):
            array[heard] = values[received]
        self._total_loss.append(float(self.known.samples[heard] @ np.nan_to_num(self._loss[heard])))


def _read_only(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """What is written to the array shows in it."""
    view = array.view()
    view.flags.writeable = False
    return view
