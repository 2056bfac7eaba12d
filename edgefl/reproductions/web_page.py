"""The page of a study: printed beside measured numbers, as one HTML file that needs no network."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from edgefl.core.files import read_bytes
from edgefl.reproductions.charts import MEASURED_COLOUR, OUTSIDE_COLOUR, charts
from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.discrimination import share_text, wrong_numbers
from edgefl.reproductions.plan import PlannedRun
from edgefl.reproductions.records import ORIGIN, Row
from edgefl.reproductions.remarks import remarks
from edgefl.reproductions.texts import (
    MINUS,
    difference_text,
    last_day,
    mean_text,
    order_text,
    place_text,
    published_text,
    seeds_text,
    state_notes,
    tolerance_text,
    verdict_text,
    within_text,
)
from edgefl.results.report.shared import templates
from edgefl.results.report.shared.tables import table
from edgefl.results.report.shared.templates import Html

RUN_PAGE = "report.html"
MOST_WIDE = 2  # charts over the whole width
MOST_LARGE = 12  # characters of a tile's value in large letters
MOST_OPEN = 30  # runs in a table that is open at first
MOST_CHARACTERS = 60  # of a measured text in the table of runs; curves are longer


class Tile(NamedTuple):
    """A number at the head of the page."""

    name: str
    value: str
    note: str

    @property
    def is_long(self) -> bool:
        """Whether the value needs smaller letters."""
        return len(self.value) > MOST_LARGE


class Picture(NamedTuple):
    """A file of the recipe's figure; `content` is an SVG picture in base64, empty for other files."""

    name: str
    content: str


def render(comparison: Comparison, runs: Path, pictures: Sequence[Path]) -> str:
    """Return the page.

    Args:
        comparison: of the study.
        runs: the folder of the runs, to whose pages the page has links.
        pictures: the files of the recipe's figure.
    """
    drawn = charts(comparison)
    rows = [*comparison.rows, *comparison.diverged]
    has_published = any(cell.asked for cell in comparison.cells)
    return templates.render(
        "reproductions/web_page.html.j2",
        title=f"{comparison.name}: {comparison.title}",
        subtitle=_subtitle(comparison),
        banner=_banner(comparison),
        is_bad=comparison.state == "outside tolerance",
        tiles=_tiles(comparison),
        story=_story(comparison),
        pictures=[_picture(file) for file in pictures],
        charts=drawn,
        charts_title="Published and measured" if has_published else "Measured",
        in_grid=len(drawn) > MOST_WIDE,
        measured_colour=MEASURED_COLOUR,
        outside_colour=OUTSIDE_COLOUR,
        cells=_cells(comparison),
        orders=_orders(comparison),
        runs=_runs(comparison, rows, runs),
        runs_count=len(rows),
        is_open=len(rows) <= MOST_OPEN,
        footer=_footer(comparison),
        styles=[],
        script_names=["shared/page.js"],
        data={"figures": {chart.name: chart.figure for chart in drawn}},
    )


def _subtitle(comparison: Comparison) -> str:
    seeds = "1 seed" if len(comparison.seeds) == 1 else f"{len(comparison.seeds)} seeds"
    return " · ".join([comparison.source, f"scale {comparison.scale}", seeds])


def _banner(comparison: Comparison) -> str:
    """Return a line for missing runs or numbers out of tolerance; empty if all holds."""
    if comparison.holds or comparison.state == "a named gap":
        return ""  # a tile and a text below it name the gap
    return f"{comparison.state_text.capitalize()}."


