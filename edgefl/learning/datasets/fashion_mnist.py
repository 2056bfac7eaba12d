"""Fashion-MNIST."""

from edgefl.learning.datasets.base import Data, Dataset
from edgefl.learning.datasets.mnist import CLASSES, raw_or_npz


class FashionMnist(Dataset):
    """Fashion-MNIST: 60,000 + 10,000 images 28x28 of clothes in 10 classes (Xiao et al., arXiv:1708.07747)."""

    def load(self) -> Data:
        """Read torchvision's raw files or fashion_mnist.npz; standardised with 0.2861 and 0.3530."""
        # It comes in the same four files as MNIST.
        arrays = raw_or_npz(self.path, "FashionMNIST", "fashion_mnist.npz")
        return Data(**arrays, classes=CLASSES, mean=0.2861 * 255, std=0.3530 * 255)
