"""A device's part in a round: the model comes down, is trained, and goes up."""

from __future__ import annotations

from dataclasses import dataclass

import simpy

from edgefl.ledger import Ledger
from edgefl.participation import RECEIVED, Floats, Participation, Trip
from edgefl.radio import Carrier


@dataclass(frozen=True)
class RoundTrip:
    """The parts of a round's participants; computing takes them `computing_s` [n], in the order of the carrier's."""

    env: simpy.Environment
    ledger: Ledger
    carrier: Carrier
    computing_s: Floats

    def __call__(self, part: Participation) -> Trip:
        """A part; how it ended."""
        env, who = self.env, (part.device, part.cell)
        leg = part.down = yield from self.carrier.download(part.row)
        if not leg.delivered:
            return leg.cut or "download_failed"
        self.ledger.event(env.now, "download_end", *who)
        began_s, computing_s = env.now, float(self.computing_s[part.row])
        try:
            yield env.timeout(computing_s)
        except simpy.Interrupt as cut:
            part.compute_s = env.now - began_s
            return str(cut.cause)
        part.compute_s = computing_s
        self.ledger.event(env.now, "compute_end", *who)
        leg = part.up = yield from self.carrier.upload(part.row)
        if not leg.delivered:
            return leg.cut or "upload_failed"
        self.ledger.event(env.now, "upload_end", *who)
        return RECEIVED
