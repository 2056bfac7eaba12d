"""Small-scale fading: one file a model."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.radio.fading.base import Fading, ScatteredPaths

FADING: Catalogue[Fading] = Catalogue(
    noun="fading model",
    members=members_of(__file__),
    base=Fading,
    kind="fading",
)

__all__ = ["FADING", "Fading", "ScatteredPaths"]
