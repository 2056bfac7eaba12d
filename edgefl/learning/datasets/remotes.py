"""The publishers of datasets, by `remotes.yaml`: addresses, checksums, and the places of the files.

Addresses and MD5 sums are those of torchvision 0.26 (MNIST, FashionMNIST, CIFAR10, CIFAR100, SVHN, EMNIST) and of
torchtext 0.18 (AG_NEWS); GroupLens publishes the sum of ml-1m.zip. Datasets without a known checksum are not fetched,
as a damaged or exchanged file would not be noticed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.section import nearest
from edgefl.core.words import words_of
from edgefl.learning.datasets import DATASETS


@dataclass(frozen=True)
class Download:
    """One file to download; of an archive only `members` are kept."""

    name: str
    md5: str
    addresses: Sequence[str]  # folders that have it, best first; each ends with "/"
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


def _remote(
    megabytes: int, files: Mapping[str, str], members: Sequence[str] = (), below: str = "", **more: Any
) -> Remote:
    kept = {f"{below}/{member}": member for member in members}
    return Remote(megabytes, tuple(Download(name, md5, members=kept, **more) for name, md5 in files.items()))


REMOTES = {name: _remote(**keys) for name, keys in words_of(__file__, "remotes.yaml").items()}


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
