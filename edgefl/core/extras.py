"""Packages that only some features need, or that may not fit into the memory."""

from importlib import import_module

from edgefl.core.errors import InputError
from edgefl.core.machine import more_memory
from edgefl.core.version import DISTRIBUTION


def require(package: str, extra: str, feature: str) -> None:
    """Check that an optional package is installed.

    Args:
        package: the package.
        extra: the extra of edgefl that installs it.
        feature: the feature that needs it, as the message names it.

    Raises:
        InputError: it is not installed.
    """
    try:
        import_module(package)
    except ImportError:
        remedy = f"pip install '{DISTRIBUTION}[{extra}]'"
        raise InputError(f"{feature}: needs {package}, which is missing: {remedy}") from None


def check_loads(package: str) -> None:
    """Import a package that is needed later, so that a run does not fail after its last round.

    Raises:
        InputError: it is installed but cannot be loaded, usually because of a memory limit.
    """
    try:
        import_module(package)
    except ModuleNotFoundError:
        raise
    except (ImportError, MemoryError, OSError) as error:
        reason = str(error).partition("\n")[0] or "no memory is left"
        raise InputError(f"{package} cannot be loaded ({reason}): {more_memory()}") from error
