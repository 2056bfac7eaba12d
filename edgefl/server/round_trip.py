"""A device's part in a round: the model comes down, is trained, and goes up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import simpy

from edgefl.core.arrays import Floats
from edgefl.radio import Carrier
from edgefl.radio.backhaul import Routes
from edgefl.server.ledger import Ledger
from edgefl.server.participation import RECEIVED, ParticipantProcess, Participation
from edgefl.world.compute import LocalComputation


@dataclass(frozen=True)
class RoundTrip:
    """The parts of a round's participants; what they compute is in the order of the carrier's.

    The model comes, and the update goes, by way of the device's base station. Who was polled has the model already.
    `outcome` is how a part ends that nothing goes wrong with.
    """

    env: simpy.Environment
    ledger: Ledger
    carrier: Carrier
    computing: LocalComputation
    routes: Routes
    bits: tuple[Floats | float, float]  # down, for all participants alike or [n], and up
    outcome: str = RECEIVED

    def __call__(self, part: Participation) -> ParticipantProcess:
        """A part; how it ended."""
        env = self.env
        if not part.down.delivered:
            bits = np.broadcast_to(self.bits[0], self.computing.flops.shape)[part.row]
            if cut := (yield from part.wait_for_backhaul(env, float(self.routes.one_way_s(bits, part.cell)))):
                return cut
            leg = yield from self.carrier.download(part.row)
            part.add_download(leg)
            if not leg.delivered:
                return leg.cut or "download_failed"
            self._note("download_end", part)
        clock_hz, computing_s = self.computing.of_device(part.row, part.down.duration_s)
        part.choose_clock(clock_hz)
        if cut := (yield from part.compute(env, computing_s)):
            return cut
        if self.outcome == RECEIVED:
            self._note("compute_end", part)
        leg = yield from self.carrier.upload(part.row)
        part.add_upload(leg)
        if not leg.delivered:
            return leg.cut or "upload_failed"
        way_s = float(self.routes.one_way_s(self.bits[1], part.serving))
        if cut := (yield from part.wait_for_backhaul(env, way_s, arrives=True)):
            return cut
        if self.outcome == RECEIVED:
            self._note("upload_end", part)
        return self.outcome

    def _note(self, kind: str, part: Participation) -> None:
        self.ledger.event(self.env.now, kind, part.device, part.serving)
