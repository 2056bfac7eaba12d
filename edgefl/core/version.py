"""The name and version of the installed package."""

from importlib.metadata import version

DISTRIBUTION = "edgefl-emulator"
"""`edgefl` on the package index is another project; only the imported package is called edgefl."""


def edgefl_version() -> str:
    """Return the version of this package that is installed."""
    return version(DISTRIBUTION)
