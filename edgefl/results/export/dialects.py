"""A table of texts as LaTeX (booktabs) and as Markdown."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

NOTE = (
    "Mean and standard deviation over seeds. >T: never reached within T. (k/n): k of n seeds reached it, "
    "the number is the median with the others above all; there is no mean then."
)
# All together, as replacements contain characters of other replacements.
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
        "|": "$|$",  # a dash in LaTeX's usual fonts
    }
)
_MARKDOWN = str.maketrans({character: f"\\{character}" for character in r"\`*_[]"})


class Cell(NamedTuple):
    """A text, bold if it is the best of its column."""

    text: str
    best: bool = False


class TextColumn(NamedTuple):
    """Cells below a name; neighbouring columns of a `block` share a title."""

    block: str  # empty: no title
    name: str
    cells: Sequence[Cell]  # from the top
    left: bool = False  # aligned to the left, as texts; numbers are aligned to the right


def latex(columns: Sequence[TextColumn], note: str = NOTE) -> str:
    """Return the tabular, to be put into a table with a caption; the note becomes a comment."""
    alignment = "".join("l" if column.left else "r" for column in columns)
    lines = [
        f"% {note}",
        "% Needs \\usepackage{booktabs}.",
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        *_latex_block_titles(columns),
        _latex_line([_latex_text(column.name) for column in columns]),
        "\\midrule",
    ]
    lines += [_latex_line([_latex_cell(cell) for cell in row]) for row in _rows(columns)]
    lines += ["\\bottomrule", "\\end{tabular}"]
    return "\n".join(lines) + "\n"


def _rows(columns: Sequence[TextColumn]) -> list[list[Cell]]:
    count = len(columns[0].cells)
    return [[column.cells[row] for column in columns] for row in range(count)]


def _latex_block_titles(columns: Sequence[TextColumn]) -> list[str]:
    """Return the line of titles above the names, and the rules below it; nothing without blocks."""
    if not any(column.block for column in columns):
        return []
    titles = []
    rules = []
    first = 1  # LaTeX counts columns from 1
    for block, members in groupby(columns, lambda column: column.block):
        width = len(list(members))
        if block:
            titles.append(f"\\multicolumn{{{width}}}{{c}}{{{_latex_text(block)}}}")
            rules.append(f"\\cmidrule(lr){{{first}-{first + width - 1}}}")
        else:  # columns of labels have no block
            titles += [""] * width
        first += width
    return [_latex_line(titles), " ".join(rules)]


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: Cell) -> str:
    text = _latex_text(cell.text)
    if cell.best:
        return f"\\textbf{{{text}}}"
    return text


def _latex_text(text: str) -> str:
    return " ".join(text.split()).translate(_LATEX)


def markdown(columns: Sequence[TextColumn], note: str = NOTE) -> str:
    """Return a table with a note below it, if there is one."""
    heads = [_markdown_text(_markdown_name(column)) for column in columns]
    rules = ["---" if column.left else "---:" for column in columns]
    lines = [_markdown_line(heads), _markdown_line(rules)]
    lines += [_markdown_line([_markdown_cell(cell) for cell in row]) for row in _rows(columns)]
    if note:
        lines += ["", _markdown_text(note)]
    return "\n".join(lines) + "\n"


def _markdown_name(column: TextColumn) -> str:
    """Return a column's name with the title of its block, as Markdown cells cannot span columns."""
    if column.block:
        return f"{column.block}: {column.name}"
    return column.name


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell) -> str:
    text = _markdown_text(cell.text)
    if cell.best:
        return f"**{text}**"
    return text


def _markdown_text(text: str) -> str:
    # The ampersand first, as other replacements contain it.
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return text.translate(_MARKDOWN)


DIALECTS: dict[str, Callable[[Sequence[TextColumn], str], str]] = {"latex": latex, "markdown": markdown}
