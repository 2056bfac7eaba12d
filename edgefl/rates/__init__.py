"""How an SNR becomes a rate: one file a rate model."""

from edgefl.catalogue import Catalogue
from edgefl.rates.base import Rate

RATES: Catalogue[Rate] = Catalogue(
    "rate model",
    {
        "shannon": "edgefl.rates.shannon:ShannonRate",
        "truncated_shannon": "edgefl.rates.truncated_shannon:TruncatedShannonRate",
        "mcs": "edgefl.rates.mcs:McsRate",
    },
)

__all__ = ["RATES", "Rate"]
