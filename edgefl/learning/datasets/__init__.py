"""Datasets: where samples and labels come from; one file each."""

from edgefl.core.catalogue import Adapter, Catalogue, members_of
from edgefl.learning.datasets.base import Data, Dataset

DATASETS: Catalogue[Dataset] = Catalogue(
    noun="dataset",
    members=members_of(__file__),
    base=Dataset,
    kind="datasets",
    adapter=Adapter("a function that returns arrays", "edgefl.learning.datasets.loaded:imported"),
)

__all__ = ["DATASETS", "Data", "Dataset"]
