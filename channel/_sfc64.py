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
FIRST_STEPS = 12  # that mix the seed

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


def _seeded(words: Any) -> Any:
    """Return the states [r, 4] of generators with seeds of three words [r, 3]."""
    states = np.empty((len(words), 4), dtype=np.uint64)
    for row in range(len(words)):
        a, b, c = words[row]
        counter = ONE
        for _ in range(FIRST_STEPS):
            a, b, c, counter, _word = _step(a, b, c, counter)
        states[row] = (a, b, c, counter)
    return states


def _fill(states: Any, out: Any) -> None:
    """Fill rows with the next standard normals of their generators, times sqrt(1/2).

    Args:
        states: [r, 4] the generators' states; updated.
        out: [r, n] to fill.
    """
    for row in range(out.shape[0]):
        a, b, c, counter = states[row]
        for column in range(out.shape[1]):
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
            out[row, column] = x * SCALE
        states[row] = (a, b, c, counter)


def _fill_uniforms(states: Any, out: Any) -> None:
    """Fill rows [r, n] with the next uniforms in [0, 1) of their generators, whose states [r, 4] are updated."""
    for row in range(out.shape[0]):
        a, b, c, counter = states[row]
        for column in range(out.shape[1]):
            a, b, c, counter, word = _step(a, b, c, counter)
            out[row, column] = _uniform(word)
        states[row] = (a, b, c, counter)


# With their types, so that each is compiled once.
seeded: Any = njit("u8[:, ::1](u8[:, ::1])", cache=True)(_seeded)
fill: Any = njit("void(u8[:, ::1], f8[:, ::1])", cache=True, error_model="numpy")(_fill)
fill_uniforms: Any = njit("void(u8[:, ::1], f8[:, ::1])", cache=True)(_fill_uniforms)
