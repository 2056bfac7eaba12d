"""The pages of reproductions: an overview, and a page for each paper, from the recipes and the recorded rows."""

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from edgefl.core.units import NO_NUMBER
from edgefl.learning.datasets.fetch import MADE_HERE
from edgefl.reproductions.comparison import Cell, Comparison, compare
from edgefl.reproductions.discrimination import share_text, wrong_text
from edgefl.reproductions.library import Entry, Library
from edgefl.reproductions.needs import PART
from edgefl.reproductions.paper_table import by_row, labels
from edgefl.reproductions.plan import plan
from edgefl.reproductions.remarks import remarks
from edgefl.reproductions.study_folder import recorded_rows
from edgefl.reproductions.texts import (
    mean_text,
    order_text,
    place_text,
    published_text,
    state_with_notes,
    tolerance_text,
    within_text,
)
from edgefl.results.export.dialects import Cell as TextCell
from edgefl.results.export.dialects import TextColumn, markdown
from site_pages import table_numbers
from site_pages.short_texts import difference_of, short_tolerance

FOLDER = "reproductions"  # of the site
PICTURE = "\n![Measured over printed numbers, within and outside of the tolerance](../images/reproductions-{}.svg)\n"
WITHOUT_RECIPE = "Without a recipe"  # how a paragraph of `about.md` begins that names such items
INTRODUCTION = """\
# Reproductions

![Measured against printed numbers, a point for each: accuracies, and other quantities](IMAGES/reproductions.svg)

EVIDENCE
*Independent numbers*: cells of one run and measure count once, in whichever tables they are printed, and so do numbers
that follow from one another. *Wrong ones that would pass*: how many numbers printed for other algorithms or columns the
tolerance of a number's table lets pass, on average. *No evidence*: numbers of tables whose tolerance lets a fifth of
the wrong ones pass, which no tolerance as wide as repeated runs differ can avoid, of counter-examples, and of small
scales.

NUMBERS
All numbers in the tables of five papers, in columns that recipes read, at full scale, as they are printed: *compared*
with a tolerance; *without time*: the data were at hand, and nothing was run; *of another machine*: its minutes and its
memory, which no time here would reproduce.

Numbers that five papers and others print, and what edgefl measures. `edgefl reproduce` lists all recipes and the data
that they need; `edgefl reproduce fedssg/table-3` runs one, and `--recorded` prints what was measured before, cell by
cell ([command line](COMMANDS)). [How to write a recipe](RECIPES). `make pages` writes the overview from the recipes and
the recorded rows; the site has a page for each paper.

- *within tolerance*: numbers were compared, and all of them agree, as do the orders that the recipe asks for;
- *order holds*: only an order is asked for, and it holds;
- *echoes defaults*: the numbers are what the runs are given, so that nothing is measured;
- *a named gap*: a part does not hold, and the recipe names what is known of it;
- *outside tolerance*: a part does not hold, and the cause is unknown;
- *measured*: nothing is compared;
- *partly measured*: some of the runs are still missing;
- *needs data*: nothing was run, as the data were not at hand; *not measured*: nothing was run.

*Reading: fitted*: a reading of the setting, or constants, were chosen after looking at the printed numbers. *Within*
counts the independent numbers of a recipe. *Median* and *largest* difference, as the tolerance, are in per cent of the
printed number or in its unit. *Wrong ones*: the share of wrong numbers that would be within tolerance. *Small* is the
recipe's small scale.
"""


def overview(library: Library) -> str:
    """Return the overview for readers of the repository, `docs/reproductions.md`."""
    links = {"COMMANDS": "command-line.md", "RECIPES": "reproductions/recipes.md", "IMAGES": "images"}
    return _overview(library, all_recorded(library), links)


def pages(library: Library) -> dict[str, str]:
    """Return the pages of the site by their paths in docs/: the overview, and a page for each paper."""
    compared = all_recorded(library)
    links = {"COMMANDS": "../command-line.md", "RECIPES": "recipes.md", "IMAGES": "../images"}
    texts = {f"{FOLDER}/README.md": _overview(library, compared, links)}
    for paper in library.papers:
        texts[f"{FOLDER}/{paper}.md"] = _paper_page(library, paper, compared)
    return texts


