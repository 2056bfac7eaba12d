"""`edgefl reproduce`: published tables and figures beside what runs here give."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import begin, printable
from edgefl.cli.exits import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED
from edgefl.core.errors import InputError

if TYPE_CHECKING:
    from edgefl.reproductions.comparison import Cell, Comparison
    from edgefl.reproductions.library import Library
    from edgefl.reproductions.overview import Line
    from edgefl.reproductions.plan import Plan
    from edgefl.reproductions.study import StudyResult

WIDEST_ABOUT = 48  # characters of what a recipe is about, in the list


def add_reproduce(verbs: Any) -> None:
    """Add `edgefl reproduce` and its options."""
    about = "run a published table or figure again, and print published numbers beside measured ones; or list them all"
    parser = verbs.add_parser("reproduce", help=about, description=about)
    parser.add_argument(
        "recipe", metavar="PAPER/ITEM", nargs="?", help="such as fedssg/table-3; PAPER alone means all of its recipes"
    )
    parser.add_argument(
        "--scale", choices=("small", "full"), default="full", help="how much of it is run (default: full)"
    )
    parser.add_argument("--seeds", metavar="N", type=int, help="the first N seeds (default: those of the recipe)")
    parser.add_argument("--workers", metavar="N", type=int, help="runs at a time (default: one for each GPU, or core)")
    parser.add_argument(
        "--cluster", metavar="HOST:PORT|auto", help="run on the machines of a Ray cluster (docs/cluster.md)"
    )
    parser.add_argument("--device", default="auto", metavar="auto|cpu|cuda[:i]", help="train on this device")
    parser.add_argument(
        "-o", "--out", metavar="DIR", type=Path, help="folder (default: results/reproductions/PAPER/ITEM/SCALE)"
    )
    parser.add_argument("--resume", action="store_true", help="run what is missing in the folder")
    parser.add_argument("--overwrite", action="store_true", help="begin anew in the folder")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be run, and how long it takes here, by some first rounds"
    )
    parser.add_argument("--recorded", action="store_true", help="compare what was measured before, and run nothing")
    parser.add_argument(
        "--record", action="store_true", help="run what has not been recorded, and add it (for developers of edgefl)"
    )
    parser.add_argument(
        "--check", action="store_true", help="run all recipes that do not learn, or learn in seconds (two minutes)"
    )
    parser.add_argument(
        "--library", metavar="DIR", type=Path, help="recipes of your own: a folder with recipes/PAPER/ITEM.yaml"
    )
    parser.add_argument("--quiet", action="store_true", help="print no progress and no table")
    parser.set_defaults(verb=_reproduce)


def _reproduce(options: argparse.Namespace) -> int:
    from edgefl.reproductions.library import Library

    library = Library(options.library)
    names = library.names if options.recipe is None else library.find(options.recipe)
    begin(quiet=options.quiet)
    if options.check:
        return _check(library, names, options)
    if options.recorded:
        return _recorded(library, names, options)
    if options.dry_run:
        return _dry_run(library, names, options)
    if options.recipe is None:
        return _list(library, names)
    if options.out is not None and len(names) > 1:
        raise InputError(f"-o {options.out}: {options.recipe} has {len(names)} recipes, each with a folder of its own")
    code = EXIT_DONE
    for plan in _plans(library, names, options):
        code = max(code, _run(library, plan, options))
        if code == EXIT_INTERRUPTED:
            break
    return code


def _plans(library: Library, names: Sequence[str], options: argparse.Namespace) -> list[Plan]:
    """Return the plans of recipes; of several those that have no such scale are left out."""
    from edgefl.reproductions.plan import plan

    entries = [library.load(name) for name in names]
    if len(entries) > 1:
        entries = [entry for entry in entries if options.scale in entry.recipe.scale_names]
    return [plan(library, entry, options.scale, options.seeds) for entry in entries]


# The list


def _list(library: Library, names: Sequence[str]) -> int:
    """Print all recipes."""
    from edgefl.reproductions.overview import UNKNOWN, overview
    from edgefl.reproductions.study_folder import STUDIES

    lines = overview(library, names, STUDIES)
    heads = ("", "data", "takes", "measured", "state")
    rows = [(_name(line), _data(line), _takes(line) or UNKNOWN, line.measured, line.state) for line in lines]
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(len(heads))]
    paper = ""
    for line, row in zip(lines, rows, strict=True):
        if line.entry.paper != paper:
            paper = line.entry.paper
            print(("\n" if line is not lines[0] else "") + _padded((paper, *heads[1:]), widths))
        print(_padded(row, widths))
    absent = [need for line in lines for need in line.needs if not need.here]
    if absent:
        print("\nData that are not here (*):")
    for need in dict.fromkeys(absent):  # without duplicates
        print(f"  {need.name}: {need.remedy}")
    print("\n`edgefl reproduce PAPER/ITEM` runs one; --recorded prints what was measured before; docs/reproductions/")
    return EXIT_DONE


def _name(line: Line) -> str:
    recipe = line.entry.recipe
    about = ", ".join(recipe.covers) or recipe.title
    return f"  {line.entry.name}: {shorten(about, WIDEST_ABOUT, placeholder=' ...')}"


def _data(line: Line) -> str:
    return ", ".join(need.name if need.here else f"{need.name}*" for need in line.needs) or "none"


def _takes(line: Line) -> str:
    from edgefl.core.units import seconds

    if line.takes is None:
        return ""
    return f"{seconds(line.takes.seconds)} {line.takes.basis}"


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


# One recipe


def _recorded(library: Library, names: Sequence[str], options: argparse.Namespace) -> int:
    """Print published numbers beside recorded ones; nothing is run."""
    from edgefl.reproductions.comparison import compare
    from edgefl.reproductions.needs import lacking, needs
    from edgefl.reproductions.study_folder import recorded_rows

    comparisons = []
    for plan in _plans(library, names, options):
        rows = recorded_rows(library, plan)
        comparisons.append(compare(plan, rows, data_are_here=not lacking(needs(plan))))
    if not options.quiet:
        print("\n\n".join(_text(comparison) for comparison in comparisons))
    return EXIT_DONE if all(comparison.holds for comparison in comparisons) else EXIT_FAILED


def _dry_run(library: Library, names: Sequence[str], options: argparse.Namespace) -> int:
    """Print what would be run, and how long it takes: some first rounds are run for this."""
    from edgefl.core.units import seconds
    from edgefl.reproductions.needs import lacking, needs
    from edgefl.reproductions.plan import scenarios_of
    from edgefl.reproductions.trials import trial_s

    for plan in _plans(library, names, options):
        scenarios_of(plan)  # each of them is checked
        counts = (
            f"{len(plan.runs)} runs ({len(plan.points)} settings, {len(plan.seeds)} seeds) for {len(plan.cells)} cells"
        )
        print(f"{plan.entry.name}: {counts}")
        found = needs(plan)
        for need in found:
            print(f"  {'data':<9}{need.name}: {'here' if need.here else f'not here: {need.remedy}'}")
        if not lacking(found):
            text = f"about {seconds(trial_s(plan))} here, one run after the other, told by first rounds of some of them"
            print(f"  {'takes':<9}{text}", flush=True)
    return EXIT_DONE


def _check(library: Library, names: Sequence[str], options: argparse.Namespace) -> int:
    """Run all recipes that do not learn, or learn in seconds, and say which are within tolerance."""
    from edgefl.cli.progress import SweepProgress
    from edgefl.reproductions.checks import check

    progress = SweepProgress("check", quiet=options.quiet)
    checked = check(library, names, workers=options.workers, on_run_end=progress)
    for one in checked:
        for error in one.failed:
            print(f"edgefl: {printable(error)}", file=sys.stderr)
        if not one.passed:
            print(f"{_text(one.comparison)}\n")
    for one in checked:
        inside, compared = one.comparison.counts()
        print(f"{one.comparison.name}: {one.comparison.state_text} ({inside} of {compared} cells)")
    passed = sum(one.passed for one in checked)
    print(f"{passed} of {len(checked)} recipes passed")
    return EXIT_DONE if passed == len(checked) else EXIT_FAILED


def _run(library: Library, plan: Plan, options: argparse.Namespace) -> int:
    """Run what is missing of a recipe, and print published numbers beside measured ones."""
    from edgefl.cli.progress import SweepProgress
    from edgefl.reproductions import study

    result = study.run(
        library,
        plan,
        study.StudyOptions(
            out=options.out,
            workers=options.workers,
            cluster=options.cluster,
            device=options.device,
            resume=options.resume,
            overwrite=options.overwrite,
            record=options.record,
        ),
        SweepProgress(plan.entry.name, quiet=options.quiet),
    )
    if not options.quiet:
        print(_text(result.comparison))
        print(f"{'results':<11}{result.folder}")
    return _code(result, options)


def _code(result: StudyResult, options: argparse.Namespace) -> int:
    """Return the exit code of a study; say what failed, and how to go on."""
    for folder, error in result.failed.items():
        print(f"edgefl: {folder}: {printable(error)}", file=sys.stderr)
    if result.interrupted:
        if not options.quiet:
            print(f"{'go on with':<11}{_resuming(options)}", flush=True)
        return EXIT_INTERRUPTED
    return EXIT_DONE if result.comparison.holds and not result.failed else EXIT_FAILED


def _resuming(options: argparse.Namespace) -> str:
    """Return the command that runs what is missing."""
    command = ["edgefl", "reproduce", options.recipe]
    if options.scale != "full":
        command += ["--scale", options.scale]
    for option in ("seeds", "workers", "cluster", "out", "library"):
        value = getattr(options, option)
        if value is not None:
            command += [f"--{option}", str(value)]
    if options.device != "auto":
        command += ["--device", options.device]
    return shlex.join([*command, "--record" if options.record else "--resume"])


# A comparison as text


def _text(comparison: Comparison) -> str:
    """Return a comparison as lines: a table with a line for each cell, then what is asked and the state."""
    rows = [_line(comparison, cell) for cell in comparison.cells]
    heads = [*comparison.row_names, "", "published", "measured", "by seed", "difference", ""]
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(len(heads))]
    lines = [f"{comparison.name} · {comparison.title} ({comparison.source}), scale {comparison.scale}", ""]
    lines += [_padded(row, widths) for row in [heads, *rows]]
    lines.append("")
    for order in comparison.orders:
        answer = {True: "yes", False: "no", None: "not known"}[order.holds]
        place = ", ".join(order.row[name] for name in comparison.row_names if name in order.row)
        lines.append(f"{'order':<11}{order.text}{f' ({place})' if place else ''}: {answer}")
    inside, compared = comparison.counts()
    if comparison.tolerance is not None:
        lines.append(f"{'tolerance':<11}{_asked(comparison)}: {comparison.tolerance.why}")
    if compared:
        lines.append(f"{'within':<11}{inside} of {compared} cells that were compared")
    if comparison.gap is not None:
        lines.append(f"{'gap':<11}{comparison.gap.strip()}")
    lines.append(f"{'state':<11}{comparison.state_text}")
    return "\n".join(lines)


def _line(comparison: Comparison, cell: Cell) -> list[str]:
    """Return a cell as a line of the table."""
    names = [cell.row.get(name, "") for name in comparison.row_names]
    published = cell.published.text if cell.published else ""
    by_seed = ", ".join(cell.by_seed[seed].text for seed in comparison.seeds if seed in cell.by_seed)
    mark = {True: "", False: "outside", None: ""}[cell.within]
    return [*names, cell.column, published, _mean(cell), by_seed, _difference(cell), mark]


def _mean(cell: Cell) -> str:
    """Return the mean of the seeds with their deviation."""
    if cell.mean is None:
        return ""
    text = f"{'>' if cell.bound else ''}{cell.mean:.5g}"
    return text if cell.std is None else f"{text} ± {cell.std:.2g}"


def _difference(cell: Cell) -> str:
    """Return the difference, in the unit of the table and as a part of what is printed."""
    if cell.difference is None:
        return ""
    text = f"{cell.difference:+.3g}"
    return text if cell.relative is None else f"{text} ({100 * cell.relative:+.1f} %)"


def _asked(comparison: Comparison) -> str:
    """Return what a recipe asks for, in a few words."""
    tolerance = comparison.tolerance
    if tolerance is None:
        return ""
    parts = []
    if tolerance.relative is not None:
        parts.append(f"{100 * tolerance.relative:g} % of what is printed")
    if tolerance.absolute is not None:
        parts.append(f"{tolerance.absolute:g} in its unit")
    if tolerance.orders:
        parts.append("the order of columns")
    for measure, one in tolerance.by_measure.items():
        limit = f"{100 * one.relative:g} %" if one.relative is not None else f"{one.absolute:g}"
        parts.append(f"{measure} {limit}")
    return ", ".join(parts)
