"""The band, divided between fair and fast."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.radio.allocation import Allocation

LEAST_BPS_HZ = 1e-3  # Of a link in outage, which would ask for all of the band.


class AlphaFair(Allocation):
    """Shares that maximise the sum of R^(1 - alpha) / (1 - alpha) over rates R (Mo and Walrand, IEEE/ACM ToN 2000).

    At 1 they are equal, at 2 the sum of the times per bit is the shortest, and above, weak devices get still more: all
    rates become alike. The closed form takes rates in proportion to bandwidths, with the spectral efficiency of a link
    that has the whole band in the downlink, and an equal share in the uplink.
    """

    by_snr: ClassVar[bool] = True

    alpha: Annotated[float, Field(gt=0, le=100)] = 2.0  # How fair: towards 0 the sum of all rates counts.

    def shares(
        self, band_hz: float, payload_bits: np.ndarray, snr_hz: np.ndarray, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return shares of the band [n] in proportion to efficiency^((1 - alpha) / alpha), each served all the time."""
        n = len(snr_hz)
        heard_hz = band_hz if spread else band_hz / n
        bps_hz = np.maximum(efficiency.bps_hz(snr_hz / heard_hz), LEAST_BPS_HZ)
        weight = bps_hz ** ((1 - self.alpha) / self.alpha)
        return Shares(band_hz * weight / weight.sum(), np.ones(n))
