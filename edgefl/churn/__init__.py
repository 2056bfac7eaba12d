"""Who is there: one file a churn model."""

from edgefl.catalogue import Catalogue
from edgefl.churn.base import Churn

CHURN: Catalogue[Churn] = Catalogue(
    "churn model",
    {
        "none": "edgefl.churn.none:NoChurn",
    },
)

__all__ = ["CHURN", "Churn"]
