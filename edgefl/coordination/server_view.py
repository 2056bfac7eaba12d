"""The server's knowledge of its devices: what they said at registration, and what ended participations have shown.

A selection sees devices through `ServerView` alone, so it cannot look into the future or at a device's channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Floats, Ids, Ints

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class ServerView:
    """The server's knowledge of its devices, as read-only arrays [devices].

    All but `samples` and `last_asked` covers participations that had ended when the last round ended.
    """

    samples: Ints  # on the device, as it said at registration
    participations: Ints  # how many have ended, with or without an update
    last_round: Ints  # in which its last participation ended, from 1; 0: never
    round_trip_s: Floats  # from sending the model to the update, by the server's clock; nan: never
    energy_j: Floats  # of radio and processor in its last participation, as it reported; nan: never
    battery_j: Floats  # in its battery after its last participation, as it reported; inf: on mains; nan: never
    loss: Floats  # mean training loss that came with its last update, or its last answer to a poll; nan: never
    round_losses: Sequence[float]  # [rounds] sum over a round's updates of samples times loss
    last_asked: int = -1  # the device that was sent the model last


class DeviceReports(NamedTuple):
    """A round's evidence of devices [n] whose participations ended in it."""

    ids: Ids
    received: Bools  # whether an update has come; if not, the device has reported nothing
    round_trip_s: Floats  # how long the server has waited for the device, with or without an update
    energy_j: Floats  # as in ServerView
    battery_j: Floats
    loss: Floats


class DeviceTracker:
    """Keeps `view`, the server's knowledge of its devices, up to date.

    Args:
        samples: [devices] on each device.
    """

    def __init__(self, samples: Ints) -> None:
        count = len(samples)
        self._participations = np.zeros(count, dtype=np.int64)
        self._last_round = np.zeros(count, dtype=np.int64)
        self._round_trip_s = np.full(count, np.nan)
        self._energy_j = np.full(count, np.nan)
        self._battery_j = np.full(count, np.nan)
        self._loss = np.full(count, np.nan)
        self._round_losses: list[float] = []
        self.view = ServerView(
            samples=_read_only(samples),
            participations=_read_only(self._participations),
            last_round=_read_only(self._last_round),
            round_trip_s=_read_only(self._round_trip_s),
            energy_j=_read_only(self._energy_j),
            battery_j=_read_only(self._battery_j),
            loss=_read_only(self._loss),
            round_losses=self._round_losses,
        )

    def note_sent(self, ids: Ids) -> None:
        """Note that devices [n] are sent the model, in this order."""
        if len(ids):
            self.view = replace(self.view, last_asked=int(ids[-1]))

    def note_poll(self, ids: Ids, loss: Floats) -> None:
        """Note the loss [n] that devices [n] report for the model on their samples."""
        self._loss[ids] = loss

    def close_round(self, reports: DeviceReports) -> None:
        """Note what the round that ends now has shown."""
        ids = reports.ids
        self._participations[ids] += 1
        self._last_round[ids] = len(self._round_losses) + 1
        # If no update came, the round trip takes at least as long as the server has waited, and as long as before.
        at_least_s = np.fmax(self._round_trip_s[ids], reports.round_trip_s)
        self._round_trip_s[ids] = np.where(reports.received, reports.round_trip_s, at_least_s)
        reporting = ids[reports.received]
        self._energy_j[reporting] = reports.energy_j[reports.received]
        self._battery_j[reporting] = reports.battery_j[reports.received]
        self._loss[reporting] = reports.loss[reports.received]
        known_loss = np.nan_to_num(self._loss[reporting])
        self._round_losses.append(float(self.view.samples[reporting] @ known_loss))


def _read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a view that shows later changes of the array, but refuses to be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
