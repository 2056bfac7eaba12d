"""The processes of ordinary participants: download the model, train it, upload the update."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import simpy

from edgefl.core.arrays import Floats
from edgefl.radio.backhaul import Routes
from edgefl.radio.carriers.carrier import Carrier
from edgefl.radio.messages import DOWNLOAD, UPLOAD
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import EVALUATED, RECEIVED
from edgefl.server.participation import ParticipantProcess, Participation
from edgefl.world.compute import LocalComputation


def ignore_device(device: int) -> None:
    """Do nothing when a device has computed."""


@dataclass(frozen=True)
class ParticipantProcesses:
    """Makes the processes of participants that begin together: a download, local computation, an upload.

    Model and update pass through the base station, so each crosses both the backhaul and the radio. A poll is the same
    with other bits and another outcome: a candidate uploads its loss.

    Args:
        env: the clock.
        ledger: records events.
        carrier: carries the two messages of each participant over the radio.
        computing: the local computation of the participants, in the order of the carrier's rows.
        routes: the backhaul between the server and the base stations.
        down_bits: size of the download, one for all participants or [n].
        up_bits: size of the upload, one for all participants or [n].
        outcome: the status of a participation in which nothing goes wrong.
        on_computed: called with the device's id when it has computed.
    """

    env: simpy.Environment
    ledger: Ledger
    carrier: Carrier
    computing: LocalComputation
    routes: Routes
    down_bits: Floats | float
    up_bits: Floats | float
    outcome: str = RECEIVED
    on_computed: Callable[[int], None] = ignore_device

    def __call__(self, part: Participation) -> ParticipantProcess:
        """Take part; return the status at the end."""
        # A device that has answered a poll has the model already.
        if not part.down.delivered:
            if self.outcome != EVALUATED:  # a device that evaluates has set up already, to train
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
        self.on_computed(part.device)
        if self.outcome == RECEIVED:
            self._note("compute_end", part)
        failure = yield from self._upload(part)
        if failure:
            return failure
        if self.outcome == RECEIVED:
            self._note("upload_end", part)
        return self.outcome

    def _download(self, part: Participation) -> ParticipantProcess:
        """Carry the model to the device; return "" if it arrived, otherwise the status of the participation."""
        backhaul_s = self.routes.of_message_s(self._down_bits[part.row], part.cell)
        cut = yield from part.wait_for_backhaul(self.env, backhaul_s)
        if cut:
            return cut
        transfer = yield from self.carrier.send(part.row, DOWNLOAD)
        part.add_download(transfer, self.env.now)
        if not transfer.delivered:
            return transfer.cut or "download_failed"
        self._note("download_end", part)
        return ""

    def _upload(self, part: Participation) -> ParticipantProcess:
        """Carry the update to the server; return "" if it arrived, otherwise the status of the participation."""
        transfer = yield from self.carrier.send(part.row, UPLOAD)
        part.add_upload(transfer, self.env.now)
        if not transfer.delivered:
            return transfer.cut or "upload_failed"
        backhaul_s = self.routes.of_message_s(self._up_bits[part.row], part.serving)
        # What has reached the base station arrives, even if the device leaves meanwhile. A handover may have changed
        # the base station since the download, so the route starts at the one that serves the device now.
        return (yield from part.wait_for_backhaul(self.env, backhaul_s, arrives=True))

    @cached_property
    def _down_bits(self) -> list[float]:
        """Size of each participant's download."""
        return self._of_each(self.down_bits)

    @cached_property
    def _up_bits(self) -> list[float]:
        """Size of each participant's upload."""
        return self._of_each(self.up_bits)

    def _of_each(self, bits: Floats | float) -> list[float]:
        sizes: list[float] = np.broadcast_to(np.asarray(bits, dtype=float), self.computing.flops.shape).tolist()
        return sizes

    def _note(self, kind: str, part: Participation) -> None:
        self.ledger.event(self.env.now, kind, part.device, part.serving)
