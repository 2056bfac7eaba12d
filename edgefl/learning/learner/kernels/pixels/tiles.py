"""The sizes of the blocks that a program of a GPU computes, by a fixed table, and how it multiplies.

A trial at run time would choose other blocks, and so other rounding, on another day. The table is that of an H100, on
which the blocks were measured with operands in bfloat16 (docs/benchmarks.md).
"""

from dataclasses import dataclass
from typing import Literal

import torch

LEAST = 16  # rows and columns of the smallest product that tensor cores do
MOST_CHANNELS = 128
NARROW = 64  # output channels up to which one program computes all of them
SHALLOW = 128  # channels of the sum up to which its blocks are short


@dataclass(frozen=True)
class Arithmetic:
    """The type of the factors in memory, and how tensor cores multiply them; all sums are in float32."""

    dtype: torch.dtype
    products: Literal["tf32", "tf32x3"]  # of float32 factors: rounded once, or by three products with an error of 1e-6


ARITHMETIC = {
    "float32": Arithmetic(torch.float32, "tf32x3"),
    "tf32": Arithmetic(torch.float32, "tf32"),
    "bfloat16": Arithmetic(torch.bfloat16, "tf32"),
}


@dataclass(frozen=True)
class Tiles:
    """The block of a product that one program computes."""

    rows: int  # pixels, or input channels of a weight gradient
    columns: int  # channels
    depth: int  # numbers that are summed in one go
    warps: int
    stages: int  # loads that are on their way


def convolution_tiles(inner: int, outer: int, dtype: torch.dtype) -> Tiles:
    """Return the blocks of a product over `inner` channels that has `outer` channels."""
    if outer <= NARROW:
        tiles = Tiles(128, block(outer, NARROW), block(inner, 64), 4, 3)
    elif inner <= SHALLOW:
        tiles = Tiles(128, 128, block(inner, 32), 8, 4)
    else:
        tiles = Tiles(128, 128, 64, 8, 3)
    return _shallower(tiles, dtype)


def weight_tiles(inputs: int, outputs: int, dtype: torch.dtype) -> Tiles:
    """Return the blocks of the gradient of weights between so many channels, which is a sum over pixels."""
    rows = block(inputs, MOST_CHANNELS)
    columns = block(outputs, MOST_CHANNELS)
    warps = 4 if rows <= NARROW else 8
    tiles = Tiles(rows, columns, 64, warps, 3)
    if inputs >= 4 * MOST_CHANNELS:
        tiles = Tiles(rows, columns, 32, warps, 4)
    return _shallower(tiles, dtype)


def block(size: int, most: int) -> int:
    """Return the smallest power of two that holds `size`, between that of tensor cores and `most`."""
    return max(LEAST, min(most, 1 << (size - 1).bit_length()))


def _shallower(tiles: Tiles, dtype: torch.dtype) -> Tiles:
    """Return blocks of factors of four bytes that take as much shared memory as those of two bytes."""
    if dtype.itemsize <= 2:
        return tiles
    return Tiles(tiles.rows, tiles.columns, max(LEAST, tiles.depth // 2), tiles.warps, tiles.stages)
