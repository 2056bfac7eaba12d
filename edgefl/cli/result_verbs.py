"""The verbs for finished runs: `edgefl report`, `compare`, `export`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import add_no_plugins, print_or_write, working_directory
from edgefl.cli.exits import EXIT_DONE

if TYPE_CHECKING:
    from edgefl.results.report.sweep.selection import StudyChoice


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
    _add_question(parser, "of a sweep: ")
    _add_choice(parser, ("where",))
    parser.set_defaults(verb=_report)


def _report(options: argparse.Namespace) -> int:
    from edgefl.api import report

    asked = {"target": options.target, "at": options.at, "where": options.where}
    print(report(options.folders, options.out, runs=options.runs, **asked))
    return EXIT_DONE


def add_compare(verbs: Any) -> None:
    """Add `edgefl compare` and its options."""
    about = (
        "compare runs with the first of them: accuracy, speed-up, paired t-test; or the values of each key of a sweep, "
        "all else equal; or sweeps, or points of sweeps"
    )
    parser = verbs.add_parser("compare", help=about, description=about)
    parser.add_argument(
        "folders", metavar="DIR", nargs="+", type=Path, help="result folders, the reference first; or a sweep's folder"
    )
    parser.add_argument(
        "--target",
        metavar="A|COLUMN<V",
        action="append",
        default=[],
        help="also compare the rounds, time and energy to accuracy A, or until a column of rounds.csv, such as "
        "test_loss, passes a limit; may be repeated; of a sweep, once",
    )
    parser.add_argument("--at", **AT)
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
    _add_choice(parser, ("where", "facet", "baseline", "measure"))
    parser.add_argument(
        "--format", choices=("table", "csv", "json", "markdown", "latex"), default="table", help="form of the output"
    )
    parser.add_argument("-o", "--out", metavar="FILE", type=Path, help="file to write (default: standard output)")
    parser.set_defaults(verb=_compare)


def _compare(options: argparse.Namespace) -> int:
    from edgefl.api import compare_with_first, effects_of
    from edgefl.core.errors import InputError
    from edgefl.results.export.effects_table import formatted as formatted_effects
    from edgefl.results.report.comparison.comparison import ComparisonOptions
    from edgefl.results.report.comparison.formats import formatted
    from edgefl.results.report.sweep.gathering import has_points

    choice = _choice(options)
    if has_points(options.folders):
        if len(options.target) > 1 or options.relative:
            raise InputError("compare: of a sweep, name at most one --target, and no --relative")
        target = options.target[0] if options.target else None
        table = effects_of(options.folders, replace(choice, target=target, at=options.at))
        return print_or_write(formatted_effects(table, options.format), options.out)
    if choice.is_made or options.format == "latex":
        raise InputError("compare: --where, --facet, --baseline, --measure, --format latex: only of sweeps and points")
    comparison_options = ComparisonOptions(options.target, options.relative, options.last, options.initial, options.at)
    compared = compare_with_first(options.folders, comparison_options)
    return print_or_write(formatted(compared, options.format), options.out)


AT: Mapping[str, str] = {
    "metavar": "END",
    "help": "count only the rounds that ended by then: 600s, 1.5kJ or 20rounds",
}


def _add_question(parser: Any, of: str) -> None:
    about = "accuracy, a limit of a column of rounds.csv, such as 'test_loss<0.5', or none: the whole run"
    parser.add_argument("--target", metavar="A|COLUMN<V|none", help=f"{of}{about}")
    parser.add_argument("--at", **AT)


CHOICES = {
    "where": ("KEY=V,V", "only the points of a sweep whose key has one of these values; may be repeated"),
    "facet": ("KEY", "a panel, or a table, for each value of the key; may be repeated"),
    "rows": ("KEY", "a row of panels, or of a table, for each value of the key"),
    "columns": ("KEY", "a column of panels, or of a table, for each value of the key"),
    "baseline": ("LABEL", "compare with this method, value, KEY=V, point or run; may be repeated"),
    "measure": ("NAME", "time, energy, rounds, accuracy, received, wasted or a column of index.csv; may be repeated"),
}


def _add_choice(parser: Any, names: Sequence[str]) -> None:
    for name in names:
        metavar, about = CHOICES[name]
        parser.add_argument(f"--{name}", metavar=metavar, action="append", default=[], help=about)


def _choice(options: argparse.Namespace) -> StudyChoice:
    from edgefl.results.report.sweep.selection import StudyChoice

    values: dict[str, Any] = {name: tuple(getattr(options, name)) for name in CHOICES if hasattr(options, name)}
    return StudyChoice(**values)


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
    _add_question(parser, "of a sweep's figures and tables for papers: ")
    _add_choice(parser, tuple(CHOICES))
    parser.add_argument(
        "--width", choices=("single", "double"), help="columns of a paper that a figure takes: 3.5 or 7.16 inches"
    )
    parser.add_argument("--interval", choices=("ci95", "sd"), help="what follows the sign ± and is drawn around means")
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
    sweep_choice = replace(
        _choice(options),
        over=options.over,
        target=options.target,
        at=options.at,
        interval=options.interval,
        width=options.width,
    )
    here = working_directory()
    folders = [here / folder for folder in options.folders]
    out = here / options.out if options.out else None
    export(folders, form, part, out, sweep_choice, options.license)
    if options.out is not None:  # otherwise standard output has the export itself
        print(options.out)
    return EXIT_DONE
