"""The verbs for finished runs: `edgefl report`, `compare`, `export`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import add_options, print_or_write, working_directory
from edgefl.cli.exits import EXIT_DONE

if TYPE_CHECKING:
    from edgefl.results.report.sweep.selection import StudyChoice


def add_report(verbs: Any) -> None:
    """Add `edgefl report` and its options."""
    about = "write one self-contained HTML page about result folders, side by side, or about a sweep"
    parser = verbs.add_parser("report", help=about, description=about)
    add_options(parser, "report")
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
    add_options(parser, "compare")
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


# The options that choose points of a sweep.
CHOICES = ("where", "facet", "rows", "columns", "baseline", "measure")


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
    add_options(parser, "export")
    add_options(parser, "no-plugins")
    add_options(parser, "export end")
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
