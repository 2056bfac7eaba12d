"""The server's knowledge of its devices' channels, from their reports."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import simpy

from edgefl.coordination.csi.base import Gains, ReportedCsi, RequestedCsi
from edgefl.core.arrays import Floats, Ids
from edgefl.core.returns import Array, Instance, called
from edgefl.core.streams import Streams
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.server.channel_state import ChannelState
from edgefl.server.observer import Begun, Observer
from edgefl.server.participation import Participation


class Known(NamedTuple):
    """The server's knowledge of the channels of candidates [n]; nan where it has none."""

    gains: Gains
    age_s: Floats  # time since it was measured


class ChannelKnowledge(Observer):
    """Base class of the server's knowledge of channels, which grows as participations begin and end."""

    def known(self, drop: Drop, index: int) -> Known:
        """Return the server's knowledge of the devices [n] in `drop` when selection `index` chooses among them."""
        raise NotImplementedError

    def note_requested(self, ids: Ids, index: int) -> None:
        """Note that devices [n] have reported on request before selection `index`."""


@dataclass(eq=False)
class RequestedKnowledge(ChannelKnowledge):
    """Reports that the server asks for before it chooses participants."""

    csi: RequestedCsi
    link: Link
    state: ChannelState
    streams: Streams
    count: int  # number of devices

    def __post_init__(self) -> None:
        # Free reports need no request.
        self._free = self.csi.report_bits == 0
        self._reported = np.full(self.count, -1)  # the last selection that each device has reported for

    def note_requested(self, ids: Ids, index: int) -> None:
        """Note which devices have reported; those that come later are unknown until the next request."""
        self._reported[ids] = index

    def known(self, drop: Drop, index: int) -> Known:
        """Return the reports [n] of the devices that were asked."""
        csi = self.csi
        gains = _observed(csi, self.state.gains(self.link, drop, index, csi.age_s))
        if csi.noise_db:
            gains = csi.disturbed(gains, self.streams.normal("csi_error", drop.ids, index))
        reported = self._free | (self._reported[drop.ids] == index)
        missing = np.where(reported, 0.0, np.nan)
        gains = Gains(drop.ids, gains.path_gain + missing, gains.fading + missing)
        return Known(gains, csi.age_s + missing)


@dataclass(eq=False)
class ArrivedKnowledge(ChannelKnowledge):
    """Reports that come with devices' messages, of the channel at their beginning."""

    env: simpy.Environment
    csi: ReportedCsi
    state: ChannelState
    streams: Streams
    count: int  # number of devices

    def __post_init__(self) -> None:
        self._path_gain = np.full(self.count, np.nan)
        self._fading = np.full(self.count, np.nan)
        self._measured_s = np.full(self.count, np.nan)
        self._measurements = np.zeros(self.count, dtype=np.int64)  # how many each device has made
        self._under_way: dict[int, tuple[float, float, float]] = {}  # the same by device, until its report arrives

    def begins(self, begun: Begun) -> None:
        """Let devices measure their channels."""
        ids = begun.drop.ids
        gains = _observed(self.csi, self.state.gains(begun.link, begun.drop, begun.index))
        if self.csi.noise_db:
            # Keyed by the measurement: a device that answers a poll and then takes part measures twice in a selection.
            normal = self.streams.normal_at("csi_error", ids, self._measurements[ids], 0)
            gains = self.csi.disturbed(gains, normal)
        self._measurements[ids] += 1
        columns = zip(ids.tolist(), gains.path_gain.tolist(), gains.fading.tolist(), strict=True)
        for device, path_gain, fading in columns:
            self._under_way[device] = (path_gain, fading, self.env.now)

    def ends(self, part: Participation) -> None:
        """Take in the report that has arrived with a device's last message; one that never arrives is lost."""
        if not part.arrived:
            return
        device = part.device
        self._path_gain[device], self._fading[device], self._measured_s[device] = self._under_way.pop(device)

    def known(self, drop: Drop, index: int) -> Known:
        """Return the last report [n] of each device."""
        ids = drop.ids
        gains = Gains(ids, self._path_gain[ids], self._fading[ids])
        return Known(gains, self.env.now - self._measured_s[ids])


def _observed(csi: ReportedCsi, gains: Gains) -> Gains:
    """Return the devices' reports of their channels; those of a kind of CSI from outside are checked."""
    fields = {
        "path_gain": Array(gains.ids.shape, "path gains [n] from 0", least=0.0),
        "fading": Array(gains.ids.shape, "|h|^2 [n] from 0", least=0.0),
    }
    must = Instance(Gains, "the Gains that it was given, with what devices report in their place", fields)
    return called(csi.observe, must, gains)
