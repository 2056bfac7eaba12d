"""Options, signals and output that the verbs share."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from edgefl.cli.exits import EXIT_DONE
from edgefl.core import interrupts

if TYPE_CHECKING:  # pydantic stands behind it, which takes a while to import
    from edgefl.scenario import Scenario


def printable(line: str) -> str:
    """Return a text that stays on its line, whatever the input held: control characters are escaped."""
    # A scenario may hold line breaks or terminal escapes, which would garble or forge what is printed.
    characters: list[str] = []
    for character in line:
        if not character.isprintable():
            character = character.encode("unicode_escape").decode()  # noqa: PLW2901
        characters.append(character)
    return "".join(characters)


def working_directory() -> Path:
    """Return the working directory, to which paths of the command line are relative.

    Ask before anything imports what a scenario names: code from outside may change the directory.
    """
    try:
        return Path.cwd()
    except OSError:  # it has been removed
        return Path()


_typed: dict[str, str] = {}  # the relative paths of this command, by the absolute ones in whose place they stand


def note_paths(options: argparse.Namespace, here: Path) -> None:
    """Note the relative paths of a command line, for `as_typed`: the program itself goes by absolute ones."""
    named = [*vars(options).values(), *(getattr(options, "folders", None) or ()), "results"]
    for path in [Path(value) for value in named if isinstance(value, str | Path) and value]:
        if path == Path():
            _typed[f"{here}{os.sep}"] = ""
        if not path.is_absolute():
            _typed[str(here / path)] = str(path)


def as_typed(text: object) -> str:
    """Return a text in which paths are relative where the command line has them so."""
    line = str(text)
    for absolute, typed in _typed.items():
        end = "" if absolute.endswith(os.sep) else r"(?![\w.-])"  # another name may begin with it
        pieces = re.split(rf"(?<![\w/]){re.escape(absolute)}{end}", line)
        line = typed.join(pieces)
    return line


class _AsTyped(logging.Formatter):
    """Writes messages as the user has typed paths."""

    def format(self, record: logging.LogRecord) -> str:
        return as_typed(super().format(record))


def add_overrides(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that replaces keys of a file; `what` is its name in the help."""
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="overrides",
        help=f"replace one key of the {what}, such as radio.bandwidth_hz=50e6; may be repeated",
    )


def add_running(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that run something."""
    add_overrides(parser, "scenario")
    parser.add_argument(
        "--device",
        default="auto",
        metavar="auto|cpu|cuda[:i]",
        help="train on this device (auto: a GPU if there is one)",
    )
    parser.add_argument(
        "--no-train", action="store_true", help="price latency, energy and participation without any learning"
    )
    add_no_plugins(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace earlier results in the folder")
    talk = parser.add_mutually_exclusive_group()
    talk.add_argument("--quiet", action="store_true", help="print no progress and no table")
    talk.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="say what happens: data found, training plan, record, checkpoints; -vv: also where an error comes from",
    )


def add_no_plugins(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the option of all verbs that make a scenario, which `edgefl.cli.main` sees to."""
    parser.add_argument(
        "--no-plugins", action="store_true", help="refuse a scenario that names code from outside edgefl"
    )


def begin(*, quiet: bool, verbose: int = 0) -> None:
    """Send warnings to the terminal, and let SIGTERM, with which batch systems stop a job, end a run as Ctrl-C does.

    Args:
        quiet: send errors only.
        verbose: 1 sends what edgefl notes, too; 2 all that it could say.
    """
    level = logging.WARNING
    if quiet:
        level = logging.ERROR
    handler = logging.StreamHandler()
    handler.setFormatter(_AsTyped("edgefl: %(message)s"))
    logging.basicConfig(handlers=[handler], level=level)
    if verbose:  # of edgefl alone: other libraries note much that no user needs
        logging.getLogger("edgefl").setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    # Python would die of SIGTERM at once; as a KeyboardInterrupt it lets the run write what it has.
    interrupts.listen()


def warn_of_implausible(scenarios: Iterable[Scenario], place: Callable[[str], str]) -> None:
    """Warn, once each, of values that are hardly meant.

    Args:
        scenarios: the scenarios that are to be run.
        place: puts file and line before a message about a key.
    """
    from edgefl.scenario.plausibility import implausible

    _warn((line for scenario in scenarios for line in implausible(scenario)), place)


def warn_of_worlds(scenarios: Iterable[Scenario], place: Callable[[str], str]) -> None:
    """Warn, once each, of worlds that no radio reaches; the arguments are those of `warn_of_implausible`."""
    from edgefl.scenario.plausibility import check_world

    _warn((line for scenario in scenarios for line in check_world(scenario)), place)


def _warn(lines: Iterable[str], place: Callable[[str], str]) -> None:
    for line in dict.fromkeys(lines):
        logging.getLogger("edgefl").warning("warning: %s", printable(place(line)))


def print_or_write(text: str, out: Path | None) -> int:
    """Print a text; or write it to a file and print the file's name. Return the exit code."""
    if out is None:
        sys.stdout.write(text)
        return EXIT_DONE
    from edgefl.core.files import write_for_user

    write_for_user(out, text.encode())
    print(out)
    return EXIT_DONE
