"""`edgefl flower`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from edgefl.cli.common import add_options, as_typed, begin
from edgefl.cli.exits import CODE_OF_STATUS


def add_flower(verbs: Any) -> None:
    """Add `edgefl flower` and its options."""
    about = "run a Flower app in an emulated world, and write its results to a folder"
    parser = verbs.add_parser("flower", help=about, description=f"{about} (docs/flower.md)")
    add_options(parser, "flower")
    add_options(parser, "no-plugins")
    add_options(parser, "flower end")
    parser.set_defaults(verb=_flower)


def _flower(options: argparse.Namespace) -> int:
    from edgefl.cli.run import result_table
    from edgefl.flower.emulate import emulate

    begin(quiet=options.quiet)
    result = emulate(
        options.app,
        options.world,
        overrides=options.overrides,
        seed=options.seed,
        run_config=options.run_config or "",
        operations=options.operations,
        out=options.out,
        overwrite=options.overwrite,
        quiet=options.quiet,
    )
    folder = Path(as_typed(result.folder or ""))
    if not options.quiet:
        print(result_table(result, folder))
    if result.error:
        reason = f"{result.status}: {result.error}; finished rounds are in {folder}"
        print(f"edgefl: {reason}", file=sys.stderr)
    return CODE_OF_STATUS[result.status]
