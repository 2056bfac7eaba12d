"""Options, signals and output that several verbs share."""

from __future__ import annotations

import argparse
import logging
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefl.cli.exits import EXIT_DONE
from edgefl.core import interrupts
from edgefl.core.words import table_of

if TYPE_CHECKING:  # pydantic stands behind it, which takes a while to import
    from edgefl.scenario import Scenario, SweepPoint


TYPES: Mapping[str, Callable[[str], Any]] = {"Path": Path, "int": int, "float": float}
DEFAULTS_OF_ACTIONS: Mapping[str, Callable[[], Any]] = {"append": list, "count": int}
OPTIONS = {"overrides": "--set", "out": "-o"}  # options whose attribute has another name
DEFAULTS = {("device", "auto"), ("scale", "full")}


def printable(line: str) -> str:
    """Return a text on one line, with control characters escaped."""
    # A scenario may hold line breaks or terminal escapes, which would garble or forge the output.
    escaped = [c if c.isprintable() else c.encode("unicode_escape").decode() for c in line]
    return "".join(escaped)


def columns(rows: Sequence[Sequence[str]], left: int | None = None) -> list[str]:
    """Return rows of cells as lines with columns of equal width; rows may have fewer cells than the first one.

    The first `left` columns are aligned at the left, and the others at the right; None: all at the left.
    """
    widths = [max(len(row[place]) for row in rows if place < len(row)) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if left is None or place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def command_again(verb: str, named: str, options: argparse.Namespace, names: Sequence[str]) -> str:
    """Return the command that resumes a verb with those of the named options that are set."""
    command = ["edgefl", verb, named]
    for name in names:
        value = getattr(options, name)
        option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
        if value is True:
            command.append(option)
        elif isinstance(value, list):
            for item in value:
                command += [option, item]
        elif value not in {None, False} and (name, value) not in DEFAULTS:
            command += [option, str(value)]
    return shlex.join([*command, "--resume"])


def working_directory() -> Path:
    """Return the working directory, to which paths of the command line are relative.

    Call it before anything is imported that a scenario names: code from outside may change the directory.
    """
    try:
        return Path.cwd()
    except OSError:  # it has been removed
        return Path()


_typed: dict[str, str] = {}  # the relative paths of this command, by their absolute paths


def note_paths(options: argparse.Namespace, here: Path) -> None:
    """Note the relative paths of a command line, for `as_typed`: the program itself uses absolute ones."""
    named = [*vars(options).values(), *(getattr(options, "folders", None) or ()), "results"]
    for path in [Path(value) for value in named if isinstance(value, str | Path) and value]:
        if path == Path():
            _typed[f"{here}{os.sep}"] = ""
        if not path.is_absolute():
            _typed[str(here / path)] = str(path)


def as_typed(text: object) -> str:
    """Return a text with paths as the command line has them, relative or absolute."""
    line = str(text)
    for absolute, typed in _typed.items():
        end = "" if absolute.endswith(os.sep) else r"(?![\w.-])"  # another name may begin with it
        pieces = re.split(rf"(?<![\w/]){re.escape(absolute)}{end}", line)
        line = typed.join(pieces)
    return line


class _AsTyped(logging.Formatter):
    """Writes messages with paths as the user has typed them."""

    def format(self, record: logging.LogRecord) -> str:
        return as_typed(super().format(record))


def add_options(parser: argparse.ArgumentParser | argparse._ArgumentGroup, of: str) -> None:
    """Add those options of a verb, or of one of its groups, that options.csv has: all that need no code."""
    for row in table_of(__file__, "options.csv"):
        if of not in row["of"].split("|"):
            continue
        settings: dict[str, Any] = {name: text for name, text in row.items() if text and name not in {"of", "option"}}
        if row["type"]:
            settings["type"] = TYPES[row["type"]]
        if row["choices"]:
            settings["choices"] = row["choices"].split("|")
        if row["action"] in DEFAULTS_OF_ACTIONS:
            settings["default"] = DEFAULTS_OF_ACTIONS[row["action"]]()
        if row["nargs"] == "?" and row["option"].startswith("-"):
            settings["const"] = ""  # the option without a value
        if row["required"]:
            settings["required"] = True
        parser.add_argument(*row["option"].split(), **settings)


def add_running(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that run something."""
    add_options(parser, "running")
    add_options(parser, "no-plugins")
    parser.add_argument("--overwrite", action="store_true", help="replace earlier results in the folder")
    talk = parser.add_mutually_exclusive_group()
    add_options(talk, "running talk")


def begin(*, quiet: bool, verbose: int = 0) -> None:
    """Send warnings to the terminal, and let SIGTERM, a batch system's signal to stop, end a run as Ctrl-C does.

    With `quiet` only errors are sent; `verbose` 1 also sends information, 2 also details for developers.
    """
    level = logging.WARNING
    if quiet:
        level = logging.ERROR
    handler = logging.StreamHandler()
    handler.setFormatter(_AsTyped("edgefl: %(message)s"))
    logging.basicConfig(handlers=[handler], level=level)
    if not quiet:
        logging.getLogger("channel").setLevel(logging.INFO)  # says that it compiles its loops
    if verbose:  # for edgefl only: other libraries log much that no user needs
        logging.getLogger("edgefl").setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    # Python would die of SIGTERM; as a KeyboardInterrupt it lets the run write its finished rounds.
    interrupts.listen()


def warn_of_implausible(scenarios: Iterable[Scenario], place: Callable[[str], str]) -> None:
    """Warn, once each, of suspicious values; `place` puts file and line before a message about a key."""
    from edgefl.scenario.plausibility import implausible

    _warn((line for scenario in scenarios for line in implausible(scenario)), place)


def warn_of_worlds(scenarios: Iterable[Scenario], place: Callable[[str], str]) -> None:
    """Warn, once each, of links that no radio has, and of updates that would be late, as `warn_of_implausible` does."""
    from edgefl.runs.forecast import lost_updates
    from edgefl.scenario.plausibility import check_world

    _warn((line for scenario in scenarios for line in (*check_world(scenario), *lost_updates(scenario))), place)


def warn_of_points(points: Iterable[SweepPoint], *, worlds: bool = False) -> None:
    """Warn of suspicious values in a sweep, each kind once; `worlds` also looks for links that no radio has."""
    from edgefl.runs.sweep_warnings import WarningKinds
    from edgefl.scenario.plausibility import check_world, implausible

    kinds = WarningKinds()
    for point in points:
        for line in implausible(point.scenario):
            kinds.note(str(point.place), f"warning: {line}")
        for line in check_world(point.scenario) if worlds else ():
            kinds.note(str(point.place), f"warning: {line}")
    for text in kinds.lines():
        logging.getLogger("edgefl").warning("%s", printable(text))


def _warn(lines: Iterable[str], place: Callable[[str], str]) -> None:
    for line in dict.fromkeys(lines):
        logging.getLogger("edgefl").warning("warning: %s", printable(place(line)))


def warn_of_groups() -> None:
    """Warn of plug-ins in groups of entry points that are not known, and so are never read."""
    from edgefl.cli.listing import unknown_groups

    _warn(unknown_groups(), str)


def print_or_write(text: str, out: Path | None) -> int:
    """Print a text; or write it to a file and print the file's name. Return the exit code."""
    if out is None:
        sys.stdout.write(text)
        return EXIT_DONE
    from edgefl.core.files import write_for_user

    write_for_user(out, text.encode())
    print(out)
    return EXIT_DONE
