"""Strategies for the model that a session starts from: one file a strategy."""

from edgefl.core.catalogue import Catalogue
from edgefl.learning.initialisation.base import Initialisation

INITIALISATIONS: Catalogue[Initialisation] = Catalogue(
    noun="initialisation",
    members={
        "previous": "edgefl.learning.initialisation.previous:Previous",
        "average": "edgefl.learning.initialisation.average:Average",
        "continuous": "edgefl.learning.initialisation.continuous:Continuous",
        "proposed": "edgefl.learning.initialisation.proposed:Proposed",
        "initial": "edgefl.learning.initialisation.initial:Initial",
    },
    base=Initialisation,
    kind="initialisation",
)

__all__ = ["INITIALISATIONS", "Initialisation"]
