"""Other users of the cells besides the devices that learn: one file for each model."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.radio.background.base import Background, OtherUsers

BACKGROUNDS: Catalogue[Background] = Catalogue(
    noun="background traffic",
    members=members_of(__file__),
    base=Background,
    kind="background",
)

__all__ = ["BACKGROUNDS", "Background", "OtherUsers"]
