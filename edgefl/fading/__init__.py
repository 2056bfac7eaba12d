"""Small-scale fading: one file a model."""

from edgefl.catalogue import Catalogue
from edgefl.fading.base import Fading

FADING: Catalogue[Fading] = Catalogue(
    "fading model",
    {
        "rayleigh": "edgefl.fading.rayleigh:Rayleigh",
        "ricean": "edgefl.fading.ricean:Ricean",
        "block": "edgefl.fading.block:BlockFading",
        "none": "edgefl.fading.none:NoFading",
    },
)

__all__ = ["FADING", "Fading"]
