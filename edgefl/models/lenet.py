"""LeNet."""

from __future__ import annotations

from typing import ClassVar

from edgefl.models.convolutional import Convolutional


class LeNet5(Convolutional):
    """LeNet-5 with ReLU: 44,426 parameters on MNIST (sequential-FL paper), 62,006 on CIFAR-10 (FedAR paper)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((6,), (16,))
    kernel: ClassVar[int] = 5
    hidden: ClassVar[tuple[int, ...]] = (120, 84)
