"""Where the samples come from: one file a dataset."""

from edgefl.catalogue import Catalogue
from edgefl.datasets.base import Data, Dataset

DATASETS: Catalogue[Dataset] = Catalogue(
    "dataset",
    {
        "digits": "edgefl.datasets.digits:Digits",
        "mnist": "edgefl.datasets.mnist:Mnist",
        "npz": "edgefl.datasets.npz:Npz",
        "quadratic": "edgefl.datasets.quadratic:Quadratic",
    },
)

__all__ = ["DATASETS", "Data", "Dataset"]
