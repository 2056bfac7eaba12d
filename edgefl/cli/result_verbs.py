"""The verbs for finished runs: `edgefl report`, `compare`, `export`."""

import argparse
from pathlib import Path
from typing import Any

from edgefl.cli.common import add_no_plugins, print_or_write, working_directory
from edgefl.cli.exits import EXIT_DONE


def add_report(verbs: Any) -> None:
    """Add `edgefl report` and its options."""
    about = "write one self-contained HTML page about result folders, side by side, or about a sweep"
    parser = verbs.add_parser("report", help=about, description=about)
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="result folder, or the folder of a sweep")
    parser.add_argument(
        "-o", "--out", metavar="FILE", type=Path, help="page to write (default: DIR/report.html, or report.html)"
    )
    parser.add_argument(
        "--runs", action="store_true", help="for a sweep, also write a linked page for each finished run"
    )
    parser.set_defaults(verb=_report)


def _report(options: argparse.Namespace) -> int:
    from edgefl.api import report

    print(report(options.folders, options.out, runs=options.runs))
    return EXIT_DONE


def add_compare(verbs: Any) -> None:
    """Add `edgefl compare` and its options."""
    about = "compare runs with a reference: accuracy, speed-up, paired t-test"
    parser = verbs.add_parser("compare", help=about, description=about)
    parser.add_argument("reference", metavar="REFERENCE", type=Path, help="result folder to compare with")
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="result folder to be compared")
    parser.add_argument(
        "--target",
        metavar="A",
        type=float,
        action="append",
        default=[],
        help="also compare the rounds, time and energy to accuracy A; may be repeated",
    )
    parser.add_argument(
        "--relative",
        metavar="R",
        type=float,
        action="append",
        default=[],
        help="the same for R times the reference's best accuracy, such as 0.97; may be repeated",
    )
    parser.add_argument("--last", metavar="N", type=int, default=50, help="average over the last N tests (default: 50)")
    parser.add_argument(
        "--initial",
        metavar="N",
        type=int,
        default=10,
        help="average over the first N rounds of a session (default: 10)",
    )
    parser.add_argument(
        "--format", choices=("table", "csv", "json", "markdown"), default="table", help="form of the output"
    )
    parser.add_argument("-o", "--out", metavar="FILE", type=Path, help="file to write (default: standard output)")
    parser.set_defaults(verb=_compare)


def _compare(options: argparse.Namespace) -> int:
    from edgefl.api import compare_with_first
    from edgefl.results.report.comparison.comparison import ComparisonOptions
    from edgefl.results.report.comparison.formats import formatted

    comparison_options = ComparisonOptions(options.target, options.relative, options.last, options.initial)
    compared = compare_with_first([options.reference, *options.folders], comparison_options)
    return print_or_write(formatted(compared, options.format), options.out)


def add_export(verbs: Any) -> None:
    """Add `edgefl export` and its options."""
    from edgefl.results.export import EXPORT_FORMATS

    about = (
        "write result folders as tables, a timeline, a model or an archive, or as tables and figures for papers "
        "(docs/export.md)"
    )
    parser = verbs.add_parser("export", help=about, description=about)
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="result folder, or the folder of a sweep")
    parser.add_argument(
        "--format", choices=EXPORT_FORMATS, help="form of the output (default: by the suffix of FILE, such as .csv)"
    )
    # Whether a name suits the format is checked later, when the format is known.
    parts = parser.add_mutually_exclusive_group()
    for option in ("table", "figure"):
        formats = [form for form in EXPORT_FORMATS.values() if form.option == option]
        known = dict.fromkeys(part for form in formats for part in form.parts)
        about = f"the {option} to write, if the format has several: {', '.join(known)}"
        if any(form.measures for form in formats):
            about = f"{about}, or a measure's"
        parts.add_argument(f"--{option}", metavar="NAME", help=about)
    parser.add_argument("--over", metavar="KEY", help="key on the horizontal axis of --figure sweep")
    parser.add_argument("--target", metavar="A|none", help="target accuracy of --figure sweep; none: the whole run")
    parser.add_argument(
        "--license", metavar="NAME", help="licence of the results in ro-crate and croissant, such as CC-BY-4.0"
    )
    add_no_plugins(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        type=Path,
        help="file to write (default: standard output); a folder for ro-crate, unless its name ends in .zip",
    )
    parser.set_defaults(verb=_export)


def _export(options: argparse.Namespace) -> int:
    from edgefl.results.export import export, format_of

    form = format_of(options.format, options.out)
    part = None
    if options.table:
        part = ("table", options.table)
    elif options.figure:
        part = ("figure", options.figure)
    choices = {"over": options.over, "target": options.target}
    sweep_choice = {name: value for name, value in choices.items() if value is not None}
    here = working_directory()
    folders = [here / folder for folder in options.folders]
    export(folders, form, part, here / options.out if options.out else None, sweep_choice, options.license)
    if options.out is not None:  # otherwise standard output has the export itself
        print(options.out)
    return EXIT_DONE
