"""Convolutions of several clients with weights of their own, on a GPU, with their gradients.

Images x are [K, B, H, W, C] with the channels of a pixel side by side, K clients of B images each. A convolution is a
matrix product without the matrix: a row is the patch of an output pixel, which a program reads from the image tap by
tap. (A tap is one of the KH x KW places of the kernel.) One program computes a block of pixels times a block of
channels for one client; each sum has a fixed order, so the same inputs give the same bytes.

Weights are packed as [K, KH * KW, C, O] for that, from [K, O, C, KH, KW] in flat vectors.
"""

from math import prod
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from edgefl.learning.learner.kernels.patches import Window
from edgefl.learning.learner.kernels.pixels.constants import ROUNDING, constants
from edgefl.learning.learner.kernels.pixels.tiles import Arithmetic, Tiles, convolution_tiles, weight_tiles

PACKED_BLOCK = 64  # rows and columns of weights that a program packs


def pack(weight: Tensor, dtype: torch.dtype) -> Tensor:
    """Return weights [K, O, C, KH, KW], which may be part of a flat vector, as [K, KH * KW, C, O] of this type."""
    clients, outputs, channels, *kernel = weight.shape
    taps = prod(kernel)
    packed = weight.new_empty((clients, taps, channels, outputs), dtype=dtype)
    _pack[_packing_grid(clients, outputs, channels * taps)](
        weight, packed, weight.stride(0), outputs, channels, taps, PACKED_BLOCK, **ROUNDING
    )
    return packed


def unpack(packed: Tensor, into: Tensor) -> None:
    """Write packed gradients [K, KH * KW, C, O] into those of a flat vector [K, O, C, KH, KW]."""
    clients, taps, channels, outputs = packed.shape
    _unpack[_packing_grid(clients, outputs, channels * taps)](
        packed, into, into.stride(0), outputs, channels, taps, PACKED_BLOCK, **ROUNDING
    )


def convolve(x: Tensor, packed: Tensor, bias: Tensor | None, window: Window, arithmetic: Arithmetic) -> Tensor:
    """Return the convolutions [K, B, OH, OW, O] of images x with packed weights and biases [K, O]."""
    clients, images, height, width, channels = x.shape
    outputs = packed.shape[-1]
    out_height, out_width = window.sides_after((height, width))
    y = x.new_empty((clients, images, out_height, out_width, outputs))
    tiles = convolution_tiles(channels, outputs, arithmetic.dtype)
    grid = (triton.cdiv(images * out_height * out_width, tiles.rows), triton.cdiv(outputs, tiles.columns), clients)
    _convolve[grid](
        x,
        packed,
        packed if bias is None else bias,
        y,
        0 if bias is None else bias.stride(0),
        images,
        **constants(x, y, window),
        C=channels,
        OC=outputs,
        HAS_BIAS=bias is not None,
        **_tiled(tiles, arithmetic),
    )
    return y


def input_gradient(dy: Tensor, packed: Tensor, x: Tensor, window: Window, arithmetic: Arithmetic) -> Tensor:
    """Return the gradient in the images x from that in the convolutions."""
    clients, images, height, width, channels = x.shape
    outputs = packed.shape[-1]
    dx = torch.empty_like(x)
    tiles = convolution_tiles(outputs, channels, arithmetic.dtype)
    grid = (triton.cdiv(images * height * width, tiles.rows), triton.cdiv(channels, tiles.columns), clients)
    _input_gradient[grid](
        dy,
        packed,
        dx,
        images,
        **constants(x, dy, window),
        C=channels,
        OC=outputs,
        **_tiled(tiles, arithmetic),
    )
    return dx


def weight_gradient(x: Tensor, dy: Tensor, window: Window, arithmetic: Arithmetic) -> Tensor:
    """Return the gradient in packed weights, in float32, from that in the convolutions of the images x."""
    clients, images, _, _, channels = x.shape
    outputs = dy.shape[-1]
    dw = x.new_empty((clients, window.size, channels, outputs), dtype=torch.float32)
    tiles = weight_tiles(channels, outputs, arithmetic.dtype)
    grid = (window.size * triton.cdiv(channels, tiles.rows), triton.cdiv(outputs, tiles.columns), clients)
    _weight_gradient[grid](
        x,
        dy,
        dw,
        images,
        **constants(x, dy, window),
        C=channels,
        OC=outputs,
        **_tiled(tiles, arithmetic),
    )
    return dw


def _tiled(tiles: Tiles, arithmetic: Arithmetic) -> dict[str, Any]:
    return {
        "PRODUCTS": arithmetic.products,
        "ROWS": tiles.rows,
        "COLUMNS": tiles.columns,
        "DEPTH": tiles.depth,
        **ROUNDING,
        "num_warps": tiles.warps,
        "num_stages": tiles.stages,
    }


def _packing_grid(clients: int, outputs: int, others: int) -> tuple[int, int, int]:
    return triton.cdiv(outputs, PACKED_BLOCK), triton.cdiv(others, PACKED_BLOCK), clients


@triton.jit
def _pack(weight, packed, d, outputs, channels, taps, BLOCK: tl.constexpr):
    client = tl.program_id(2).to(tl.int64)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)  # in the weights of an output channel: [C, taps]
    others = channels * taps
    inside = (o < outputs)[:, None] & (place < others)[None, :]
    values = tl.load(weight + client * d + o[:, None] * others + place[None, :], mask=inside, other=0.0)
    row = (place % taps) * channels + place // taps
    # transposed on the way, so that neighbours in memory are read and written together
    target = packed + client * outputs * others + row[:, None] * outputs + o[None, :]
    tl.store(target, tl.trans(values).to(packed.dtype.element_ty), mask=tl.trans(inside))


