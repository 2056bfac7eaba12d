"""Networks of two convolutions, each followed by ReLU.

    model          convolutions          pooling 2x2       dense       parameters               source
    cnn            5x5, 64; 5x5, 64      after each        384, 192    797,962 on CIFAR-10      FedSSG paper, A.1.2
    cnn_mnist      5x5, 32; 5x5, 32      after each        128         228,586 on F.-MNIST      sequential-FL paper
    cnn_femnist    3x3, 32; 3x3, 64      after the second  128         1,206,590 on FEMNIST     FedEve paper's program
    cnn_mifa       5x5, 32; 5x5, 64      after each        512         582,026 on MNIST         MIFA paper's program

Only cnn_mnist pads (by 2, so that a convolution keeps the size of its map).
"""

from typing import ClassVar

from edgefl.learning.models.convolutional import Convolutional


class Cnn(Convolutional):
    """Two 5x5 convolutions of 64, dense 384 and 192: 797,962 parameters on CIFAR-10 (FedSSG paper, A.1.2)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((64,), (64,))
    kernel: ClassVar[int] = 5
    hidden: ClassVar[tuple[int, ...]] = (384, 192)


class CnnMnist(Convolutional):
    """Two padded 5x5 convolutions of 32, dense 128: 228,586 parameters on Fashion-MNIST (sequential-FL paper)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((32,), (32,))
    kernel: ClassVar[int] = 5
    padding: ClassVar[int] = 2
    hidden: ClassVar[tuple[int, ...]] = (128,)


class CnnFemnist(Convolutional):
    """Two 3x3 convolutions of 32 and 64, dense 128: 1,206,590 parameters on FEMNIST (program of the FedEve paper)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((32, 64),)
    kernel: ClassVar[int] = 3
    hidden: ClassVar[tuple[int, ...]] = (128,)


class CnnMifa(Convolutional):
    """Two 5x5 convolutions of 32 and 64, dense 512: 582,026 parameters on MNIST (program of the MIFA paper)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((32,), (64,))
    kernel: ClassVar[int] = 5
    hidden: ClassVar[tuple[int, ...]] = (512,)
