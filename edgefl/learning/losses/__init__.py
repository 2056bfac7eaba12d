"""Losses: what local training minimises and tests measure; one file each."""

from edgefl.core.catalogue import Adapter, Catalogue
from edgefl.learning.losses.base import Loss

LOSSES: Catalogue[Loss] = Catalogue(
    noun="loss",
    members={
        "cross_entropy": "edgefl.learning.losses.cross_entropy:CrossEntropy",
        "mse": "edgefl.learning.losses.mse:MeanSquaredError",
    },
    base=Loss,
    kind="losses",
    adapter=Adapter("a function of outputs and labels", "edgefl.learning.losses.torch_losses:adapted"),
)

__all__ = ["LOSSES", "Loss"]
