"""Rate models, from an SNR to a spectral efficiency: one file each."""

from edgefl.core.catalogue import Catalogue
from edgefl.radio.rates.base import Rate

RATES: Catalogue[Rate] = Catalogue(
    noun="rate model",
    members={
        "shannon": "edgefl.radio.rates.shannon:ShannonRate",
        "truncated_shannon": "edgefl.radio.rates.truncated_shannon:TruncatedShannonRate",
        "mcs": "edgefl.radio.rates.mcs:McsRate",
    },
    base=Rate,
    kind="rates",
)

__all__ = ["RATES", "Rate"]
