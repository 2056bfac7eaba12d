"""Convolutions of one client as matrix products over all patches of a mini-batch, on the CPU.

torch computes convolutions by oneDNN, whose vectors run over channels: with one input channel they are nearly empty,
and the weight gradient of many channels on small maps waits for memory. Copying the patches (im2col) costs less;
docs/benchmarks.md has both times. Images x are [B, C, H, W], gradients dy in the output [B, O, OH, OW].
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from edgefl.learning.learner.kernels.arithmetic import product

LEAST_RUN = 64  # least numbers copied at once that make copying patches pay
LARGEST_MAP = 64  # outputs of an image up to which oneDNN's weight gradient is the slower one


@dataclass(frozen=True)
class Window:
    """The part of an image that each output of a convolution sees; heights first, then widths."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    @property
    def size(self) -> int:
        """Pixels of a patch."""
        return self.kernel[0] * self.kernel[1]

    def sides_after(self, sides: tuple[int, int]) -> tuple[int, int]:
        """Return the height and the width of the outputs for images of these sides."""
        per_axis = zip(sides, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        height, width = (
            (side + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
            for side, kernel, stride, padding, dilation in per_axis
        )
        return height, width


def gradient_pays(x: Tensor, dy: Tensor, window: Window) -> bool:
    """Return whether the weight gradient by patches is faster."""
    run = x.shape[1] * window.kernel[1]  # numbers of a patch that are neighbours in memory, with channels last
    return run >= LEAST_RUN and dy.shape[2] * dy.shape[3] <= LARGEST_MAP


def convolve_one_channel(x: Tensor, weight: Tensor, bias: Tensor, window: Window) -> tuple[Tensor, Tensor]:
    """Return the convolution of images x [B, 1, H, W] with weights [O, 1, KH, KW] and biases [O], and its patches.

    The convolution [B, O, OH, OW] has its channels last in memory; `gradient_of_one_channel` takes the patches.
    """
    view = patches(x, window)
    images, height, width = view.shape[:3]
    # patches as columns: their copied runs are rows of the image, not the few pixels of a kernel's row
    columns = view.permute(5, 3, 4, 0, 1, 2).reshape(window.size, -1)
    y = product(columns.t()[None], weight.flatten(1).t()[None])[0].add_(bias)
    return y.view(images, height, width, -1).permute(0, 3, 1, 2), columns


def gradient_of_one_channel(dy: Tensor, columns: Tensor, into: Tensor) -> None:
    """Write the weight gradient [O, 1, KH, KW], from the patches of `convolve_one_channel`."""
    gradient = product(columns[None], _positions(dy)[None])[0]  # [KH * KW, O]
    into.copy_(gradient.t().view(into.shape))


def weight_gradient(dy: Tensor, x: Tensor, window: Window, into: Tensor) -> None:
    """Write the weight gradient [O, C, KH, KW]; fast if the channels of x are last in memory."""
    outputs, channels = into.shape[:2]
    rows = patches(x, window).reshape(-1, window.size * channels)
    gradient = product(_positions(dy).t()[None], rows[None])[0]
    into.copy_(gradient.view(outputs, *window.kernel, channels).permute(0, 3, 1, 2))


def patches(x: Tensor, window: Window) -> Tensor:
    """Return the patch of each output as [B, OH, OW, KH, KW, C]: a view of the padded images [B, C, H, W]."""
    height, width = window.sides_after((x.shape[2], x.shape[3]))
    down, right = window.padding
    if down or right:
        x = torch.nn.functional.pad(x, (right, right, down, down))
    image, channel, row, pixel = x.stride()
    step_down, step_right = window.stride
    apart_down, apart_right = window.dilation
    return x.as_strided(
        (len(x), height, width, *window.kernel, x.shape[1]),
        (image, row * step_down, pixel * step_right, row * apart_down, pixel * apart_right, channel),
    )


def _positions(y: Tensor) -> Tensor:
    """Return [B, O, OH, OW] as [B * OH * OW, O]: a view if channels are last in memory."""
    return y.permute(0, 2, 3, 1).reshape(-1, y.shape[1])
