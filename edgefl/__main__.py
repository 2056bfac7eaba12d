"""`python -m edgefl`."""

from edgefl.cli import program

program()