def _tiles(comparison: Comparison) -> list[Tile]:
    tiles = [Tile("State", comparison.state, ", ".join([f"scale {comparison.scale}", *state_notes(comparison)]))]
    within = within_text(comparison)
    if within:
        compared = sum(cell.within is not None for cell in comparison.cells)
        tiles.append(Tile("Independent numbers within tolerance", within, f"{compared} cells could be compared"))
    wrong = wrong_numbers(comparison)
    if wrong.held:
        tiles.append(Tile("Wrong numbers within", share_text(comparison), f"of {wrong.held:,} printed for other cells"))
    known = [cell for cell in comparison.cells if cell.relative is not None]
    if known:
        furthest = max(known, key=lambda cell: abs(cell.relative or 0.0))
        where = f"{place_text(comparison.row_names, furthest.row)}, {furthest.column}".strip(", ")
        percent = f"{100 * (furthest.relative or 0.0):+.1f} %".replace("-", MINUS)
        tiles.append(Tile("Largest difference", percent, where))
    tiles.append(Tile("Runs measured", f"{comparison.runs_done} of {comparison.runs_needed}", last_day(comparison)))
    return tiles


def _story(comparison: Comparison) -> list[str]:
    """Return the tolerance with its reason, and what limits the worth of the numbers."""
    sentences = []
    if comparison.tolerance is not None:
        sentences.append(f"Tolerance: {tolerance_text(comparison.tolerance)}; {comparison.tolerance.why.strip()}.")
    return [*sentences, *(f"{name.capitalize()}: {text}." for name, text in remarks(comparison))]


def _picture(file: Path) -> Picture:
    if file.suffix != ".svg":
        return Picture(file.name, "")
    return Picture(file.stem, base64.b64encode(read_bytes(file)).decode("ascii"))


def _cells(comparison: Comparison) -> Html | None:
    cells = [cell for cell in comparison.cells if cell.published is not None or cell.is_measured]
    if not cells:
        return None
    pairs = {(cell.column, cell.measure) for cell in cells}
    has_measures = len(pairs) > len({cell.column for cell in cells})
    heads = [*comparison.row_names, "column", "published", "measured", "by seed", "difference", "verdict"]
    if has_measures:
        heads.insert(len(comparison.row_names) + 1, "measure")
    body = []
    for cell in cells:
        texts = [cell.row.get(name, "") for name in comparison.row_names] + [cell.column]
        if has_measures:
            texts.append(cell.measure)
        texts += [published_text(cell), mean_text(cell), seeds_text(cell, comparison.seeds), difference_text(cell)]
        verdict: str | Html = verdict_text(cell)
        if cell.within is False:
            verdict = Html('<b class="outside">{}</b>').format(verdict)
        body.append([*texts, verdict])
    return table(heads, body, "cells", "Numbers")


def _orders(comparison: Comparison) -> Html | None:
    if not comparison.orders:
        return None
    body = [[order.text, place_text(comparison.row_names, order.row), order_text(order)] for order in comparison.orders]
    return table(["order, from better to worse", "in", ""], body, "orders", "Orders")


def _runs(comparison: Comparison, rows: Sequence[Row], runs: Path) -> Html | None:
    if not rows:
        return None
    measures = list(dict.fromkeys(name for row in rows for name in row.measures))
    origin = [name for name in ORIGIN if name != "settings"]  # a digest is nothing to read
    heads = ["run", "seed", *measures, *origin, ""]
    if comparison.diverged:
        heads.insert(2, "diverged")
    body = []
    for row in rows:
        texts = [_short(row.measures.get(name, "")) for name in measures]
        if comparison.diverged:
            texts.insert(0, row.diverged)
        texts += [row.origin.get(name, "") for name in origin]
        name = ", ".join(row.point.values()) or "run"
        body.append([name, str(row.seed), *texts, _link(row, runs)])
    return table(heads, body, "measured", "Runs")


def _link(row: Row, runs: Path) -> Html:
    place = PlannedRun(dict(row.point), row.seed).place
    if (runs / place / RUN_PAGE).is_file():
        return Html('<a href="{}">page</a>').format((runs.name / place / RUN_PAGE).as_posix())
    if (runs / place).is_dir():  # `edgefl report` makes a page of it
        return Html('<a href="{}/">folder</a>').format((runs.name / place).as_posix())
    return Html()


def _short(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[: MOST_CHARACTERS - 1]}…"


def _footer(comparison: Comparison) -> str:
    text = f"edgefl reproduce {comparison.name}"
    if comparison.covers:
        text += f" · stands for {', '.join(comparison.covers)}"
    return text
