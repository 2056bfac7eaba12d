"""The publishers of datasets: addresses, checksums, and the places of the files below a data folder.

Addresses and MD5 sums are those of torchvision 0.26 (MNIST, FashionMNIST, CIFAR10, CIFAR100, SVHN, EMNIST) and of
torchtext 0.18 (AG_NEWS); GroupLens publishes the sum of ml-1m.zip. Datasets without a known checksum are not fetched,
as a damaged or exchanged file would not be noticed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.section import nearest
from edgefl.learning.datasets import DATASETS

MNIST_FILES = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}
FASHION_MNIST_FILES = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
EMNIST_MEMBERS = tuple(
    f"emnist-{split}-{part}-{kind}-ubyte.gz"
    for split in ("letters", "byclass")
    for part in ("train", "test")
    for kind in ("images-idx3", "labels-idx1")
)


@dataclass(frozen=True)
class Download:
    """One file to download; of an archive only `members` are kept."""

    name: str
    md5: str
    addresses: tuple[str, ...]  # folders that have it, best first; each ends with "/"
    place: str  # folder below the data folder, for the file or its members
    members: Mapping[str, str] = field(default_factory=dict)  # path in the archive -> path below `place`

    def targets(self, folder: Path) -> list[Path]:
        """Return the files that exist once it has been downloaded."""
        names = list(self.members.values()) or [self.name]
        return [folder / self.place / name for name in names]


@dataclass(frozen=True)
class Remote:
    """All downloads of a dataset."""

    megabytes: int  # of all downloads, about
    downloads: tuple[Download, ...]

    @property
    def most_bytes(self) -> int:
        """A size that none of its files reaches."""
        return 2_000_000 * self.megabytes


def _plain(files: Mapping[str, str], place: str, *addresses: str) -> tuple[Download, ...]:
    return tuple(Download(name, md5, addresses, place) for name, md5 in files.items())


def _archive(
    name: str, md5: str, address: str, place: str, members: Sequence[str], below: str | None = None
) -> tuple[Download, ...]:
    """Return the download of an archive; members in its folder `below`, by default that of `place`, are kept."""
    kept = {f"{below or place}/{member}": member for member in members}
    return (Download(name, md5, (address,), place, kept),)


TORONTO = "https://www.cs.toronto.edu/~kriz/"
NIST = "https://biometrics.nist.gov/cs_links/EMNIST/"
CIFAR10_MEMBERS = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch", "batches.meta")

REMOTES: dict[str, Remote] = {
    "ag_news": Remote(
        31,
        _plain(
            {"train.csv": "b1a00f826fdfbd249f79597b59e1dc12", "test.csv": "d52ea96a97a2d943681189a97654912d"},
            "ag_news_csv",
            "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/",
        ),
    ),
    "cifar10": Remote(
        171,
        _archive(
            "cifar-10-python.tar.gz",
            "c58f30108f718f92721af3b95e74349a",
            TORONTO,
            "cifar-10-batches-py",
            CIFAR10_MEMBERS,
        ),
    ),
    "cifar100": Remote(
        169,
        _archive(
            "cifar-100-python.tar.gz",
            "eb9058c3a382ffc7106e4002c42a8d85",
            TORONTO,
            "cifar-100-python",
            ("train", "test", "meta"),
        ),
    ),
    "emnist": Remote(
        562,
        _archive("gzip.zip", "58c8d27c78d21e728a6bc7b3cc06412e", NIST, "EMNIST/raw", EMNIST_MEMBERS, "gzip"),
    ),
    "fashion_mnist": Remote(
        31,
        _plain(FASHION_MNIST_FILES, "FashionMNIST/raw", "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),
    ),
    "mnist": Remote(
        12,
        _plain(
            MNIST_FILES,
            "MNIST/raw",
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "http://yann.lecun.com/exdb/mnist/",
        ),
    ),
    "movielens": Remote(
        6,
        _archive(
            "ml-1m.zip",
            "c4d9eecfca2ab87c1945afe126590906",
            "https://files.grouplens.org/datasets/movielens/",
            "ml-1m",
            ("ratings.dat", "users.dat", "movies.dat", "README"),
        ),
    ),
    "svhn": Remote(
        246,
        _plain(
            {
                "train_32x32.mat": "e26dedcc434d2e4c54c9b2d4a06d8373",
                "test_32x32.mat": "eb5a983be6a315427106f1b164d9cef3",
            },
            "svhn",
            "http://ufldl.stanford.edu/housenumbers/",
        ),
    ),
}


def remote(name: str) -> Remote:
    """Return the downloads of a dataset.

    Raises:
        InputError: there is no such dataset, or it is not fetched.
    """
    if name in REMOTES:
        return REMOTES[name]
    fetched = ", ".join(REMOTES)
    if name in DATASETS.members:
        text = "is not fetched (it is made here, or no checksum of it is published): docs/datasets.md says where it is"
        raise InputError(f"data fetch: {name} {text}; fetched are {fetched}")
    raise InputError(f'data fetch: unknown dataset "{name}"{nearest(name, DATASETS.members)}; fetched are {fetched}')
