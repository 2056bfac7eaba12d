"""The maximum of each window of several clients' images on a GPU; torch's own gradient adds in any order."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from edgefl.learning.learner.kernels.patches import Window
from edgefl.learning.learner.kernels.pixels.constants import ROUNDING, constants

BLOCK = 1024  # numbers of a program
MOST_TAPS = 127  # of a window, as their numbers are kept in a byte


def pool(x: Tensor, window: Window) -> tuple[Tensor, Tensor]:
    """Return the maxima [K, B, OH, OW, C] of images x [K, B, H, W, C], and the tap of each window that had it."""
    clients, images, height, width, channels = x.shape
    shape = (clients, images, *window.sides_after((height, width)), channels)
    y = x.new_empty(shape)
    winners = x.new_empty(shape, dtype=torch.int8)
    _pool[(triton.cdiv(y.numel(), BLOCK),)](
        x, y, winners, y.numel(), **constants(x, y, window), C=channels, BLOCK=BLOCK, **ROUNDING
    )
    return y, winners


def pool_gradient(dy: Tensor, winners: Tensor, x: Tensor, window: Window) -> Tensor:
    """Return the gradient in the images x from that in the maxima."""
    dx = torch.empty_like(x)
    _pool_gradient[(triton.cdiv(x.numel(), BLOCK),)](
        dy, winners, dx, x.numel(), **constants(x, dy, window), C=x.shape[-1], BLOCK=BLOCK, **ROUNDING
    )
    return dx


@triton.jit
def _pool(
    x,
    y,
    winners,
    count,
    H: tl.constexpr,
    W: tl.constexpr,
    OH: tl.constexpr,
    OW: tl.constexpr,
    KH: tl.constexpr,
    KW: tl.constexpr,
    DOWN: tl.constexpr,
    RIGHT: tl.constexpr,
    TOP: tl.constexpr,
    LEFT: tl.constexpr,
    C: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_output = i < count
    c = i % C
    column = i // C % OW
    row = i // (C * OW) % OH
    image = i // (C * OW * OH)
    best = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
    winner = tl.zeros((BLOCK,), dtype=tl.int32)
    for tap in range(KH * KW):
        h = row * DOWN - TOP + tap // KW
        v = column * RIGHT - LEFT + tap % KW
        inside = is_output & (h >= 0) & (h < H) & (v >= 0) & (v < W)
        place = ((image * H + h) * W + v) * C + c
        value = tl.load(x + place, mask=inside, other=float("-inf")).to(tl.float32)
        # the first of equal ones, and NaN wins: as torch has it
        is_better = (value > best) | (value != value)
        best = tl.where(is_better, value, best)
        winner = tl.where(is_better, tap, winner)
    tl.store(y + i, best.to(y.dtype.element_ty), mask=is_output)
    tl.store(winners + i, winner.to(tl.int8), mask=is_output)


@triton.jit
def _pool_gradient(
    dy,
    winners,
    dx,
    count,
    H: tl.constexpr,
    W: tl.constexpr,
    OH: tl.constexpr,
    OW: tl.constexpr,
    KH: tl.constexpr,
    KW: tl.constexpr,
    DOWN: tl.constexpr,
    RIGHT: tl.constexpr,
    TOP: tl.constexpr,
    LEFT: tl.constexpr,
    C: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_input = i < count
    c = i % C
    column = i // C % W + LEFT
    row = i // (C * W) % H + TOP
    image = i // (C * W * H)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    # A number is in as many windows as have a tap on it; it gets the gradients of those whose maximum it is.
    for tap in range(KH * KW):
        h = row - tap // KW
        v = column - tap % KW
        is_whole = (h % DOWN == 0) & (v % RIGHT == 0)
        inside = is_input & is_whole & (h >= 0) & (v >= 0) & (h // DOWN < OH) & (v // RIGHT < OW)
        place = ((image * OH + h // DOWN) * OW + v // RIGHT) * C + c
        won = tl.load(winners + place, mask=inside, other=-1).to(tl.int32) == tap
        total += tl.where(won, tl.load(dy + place, mask=inside, other=0.0).to(tl.float32), 0.0)
    tl.store(dx + i, total.to(dx.dtype.element_ty), mask=is_input)
