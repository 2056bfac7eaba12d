"""A table of texts as LaTeX (booktabs) and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

NOTE = (
    "Mean and standard deviation over seeds. >T: never reached within T. (k/n): k of n seeds reached it, "
    "the number is the median with the others above all; there is no mean then."
)
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        ">": "$>$",
        "<": "$<$",
        "±": r"$\pm$",
        "·": r"$\cdot$",
        "µ": r"$\mu$",
        "−": "$-$",
        "–": "--",
        "…": r"\ldots{}",
    }
)


class Cell(NamedTuple):
    """A text, bold where it is the best of its column."""

    text: str
    best: bool = False


class Column(NamedTuple):
    """Cells below a name; neighbours of one `block` share a title above theirs."""

    block: str
    name: str
    cells: Sequence[Cell]
    text: bool = False  # stands at the left


def latex(columns: Sequence[Column]) -> str:
    """The tabular alone, to be put into a table with a caption of its own."""
    lines = [f"% {NOTE}", "% Needs \\usepackage{booktabs}."]
    lines += [f"\\begin{{tabular}}{{{''.join('l' if column.text else 'r' for column in columns)}}}", "\\toprule"]
    lines += [*_blocks(columns), _line([_escaped(column.name) for column in columns]), "\\midrule"]
    rows = zip(*(column.cells for column in columns), strict=True)
    lines += [_line([_bold(_escaped(cell.text), cell, "\\textbf{", "}") for cell in row]) for row in rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _blocks(columns: Sequence[Column]) -> list[str]:
    """The titles above the names, each over a rule."""
    titles, rules, place = [], [], 1
    for block, members in groupby(columns, lambda column: column.block):
        width = len(list(members))
        titles += [f"\\multicolumn{{{width}}}{{c}}{{{_escaped(block)}}}"] if block else [""] * width
        rules += [f"\\cmidrule(lr){{{place}-{place + width - 1}}}"] if block else []
        place += width
    return [_line(titles), " ".join(rules)]


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return " ".join(text.split()).translate(_LATEX)


def markdown(columns: Sequence[Column]) -> str:
    """A table and a line that says how to read it."""
    head = [f"{column.block}: {column.name}" if column.block else column.name for column in columns]
    rule = ["---" if column.text else "---:" for column in columns]
    rows = zip(*(column.cells for column in columns), strict=True)
    body = [[_bold(_plain(cell.text), cell, "**", "**") for cell in row] for row in rows]
    table = [f"| {' | '.join(row)} |" for row in (map(_plain, head), rule, *body)]
    return "\n".join([*table, "", _plain(NOTE)]) + "\n"


def _plain(text: str) -> str:
    """Text in which Markdown finds nothing to interpret."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return "".join(f"\\{character}" if character in r"\`*_[]" else character for character in text)


def _bold(text: str, cell: Cell, before: str, after: str) -> str:
    return f"{before}{text}{after}" if cell.best else text


DIALECTS: dict[str, Callable[[Sequence[Column]], str]] = {"latex": latex, "markdown": markdown}
