"""The page of a study: printed beside measured numbers, as one HTML file that needs no network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from edgefl.core.files import read_bytes
from edgefl.reproductions.charts import MEASURED_COLOUR, OUTSIDE_COLOUR, Chart, charts
from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.plan import PlannedRun
from edgefl.reproductions.records import ORIGIN, Row
from edgefl.reproductions.texts import (
    MINUS,
    difference_text,
    last_day,
    mean_text,
    place_text,
    published_text,
    seeds_text,
    tolerance_text,
    within_text,
)
from edgefl.results.report.shared.card import plot_area, titled_card
from edgefl.results.report.shared.resources import as_json, plotly, resource, scripts
from edgefl.results.report.shared.style import DARK, on_page, prose, template
from edgefl.results.report.shared.tables import table

RUN_PAGE = "report.html"
MOST_WIDE = 2  # charts over the whole width
MOST_LARGE = 12  # characters of a tile's value in large letters
MOST_OPEN = 30  # runs in a table that is open at first
MOST_CHARACTERS = 60  # of a measured text in the table of runs; curves are longer

STYLE = """
.tile strong.long { font-size: 19px; line-height: 34px; white-space: normal; }
.wide .plot { height: 430px; }
.wide .grid .plot { height: 330px; }
.wide .card + .card { margin-top: 14px; }
.wide .grid .card + .card { margin-top: 0; }
.cells td, .cells th { white-space: nowrap; }
.cells th:not(:first-child) { text-align: right; }
.story + .story { margin-top: 8px; }
.measured td:last-child { text-align: left; }
.figure img { max-width: 100%; }
"""


def render(comparison: Comparison, runs: Path, pictures: Sequence[Path]) -> str:
    """Return the page.

    Args:
        comparison: of the study.
        runs: the folder of the runs, to whose pages the page has links.
        pictures: the files of the recipe's figure.
    """
    drawn = charts(comparison)
    values = {
        "title": escape(f"{comparison.name}: {comparison.title}"),
        "subtitle": escape(_subtitle(comparison)),
        "banners": _banner(comparison),
        "headline": _tiles(comparison) + _story(comparison),
        "learning": _pictures(pictures) + _charts_section(comparison, drawn),
        "what_if": "",
        "details": _cells_section(comparison) + _orders_section(comparison),
        "results_title": "Runs",
        "results": _runs_section(comparison, runs),
        "sources": "",
        "footer": escape(_footer(comparison)),
        "style": resource("shared/style.css") + STYLE,
        "early": resource("shared/theme.js"),
        "plotly": plotly(),
        "figures": as_json({"template": template(), "dark": DARK, "figures": {one.name: one.figure for one in drawn}}),
        "script": scripts("shared/page.js"),
    }
    return Template(resource("shared/template.html")).substitute(values)


# The head of the page


def _subtitle(comparison: Comparison) -> str:
    seeds = "1 seed" if len(comparison.seeds) == 1 else f"{len(comparison.seeds)} seeds"
    return " · ".join([comparison.source, f"scale {comparison.scale}", seeds])


def _banner(comparison: Comparison) -> str:
    """Return a line for missing runs or numbers out of tolerance; empty if all holds."""
    if comparison.holds or comparison.state == "a named gap":
        return ""  # a tile and a text below it name the gap
    style = "bad" if comparison.state == "outside tolerance" else ""
    return f'<p class="banner {style}" role="status">{escape(comparison.state_text.capitalize())}.</p>'


def _tiles(comparison: Comparison) -> str:
    tiles = [_tile("State", comparison.state, f"scale {comparison.scale}")]
    within = within_text(comparison)
    if within:
        tiles.append(_tile("Cells within tolerance", within, "of those that could be compared"))
    known = [cell for cell in comparison.cells if cell.relative is not None]
    if known:
        furthest = max(known, key=lambda cell: abs(cell.relative or 0.0))
        where = f"{place_text(comparison.row_names, furthest.row)}, {furthest.column}".strip(", ")
        percent = f"{100 * (furthest.relative or 0.0):+.1f} %".replace("-", MINUS)
        tiles.append(_tile("Largest difference", percent, where))
    tiles.append(_tile("Runs measured", f"{comparison.runs_done} of {comparison.runs_needed}", last_day(comparison)))
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _tile(name: str, value: str, note: str) -> str:
    long = ' class="long"' if len(value) > MOST_LARGE else ""
    return (
        f'<div class="tile"><span class="name">{escape(name)}</span><strong{long}>{escape(value)}</strong>'
        f'<span class="note">{escape(note)}</span></div>'
    )


def _story(comparison: Comparison) -> str:
    """Return the tolerance with its reason, and the known gap."""
    sentences = []
    if comparison.tolerance is not None:
        sentences.append(f"Tolerance: {tolerance_text(comparison.tolerance)}; {comparison.tolerance.why.strip()}.")
    if comparison.gap is not None:
        sentences.append(f"Known gap: {comparison.gap.strip()}")
    return "".join(f'<p class="story">{prose(sentence)}</p>' for sentence in sentences)


# Charts


def _pictures(files: Sequence[Path]) -> str:
    """Return the pictures of the recipe's figure, and links to its other files."""
    parts = []
    for file in files:
        if file.suffix != ".svg":
            parts.append(f'<p class="note"><a href="{escape(file.name)}">{escape(file.name)}</a></p>')
            continue
        content = base64.b64encode(read_bytes(file)).decode("ascii")
        parts.append(
            f'<div class="card"><img alt="{escape(file.stem)}" src="data:image/svg+xml;base64,{content}"></div>'
        )
    if not parts:
        return ""
    return f'<section class="figure" id="figure"><h2>Figure</h2>{"".join(parts)}</section>'


