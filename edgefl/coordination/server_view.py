"""The server's knowledge of its devices: what they reported at registration and in participations that have ended.

A selection sees devices only through `ServerView`, so it does not know the future, and of channels only what
`server.csi` allows: the `forecast`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from edgefl.coordination.forecast import Forecast
from edgefl.core.arrays import Bools, Floats, Ids, Ints

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class ServerView:
    """The server's knowledge of its devices, as read-only arrays [devices].

    Except for `samples`, `labels` and `last_asked`, it is as of the end of the last round.
    """

    samples: Ints  # number of samples on the device, as reported at registration
    participations: Ints  # number of participations that have ended, with or without an update
    last_round: Ints  # the round where the last one ended, from 1; 0: none has
    round_trip_s: Floats  # from sending the model to receiving the update, by the server's clock; nan: unknown
    energy_j: Floats  # energy of radio and processor in the last participation, as reported; nan: unknown
    battery_j: Floats  # battery level after the last participation, as reported; inf: on mains; nan: unknown
    loss: Floats  # mean training loss of the last update, or loss of the last answer to a poll; nan: unknown
    update_norm: Floats  # L2 norm of the update that the last answer to a poll reported; nan: unknown
    round_losses: Sequence[float]  # [rounds] sum over a round's updates of samples times loss
    memory: Floats  # [devices, k] numbers that the selection has kept with `remember`; k is its `memory_width`
    labels: Ints | None = None  # [devices, classes] samples by class, as reported at registration; None: not asked for
    last_asked: int = -1  # the device that was sent the model last; -1: none
    forecast: Forecast | None = None  # of the devices that can be chosen, at this moment; None without `server.csi`

    def forecast_of(self, ids: Ids) -> Forecast:
        """Return the forecast of devices [n] that can be chosen.

        Raises:
            RuntimeError: the server makes none; a selection that asks for it sets `needs_csi`.
        """
        if self.forecast is None:
            raise RuntimeError("there is no forecast: set `needs_csi` in the selection")
        return self.forecast.of(ids)


class DeviceReports(NamedTuple):
    """The server's observations of devices [n] whose participations ended in a round."""

    ids: Ids
    received: Bools  # whether an update arrived; if not, the device has reported nothing
    round_trip_s: Floats  # how long the server has waited for the device, with or without an update
    energy_j: Floats  # as in ServerView
    battery_j: Floats
    loss: Floats

    def heard(self, unreported_j: Floats) -> DeviceReports:
        """Return the reports that have reached the server, with nan where no update has arrived.

        Devices report energy with the next update that arrives: `unreported_j` [n] is the energy since the last one.
        """
        return self._replace(
            energy_j=np.where(self.received, unreported_j, np.nan),
            battery_j=np.where(self.received, self.battery_j, np.nan),
            loss=np.where(self.received, self.loss, np.nan),
        )


class DeviceTracker:
    """Keeps `view`, the server's knowledge of its devices, up to date.

    Args:
        samples: [devices] number of samples on each device.
        memory_width: how many numbers of each device the selection keeps.
        labels: [devices, classes] number of samples of each class; None: the selection does not need them.
    """

    def __init__(self, samples: Ints, memory_width: int = 0, labels: Ints | None = None) -> None:
        count = len(samples)
        self._participations = np.zeros(count, dtype=np.int64)
        self._last_round = np.zeros(count, dtype=np.int64)
        self._round_trip_s = np.full(count, np.nan)
        self._energy_j = np.full(count, np.nan)
        self._battery_j = np.full(count, np.nan)
        self._loss = np.full(count, np.nan)
        self._update_norm = np.full(count, np.nan)
        self._unreported_j = np.zeros(count)  # spent since the last update that arrived
        self._round_losses: list[float] = []
        if labels is not None:
            labels = _read_only(labels)
        self.view = ServerView(
            samples=_read_only(samples),
            participations=_read_only(self._participations),
            last_round=_read_only(self._last_round),
            round_trip_s=_read_only(self._round_trip_s),
            energy_j=_read_only(self._energy_j),
            battery_j=_read_only(self._battery_j),
            loss=_read_only(self._loss),
            update_norm=_read_only(self._update_norm),
            round_losses=self._round_losses,
            memory=_read_only(np.zeros((count, memory_width))),
            labels=labels,
        )

    def note_sent(self, ids: Ids) -> None:
        """Note that devices [n] are sent the model, in this order."""
        if len(ids):
            self.view = replace(self.view, last_asked=int(ids[-1]))

    def note_poll(self, ids: Ids, loss: Floats) -> None:
        """Note the loss [n] that devices [n] report for the model on their samples."""
        self._loss[ids] = loss

    def note_norms(self, ids: Ids, norm: Floats) -> None:
        """Note the norm [n] that devices [n] report of their updates of the present model."""
        self._update_norm[ids] = norm

    def close_round(self, reports: DeviceReports) -> DeviceReports:
        """Note the observations of the round that ends now; return the reports that have reached the server."""
        ids = reports.ids
        self._participations[ids] += 1
        self._last_round[ids] = len(self._round_losses) + 1
        # Without an update the server has only a lower bound: its waiting time, or the round trip before.
        at_least_s = np.fmax(self._round_trip_s[ids], reports.round_trip_s)
        self._round_trip_s[ids] = np.where(reports.received, reports.round_trip_s, at_least_s)
        reporting = ids[reports.received]
        self._energy_j[reporting] = reports.energy_j[reports.received]
        self._battery_j[reporting] = reports.battery_j[reports.received]
        self._loss[reporting] = reports.loss[reports.received]
        known_loss = np.nan_to_num(self._loss[reporting])
        self._round_losses.append(float(self.view.samples[reporting] @ known_loss))
        np.add.at(self._unreported_j, ids, reports.energy_j)  # a device may have failed and been asked again
        heard = reports.heard(self._unreported_j[ids])
        self._unreported_j[reporting] = 0.0
        return heard

    def keep(self, memory: Floats) -> None:
        """Keep the selection's memory [devices, k] until the next round has ended."""
        self.view = replace(self.view, memory=_read_only(memory))


def _read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a read-only view, which shows later changes of the array."""
    view = array.view()
    view.flags.writeable = False
    return view
