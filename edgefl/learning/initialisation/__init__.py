"""Strategies for the model that a session starts from: one file a strategy."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.learning.initialisation.base import Initialisation

INITIALISATIONS: Catalogue[Initialisation] = Catalogue(
    noun="initialisation",
    members=members_of(__file__),
    base=Initialisation,
    kind="initialisation",
)

__all__ = ["INITIALISATIONS", "Initialisation"]
