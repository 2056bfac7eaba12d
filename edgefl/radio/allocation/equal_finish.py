"""OFDMA shares that let participants end together."""

from typing import ClassVar

import numpy as np

from channel import allocation
from channel.allocation import Shares
from channel.equal_finish import equal_finish
from channel.rate import Efficiency
from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.core.arrays import Floats
from edgefl.radio.allocation.base import Allocation


class EqualFinish(Allocation):
    """Shares that let all uploads end together, whenever devices have computed (Shi, Zhou, Niu, IEEE TWC 2021)."""

    by_snr: ClassVar[bool] = True
    by_forecast: ClassVar[bool] = True

    def decide(self, forecast: Forecast) -> Decisions:
        """Return the shares of the uplink."""
        # All updates reach the server at the same time, so the wait includes access and backhaul.
        ready_s = forecast.download_s() + forecast.compute_s() + forecast.on_the_way_s()
        share = np.full(len(forecast), 1.0 / len(forecast))
        # A device that never gets the model keeps an equal share, as no share makes it end with the others.
        ending = np.flatnonzero(np.isfinite(ready_s))
        if ending.size:
            up = forecast.up
            free_hz = up.band_hz * up.free_share
            left_hz = free_hz * ending.size / len(forecast)
            bits = forecast.up_bits[ending] / (up.time_share * up.payload_share)
            snr_hz = forecast.up_snr_hz[ending]
            shares = equal_finish(left_hz, bits, snr_hz, ready_s[ending], up.bps_hz, spread=up.spread)
            share[ending] = shares.bandwidth_hz / free_hz
        return Decisions(up_share=share)

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return equal shares of the downlink: the forecast bases the downloads on them."""
        return allocation.equal(band_hz, len(payload_bits))
