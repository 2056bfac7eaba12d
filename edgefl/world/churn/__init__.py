"""Churn models, which say which devices are present: one file a model; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.world.churn.base import Churn, Presence

CHURN: Catalogue[Churn] = Catalogue(
    noun="churn model",
    members=members_of(__file__),
    base=Churn,
    kind="churn",
)

__all__ = ["CHURN", "Churn", "Presence"]
