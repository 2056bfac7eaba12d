"""What is made of finished runs: `edgefl report`, `compare`, `export`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from edgefl.cli.common import DONE, hand_over


def add_report(verbs: Any) -> None:
    """Its options."""
    parser = verbs.add_parser("report", help="one self-contained HTML page from result folders, or a sweep's")
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path)
    parser.add_argument("-o", "--out", metavar="FILE", type=Path, help="(DIR/report.html; report.html for several)")
    parser.set_defaults(verb=_report)


def _report(options: argparse.Namespace) -> int:
    from edgefl.api import report

    alone = len(options.folders) == 1
    out = options.out or (options.folders[0] / "report.html" if alone else Path("report.html"))
    print(report(options.folders, out))
    return DONE


def add_compare(verbs: Any) -> None:
    """Its options."""
    parser = verbs.add_parser("compare", help="what runs gain over a reference: accuracy, speed-up, paired t-test")
    parser.add_argument("reference", metavar="REFERENCE", type=Path, help="result folder")
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path)
    parser.add_argument("--target", metavar="A", type=float, action="append", default=[], help="an accuracy to reach")
    parser.add_argument(
        "--relative", metavar="R", type=float, action="append", default=[], help="a part of the reference's best"
    )
    parser.add_argument("--last", metavar="N", type=int, default=50, help="tests at the end that are averaged (50)")
    parser.add_argument("--initial", metavar="N", type=int, default=10, help="first rounds of a session, averaged (10)")
    parser.add_argument("--format", choices=("table", "csv", "json", "markdown"), default="table")
    parser.add_argument("-o", "--out", metavar="FILE", type=Path, help="(standard output)")
    parser.set_defaults(verb=_compare)


def _compare(options: argparse.Namespace) -> int:
    from edgefl.results.report.comparison import Wanted, compare, of_run
    from edgefl.results.report.formats import formatted
    from edgefl.results.report.read import load_all

    runs = load_all([options.reference, *options.folders], details=False)
    wanted = Wanted(options.target, options.relative, options.last, options.initial)
    text = formatted(compare([of_run(run, str(run.folder)) for run in runs], wanted), options.format)
    return hand_over(text, options.out)


def add_export(verbs: Any) -> None:
    """Its options."""
    from edgefl.results.export import EXPORT_FORMATS

    parser = verbs.add_parser("export", help="result folders as tables, as a timeline, for papers (docs/export.md)")
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path)
    parser.add_argument("--format", choices=EXPORT_FORMATS, required=True)
    parts = parser.add_mutually_exclusive_group()
    for option in ("table", "figure"):
        known = dict.fromkeys(part for form in EXPORT_FORMATS.values() if form.option == option for part in form.parts)
        parts.add_argument(f"--{option}", choices=known, help=f"the {option}, where the format has several")
    parser.add_argument("-o", "--out", metavar="FILE", type=Path, help="(standard output)")
    parser.set_defaults(verb=_export)


def _export(options: argparse.Namespace) -> int:
    from edgefl.results.export import export

    chosen = [(option, part) for option in ("table", "figure") if (part := getattr(options, option))]
    export(options.folders, options.format, chosen[0] if chosen else None, options.out)
    if options.out is not None:
        print(options.out)
    return DONE
