"""The command line. Nothing heavy is imported before a verb needs it: `edgefl --help` must answer at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from edgefl.cli.after import add_compare, add_export, add_report
from edgefl.cli.common import DONE, FAILED, INTERRUPTED, WRONG_INPUT, printable
from edgefl.cli.look import add_list, add_schema, add_validate
from edgefl.cli.run import add_run
from edgefl.cli.sweep import add_sweep
from edgefl.core.errors import InputError, RunError

EPILOG = """\
exit codes: 0 done; 1 the run failed; 2 the input is wrong (nothing was run, nothing written);
130 interrupted (finished rounds are on disk, --resume goes on)"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    code: int
    lines: list[str]
    try:
        options = _parser().parse_args(arguments)
        code, lines = options.verb(options), []
    except InputError as error:
        code, lines = WRONG_INPUT, list(error.faults)
    except RunError as error:
        code, lines = FAILED, [str(error)]
    except MemoryError as error:
        code, lines = FAILED, [f"the memory is too small for this scenario: {error}"]
    except KeyboardInterrupt:
        code, lines = INTERRUPTED, ["interrupted"]
    except BrokenPipeError:  # `edgefl list models | head`
        sys.stderr.close()
        return DONE
    except OSError as error:  # a disk that is full, or was taken away
        code, lines = FAILED, [f"{error.filename}: {error.strerror}" if error.filename else str(error)]
    for line in lines:
        print(f"edgefl: {printable(line)}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """One line for a wrong command line, as for any other wrong input."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    about = "edgefl: a wireless-edge emulator for federated learning (time-to-accuracy, energy-to-accuracy)"
    parser = _Parser(prog="edgefl", description=about, epilog=EPILOG, formatter_class=form)
    parser.add_argument("--version", action="version", version=f"edgefl {_version()}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    add_run(verbs)
    add_sweep(verbs)
    add_validate(verbs)
    add_list(verbs)
    add_schema(verbs)
    add_report(verbs)
    add_compare(verbs)
    add_export(verbs)
    return parser


def _version() -> str:
    from importlib.metadata import version

    return version("edgefl")
