"""What is trained: one file a family of models."""

from edgefl.catalogue import Catalogue
from edgefl.models.base import Model

MODELS: Catalogue[Model] = Catalogue(
    "model",
    {
        "logistic": "edgefl.models.logistic:Logistic",
        "mlp": "edgefl.models.fcn:Mlp",
        "fcn": "edgefl.models.fcn:Fcn",
        "quadratic": "edgefl.models.quadratic:QuadraticModel",
    },
)

__all__ = ["MODELS", "Model"]
