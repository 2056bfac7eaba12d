"""Writes a study's page, and its comparison as CSV and LaTeX."""

from pathlib import Path

from edgefl.core.files import write_atomically
from edgefl.reproductions import drawing, web_page
from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.paper_table import as_latex
from edgefl.reproductions.study_folder import COMPARISON, LATEX, PAGE, RUNS
from edgefl.reproductions.texts import mean_text, seed_text
from edgefl.results.csv_format import csv_bytes


def write(comparison: Comparison, folder: Path) -> list[Path]:
    """Write a comparison and its figure into a folder; return the files."""
    contents = {COMPARISON: as_csv(comparison), LATEX: as_latex(comparison).encode()}
    folder.mkdir(parents=True, exist_ok=True)  # a comparison of recorded rows is the first thing in its folder
    pictures = drawing.draw(comparison, folder)
    contents[PAGE] = web_page.render(comparison, folder / RUNS, pictures).encode()
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [*(folder / name for name in contents), *pictures]


def as_csv(comparison: Comparison) -> bytes:
    """Return a comparison as CSV, one line for each cell."""
    cells = comparison.cells
    columns: dict[str, list[object]] = {}
    for name in dict.fromkeys(name for cell in cells for name in cell.row):
        columns[name] = [cell.row.get(name) for cell in cells]
    columns["column"] = [cell.column for cell in cells]
    columns["measure"] = [cell.measure for cell in cells]
    columns["published"] = [_printed(cell) for cell in cells]
    columns["mean"] = [_mean(cell) for cell in cells]
    columns["std"] = [cell.std for cell in cells]
    for seed in comparison.seeds:
        columns[f"seed_{seed}"] = [_measured(cell, seed) for cell in cells]
    columns["difference"] = [cell.difference for cell in cells]
    columns["relative_difference"] = [cell.relative for cell in cells]
    columns["within"] = [cell.within for cell in cells]
    columns["misprinted"] = [cell.published.misprint or None if cell.published else None for cell in cells]
    return csv_bytes(columns)


def _printed(cell: Cell) -> str | None:
    if cell.published is None:
        return None
    return cell.published.text


def _measured(cell: Cell, seed: int) -> str | None:
    return seed_text(cell, seed) or None


def _mean(cell: Cell) -> str | float | None:
    """Return the mean, with > before a bound, or how many seeds diverged."""
    if cell.diverged:
        return mean_text(cell)
    if cell.mean is None or not cell.bound:
        return cell.mean
    return f">{cell.mean:.12g}"
