"""The command line. Slow imports wait until a verb needs them, so that `edgefl --help` answers quickly."""

import argparse
import errno
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from typing_extensions import override

from edgefl.cli import streams
from edgefl.cli.calibrate import add_calibrate
from edgefl.cli.common import as_typed, note_paths, printable, working_directory
from edgefl.cli.exits import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_WRONG_INPUT
from edgefl.cli.explain import add_explain
from edgefl.cli.flower import add_flower
from edgefl.cli.import_map import add_import_map
from edgefl.cli.json_output import fault_as_json, print_json
from edgefl.cli.machine_verbs import add_completion, add_data, add_doctor
from edgefl.cli.measure import add_measure
from edgefl.cli.reproduce import add_reproduce
from edgefl.cli.result_verbs import add_compare, add_export, add_report
from edgefl.cli.run import add_run
from edgefl.cli.scenario_verbs import add_init, add_list, add_schema, add_validate
from edgefl.cli.sweep import add_sweep
from edgefl.cli.what_if import add_what_if
from edgefl.cli.wrong_words import in_words, unknown_verb, unknown_words, with_options
from edgefl.core import interrupts
from edgefl.core.errors import InputError, RunError, trail
from edgefl.core.machine import collect_rarely, more_memory, prefer_huge_pages, unmapped_library

ABOUT = """\
edgefl emulates federated learning at the wireless edge, and shows how much time and energy an accuracy costs.
`edgefl run quickstart` is a first run; `edgefl VERB --help` explains a verb, and `edgefl explain NAME` a key."""

TASKS: dict[str, tuple[Callable[[Any], None], ...]] = {
    "run": (add_run, add_sweep, add_flower, add_reproduce),
    "write a scenario": (add_init, add_validate, add_list, add_explain, add_schema, add_import_map),
    "use a testbed": (add_measure, add_calibrate),
    "use results": (add_report, add_compare, add_what_if, add_export),
    "this machine": (add_data, add_doctor),
}
"""The verbs by task, in the order of the help."""

LAST_TASK = "this machine"  # whose last verb needs the parser of all others
HELP_WIDTH = 110  # characters

EPILOG = """\
exit codes: 0 done; 1 the run failed; 2 the input is wrong (nothing was run, nothing written);
130 interrupted (finished rounds are on disk, --resume continues)"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    options = argparse.Namespace()
    here = working_directory()
    _make_absolute("EDGEFL_DATA", here)
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        parser = command_parser()
        if not words:
            parser.print_help()
            return EXIT_DONE
        options = parser.parse_args(with_options(words))
        note_paths(options, here)
        if getattr(options, "no_plugins", False):
            _refuse_plugins()
        code: int = options.verb(options)
    except BrokenPipeError:  # the reader has seen enough: `edgefl list models | head`
        sys.stderr.close()  # or Python would complain about the pipe when it exits
        return EXIT_DONE
    # Errors that users can correct are printed as lines; anything else is a bug, and needs its traceback.
    except (InputError, RunError, MemoryError, KeyboardInterrupt, OSError, ImportError) as error:
        if isinstance(error, ImportError) and unmapped_library(error) is None:
            raise
        code, lines = _explained(error)
        lines = [as_typed(line) for line in lines]
        for line in lines:
            print(f"edgefl: {printable(line)}", file=sys.stderr)
        if getattr(options, "json", False):
            print_json({**getattr(options, "document", {}), "faults": [fault_as_json(line) for line in lines]})
        if getattr(options, "verbose", 0) > 1:
            print(trail(error), file=sys.stderr)
    return code


def _refuse_plugins() -> None:
    from edgefl.core.plugin_import import refuse_plugins  # late, as it imports pydantic

    refuse_plugins()


def program() -> NoReturn:
    """Run the command of this process's arguments, and end the process with its exit code."""
    streams.guard()
    collect_rarely()
    prefer_huge_pages()
    # Python would die of SIGTERM; as a KeyboardInterrupt it lets any command clean up.
    interrupts.listen()
    code = main()
    # Everything is written, and the exit code is known. Python restores the default handlers when it ends, so another
    # Ctrl-C would replace that code.
    interrupts.ignore()
    # Python would collect garbage before it ends, which takes a second with torch. Triton, which torch uses
    # to export models, needs this collection.
    if "triton" not in sys.modules:
        gc.freeze()
    sys.exit(code)


def _make_absolute(variable: str, here: Path) -> None:
    """Make a folder in the environment absolute, as code from outside may change the working directory."""
    named = os.environ.get(variable)
    if named and not Path(named).is_absolute():
        os.environ[variable] = str(here / named)


def _explained(error: BaseException) -> tuple[int, Sequence[str]]:
    if isinstance(error, InputError):
        return EXIT_WRONG_INPUT, error.faults
    if isinstance(error, KeyboardInterrupt):
        # Before or after a run: an interrupted run ends with a status, and its rounds on disk.
        return EXIT_INTERRUPTED, ["interrupted"]
    return EXIT_FAILED, [_failure(error)]


def _failure(error: BaseException) -> str:
    too_small = "the memory is too small for this scenario"
    if isinstance(error, MemoryError):
        return f"{too_small}: {str(error) or 'none is left'}"
    if isinstance(error, ImportError):  # of a library that does not fit into memory
        return f"{unmapped_library(error)}: {more_memory()}"
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return f"{too_small}: {more_memory()}"
    if isinstance(error, OSError) and error.filename:  # such as a full disk
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"the output cannot be written: {error.strerror}"
    return str(error)


class _Parser(argparse.ArgumentParser):
    """Refuses a wrong command line with one line, like any other wrong input."""

    def error(self, message: str) -> NoReturn:
        # argparse itself would print several lines of usage, and exit.
        raise InputError(f"{in_words(message)}; see {self.prog} --help")


class _Verbs(_Parser):
    """The parser of all verbs: its help has them by task."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.groups: dict[str, list[argparse.Action]] = {}  # the verbs' lines of help, by task

    @override
    def format_help(self) -> str:
        """Return the help: what the program does, the verbs by task, and the exit codes."""
        formatter = argparse.RawDescriptionHelpFormatter(self.prog, width=HELP_WIDTH)
        formatter.add_text(f"usage: {self.prog} VERB ...\n\n{self.description}")
        for task, verbs in self.groups.items():
            formatter.start_section(task)
            formatter.add_arguments(verbs)
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    @override
    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the options of a command line."""
        verbs = next(action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
        if not args[0].startswith("-") and args[0] not in verbs:
            raise InputError(unknown_verb(args[0], list(verbs)))
        options, rest = self.parse_known_args(args, namespace)
        if rest:
            raise InputError(unknown_words(args[0], verbs[args[0]], rest))
        return options


class _Version(argparse.Action):
    """Prints the version, which is looked up only here, as that takes a while."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from edgefl.core.version import edgefl_version

        print(f"edgefl {edgefl_version()}")
        parser.exit()


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs and their options."""
    parser = _Verbs(prog="edgefl", description=ABOUT, epilog=EPILOG)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True, parser_class=_Parser)
    for task, additions in TASKS.items():
        lines = verbs._choices_actions  # noqa: SLF001  # argparse has no other way to its lines of help
        before = len(lines)
        for add_verb in additions:
            add_verb(verbs)
        parser.groups[task] = lines[before:]
    add_completion(verbs, parser)
    parser.groups[LAST_TASK].append(lines[-1])
    return parser
