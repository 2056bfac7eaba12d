"""`edgefl reproduce`: published tables and figures next to the results of runs here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import (
    add_options,
    as_typed,
    begin,
    columns,
    command_again,
    printable,
    working_directory,
)
from edgefl.cli.exits import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED
from edgefl.cli.json_output import print_json
from edgefl.cli.recipe_forecast import dry_run, needs_as_json
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
    about = "run a published table or figure again, and print published next to measured numbers; or list them all"
    parser = verbs.add_parser("reproduce", help=about, description=about)
    add_options(parser, "reproduce")
    instead = parser.add_mutually_exclusive_group()
    add_options(instead, "reproduce instead")
    add_options(parser, "no-plugins")
    parser.add_argument("--quiet", action="store_true", help="print no progress and no table")
    add_options(parser, "json")
    parser.set_defaults(verb=_reproduce)


def _reproduce(options: argparse.Namespace) -> int:
    from edgefl.reproductions.library import Library

    # Before any scenario is loaded: code that it names may change the working directory.
    options.here = working_directory()
    folder = None
    if options.library is not None:
        folder = options.here / options.library
    library = Library(folder)
    names = library.names
    if options.recipe is not None:
        names = library.find(options.recipe)
    _check_folder(options, names)
    begin(quiet=options.quiet)
    options.document = {}  # what --json prints
    code = _done(library, names, options)
    if options.json:
        print_json(options.document)
    return code


def _done(library: Library, names: Sequence[str], options: argparse.Namespace) -> int:
    if options.check:
        return _check(library, names, options)
    if options.recorded:
        return _recorded(library, names, options)
    if options.dry_run:
        plans = _plans(library, names, options)
        options.document["plans"] = dry_run(plans, options.device, as_json=options.json)
        return EXIT_DONE
    if options.recipe is None:
        return _list(library, names, options)
    return _run_all(library, names, options)


def _check_folder(options: argparse.Namespace, names: Sequence[str]) -> None:
    if options.out is None:
        return
    if options.check or options.dry_run or options.recipe is None:
        raise InputError(f"-o {options.out}: nothing is written: name a recipe, and leave out --check and --dry-run")
    if len(names) > 1:
        raise InputError(
            f"-o {options.out}: {options.recipe} has {len(names)} recipes, and each needs a folder: name one recipe"
        )
    if options.out.exists() and not options.out.is_dir():
        raise InputError(f"-o {options.out}: is a file: name a folder")
    if options.recorded and not options.overwrite and options.out.exists() and any(options.out.iterdir()):
        raise InputError(f"-o {options.out}: holds files already: choose another folder, or give --overwrite")
    if options.recorded:
        from edgefl.reproductions.study_folder import check_folder

        check_folder(options.out, overwrite=True)


def _run_all(library: Library, names: Sequence[str], options: argparse.Namespace) -> int:
    """Run recipes one after the other; of several, skip those whose data are missing, with a line."""
    from edgefl.reproductions.needs import lacking, needs

    code = EXIT_DONE
    for plan in _plans(library, names, options):
        absent = lacking(needs(plan))
        if absent and len(names) > 1:
            print(f"edgefl: {plan.entry.name}: left out, as {absent[0].name} is not here", file=sys.stderr)
            code = EXIT_FAILED
            continue
        code = max(code, _run(library, plan, options))
        if code == EXIT_INTERRUPTED:
            break
    return code


def _plans(library: Library, names: Sequence[str], options: argparse.Namespace) -> list[Plan]:
    """Return the plans of recipes; of several, without those that lack the scale."""
    from edgefl.reproductions.plan import plan

    entries = [library.load(name) for name in names]
    if len(entries) > 1:
        entries = [entry for entry in entries if options.scale in entry.recipe.scale_names]
    return [plan(library, entry, options.scale, options.seeds) for entry in entries]


# The list


def _list(library: Library, names: Sequence[str], options: argparse.Namespace) -> int:
    from edgefl.reproductions.evidence import evidence
    from edgefl.reproductions.overview import overview
    from edgefl.reproductions.study_folder import STUDIES

    lines = overview(library, names, STUDIES)
    total = evidence(library, [line.comparison for line in lines])
    if options.json:
        options.document["recipes"] = [_recipe_as_json(line) for line in lines]
        options.document["evidence"] = total._asdict()
        return EXIT_DONE
    heads = ("", "data", "takes", "measured", "within", "wrong", "state")
    table = columns([heads, *(_cells(line) for line in lines)])
    paper = ""
    for line, text in zip(lines, table[1:], strict=True):
        if line.entry.paper != paper:
            if paper:
                print()
            paper = line.entry.paper
            print(f"{paper}{table[0][len(paper) :]}")
        print(text)
    print(f"\nin all: {total.text}")
    absent = [need for line in lines for need in line.needs if not need.here]
    if absent:
        print("\nData that are not here (*):")
    for need in dict.fromkeys(absent):  # without duplicates
        print(f"  {need.name}: {need.remedy}")
    print("\n`edgefl reproduce PAPER/ITEM` runs one; --dry-run tells how long it takes; --recorded shows measured rows")
    return EXIT_DONE


def _cells(line: Line) -> tuple[str, ...]:
    """Return the cells of a recipe's line; `wrong` is the share of wrong numbers that its tolerance would let pass."""
    from edgefl.reproductions.discrimination import share_text
    from edgefl.reproductions.overview import UNKNOWN
    from edgefl.reproductions.texts import within_text

    known = (_takes(line) or UNKNOWN, line.measured, within_text(line.comparison), share_text(line.comparison))
    return (_name(line), _data(line), *known, line.state)


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