def all_recorded(library: Library) -> dict[str, Comparison]:
    """Return the recorded comparison of each recipe."""
    compared = {entry.name: recorded(library, entry) for entry in library.all()}
    for name in without_data(library, compared):
        if not is_measured(compared[name]):
            compared[name] = replace(compared[name], state="needs data")
    return compared


def recorded(library: Library, entry: Entry) -> Comparison:
    """Return a recipe's comparison with the rows that come with edgefl, at the largest scale that has some."""
    found: list[Comparison] = []
    for scale in entry.recipe.scale_names:  # the whole one first
        planned = plan(library, entry, scale)
        # Not which data are on the machine that writes the pages: they must be the same everywhere.
        found.append(compare(planned, recorded_rows(library, planned), data_are_here=True))
    return next((one for one in found if is_measured(one)), found[0])


def is_measured(comparison: Comparison) -> bool:
    """Return whether some of the runs have been measured."""
    return comparison.state not in {"not measured", "needs data"}


def without_data(library: Library, compared: Mapping[str, Comparison]) -> list[str]:
    """Return the recipes with data, at the whole scale, that no measurement has used."""
    used = set[str]()
    entries = library.all()
    for entry in entries:
        comparison = compared[entry.name]
        if is_measured(comparison):
            # A small study may have used a part of the data that the whole one needs.
            used.update(_dataset(value) for value in plan(library, entry, comparison.scale).data)
    found = []
    for entry in entries:
        wanted = {_dataset(value) for value in entry.recipe.data if not _part_will_do(value)} - set(MADE_HERE)
        if not wanted <= used:
            found.append(entry.name)
    return found


def _overview(library: Library, compared: dict[str, Comparison], links: dict[str, str]) -> str:
    introduction = INTRODUCTION
    for place, target in links.items():
        introduction = introduction.replace(place, target)
    numbers = table_numbers.table(library, compared, without_data(library, compared))
    introduction = introduction.replace("NUMBERS", numbers)
    parts = [introduction.replace("EVIDENCE", table_numbers.evidence_table(library, compared))]
    for paper in library.papers:
        title = _title(library, paper)
        if links["IMAGES"].startswith(".."):
            title = f"[{title}]({paper}.md)"
        parts.append(f"## {paper}\n\n{title}\n\n{_table(library, paper, compared)}")
        without = without_recipe(library, paper)
        if without:
            parts.append(f"{without}\n")
    return "\n".join(parts)


def _table(library: Library, paper: str, compared: dict[str, Comparison]) -> str:
    """Return the table of a paper's recipes: published beside measured, in short."""
    entries = [entry for entry in library.all() if entry.paper == paper]
    comparisons = [compared[entry.name] for entry in entries]
    columns = {
        "printed item": [", ".join(entry.recipe.covers) or _plain(entry.recipe.title) for entry in entries],
        "recipe": [entry.name.partition("/")[2] for entry in entries],
        "state": [_state_with_data(entry, one) for entry, one in zip(entries, comparisons, strict=True)],
        "tolerance": [short_tolerance(one.tolerance) for one in comparisons],
        "within": [within_text(one) for one in comparisons],
        "median": [difference_of(one, statistics.median) for one in comparisons],
        "largest": [difference_of(one, max) for one in comparisons],
        "wrong ones": [share_text(one) for one in comparisons],
    }
    return markdown(
        [TextColumn("", name, list(map(TextCell, texts)), left=True) for name, texts in columns.items()], ""
    )


def _state_with_data(entry: Entry, comparison: Comparison) -> str:
    state = _state(comparison)
    if state == "needs data":
        return f"{state}: {', '.join(map(_dataset, entry.recipe.data))}"
    return state


def _paper_page(library: Library, paper: str, compared: dict[str, Comparison]) -> str:
    about = _about(library, paper) or f"# {paper}\n"
    title, _, rest = about.partition("\n")
    parts = [title, PICTURE.format(paper), rest, _table(library, paper, compared)]
    parts += [_section(one) for one in compared.values() if one.name.startswith(f"{paper}/") and is_measured(one)]
    return "\n".join(parts)


