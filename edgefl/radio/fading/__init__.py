"""Small-scale fading: one file a model."""

from edgefl.core.catalogue import Catalogue
from edgefl.radio.fading.base import Fading, ScatteredPaths

FADING: Catalogue[Fading] = Catalogue(
    noun="fading model",
    members={
        "rayleigh": "edgefl.radio.fading.rayleigh:Rayleigh",
        "ricean": "edgefl.radio.fading.ricean:Ricean",
        "block": "edgefl.radio.fading.block:BlockFading",
        "jakes": "edgefl.radio.fading.jakes:Jakes",
        "tdl": "edgefl.radio.fading.tdl:Tdl",
        "none": "edgefl.radio.fading.none:NoFading",
    },
    base=Fading,
    kind="fading",
)

__all__ = ["FADING", "Fading", "ScatteredPaths"]