# One recipe


def _recorded(library: Library, names: Sequence[str], options: argparse.Namespace) -> int:
    from edgefl.reproductions import pages
    from edgefl.reproductions.comparison import compare
    from edgefl.reproductions.needs import lacking, needs
    from edgefl.reproductions.study_folder import recorded_rows

    comparisons = []
    for plan in _plans(library, names, options):
        rows = recorded_rows(library, plan)
        comparisons.append(compare(plan, rows, data_are_here=not lacking(needs(plan))))
    if options.out is not None:
        (comparison,) = comparisons
        pages.write(comparison, options.here / options.out)
    if options.json:
        options.document["comparisons"] = [_as_json(comparison) for comparison in comparisons]
    elif not options.quiet:
        print("\n\n".join(_text(comparison) for comparison in comparisons))
    return EXIT_DONE if all(comparison.holds for comparison in comparisons) else EXIT_FAILED


def _check(library: Library, names: Sequence[str], options: argparse.Namespace) -> int:
    """Run all recipes that do not learn, or learn in seconds; print which are within tolerance, and copied rows."""
    from edgefl.cli.progress import SweepProgress
    from edgefl.reproductions.checks import check
    from edgefl.reproductions.copies import copies
    from edgefl.reproductions.texts import within_text

    found = [copy for copy in copies(library) if copy.one.recipe in names or copy.other.recipe in names]
    progress = SweepProgress("check", quiet=options.quiet)
    checked = check(library, names, workers=options.workers, on_run_end=progress)
    passed = sum(one.passed for one in checked)
    code = EXIT_DONE if passed == len(checked) else EXIT_FAILED
    if options.json:
        options.document["comparisons"] = [{**_as_json(one.comparison), "passed": one.passed} for one in checked]
        options.document["copies"] = [{"text": copy.text, "explanation": copy.explanation} for copy in found]
        return code
    for one in checked:
        for error in one.failed:
            print(f"edgefl: {printable(error)}", file=sys.stderr)
        if not one.passed:
            print(f"{_text(one.comparison)}\n")
    for one in checked:
        within = within_text(one.comparison)
        counted = f" ({within} independent numbers)" if within else ""
        print(f"{one.comparison.name}: {one.comparison.state_text}{counted}")
    for copy in found:
        if not copy.explanation:
            print(f"printed twice: {copy.text} (to explain by `misprinted` or `repeated`)")
    print(f"{passed} of {len(checked)} recipes passed")
    return code


def _run(library: Library, plan: Plan, options: argparse.Namespace) -> int:
    from edgefl.cli.progress import SweepProgress
    from edgefl.reproductions import study
    from edgefl.reproductions.study_folder import default_folder

    result = study.run(
        library,
        plan,
        study.StudyOptions(
            out=options.here / (options.out or default_folder(plan.entry, plan.scale)),
            workers=options.workers,
            cluster=options.cluster,
            device=options.device,
            resume=options.resume,
            overwrite=options.overwrite,
            record=options.record,
        ),
        SweepProgress(plan.entry.name, quiet=options.quiet),
    )
    if options.json:
        found = {**_as_json(result.comparison), "folder": as_typed(result.folder)}
        options.document.setdefault("comparisons", []).append(found)
    elif not options.quiet:
        print(_text(result.comparison))
        print(f"{'results':<11}{as_typed(result.folder)}")
    return _code(result, options)


