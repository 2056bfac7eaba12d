"""CINIC-10."""

from edgefl.core.errors import InputError
from edgefl.learning.datasets.base import Data, Dataset, find, help_of, standardisation
from edgefl.learning.datasets.images import class_names, images_by_class, read_images
from edgefl.learning.datasets.npz import read_npz

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
# The authors' statistics of each channel.
MEANS = (0.47889522, 0.47227842, 0.43047404)
STDS = (0.24205776, 0.23828046, 0.25874835)
HELP = help_of("cinic10")


class Cinic10(Dataset):
    """CINIC-10: 90,000 + 90,000 colour images 32x32 in CIFAR-10's classes (Darlow et al., arXiv:1810.03505)."""

    def load(self) -> Data:
        """Read the authors' training and test sets; their validation set is left out; [3, 32, 32]."""
        found = find(self.path, ["CINIC-10/train", "cinic-10/train", "cinic10/train", "cinic10.npz"], HELP, ["train"])
        if found.suffix == ".npz":
            arrays = read_npz(found, len(CLASSES))
        else:
            parts = {"train": found, "test": found.with_name("test")}
            for folder in parts.values():
                # Labels are positions in this list, which is that of CIFAR-10.
                if class_names(folder) != CLASSES:
                    raise InputError(f"data.dataset: {folder}: must hold the folders {', '.join(CLASSES)}. {HELP}")
            files = {part: images_by_class(folder, CLASSES) for part, folder in parts.items()}
            arrays = read_images("cinic10", files)
        return Data(**arrays, classes=len(CLASSES), **standardisation(MEANS, STDS))
