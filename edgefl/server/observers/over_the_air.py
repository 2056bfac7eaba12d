"""What the server knows of the sums in which updates that add up in the air were received."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from channel.units import linear_to_db
from edgefl.records.statuses import RECEIVED
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.observer import EndedRound, Observer, RoundColumns


@dataclass(eq=False)
class ReceivedSums(Observer):
    """Tells the signal-to-noise ratio of the sums."""

    dispatcher: Dispatcher  # has the carrier of the last participants whose updates add up in the air

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the mean ratio of a round's updates, if any has arrived."""
        carrier = self.dispatcher.over_the_air
        parts = [part for part in ended.parts if part.status == RECEIVED]
        if carrier is None or not parts:
            return {}
        weights = carrier.weights([part.row for part in parts])
        sums = [carrier.received_sum(part.cell) for part in parts]
        snr = [each.aligned_w * weight**2 / each.noise_w for each, weight in zip(sums, weights.tolist(), strict=True)]
        return {"receive_snr_db": float(linear_to_db(np.mean(snr)))}
