"""`edgefl calibrate`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import add_options, as_typed, printable, working_directory
from edgefl.cli.exits import EXIT_DONE

if TYPE_CHECKING:
    from edgefl.calibration.calibration import Calibration


def add_calibrate(verbs: Any) -> None:
    """Add `edgefl calibrate` and its options."""
    about = "fit the devices and the radio of a scenario to the log of a testbed (docs/calibration.md)"
    parser = verbs.add_parser("calibrate", help=about, description=about)
    add_options(parser, "calibrate")
    add_options(parser, "no-plugins")
    parser.set_defaults(verb=_calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    from edgefl.calibration.calibration import calibrate, write

    here = working_directory()
    counts = here / options.counts if options.counts else None
    found = calibrate(here / options.log, counts, options.hold_out, _models(options.models))
    if options.out is None:
        if not options.quiet:
            print(_summary(found), file=sys.stderr)
        sys.stdout.write(found.scenario)
        return EXIT_DONE
    can_draw = find_spec("matplotlib") is not None
    written = write(found, here / options.out, overwrite=options.overwrite, with_picture=can_draw)
    if not options.quiet:
        print(_summary(found))
        print("\n".join(f"cannot tell   {printable(text)}" for text in found.remarks))
    print("\n".join(f"written       {as_typed(path)}" for path in written))
    if not can_draw:
        print("edgefl: no picture: it needs Matplotlib: pip install 'edgefl-emulator[plot]'", file=sys.stderr)
    return EXIT_DONE


def _models(options: Sequence[str]) -> dict[str, str]:
    from edgefl.core.errors import InputError

    found: dict[str, str] = {}
    for option in options:
        name, _, scenario = option.partition("=")
        if not name or not scenario:
            raise InputError(f"--model {option}: write NAME=SCENARIO, such as lenet=my-lenet.yaml")
        if name in found:
            raise InputError(
                f'--model {option}: "{name}" has the model of {found[name]} already: leave one of them out'
            )
        found[name] = scenario
    return found


def _summary(found: Calibration) -> str:
    return "\n".join(printable(line) for line in found.summary)
