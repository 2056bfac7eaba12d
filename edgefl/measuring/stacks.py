"""Stacks of equal layers, in which one term of the law takes most of the time."""

import math

from torch import nn


def stack(kind: str, shape: tuple[int, ...], layers: int, width: int, kernel: int, groups: int) -> nn.Sequential:
    """Return so many layers with ReLU behind each; samples are maps [channels, H, W], or tokens [T, width].

    Args:
        kind: convolution, norm (of batches) or product (a linear layer for each token).
        shape: of a sample.
        layers: how many.
        width: channels, or numbers of a token.
        kernel: side of a convolution's filters.
        groups: of a convolution.
    """
    if kind == "product":
        products = [module for _ in range(layers) for module in (nn.Linear(width, width), nn.ReLU())]
        return nn.Sequential(*products, nn.Flatten(), nn.Linear(math.prod(shape), 10))
    stacked: list[nn.Module] = [nn.Conv2d(shape[0], width, 1)]
    for _ in range(layers):
        layer: nn.Module = nn.BatchNorm2d(width)
        if kind == "convolution":
            layer = nn.Conv2d(width, width, kernel, padding=kernel // 2, groups=groups)
        stacked += [layer, nn.ReLU()]
    return nn.Sequential(*stacked, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))
