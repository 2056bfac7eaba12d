"""`edgefl what-if`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import add_options, as_typed, begin, columns, printable, working_directory
from edgefl.cli.exits import EXIT_DONE

if TYPE_CHECKING:
    from edgefl.results.what_if_table import WhatIfRow


def add_what_if(verbs: Any) -> None:
    """Add `edgefl what-if` and its options."""
    about = "price a finished run again with another bandwidth, power, clock, ..., without learning (docs/what-if.md)"
    parser = verbs.add_parser("what-if", help=about, description=about)
    add_options(parser, "what-if")
    add_options(parser, "no-plugins")
    parser.add_argument("--quiet", action="store_true", help="print no progress and no table")
    parser.set_defaults(verb=_what_if)


def _what_if(options: argparse.Namespace) -> int:
    import json

    from edgefl.results.integrity import WHAT_IF_FILE
    from edgefl.results.what_if_table import TEXTS
    from edgefl.runs.report_page import write_report
    from edgefl.runs.what_if import price_folder
    from edgefl.runs.what_if_points import parse_over

    here = working_directory()
    over: dict[str, list[Any]] = {}
    where: dict[str, str] = {}
    for text in options.over:
        key, values = parse_over(text)
        over.setdefault(key, []).extend(values)  # a key named twice gets the values of both
        where[key] = f"--over {text}"
    begin(quiet=options.quiet)
    rows = price_folder(
        here / options.folder,
        over,
        where.__getitem__,
        out=here / options.out if options.out else None,
        workers=options.workers,
        on_point=_progress(quiet=options.quiet),
    )
    written = [("table", options.out or options.folder / WHAT_IF_FILE)]
    if options.out is None:
        written.append(("report", Path(as_typed(write_report(here / options.folder)))))
    if options.json:
        objects = [{**{name: getattr(row, name) or None for name in TEXTS}, **row.costs} for row in rows]
        print(json.dumps(objects, indent=2, allow_nan=False))
    elif not options.quiet:
        print(_table(rows))
        print("\n".join(f"{name:<14}{path}" for name, path in written))
    for row in rows:
        if row.refused:
            print(f"edgefl: {printable(row.key)}={printable(row.value)}: {printable(row.refused)}", file=sys.stderr)
    return EXIT_DONE


def _progress(*, quiet: bool) -> Any:
    shows = sys.stderr.isatty() and not quiet

    def on_point(done: int, points: int) -> None:
        if shows:
            end = "\n" if done == points else ""
            print(f"\rpriced {done} of {points}", end=end, file=sys.stderr, flush=True)

    return on_point


def _table(rows: list[WhatIfRow]) -> str:
    from edgefl.core.units import ENERGY, TIME
    from edgefl.results.what_if_table import measures_of, ratio_text, updates_text, value_text

    own = rows[0]
    measures = measures_of(own)
    head = [""]
    for measure in measures:
        suffix = "" if measure is measures[0] else f" {measure.name}"
        head += [f"time{suffix}", f"energy{suffix}"]
    lines = [[*head, "updates"]]
    for row in rows:
        name = "this run"
        if row.key:
            name = f"{row.key}={value_text(row.key, row.value)}"
        if row.refused:
            lines.append([name, "refused"])
            continue
        cells = [name]
        for measure in measures:
            for column, units in ((measure.time, TIME), (measure.energy, ENERGY)):
                cells.append(ratio_text(row.costs.get(column), own.costs.get(column), units))
        lines.append([*cells, updates_text(row)])
    return "\n".join(printable(line) for line in columns(lines, left=1))
