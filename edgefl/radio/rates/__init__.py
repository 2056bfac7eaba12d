"""Rate models, from an SNR to a spectral efficiency: one file each."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.radio.rates.base import Rate

RATES: Catalogue[Rate] = Catalogue(
    noun="rate model",
    members=members_of(__file__),
    base=Rate,
    kind="rates",
)

__all__ = ["RATES", "Rate"]
