"""Churn models, which say which devices are present: one file a model; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue
from edgefl.world.churn.base import Churn, Presence

CHURN: Catalogue[Churn] = Catalogue(
    noun="churn model",
    members={
        "none": "edgefl.world.churn.none:NoChurn",
        "bernoulli": "edgefl.world.churn.bernoulli:BernoulliChurn",
        "poisson": "edgefl.world.churn.poisson:PoissonChurn",
        "diurnal": "edgefl.world.churn.diurnal:DiurnalChurn",
        "trace": "edgefl.world.churn.trace:TraceChurn",
        "coverage": "edgefl.world.churn.coverage:CoverageChurn",
    },
    base=Churn,
    kind="churn",
)

__all__ = ["CHURN", "Churn", "Presence"]
