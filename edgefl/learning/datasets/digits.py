"""The embedded dataset."""

from __future__ import annotations

import numpy as np

from edgefl.learning.datasets.base import Data, Dataset


class Digits(Dataset):
    """1,797 real 8x8 handwritten digits, embedded; every fifth is a test sample (Alpaydin & Kaynak, UCI 1998)."""

    def load(self) -> Data:
        """1,438 training and 359 test images, standardised over all training pixels."""
        from sklearn.datasets import load_digits

        x, y = load_digits(return_X_y=True)
        x, y = x.reshape(-1, 8, 8).astype(np.float32), y.astype(np.int64)
        test = np.arange(len(x)) % 5 == 4
        train_x = x[~test]
        return Data(train_x, y[~test], x[test], y[test], 10, float(train_x.mean()), float(train_x.std()))
