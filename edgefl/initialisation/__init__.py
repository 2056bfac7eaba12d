"""Which model a session starts from: one file a strategy."""

from edgefl.catalogue import Catalogue
from edgefl.initialisation.base import Initialisation

INITIALISATIONS: Catalogue[Initialisation] = Catalogue(
    "initialisation",
    {
        "previous": "edgefl.initialisation.previous:Previous",
        "average": "edgefl.initialisation.average:Average",
        "continuous": "edgefl.initialisation.continuous:Continuous",
        "proposed": "edgefl.initialisation.proposed:Proposed",
        "initial": "edgefl.initialisation.initial:Initial",
    },
)

__all__ = ["INITIALISATIONS", "Initialisation"]
