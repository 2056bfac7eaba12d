"""Sources of the random draws that the fading process consumes; the caller owns their seeds.

`channel` draws no random numbers of its own. A walk over slots needs an unknown number of them, so it asks a source for
the next ones.
"""

from collections.abc import Callable

import numpy as np

from channel import _compiled
from channel._arrays import Complex, Rows

FEW_SLOTS = 1000  # below, handing a generator to compiled code takes longer than NumPy's draws, which are the same

Innovations = Callable[[Rows, int], Complex]
"""`innovations(rows, count)`: the next `count` draws of CN(0, 1) of each of `rows`, complex [len(rows), count]."""


def innovations_of(generator: Callable[[int], np.random.Generator]) -> Innovations:
    """Return a source of draws from one NumPy generator a row.

    Args:
        generator: gives row i's generator, and the same object each time; asked only for rows that are walked.

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
        if compiled is None or count < FEW_SLOTS:
            for source, into in zip(sources, parts, strict=True):
                source.standard_normal(out=into)
            draws *= np.sqrt(0.5)
        else:
            with _compiled.uninterrupted():
                for source, into in zip(sources, parts, strict=True):
                    compiled(source, into)
        return draws

    return draw
