"""Other users of the cells besides the devices that learn: one file for each model."""

from edgefl.core.catalogue import Catalogue
from edgefl.radio.background.base import Background, OtherUsers

BACKGROUNDS: Catalogue[Background] = Catalogue(
    noun="background traffic",
    members={
        "constant": "edgefl.radio.background.constant:ConstantLoad",
        "poisson": "edgefl.radio.background.poisson:PoissonTransfers",
        "sessions": "edgefl.radio.background.sessions:PoissonSessions",
    },
    base=Background,
    kind="background",
)

__all__ = ["BACKGROUNDS", "Background", "OtherUsers"]
