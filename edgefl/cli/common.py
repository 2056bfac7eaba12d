"""What the verbs have in common."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from pathlib import Path

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def printable(line: str) -> str:
    """A line that stays one, whatever the input held."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def add_running(parser: argparse.ArgumentParser) -> None:
    """Options of verbs that run something."""
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides", help="one key")
    parser.add_argument("--device", default="auto", metavar="auto|cpu|cuda[:i]", help="where to train")
    parser.add_argument("--no-train", action="store_true", help="price the world without any learning")
    parser.add_argument("--overwrite", action="store_true", help="replace earlier results in the folder")
    parser.add_argument("--quiet", action="store_true", help="no progress, no table")


def begin(*, quiet: bool) -> None:
    """Warnings go to the terminal, and a batch system's "stop" ends a run as Ctrl-C does."""
    logging.basicConfig(format="edgefl: %(message)s", level=logging.ERROR if quiet else logging.WARNING)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def hand_over(text: str, out: Path | None) -> int:
    """Print a text, or write it to a file and print that."""
    if out is None:
        sys.stdout.write(text)
        return DONE
    from edgefl.core.files import write_for_user

    write_for_user(out, text.encode())
    print(out)
    return DONE
