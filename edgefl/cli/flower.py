"""`edgefl flower`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from edgefl.cli.common import add_no_plugins, add_options, add_overrides, as_typed, begin
from edgefl.cli.exits import CODE_OF_STATUS


def add_flower(verbs: Any) -> None:
    """Add `edgefl flower` and its options."""
    about = "run a Flower app in an emulated world, and write its results to a folder"
    parser = verbs.add_parser("flower", help=about, description=f"{about} (docs/flower.md)")
    parser.add_argument("app", metavar="APP", type=Path, help="folder of the app, with its pyproject.toml")
    parser.add_argument(
        "--world", metavar="SCENARIO.yaml", required=True, help="scenario file: devices, radio, mobility, churn, ..."
    )
    parser.add_argument("-o", "--out", metavar="DIR", type=Path, help="result folder (default: results/<app>/seed-<N>)")
    parser.add_argument("--seed", metavar="N", type=int, help="replace the world's seed")
    add_overrides(parser, "world")
    parser.add_argument(
        "--run-config",
        metavar="KEYS",
        default="",
        help='replace keys of the app\'s configuration, such as "num-server-rounds=5 lr=0.1"',
    )
    add_options(parser, "flower")
    add_no_plugins(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace earlier results in the folder")
    parser.add_argument("--quiet", action="store_true", help="suppress what the app prints and logs; print no table")
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
        run_config=options.run_config,
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
