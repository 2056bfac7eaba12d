"""Shannon's bound, attenuated and truncated."""

from typing import Annotated

from pydantic import Field

from channel import rate, units
from channel.rate import Efficiency
from edgefl.radio.rates.base import Rate


class TruncatedShannonRate(Rate):
    """Attenuated Shannon bound with a lowest SNR and a highest efficiency (3GPP TR 36.942, Annex A.2, downlink)."""

    # Factor on Shannon's bound, fitted to an LTE downlink; the report has 0.4 for the uplink.
    attenuation: Annotated[float, Field(gt=0, le=1)] = 0.6
    # Most bits per second and hertz, of 64QAM; the report has 2.0 for the uplink.
    max_bps_hz: Annotated[float, Field(gt=0, le=100)] = 4.4
    # Signal-to-noise ratio below which nothing is received.
    min_snr_db: Annotated[float, Field(ge=-100, le=100)] = -10.0

    def efficiency(self) -> Efficiency:
        """Return `channel.rate.Shannon`."""
        return rate.Shannon(self.attenuation, float(units.db_to_linear(self.min_snr_db)), self.max_bps_hz)
