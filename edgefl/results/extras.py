"""Packages that only some features need."""

from __future__ import annotations

from importlib import import_module

from edgefl.core.errors import InputError


def require(package: str, extra: str, feature: str) -> None:
    """See that an optional package is there.

    Raises:
        InputError: it is not; says which extra of edgefl brings it.
    """
    try:
        import_module(package)
    except ImportError:
        raise InputError(f"{feature}: needs {package}, which is missing: pip install 'edgefl[{extra}]'") from None
