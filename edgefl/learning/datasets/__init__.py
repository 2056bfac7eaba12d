"""Datasets: where samples and labels come from; one file each."""

from edgefl.core.catalogue import Adapter, Catalogue
from edgefl.learning.datasets.base import Data, Dataset

DATASETS: Catalogue[Dataset] = Catalogue(
    noun="dataset",
    members={
        "arrays": "edgefl.learning.datasets.arrays:ArraysDataset",
        "ag_news": "edgefl.learning.datasets.ag_news:AgNews",
        "cifar10": "edgefl.learning.datasets.cifar:Cifar10",
        "cifar100": "edgefl.learning.datasets.cifar:Cifar100",
        "cinic10": "edgefl.learning.datasets.cinic10:Cinic10",
        "digits": "edgefl.learning.datasets.digits:Digits",
        "emnist": "edgefl.learning.datasets.emnist:Emnist",
        "fashion_mnist": "edgefl.learning.datasets.mnist:FashionMnist",
        "femnist": "edgefl.learning.datasets.femnist:Femnist",
        "image_folder": "edgefl.learning.datasets.image_folder:ImageFolder",
        "mnist": "edgefl.learning.datasets.mnist:Mnist",
        "movielens": "edgefl.learning.datasets.movielens:MovieLens",
        "npz": "edgefl.learning.datasets.npz:Npz",
        "quadratic": "edgefl.learning.datasets.quadratic:Quadratic",
        "svhn": "edgefl.learning.datasets.svhn:Svhn",
        "synthetic": "edgefl.learning.datasets.synthetic:Synthetic",
        "tiny_imagenet": "edgefl.learning.datasets.tiny_imagenet:TinyImageNet",
        "tokens": "edgefl.learning.datasets.tokens:Tokens",
    },
    base=Dataset,
    kind="datasets",
    adapter=Adapter("a function that returns arrays", "edgefl.learning.datasets.loaded:imported"),
)

__all__ = ["DATASETS", "Data", "Dataset"]
