"""Who is there: one file a churn model."""

from edgefl.catalogue import Catalogue
from edgefl.churn.base import Churn, Presence

CHURN: Catalogue[Churn] = Catalogue(
    "churn model",
    {
        "none": "edgefl.churn.none:NoChurn",
        "bernoulli": "edgefl.churn.bernoulli:BernoulliChurn",
        "poisson": "edgefl.churn.poisson:PoissonChurn",
        "diurnal": "edgefl.churn.diurnal:DiurnalChurn",
        "trace": "edgefl.churn.trace:TraceChurn",
        "coverage": "edgefl.churn.coverage:CoverageChurn",
    },
)

__all__ = ["CHURN", "Churn", "Presence"]
