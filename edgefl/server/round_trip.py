"""An ordinary participation: the model comes down, is trained, and the update goes up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import simpy

from edgefl.core.arrays import Floats
from edgefl.radio.backhaul import Routes
from edgefl.radio.carrier import Carrier
from edgefl.radio.messages import DOWNLOAD, UPLOAD
from edgefl.server.ledger import Ledger
from edgefl.server.participation import RECEIVED, ParticipantProcess, Participation
from edgefl.world.compute import LocalComputation


@dataclass(frozen=True)
class RoundTrip:
    """Makes the processes of a round's participants: two turns, and the computing between them.

    Model and update travel by way of the device's base station: over the backhaul, and over the radio.

    Args:
        env: the clock.
        ledger: for events.
        carrier: of the two messages of each participant.
        computing: of the participants, in the same order.
        routes: between the server and the base stations.
        down_bits: of the download, for all participants alike or [n].
        up_bits: of the upload.
        outcome: the status of a participation that nothing goes wrong with.
    """

    env: simpy.Environment
    ledger: Ledger
    carrier: Carrier
    computing: LocalComputation
    routes: Routes
    down_bits: Floats | float
    up_bits: float
    outcome: str = RECEIVED

    def __call__(self, part: Participation) -> ParticipantProcess:
        """Take part; return the status at the end."""
        if not part.down.delivered:  # a device that has answered a poll has the model already
            failure = yield from self._download(part)
            if failure:
                return failure
        clock_hz, computing_s = self.computing.of_device(part.row, part.down.duration_s)
        part.choose_clock(clock_hz)
        cut = yield from part.compute(self.env, computing_s)
        if cut:
            return cut
        if self.outcome == RECEIVED:
            self._note("compute_end", part)
        failure = yield from self._upload(part)
        if failure:
            return failure
        if self.outcome == RECEIVED:
            self._note("upload_end", part)
        return self.outcome

    def _download(self, part: Participation) -> ParticipantProcess:
        """Bring the model to the device; return why it has not arrived, if so."""
        bits = np.broadcast_to(self.down_bits, self.computing.flops.shape)[part.row]
        backhaul_s = float(self.routes.one_way_s(bits, part.cell))
        cut = yield from part.wait_for_backhaul(self.env, backhaul_s)
        if cut:
            return cut
        transfer = yield from self.carrier.send(part.row, DOWNLOAD)
        part.add_download(transfer)
        if not transfer.delivered:
            return transfer.cut or "download_failed"
        self._note("download_end", part)
        return ""

    def _upload(self, part: Participation) -> ParticipantProcess:
        """Bring the update to the server; return why it has not arrived, if so."""
        transfer = yield from self.carrier.send(part.row, UPLOAD)
        part.add_upload(transfer)
        if not transfer.delivered:
            return transfer.cut or "upload_failed"
        backhaul_s = float(self.routes.one_way_s(self.up_bits, part.serving))
        # What the base station has arrives, though the device may leave meanwhile.
        return (yield from part.wait_for_backhaul(self.env, backhaul_s, arrives=True))

    def _note(self, kind: str, part: Participation) -> None:
        self.ledger.event(self.env.now, kind, part.device, part.serving)
