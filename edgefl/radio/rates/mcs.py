"""Modulation and coding schemes."""

from typing import Annotated, Literal

from pydantic import Field

from channel import mcs
from channel.rate import Efficiency
from edgefl.radio.rates.base import Rate


class McsRate(Rate):
    """The best modulation and coding scheme that a slot allows (3GPP TS 38.214, Tables 5.1.3.1-1 and 5.1.3.1-2)."""

    # Gap of all schemes to Shannon's bound; the standard has no thresholds.
    snr_gap_db: Annotated[float, Field(ge=0, le=30)] = 3.0
    table: Literal["64qam", "256qam"] = "256qam"  # Table of schemes, named after its densest constellation.

    def efficiency(self) -> Efficiency:
        """Return `channel.mcs.Mcs`."""
        return mcs.Mcs(self.snr_gap_db, self.table)
