"""Where the samples come from: one file a dataset."""

from edgefl.catalogue import Catalogue
from edgefl.datasets.base import Data, Dataset

DATASETS: Catalogue[Dataset] = Catalogue(
    "dataset",
    {
        "ag_news": "edgefl.datasets.ag_news:AgNews",
        "cifar10": "edgefl.datasets.cifar10:Cifar10",
        "cifar100": "edgefl.datasets.cifar100:Cifar100",
        "cinic10": "edgefl.datasets.cinic10:Cinic10",
        "digits": "edgefl.datasets.digits:Digits",
        "emnist": "edgefl.datasets.emnist:Emnist",
        "fashion_mnist": "edgefl.datasets.fashion_mnist:FashionMnist",
        "femnist": "edgefl.datasets.femnist:Femnist",
        "image_folder": "edgefl.datasets.image_folder:ImageFolder",
        "mnist": "edgefl.datasets.mnist:Mnist",
        "movielens": "edgefl.datasets.movielens:MovieLens",
        "npz": "edgefl.datasets.npz:Npz",
        "quadratic": "edgefl.datasets.quadratic:Quadratic",
        "svhn": "edgefl.datasets.svhn:Svhn",
        "synthetic": "edgefl.datasets.synthetic:Synthetic",
        "tiny_imagenet": "edgefl.datasets.tiny_imagenet:TinyImageNet",
    },
)

__all__ = ["DATASETS", "Data", "Dataset"]
