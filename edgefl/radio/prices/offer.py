"""What participants are offered in one direction of a round: their payloads, and their shares of the band."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgefl.core.arrays import Floats, Rows
from edgefl.radio.transfers import Way


@dataclass(frozen=True)
class Offer:
    """Payloads of participants [n] in one direction of a round, and their shares of the band."""

    way: Way
    payload_bits: Floats  # [n]
    bandwidth_hz: Floats  # [n]
    mean_snr: Floats  # [n] at |h|^2 = 1
    air: Floats  # [n] share of the time that each is served: its turns, in the frame's direction
    payload_share: Floats  # [n] of time and resources that carries its payload: `air` without control
    power_share: Floats  # [n] of the transmitter's full power that is sent while each is served

    def only(self, rows: Rows) -> Offer:
        """Return the offer of the participants `rows` [r]."""
        return replace(
            self,
            payload_bits=self.payload_bits[rows],
            bandwidth_hz=self.bandwidth_hz[rows],
            mean_snr=self.mean_snr[rows],
            air=self.air[rows],
            payload_share=self.payload_share[rows],
            power_share=self.power_share[rows],
        )

    @property
    def slot_payload_bits(self) -> Floats:
        """Payloads [n] scaled up as if all slots carried nothing else."""
        # Control and other turns take their share of every slot. A larger payload stands for a lower rate, and keeps
        # the number of slots where the fading changes.
        return self.payload_bits / self.payload_share
