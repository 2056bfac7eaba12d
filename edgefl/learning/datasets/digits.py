"""The digits that come with the package.

`digits.npz` beside this file holds the test set of "Optical Recognition of Handwritten Digits" (E. Alpaydin and
C. Kaynak, UCI Machine Learning Repository, 1998, doi 10.24432/C50P49, licensed under CC BY 4.0): 1,797 images of 8x8
pixels, each the number of set pixels (0 to 16) in a 4x4 block of the scanned bitmap, and their labels.
"""

from importlib.resources import files

import numpy as np

from edgefl.learning.datasets.base import Data, Dataset

TEST_EVERY = 5  # every fifth image is a test sample


class Digits(Dataset):
    """1,797 handwritten digits of 8x8 pixels, in the package; every fifth is for testing (Alpaydin, Kaynak, 1998)."""

    def load(self) -> Data:
        """Return 1,438 training and 359 test images, standardised over all training pixels."""
        file = files("edgefl.learning.datasets") / "digits.npz"
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            images = archive["images"].astype(np.float32)
            labels = archive["labels"].astype(np.int64)
        is_test = np.arange(len(images)) % TEST_EVERY == TEST_EVERY - 1
        train_x = images[~is_test]
        # Statistics of the training pixels only: nothing of the test set reaches training.
        return Data(
            train_x=train_x,
            train_y=labels[~is_test],
            test_x=images[is_test],
            test_y=labels[is_test],
            classes=10,
            mean=float(train_x.mean()),
            std=float(train_x.std()),
        )