def _section(comparison: Comparison) -> str:
    """Return the section of a recipe of which something was measured."""
    command = f"edgefl reproduce {comparison.name}"
    if comparison.scale != "full":
        command = f"{command} --scale {comparison.scale}"
    covers = ", ".join(comparison.covers) or comparison.source
    lines = [f"## {covers}: {_plain(comparison.title)}", "", f"`{command}`: **{_state(comparison)}**.", ""]
    seeds = len(comparison.seeds)
    if any(cell.is_measured for cell in comparison.cells):
        has_printed = any(cell.published is not None for cell in comparison.cells)
        what = "Published, as printed / measured" if has_printed else "Measured"
        over = ", one seed"
        if seeds > 1:
            over = f", mean over up to {seeds} seeds ± standard deviation"
        bold = ""
        if any(cell.within is False for cell in comparison.cells):
            bold = " Bold: outside tolerance."
        lines += [f"{what}{over}.{bold}", "", _numbers(comparison)]
    if comparison.figure is not None:
        lines += [f"`{command} --recorded -o FOLDER` writes the figure.", ""]
    lines += _judgement(comparison)
    return "\n".join(lines)


def _numbers(comparison: Comparison) -> str:
    """Return a table with a cell for each printed one: published / measured."""
    rows = by_row(comparison)
    columns = labels(comparison, list(rows))
    for name in dict.fromkeys(cell.column for cell in comparison.cells):
        cells = [_both(of_row.get(name)) for of_row in rows.values()]
        columns.append(TextColumn("", name or "measured", cells))
    return markdown(columns, "")


def _both(cell: Cell | None) -> TextCell:
    """Return published / measured; bold where the measured number is outside tolerance."""
    if cell is None:
        return TextCell("")
    text = mean_text(cell)
    if cell.published is not None:
        text = f"{published_text(cell) or NO_NUMBER} / {text or NO_NUMBER}"
    return TextCell(text, best=cell.within is False)


def _judgement(comparison: Comparison) -> list[str]:
    """Return the tolerance, how much of it holds, and the known gap."""
    lines = []
    if comparison.tolerance is not None:
        asked = tolerance_text(comparison.tolerance)
        lines.append(f"- **Tolerance**: {asked}; {_plain(comparison.tolerance.why)}.")
    within = within_text(comparison)
    if within:
        lines.append(f"- **Within tolerance**: {within} independent numbers that could be compared.")
    wrong = wrong_text(comparison)
    if wrong:
        lines.append(f"- **Wrong numbers**: {wrong}.")
    failed = [order for order in comparison.orders if order.holds is False]
    if comparison.orders:
        held = sum(order.holds is True for order in comparison.orders)
        lines.append(f"- **Orders**: {held} of {len(comparison.orders)} hold.")
    for order in failed:
        place = place_text(comparison.row_names, order.row)
        lines.append(f"  - not {order.text}{f' ({place})' if place else ''}")
    lines += [f"  - {order.text}: {order_text(order)}" for order in comparison.orders if order.by_divergence]
    lines += [f"- **{name.capitalize()}**: {_plain(text)}." for name, text in remarks(comparison)]
    return [*lines, ""]


def _plain(text: str) -> str:
    """Return a text on one line, in which Markdown finds no HTML."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")


def _state(comparison: Comparison) -> str:
    text = state_with_notes(comparison)
    if is_measured(comparison) and comparison.scale != "full":
        text = f"{text} ({comparison.scale})"
    return text


def _dataset(value: str | dict[str, Any]) -> str:
    """Return the name of a dataset that a recipe needs."""
    if isinstance(value, str):
        return value
    name = str(value["dataset"])
    return f"{name} (a part)" if _part_will_do(value) else name


def _part_will_do(value: str | dict[str, Any]) -> bool:
    return not isinstance(value, str) and bool(value.get(PART))


def _about(library: Library, paper: str) -> str:
    """Return what the library says about a paper: a heading, and what holds for all of its recipes."""
    path = library.root / "recipes" / paper / "about.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def without_recipe(library: Library, paper: str) -> str:
    """Return the paragraph of `about.md` that names the printed items of a paper that have no recipe; empty if none."""
    paragraphs = _about(library, paper).split("\n\n")
    return next((text.strip() for text in paragraphs if text.startswith(WITHOUT_RECIPE)), "")


def _title(library: Library, paper: str) -> str:
    return _about(library, paper).partition("\n")[0].removeprefix("# ") or paper
