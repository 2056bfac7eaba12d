"""Sources of the random draws that the fading process consumes; the caller owns their seeds.

`channel` draws no random numbers of its own. A walk over slots needs an unknown number of them, so it asks a source for
the next ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from channel import _compiled
from channel._arrays import Complex, Floats, Rows

Innovations = Callable[[Rows, int], Complex]
"""`innovations(rows, count)`: the next `count` draws of CN(0, 1) of each of `rows`, complex [len(rows), count]."""


def innovations_of(generator: Callable[[int], np.random.Generator]) -> Innovations:
    """Return a source of draws from one NumPy generator a row.

    Args:
        generator: gives row i's generator, and the same object each time; asked only for rows that are walked.

    Generators with the bits of SFC64 are the fastest: where numba is installed, their draws are compiled.

    Returns:
        A source for `transfer.walk`. Real and imaginary parts alternate, so the draws do not depend on the counts asked
        for.

    Example:
        >>> source = innovations_of([np.random.default_rng(seed) for seed in (1, 2)].__getitem__)
        >>> source(np.array([0, 1]), 3).shape
        (2, 3)
    """
    compiled = _compiled.normals()

    def draw(rows: Rows, count: int) -> Complex:
        draws = np.empty((rows.size, count), dtype=np.complex128)
        # Seen as floats, a complex row is its real and imaginary parts in turn: one call fills both.
        parts = draws.view(np.float64)
        sources = [generator(row) for row in rows.tolist()]
        if compiled is not None and all(type(source.bit_generator) is np.random.SFC64 for source in sources):
            _fill(compiled, sources, parts)
            return draws
        for source, into in zip(sources, parts, strict=True):
            source.standard_normal(out=into)
        draws *= np.sqrt(0.5)
        return draws

    return draw


def _fill(kernel: _compiled.Kernel, sources: Sequence[np.random.Generator], parts: Floats) -> None:
    """Fill rows with the next standard normals of their generators, which are SFC64, times sqrt(1/2)."""
    records: list[Any] = [source.bit_generator.state for source in sources]
    states = np.array([record["state"]["state"] for record in records], dtype=np.uint64).reshape(-1, 4)
    kernel(states, parts)
    for source, record, state in zip(sources, records, states, strict=True):
        record["state"]["state"] = state
        source.bit_generator.state = record
