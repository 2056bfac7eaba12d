"""The processes of ordinary participants: download the model, train it, upload the update."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import simpy

from edgefl.core.arrays import Floats
from edgefl.radio.backhaul_links import BackhaulLinks
from edgefl.radio.carriers.carrier import Carrier
from edgefl.radio.messages import DOWNLOAD, UPLOAD
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import EVALUATED, OUT_OF_MEMORY, POLLED, RECEIVED
from edgefl.server.participation import NO_SETUP, ParticipantProcess, Participation
from edgefl.world.compute import LocalComputation


def ignore_device(device: int) -> None:
    """Do nothing when a device has computed."""


@dataclass(frozen=True)
class Exchange:
    """The messages and operations of devices [n], in order of their ids."""

    down_bits: Floats | float  # [n], or one for all
    up_bits: Floats | float
    flops: Floats
    outcome: str = RECEIVED  # status of a participation where nothing goes wrong: RECEIVED if the devices train
    on_computed: Callable[[int], None] = ignore_device  # called with the id of each device that has computed

    @property
    def trains(self) -> bool:
        """True if the devices train."""
        return self.outcome == RECEIVED


@dataclass(frozen=True)
class ParticipantProcesses:
    """Makes the processes of participants that begin together: a download, local computation, an upload.

    Model and update pass through the base station, so each crosses both the backhaul and the radio. A poll is the same
    with other bits and another outcome: a candidate uploads its loss.
    """

    env: simpy.Environment
    ledger: Ledger
    carrier: Carrier  # of the messages of each participant
    computing: LocalComputation  # of the participants, in the order of the carrier's rows
    backhaul: BackhaulLinks  # between the server and the base stations
    exchange: Exchange
    broadcast: bool  # whether a cell sends a download once, to all devices that begin together

    def __call__(self, part: Participation) -> ParticipantProcess:
        """Take part; return the status at the end."""
        # A candidate for training refuses the poll already. Neither an evaluation nor a message trains.
        if part.lacks_memory and self.exchange.outcome in (RECEIVED, POLLED):
            return OUT_OF_MEMORY
        # A device that has answered a poll has the model already.
        if not part.down.delivered:
            # A device that evaluates has set up already, to train.
            if self.exchange.outcome != EVALUATED and part.setup != NO_SETUP:
                cut = yield from part.set_up(self.env)
                if cut:
                    return cut
            failure = yield from self._download(part)
            if failure:
                return failure
        # With DVFS the clock depends on the time that the download has left until the deadline.
        clock_hz, computing_s = self.computing.of_device(part.row, part.down.duration_s)
        part.choose_clock(clock_hz)
        cut = yield from part.compute(self.env, computing_s)
        if cut:
            return cut
        self.exchange.on_computed(part.device)
        if self.exchange.outcome == RECEIVED:
            self._note("compute_end", part)
        failure = yield from self._upload(part)
        if failure:
            return failure
        if self.exchange.outcome == RECEIVED:
            self._note("upload_end", part)
        return self.exchange.outcome

    def _download(self, part: Participation) -> ParticipantProcess:
        """Carry the model to the device; return "" if it arrived, otherwise the status of the participation."""
        message = self.backhaul.send(self._down_bits[part.row], part.cell, "down", one_copy=self.broadcast)
        cut = yield from part.wait_for_backhaul(self.env, message)
        if cut:
            return cut
        transfer = yield from self.carrier.send(part.row, DOWNLOAD)
        part.add_download(transfer, self.env.now)
        if not transfer.delivered:
            return transfer.cut or "download_failed"
        self._note("download_end", part)
        return ""

    def _upload(self, part: Participation) -> ParticipantProcess:
        """Carry the update to the server; see `_download`."""
        transfer = yield from self.carrier.send(part.row, UPLOAD)
        part.add_upload(transfer, self.env.now)
        if not transfer.delivered:
            return transfer.cut or "upload_failed"
        # What has reached the base station arrives, even if the device leaves meanwhile. A handover may have changed
        # the base station since the download, so the route starts at the one that serves the device now.
        message = self.backhaul.send(self._up_bits[part.row], part.serving, "up")
        return (yield from part.wait_for_backhaul(self.env, message, arrives=True))

    @cached_property
    def _down_bits(self) -> list[float]:
        return self._of_each(self.exchange.down_bits)

    @cached_property
    def _up_bits(self) -> list[float]:
        return self._of_each(self.exchange.up_bits)

    def _of_each(self, bits: Floats | float) -> list[float]:
        sizes: list[float] = np.broadcast_to(np.asarray(bits, dtype=float), self.computing.flops.shape).tolist()
        return sizes

    def _note(self, kind: str, part: Participation) -> None:
        self.ledger.event(self.env.now, kind, part.device, part.serving)
