"""Group and batch normalisation of several clients' images on a GPU, with the sum and the rectifier behind them.

One program normalises what has one mean: the channels of a group in one image (group norm), or some channels in all
images of a client, each with a mean of its own (batch norm). Images are [K, B, H, W, C]. All numbers are read and
written once for the sum and once for the result; sums have a fixed order, so the same inputs give the same bytes.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from edgefl.learning.learner.kernels.pixels.constants import ROUNDING

BLOCK = 4096  # numbers that a program reads at once
CHANNELS = 32  # of a program of batch norm: a line of the cache, and enough programs for all processors of a GPU
LARGE = 8192  # least numbers for a program to get more threads


@dataclass(frozen=True)
class Grouping:
    """What has one mean."""

    groups: int  # of channels in an image; 0: each channel in all images of a client (batch norm)
    eps: float  # added to the variance


class Moments(NamedTuple):
    """The mean and the variance that normalised numbers, [U, C] of each unit's channels.

    A unit is an image in group norm, and all images of a client in batch norm.
    """

    mean: Tensor
    variance: Tensor


class NormGradients(NamedTuple):
    """The gradients in what a norm has read."""

    x: Tensor  # [K, B, H, W, C]
    residual: Tensor  # x itself if there is none
    gain: Tensor  # [K, C] float32
    shift: Tensor  # [K, C] float32


def normalise(
    x: Tensor, gain: Tensor, shift: Tensor, grouping: Grouping, *, residual: Tensor | None = None, relu: bool = False
) -> tuple[Tensor, Moments]:
    """Return gain * (x - mean) / sqrt(variance + eps) + shift of images x, with the moments.

    Args:
        x: images [K, B, H, W, C].
        gain: [K, C] of each client's channels.
        shift: [K, C], in the same form.
        grouping: what has one mean.
        residual: images that are added, like x.
        relu: negative numbers become 0 in the end.
    """
    y = torch.empty_like(x)
    launch = _launch(x, grouping)
    mean = x.new_empty((launch.units, x.shape[-1]), dtype=torch.float32)
    variance = torch.empty_like(mean)
    _normalise[launch.grid](
        x,
        x if residual is None else residual,
        gain,
        shift,
        y,
        mean,
        variance,
        gain.stride(0),
        shift.stride(0),
        **launch.arguments,
        HAS_RESIDUAL=residual is not None,
        RELU=relu,
        **ROUNDING,
        num_warps=launch.warps,
    )
    return y, Moments(mean, variance)


def norm_gradients(
    dy: Tensor, x: Tensor, y: Tensor, gain: Tensor, moments: Moments, grouping: Grouping, *, residual: bool, relu: bool
) -> NormGradients:
    """Return the gradients in what `normalise` has read, from that in its result y."""
    launch = _launch(x, grouping)
    dx = torch.empty_like(x)
    dresidual = torch.empty_like(x) if residual else dx
    dgain = torch.empty_like(moments.mean)
    dshift = torch.empty_like(moments.mean)
    _norm_gradients[launch.grid](
        dy,
        x,
        y,
        gain,
        moments.mean,
        moments.variance,
        dx,
        dresidual,
        dgain,
        dshift,
        gain.stride(0),
        **launch.arguments,
        HAS_RESIDUAL=residual,
        RELU=relu,
        **ROUNDING,
        num_warps=launch.warps,
    )
    clients, channels = gain.shape
    # the parts of a client's images, summed in a fixed order
    sums = [part.view(clients, -1, channels).sum(1) for part in (dgain, dshift)]
    return NormGradients(dx, dresidual, *sums)


class _Launch(NamedTuple):
    units: int
    grid: tuple[int, int]
    arguments: dict[str, Any]
    warps: int


def _launch(x: Tensor, grouping: Grouping) -> _Launch:
    clients, images, height, width, channels = x.shape
    units = clients * images
    units_of_client = images
    rows = height * width
    together = channels // max(1, grouping.groups)
    if not grouping.groups:
        units = clients
        units_of_client = 1
        rows *= images
        together = min(CHANNELS, channels)
    padded = triton.next_power_of_2(together)
    block = min(triton.next_power_of_2(rows), max(1, BLOCK // padded))
    arguments = {
        "rows": rows,
        "units_of_client": units_of_client,
        "eps": grouping.eps,
        "C": channels,
        "TOGETHER": together,
        "PADDED": padded,
        "ROWS": block,
        "PER_CHANNEL": not grouping.groups,
    }
    warps = 8 if rows * together >= LARGE else 4
    return _Launch(units, (units, triton.cdiv(channels, together)), arguments, warps)


@triton.jit
def _mean(sums, count, PER_CHANNEL: tl.constexpr):
    """Return sums of channels over `count` numbers: of each channel, or of all together for each of them."""
    if not PER_CHANNEL:
        sums = tl.zeros_like(sums) + tl.sum(sums, 0)
    return sums / count


@triton.jit
def _normalise(
    x,
    residual,
    gain,
    shift,
    y,
    mean_out,
    variance_out,
    gain_d,
    shift_d,
    rows,
    units_of_client,
    eps,
    C: tl.constexpr,
    TOGETHER: tl.constexpr,
    PADDED: tl.constexpr,
    ROWS: tl.constexpr,
    PER_CHANNEL: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
):
    unit = tl.program_id(0).to(tl.int64)
    client = unit // units_of_client
    number = tl.arange(0, PADDED)
    c = tl.program_id(1) * TOGETHER + number
    is_channel = (number < TOGETHER) & (c < C)
    begin = unit * rows * C
    count = rows * 1.0
    if not PER_CHANNEL:
        count *= TOGETHER
    total = tl.zeros((ROWS, PADDED), dtype=tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & is_channel[None, :]
        total += tl.load(x + begin + row[:, None] * C + c[None, :], mask=inside, other=0.0).to(tl.float32)
    mean = _mean(tl.sum(total, 0), count, PER_CHANNEL)
    # In a second pass, as the difference of two large sums would have few digits left.
    total = tl.zeros((ROWS, PADDED), dtype=tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & is_channel[None, :]
        values = tl.load(x + begin + row[:, None] * C + c[None, :], mask=inside, other=0.0).to(tl.float32)
        apart = tl.where(inside, values - mean[None, :], 0.0)
        total += apart * apart
    variance = _mean(tl.sum(total, 0), count, PER_CHANNEL)
    tl.store(mean_out + unit * C + c, mean, mask=is_channel)
    tl.store(variance_out + unit * C + c, variance, mask=is_channel)
    scale = tl.load(gain + client * gain_d + c, mask=is_channel, other=0.0) / tl.sqrt(variance + eps)
    offset = tl.load(shift + client * shift_d + c, mask=is_channel, other=0.0) - mean * scale
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & is_channel[None, :]
        place = begin + row[:, None] * C + c[None, :]
        values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32) * scale[None, :] + offset[None, :]
        if HAS_RESIDUAL:
            values += tl.load(residual + place, mask=inside, other=0.0).to(tl.float32)
        if RELU:
            values = tl.maximum(values, 0.0)
        tl.store(y + place, values.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _norm_gradients(
    dy,
    x,
    y,
    gain,
    mean_in,
    variance_in,
    dx,
    dresidual,
    dgain,
    dshift,
    gain_d,
    rows,
    units_of_client,
    eps,
    C: tl.constexpr,
    TOGETHER: tl.constexpr,
    PADDED: tl.constexpr,
    ROWS: tl.constexpr,
    PER_CHANNEL: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
):
    unit = tl.program_id(0).to(tl.int64)
    client = unit // units_of_client
    number = tl.arange(0, PADDED)
    c = tl.program_id(1) * TOGETHER + number
    is_channel = (number < TOGETHER) & (c < C)
    begin = unit * rows * C
    count = rows * 1.0
    if not PER_CHANNEL:
        count *= TOGETHER
    mean = tl.load(mean_in + unit * C + c, mask=is_channel, other=0.0)
    variance = tl.load(variance_in + unit * C + c, mask=is_channel, other=1.0)
    over_deviation = 1.0 / tl.sqrt(variance + eps)
    gains = tl.load(gain + client * gain_d + c, mask=is_channel, other=0.0)
    of_gain = tl.zeros((ROWS, PADDED), dtype=tl.float32)
    of_shift = tl.zeros((ROWS, PADDED), dtype=tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & is_channel[None, :]
        place = begin + row[:, None] * C + c[None, :]
        above = tl.load(dy + place, mask=inside, other=0.0).to(tl.float32)
        if RELU:
            above = tl.where(tl.load(y + place, mask=inside, other=0.0).to(tl.float32) > 0, above, 0.0)
        values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
        of_gain += above * (values - mean[None, :]) * over_deviation[None, :]
        of_shift += above
    gain_sum = tl.sum(of_gain, 0)
    shift_sum = tl.sum(of_shift, 0)
    tl.store(dgain + unit * C + c, gain_sum, mask=is_channel)
    tl.store(dshift + unit * C + c, shift_sum, mask=is_channel)
    # What all numbers of one mean have in common: it moves with each of them, and so does the variance.
    by_mean = _mean(shift_sum * gains, count, PER_CHANNEL)
    by_variance = _mean(gain_sum * gains, count, PER_CHANNEL)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & is_channel[None, :]
        place = begin + row[:, None] * C + c[None, :]
        above = tl.load(dy + place, mask=inside, other=0.0).to(tl.float32)
        if RELU:
            above = tl.where(tl.load(y + place, mask=inside, other=0.0).to(tl.float32) > 0, above, 0.0)
        if HAS_RESIDUAL:
            tl.store(dresidual + place, above.to(dresidual.dtype.element_ty), mask=inside)
        values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
        apart = (values - mean[None, :]) * over_deviation[None, :]
        below = (above * gains[None, :] - by_mean[None, :] - apart * by_variance[None, :]) * over_deviation[None, :]
        tl.store(dx + place, below.to(dx.dtype.element_ty), mask=inside)
