"""Sources of the random draws of the fading process; the caller owns their seeds.

`channel` draws no random numbers. A walk over slots needs an unknown number of them, so it calls a source for the next
ones.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from channel import _compiled
from channel._arrays import Complex, Floats, Rows

Words = npt.NDArray[np.uint64]

Innovations = Callable[[Rows, int], Complex]
"""`innovations(rows, count)`: the next `count` draws of CN(0, 1) of each of `rows`, complex [len(rows), count]."""


def innovations_of(generator: Callable[[int], np.random.Generator]) -> Innovations:
    """Return a source of draws from one NumPy generator a row.

    Args:
        generator: returns row i's generator, the same object each time; called only for rows that are walked.

    Returns:
        A source for `transfer.walk`. Real and imaginary parts alternate, so the draws do not depend on the counts.

    Example:
        >>> source = innovations_of([np.random.default_rng(seed) for seed in (1, 2)].__getitem__)
        >>> source(np.array([0, 1]), 3).shape
        (2, 3)
    """

    def draw(rows: Rows, count: int) -> Complex:
        draws = np.empty((rows.size, count), dtype=np.complex128)
        for row, into in zip(rows.tolist(), _parts(draws), strict=True):
            generator(row).standard_normal(out=into)
        draws *= np.sqrt(0.5)
        return draws

    return draw


def innovations_of_seeds(seed: Callable[[int], bytes]) -> Innovations:
    """Return a source of draws from one SFC64 generator a row, with numba many times faster than `innovations_of`.

    Args:
        seed: returns row i's seed, 24 bytes that look random, such as a hash; called once, for rows that are walked.

    Returns:
        A source for `transfer.walk`, as of `innovations_of`. The bytes are the three words of seed of NumPy's SFC64
        (little-endian), whose draws these are.

    Example:
        >>> source = innovations_of_seeds([bytes(range(24)), bytes(24)].__getitem__)
        >>> source(np.array([0, 1]), 3).shape
        (2, 3)
    """
    states: dict[int, Words] = {}  # of the rows that have begun: the four words of their generators
    by_numpy = innovations_of(cache(lambda row: generator_of(seed(row))))

    def draw(rows: Rows, count: int) -> Complex:
        compiled = _compiled.sfc64()  # late: numba takes long to load, and a channel that does not change draws nothing
        if compiled is None:
            return by_numpy(rows, count)
        numbers = rows.tolist()
        begun = [row for row in numbers if row not in states]
        states.update(zip(begun, words_of_seeds([seed(row) for row in begun]), strict=True))
        own = np.array([states[row] for row in numbers], dtype=np.uint64).reshape(-1, 4)
        draws = np.empty((rows.size, count), dtype=np.complex128)
        for words, parts in zip(own, _parts(draws), strict=True):
            compiled.fill(words, parts)
        states.update(zip(numbers, own, strict=True))
        return draws

    return draw


def generator_of(seed: bytes) -> np.random.Generator:
    """Return an SFC64 generator with a seed of 24 bytes, which must look random, as NumPy does not mix it."""
    return np.random.Generator(np.random.SFC64(_Words(seed)))  # type: ignore[arg-type]  # any ISeedSequence will do


def words_of_seeds(seeds: Sequence[bytes]) -> Words:
    """Return the states [n, 4] of SFC64 generators with seeds of 24 bytes, see `generator_of`."""
    return np.array([words_of(generator_of(seed)) for seed in seeds], dtype=np.uint64).reshape(-1, 4)


def words_of(generator: np.random.Generator) -> Words:
    """Return the state [4] of an SFC64 generator."""
    return np.asarray(generator.bit_generator.state["state"]["state"])


def fill_normals(state: Words, out: Floats) -> None:
    """Fill `out` [n] with the next normals, times sqrt(1/2), of the generator with a state [4]; update it."""
    _fill(state, out, np.random.Generator.standard_normal)
    out *= np.sqrt(0.5)


def fill_uniforms(state: Words, out: Floats) -> None:
    """Fill `out` [n] with the next uniforms in [0, 1) of the generator with a state [4]; update it."""
    _fill(state, out, np.random.Generator.random)


def _fill(state: Words, out: Floats, draw: Callable[..., Any]) -> None:
    bits = np.random.SFC64()
    bits.state = {"bit_generator": "SFC64", "state": {"state": state}, "has_uint32": 0, "uinteger": 0}
    generator = np.random.Generator(bits)
    draw(generator, out=out)
    state[:] = words_of(generator)


def _parts(draws: Complex) -> Floats:
    """Return a view of complex draws [r, c] as floats [r, 2 c], real and imaginary parts in turn."""
    return draws.view(np.float64)


class _Words(ISeedSequence):
    """A seed of three words that NumPy takes without mixing."""

    def __init__(self, seed: bytes) -> None:
        self.seed = seed

    def generate_state(self, n_words: int, dtype: npt.DTypeLike = np.uint64) -> npt.NDArray[Any]:
        """Return the words."""
        return np.frombuffer(self.seed, "<u8", n_words).astype(dtype)