def _charts_section(comparison: Comparison, drawn: Sequence[Chart]) -> str:
    if not drawn:
        return ""
    grid = ' class="grid"' if len(drawn) > MOST_WIDE else ""
    title = "Published and measured" if any(cell.asked for cell in comparison.cells) else "Measured"
    cards = "".join(titled_card(chart.title, plot_area(chart.name)) for chart in drawn)
    return f'<section id="published" class="wide"><h2>{title}</h2>{_key()}<div{grid}>{cards}</div></section>'


def _key() -> str:
    """Return the key to the marks of charts of cells."""
    return (
        '<div class="key"><span>◇ published</span>'
        f"<span>{_mark('●', MEASURED_COLOUR)} measured, with standard deviation</span>"
        f"<span>{_mark('•', MEASURED_COLOUR)} by seed</span>"
        f"<span>{_mark('●', OUTSIDE_COLOUR)} outside tolerance</span>"
        "<span>△ a bound: not all seeds reached the target</span></div>"
    )


def _mark(sign: str, colour: str) -> str:
    return f'<i class="sign" style="color:{on_page(colour)}">{sign}</i>'


# Tables


def _cells_section(comparison: Comparison) -> str:
    """Return the table with a line for each cell."""
    cells = [cell for cell in comparison.cells if cell.published is not None or cell.is_measured]
    if not cells:
        note = "Nothing is printed, and no number was read off."
        return f'<section id="cells"><h2>Numbers</h2><p class="note">{note}</p></section>'
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
        verdict = '<b class="outside">outside</b>' if cell.within is False else ""
        body.append([*map(escape, texts), verdict])
    content = table(list(map(escape, heads)), body, "cells", "Numbers")
    return f'<section id="cells"><h2>Numbers</h2><div class="card">{content}</div></section>'


def _orders_section(comparison: Comparison) -> str:
    """Return which of the required orders hold."""
    if not comparison.orders:
        return ""
    answers = {True: "holds", False: "does not hold", None: "not known yet"}
    body = [
        [escape(order.text), escape(place_text(comparison.row_names, order.row)), answers[order.holds]]
        for order in comparison.orders
    ]
    content = table(["order, from better to worse", "in", ""], body, "orders", "Orders")
    return f'<section id="orders"><h2>Orders</h2><div class="card">{content}</div></section>'


def _runs_section(comparison: Comparison, runs: Path) -> str:
    """Return the table of runs, with links to existing folders."""
    rows = [*comparison.rows, *comparison.diverged]
    if not rows:
        return '<p class="note">No run has been measured.</p>'
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
        body.append([escape(name), str(row.seed), *map(escape, texts), _link(row, runs)])
    state = " open" if len(rows) <= MOST_OPEN else ""
    content = table(list(map(escape, heads)), body, "measured", "Runs")
    return f'<details{state}><summary>{len(rows)} runs</summary><div class="card">{content}</div></details>'


def _link(row: Row, runs: Path) -> str:
    place = PlannedRun(dict(row.point), row.seed).place
    if (runs / place / RUN_PAGE).is_file():
        return f'<a href="{escape((runs.name / place / RUN_PAGE).as_posix())}">page</a>'
    if (runs / place).is_dir():  # `edgefl report` makes a page of it
        return f'<a href="{escape((runs.name / place).as_posix())}/">folder</a>'
    return ""


def _short(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[: MOST_CHARACTERS - 1]}…"


def _footer(comparison: Comparison) -> str:
    text = f"edgefl reproduce {comparison.name}"
    if comparison.covers:
        text += f" · stands for {', '.join(comparison.covers)}"
    return text
