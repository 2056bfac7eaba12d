"""The page of a study: what is printed beside what was measured, as one HTML file that needs no network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from edgefl.core.files import read_bytes
from edgefl.reproductions.charts import MEASURED_COLOUR, OUTSIDE_COLOUR, Chart, charts
from edgefl.reproductions.comparison import Cell, Comparison
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
from edgefl.results.report.shared import templates
from edgefl.results.report.shared.style import on_page, prose
from edgefl.results.report.shared.tables import table
from edgefl.results.report.shared.templates import Html

RUN_PAGE = "report.html"
MOST_WIDE = 2  # charts over the whole width
MOST_LARGE = 12  # characters of a tile's value in large letters
MOST_OPEN = 30  # runs that are listed without being asked for
MOST_CHARACTERS = 60  # of a measured text in the table of runs: curves are longer

PICTURE_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
STYLE = """
.tile strong.long { font-size: 19px; line-height: 34px; white-space: normal; }
.wide .plot { height: 430px; }
.wide .grid .plot { height: 330px; }
.wide .card + .card { margin-top: 14px; }
.wide .grid .card + .card { margin-top: 0; }
.cells td, .cells th { white-space: nowrap; }
.cells th:not(:first-child) { text-align: right; }
.cells .outside > * { background: var(--bad); }
.story + .story { margin-top: 8px; }
.measured td:last-child { text-align: left; }
.figure img { max-width: 100%; }
"""


def render(comparison: Comparison, runs: Path, pictures: Sequence[Path]) -> str:
    """Return the page.

    Args:
        comparison: what it shows.
        runs: the folder of the runs; those that have a page there are linked by a path relative to its parent.
        pictures: the files of the recipe's figure, if it has one.
    """
    drawn = charts(comparison)
    sections = (
        _banner(comparison)
        + _tiles(comparison)
        + _story(comparison)
        + _pictures(pictures)
        + _charts_section(comparison, drawn)
        + _cells_section(comparison)
        + _orders_section(comparison)
    )
    return templates.render(
        "reproductions/web_page.html.j2",
        title=f"{comparison.name}: {comparison.title}",
        subtitle=_subtitle(comparison),
        sections=Html(sections),
        runs=Html(_runs_section(comparison, runs)),
        footer=_footer(comparison),
        style=STYLE,
        styles=[],
        script_names=["shared/page.js"],
        data={"figures": {chart.name: chart.figure for chart in drawn}},
    )


# The head of the page


def _subtitle(comparison: Comparison) -> str:
    seeds = "1 seed"
    if len(comparison.seeds) != 1:
        seeds = f"{len(comparison.seeds)} seeds"
    return " · ".join([comparison.source, f"scale {comparison.scale}", seeds])


def _banner(comparison: Comparison) -> str:
    """Return a line that says what is missing or out of tolerance; nothing where all holds."""
    if comparison.holds or comparison.state == "a named gap":
        return ""  # the tile says it, and the text below what the gap is
    style = ""
    if comparison.state == "outside tolerance":
        style = "bad"
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
    long = ""
    if len(value) > MOST_LARGE:
        long = ' class="long"'
    return (
        f'<div class="tile"><span class="name">{escape(name)}</span><strong{long}>{escape(value)}</strong>'
        f'<span class="note">{escape(note)}</span></div>'
    )


def _story(comparison: Comparison) -> str:
    """Return what the tolerance is and why, and the gap that the recipe names."""
    sentences = []
    if comparison.tolerance is not None:
        sentences.append(f"Tolerance: {tolerance_text(comparison.tolerance)}; {comparison.tolerance.why.strip()}.")
    if comparison.gap is not None:
        sentences.append(f"Known gap: {comparison.gap.strip()}")
    return "".join(f'<p class="story">{escape(prose(sentence))}</p>' for sentence in sentences)


# Charts


def _pictures(files: Sequence[Path]) -> str:
    """Return the pictures of the recipe's own figure; other files of it are only linked."""
    parts = []
    for file in files:
        kind = PICTURE_TYPES.get(file.suffix)
        if kind is None:
            parts.append(f'<p class="note"><a href="{escape(file.name)}">{escape(file.name)}</a></p>')
            continue
        content = base64.b64encode(read_bytes(file)).decode("ascii")
        parts.append(f'<div class="card"><img alt="{escape(file.stem)}" src="data:{kind};base64,{content}"></div>')
    if not parts:
        return ""
    return f'<section class="figure" id="figure"><h2>Figure</h2>{"".join(parts)}</section>'