@triton.jit
def _unpack(packed, into, d, outputs, channels, taps, BLOCK: tl.constexpr):
    client = tl.program_id(2).to(tl.int64)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    others = channels * taps
    inside = (o < outputs)[:, None] & (place < others)[None, :]
    row = (place % taps) * channels + place // taps
    source = packed + client * outputs * others + row[:, None] * outputs + o[None, :]
    values = tl.load(source, mask=tl.trans(inside), other=0.0)
    tl.store(into + client * d + o[:, None] * others + place[None, :], tl.trans(values), mask=inside)


@triton.jit
def _convolve(
    x,
    packed,
    bias,
    y,
    bias_d,
    images,
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
    OC: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    PRODUCTS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    client = tl.program_id(2).to(tl.int64)
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)  # output pixels of all images
    o = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    pixels = images * OH * OW
    is_pixel = m < pixels
    image = client * images + m // (OH * OW)
    top = m % (OH * OW) // OW * DOWN - TOP
    left = m % OW * RIGHT - LEFT
    weights = packed + client * (KH * KW * C * OC)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for tap in range(KH * KW):
        h = top + tap // KW
        v = left + tap % KW
        is_inside = is_pixel & (h >= 0) & (h < H) & (v >= 0) & (v < W)
        pixel = ((image * H + h) * W + v) * C
        for begin in range(0, C, DEPTH):
            c = begin + tl.arange(0, DEPTH)
            patch = tl.load(x + pixel[:, None] + c[None, :], mask=is_inside[:, None] & (c < C)[None, :], other=0.0)
            place = (tap * C + c)[:, None] * OC + o[None, :]
            weight = tl.load(weights + place, mask=(c < C)[:, None] & (o < OC)[None, :], other=0.0)
            total = tl.dot(patch, weight, total, input_precision=PRODUCTS)
    if HAS_BIAS:
        total += tl.load(bias + client * bias_d + o, mask=o < OC, other=0.0)[None, :]
    target = y + (client * pixels + m)[:, None] * OC + o[None, :]
    tl.store(target, total.to(y.dtype.element_ty), mask=is_pixel[:, None] & (o < OC)[None, :])


@triton.jit
def _input_gradient(
    dy,
    packed,
    dx,
    images,
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
    OC: tl.constexpr,
    PRODUCTS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    client = tl.program_id(2).to(tl.int64)
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)  # input pixels of all images
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    pixels = images * H * W
    is_pixel = m < pixels
    image = client * images + m // (H * W)
    row = m % (H * W) // W + TOP
    column = m % W + LEFT
    weights = packed + client * (KH * KW * C * OC)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for tap in range(KH * KW):
        # The tap of the output pixel (h / DOWN, v / RIGHT) saw this pixel, if these are whole numbers.
        h = row - tap // KW
        v = column - tap % KW
        is_whole = (h % DOWN == 0) & (v % RIGHT == 0)
        is_inside = (h >= 0) & (v >= 0) & (h // DOWN < OH) & (v // RIGHT < OW)
        pixel = ((image * OH + h // DOWN) * OW + v // RIGHT) * OC
        has_seen = is_pixel & is_whole & is_inside
        for begin in range(0, OC, DEPTH):
            o = begin + tl.arange(0, DEPTH)
            above = tl.load(dy + pixel[:, None] + o[None, :], mask=has_seen[:, None] & (o < OC)[None, :], other=0.0)
            place = (tap * C + c[None, :]) * OC + o[:, None]
            weight = tl.load(weights + place, mask=(o < OC)[:, None] & (c < C)[None, :], other=0.0)
            total = tl.dot(above, weight, total, input_precision=PRODUCTS)
    target = dx + (client * pixels + m)[:, None] * C + c[None, :]
    tl.store(target, total.to(dx.dtype.element_ty), mask=is_pixel[:, None] & (c < C)[None, :])


@triton.jit
def _weight_gradient(
    x,
    dy,
    dw,
    images,
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
    OC: tl.constexpr,
    PRODUCTS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    BLOCKS: tl.constexpr = (C + ROWS - 1) // ROWS  # of input channels
    client = tl.program_id(2).to(tl.int64)
    tap = tl.program_id(0) // BLOCKS
    c = tl.program_id(0) % BLOCKS * ROWS + tl.arange(0, ROWS)
    o = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    pixels = images * OH * OW
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for begin in range(0, pixels, DEPTH):
        m = begin + tl.arange(0, DEPTH)  # output pixels of all images
        is_pixel = m < pixels
        h = m % (OH * OW) // OW * DOWN - TOP + tap // KW
        v = m % OW * RIGHT - LEFT + tap % KW
        is_inside = is_pixel & (h >= 0) & (h < H) & (v >= 0) & (v < W)
        pixel = (((client * images + m // (OH * OW)) * H + h) * W + v) * C
        patch = tl.load(x + pixel[None, :] + c[:, None], mask=is_inside[None, :] & (c < C)[:, None], other=0.0)
        place = (client * pixels + m)[:, None] * OC + o[None, :]
        above = tl.load(dy + place, mask=is_pixel[:, None] & (o < OC)[None, :], other=0.0)
        total = tl.dot(patch, above, total, input_precision=PRODUCTS)
    target = dw + client * (KH * KW * C * OC) + (tap * C + c)[:, None] * OC + o[None, :]
    tl.store(target, total, mask=(c < C)[:, None] & (o < OC)[None, :])
