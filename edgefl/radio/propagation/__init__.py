"""Path loss: one file a propagation model."""

from channel.tr38901 import LOS, NLOS, O2I
from edgefl.core.catalogue import Catalogue, members_of
from edgefl.radio.propagation.base import LargeScale, PathDraws, Propagation

PROPAGATION: Catalogue[Propagation] = Catalogue(
    noun="propagation model",
    members=members_of(__file__),
    base=Propagation,
    kind="propagation",
)

__all__ = ["LOS", "NLOS", "O2I", "PROPAGATION", "LargeScale", "PathDraws", "Propagation"]
