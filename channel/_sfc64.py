"""Draws of NumPy's generator SFC64 in compiled loops: the same bits as NumPy's.

NumPy calls the generator for each word through a pointer; one loop for both takes less time (docs/benchmarks.md).
Imported only if numba is installed.

Sources: Doty-Humphrey, PractRand (SFC64: small fast chaotic); Marsaglia and Tsang, "The ziggurat method for generating
random variables", J. Stat. Softw. 5(8), 2000, with the 256 layers and the words that NumPy takes.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from numba.np.random import _constants as ziggurat

from channel._compiling import compiled

SCALE = math.sqrt(0.5)
UNIT = 1.0 / 2**53  # of a random word's upper bits, as a number in [0, 1)

LAYER = np.uint64(0xFF)
SIGNED_LAYER = np.uint64(0x1FF)  # the bit above the layer is the sign
PLACE = np.uint64(2**52 - 1)
TAIL_SIGN = np.uint64(1 << 8)
LAYER_BITS = np.uint64(9)  # of a word: the layer and the sign, below the place
UNIT_BITS = np.uint64(11)  # of a word, which a number of 53 bits leaves out
ONE = np.uint64(1)
RIGHT_SHIFT = np.uint64(11)  # of SFC64, as the next three
LEFT_SHIFT = np.uint64(3)
ROTATION = np.uint64(24)
ROTATION_BACK = np.uint64(40)  # what the rotation leaves of 64 bits

WIDTHS = np.concatenate([ziggurat.wi_double, -ziggurat.wi_double])  # [512] positive layers, then negative ones
INSIDE = np.asarray(ziggurat.ki_double)  # [256] places below are inside the layer's rectangle
HEIGHTS = np.asarray(ziggurat.fi_double)  # [256] of the density
TAIL = float(ziggurat.ziggurat_nor_r)  # where the tail begins
INVERSE_TAIL = float(ziggurat.ziggurat_nor_inv_r)


def _next(a: Any, b: Any, c: Any, counter: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return SFC64's state after a step, and the word that the step gives."""
    word = a + b + counter
    mixed = ((c << ROTATION) | (c >> ROTATION_BACK)) + word
    return b ^ (b >> RIGHT_SHIFT), c + (c << LEFT_SHIFT), mixed, counter + ONE, word


def _unit(word: Any) -> Any:
    """Return a random word as a number in [0, 1)."""
    return np.float64(np.int64(word >> UNIT_BITS)) * UNIT


_step: Any = njit(_next, inline="always")
_uniform: Any = njit(_unit, inline="always")


def _fill(state: Any, out: Any) -> None:
    """Fill `out` [n] with the next standard normals, times sqrt(1/2), of the generator with a state [4]; update it."""
    a = state[0]
    b = state[1]
    c = state[2]
    counter = state[3]
    for column in range(out.size):
        accepted = False
        while not accepted:
            a, b, c, counter, word = _step(a, b, c, counter)
            layer = word & LAYER
            place = (word >> LAYER_BITS) & PLACE
            # a table with both signs: no processor can predict the branch on a random sign
            x = np.float64(np.int64(place)) * WIDTHS[word & SIGNED_LAYER]
            if place < INSIDE[layer]:  # 99 of 100
                accepted = True
            elif layer > 0:  # between the rectangle and the density
                a, b, c, counter, word = _step(a, b, c, counter)
                above = HEIGHTS[layer]
                below = HEIGHTS[layer - ONE]
                accepted = (below - above) * _uniform(word) + above < math.exp(-0.5 * x * x)
            else:  # the tail
                while not accepted:
                    a, b, c, counter, word = _step(a, b, c, counter)
                    beyond = -INVERSE_TAIL * math.log1p(-_uniform(word))
                    a, b, c, counter, word = _step(a, b, c, counter)
                    height = -math.log1p(-_uniform(word))
                    accepted = height + height > beyond * beyond
                x = TAIL + beyond
                if place & TAIL_SIGN:
                    x = -x
        out[column] = x * SCALE
    state[0] = a
    state[1] = b
    state[2] = c
    state[3] = counter


def _fill_uniforms(state: Any, out: Any) -> None:
    """Fill `out` [n] with the next uniforms in [0, 1) of the generator with a state [4]; update it."""
    a = state[0]
    b = state[1]
    c = state[2]
    counter = state[3]
    for column in range(out.size):
        a, b, c, counter, word = _step(a, b, c, counter)
        out[column] = _uniform(word)
    state[0] = a
    state[1] = b
    state[2] = c
    state[3] = counter


# With their types, so that each is compiled once.
fill: Any = compiled(_fill, "void(u8[::1], f8[::1])")
fill_uniforms: Any = compiled(_fill_uniforms, "void(u8[::1], f8[::1])")