def _charts_section(comparison: Comparison, drawn: Sequence[Chart]) -> str:
    marks = [chart for chart in drawn if not chart.lines]
    curves = [chart for chart in drawn if chart.lines]
    text = ""
    if marks:
        cards = "".join(_card(chart) for chart in marks)
        grid = ""
        if len(marks) > MOST_WIDE:
            grid = ' class="grid"'
        title = "Measured"
        if any(cell.asked for cell in comparison.cells):
            title = "Published and measured"
        head = f'<section id="published" class="wide"><h2>{title}</h2>{_key()}'
        text += f"{head}<div{grid}>{cards}</div></section>"
    if curves:
        cards = "".join(_card(chart) for chart in curves)
        text += (
            '<section id="curves"><h2>Curves</h2><p class="note">Each seed, and their mean in a thicker line.</p>'
            f'<div class="grid">{cards}</div></section>'
        )
    return text


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


def _card(chart: Chart) -> str:
    key = "".join(
        f'<span><i class="dot" style="background:{on_page(colour)}"></i>{escape(name)}{_dashed(dash)}</span>'
        for name, colour, dash in chart.lines
    )
    if key:
        key = f'<div class="key">{key}</div>'
    return (
        f'<div class="card"><h3>{escape(chart.title)}</h3>{key}'
        f'<div class="plot" data-figure="{escape(chart.name)}"></div></div>'
    )


def _dashed(dash: str) -> str:
    if dash == "solid":
        return ""
    return f" ({dash})"


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
    lines = "".join(_cell_line(comparison, cell, has_measures=has_measures) for cell in cells)
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    return (
        '<section id="cells"><h2>Numbers</h2><div class="card scroll"><table class="cells">'
        f'<caption class="unseen">Numbers</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div></section>"
    )


def _cell_line(comparison: Comparison, cell: Cell, *, has_measures: bool) -> str:
    texts = [cell.row.get(name, "") for name in comparison.row_names]
    texts.append(cell.column)
    if has_measures:
        texts.append(cell.measure)
    texts += [published_text(cell), mean_text(cell), seeds_text(cell, comparison.seeds), difference_text(cell)]
    style = ""
    verdict = ""
    if cell.within is False:
        style = ' class="outside"'
        verdict = "outside"
    texts.append(verdict)
    first = f'<th scope="row">{escape(texts[0])}</th>'
    return f"<tr{style}>{first}{''.join(f'<td>{escape(text)}</td>' for text in texts[1:])}</tr>"


def _orders_section(comparison: Comparison) -> str:
    """Return which of the orders that the recipe asks for hold."""
    if not comparison.orders:
        return ""
    answers = {True: "holds", False: "does not hold", None: "not known yet"}
    body = [
        [order.text, place_text(comparison.row_names, order.row), answers[order.holds]] for order in comparison.orders
    ]
    content = table(["order, from better to worse", "in", ""], body, "orders", "Orders")
    return f'<section id="orders"><h2>Orders</h2><div class="card">{content}</div></section>'


def _runs_section(comparison: Comparison, runs: Path) -> str:
    """Return the table of runs, with links to the pages of those that are still there."""
    rows = [*comparison.rows, *comparison.diverged]
    if not rows:
        return '<p class="note">No run has been measured.</p>'
    measures = list(dict.fromkeys(name for row in rows for name in row.measures))
    origin = [name for name in ORIGIN if name != "settings"]  # a digest, which tells a reader nothing
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
    state = ""
    if len(rows) <= MOST_OPEN:
        state = " open"
    content = table(heads, body, "measured", "Runs")
    return f'<details{state}><summary>{len(rows)} runs</summary><div class="card">{content}</div></details>'


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