def _code(result: StudyResult, options: argparse.Namespace) -> int:
    for folder, error in result.failed.items():
        print(f"edgefl: {folder}: {printable(error)}", file=sys.stderr)
    if result.interrupted:
        if not options.quiet and not options.json:
            names = ("scale", "seeds", "workers", "cluster", "out", "library", "device", "no_plugins", "record")
            print(f"{'go on with':<11}{command_again('reproduce', options.recipe, options, names)}", flush=True)
        return EXIT_INTERRUPTED
    if result.comparison.holds and not result.failed:
        return EXIT_DONE
    return EXIT_FAILED


# A comparison as text


def _text(comparison: Comparison) -> str:
    from edgefl.reproductions.discrimination import wrong_text
    from edgefl.reproductions.remarks import remarks
    from edgefl.reproductions.texts import order_text, place_text, state_with_notes, tolerance_text, within_text

    rows = [_line(comparison, cell) for cell in comparison.cells]
    heads = [*comparison.row_names, "", "published", "measured", "by seed", "difference", ""]
    lines = [f"{comparison.name} · {comparison.title} ({comparison.source}), scale {comparison.scale}", ""]
    lines += columns([heads, *rows])
    lines.append("")
    for order in comparison.orders:
        place = place_text(comparison.row_names, order.row)
        if place:
            place = f" ({place})"
        lines.append(f"{'order':<11}{order.text}{place}: {order_text(order)}")
    if comparison.tolerance is not None:
        lines.append(f"{'tolerance':<11}{tolerance_text(comparison.tolerance)}: {comparison.tolerance.why}")
    inside = within_text(comparison)
    if inside:
        lines.append(f"{'within':<11}{inside} independent numbers that were compared")
    wrong = wrong_text(comparison)
    if wrong:
        lines.append(f"{'wrong':<11}{wrong}")
    lines += [f"{name:<11}{text}" for name, text in remarks(comparison)]
    lines.append(f"{'state':<11}{state_with_notes(comparison)}")
    return "\n".join(lines)


def _recipe_as_json(line: Line) -> dict[str, Any]:
    from edgefl.reproductions.discrimination import wrong_numbers

    within, compared = line.comparison.counts()
    return {
        "name": line.entry.name,
        "title": line.entry.recipe.title,
        "source": line.entry.recipe.source,
        "covers": list(line.entry.recipe.covers),
        "data": needs_as_json(line.needs),
        "takes_s": None if line.takes is None else line.takes.seconds,
        "measured": line.measured,
        "within": within,
        "compared": compared,
        "wrong_share": wrong_numbers(line.comparison).share,
        "state": line.state,
    }


def _as_json(comparison: Comparison) -> dict[str, Any]:
    from edgefl.reproductions.discrimination import wrong_numbers

    return {
        "name": comparison.name,
        "title": comparison.title,
        "source": comparison.source,
        "scale": comparison.scale,
        "state": comparison.state_text,
        "holds": comparison.holds,
        "wrong_share": wrong_numbers(comparison).share,
        "cells": [
            {
                "row": dict(cell.row),
                "column": cell.column,
                "published": cell.printed_number,
                "measured": cell.mean,
                "std": cell.std,
                "by_seed": {str(seed): measured.number for seed, measured in cell.by_seed.items()},
                "difference": cell.difference,
                "within": cell.within,
                "misprinted": cell.is_misprint,
            }
            for cell in comparison.cells
        ],
        "orders": [{"text": order.text, "row": dict(order.row), "holds": order.holds} for order in comparison.orders],
    }


def _line(comparison: Comparison, cell: Cell) -> list[str]:
    from edgefl.reproductions.texts import difference_text, mean_text, published_text, seeds_text, verdict_text

    return [
        *(cell.row.get(name, "") for name in comparison.row_names),
        cell.column,
        published_text(cell),
        mean_text(cell),
        seeds_text(cell, comparison.seeds),
        difference_text(cell),
        verdict_text(cell),
    ]
