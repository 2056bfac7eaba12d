"""SciPy's special functions, imported at the first call, as the import takes longer than NumPy and this library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.special import (
        binom,
        chndtr,
        erfc,
        exp1,
        gammaincc,
        gammaln,
        j0,
        lambertw,
        ndtr,
        xlogy,
    )

__all__ = ["binom", "chndtr", "erfc", "exp1", "gammaincc", "gammaln", "j0", "lambertw", "ndtr", "xlogy"]


def __getattr__(name: str) -> Any:
    """Return a function of SciPy; Python calls this only once for each."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import scipy.special

    function = getattr(scipy.special, name)
    globals()[name] = function
    return function
