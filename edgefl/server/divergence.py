"""The error of a run whose global model has diverged."""

from __future__ import annotations

from edgefl.core.errors import DivergedError


def diverged(where: str, how: str, learning_rates: str) -> DivergedError:
    """Return the error that ends a run whose global model has diverged, with the likely cause and the keys to lower."""
    remedy = f"the likely cause is a learning rate that is too high: lower {learning_rates}"
    return DivergedError(f"{where}: the global model diverged ({how})", remedy)
