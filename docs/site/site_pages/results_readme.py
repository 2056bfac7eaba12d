"""The page `results/README.md`: the files of a result folder, and every column of its tables."""

from collections.abc import Iterable, Sequence

from edgefl.records.columns import ResultColumn
from edgefl.records.quantities import INDEX_COLUMNS, WHAT_IF_COLUMNS
from edgefl.results.result_tables import columns_of_files, result_files

INTRODUCTION = """\
# Results

`edgefl run` writes here: `results/<name>/seed-<N>/`, one folder for each run. Only this page is kept in git.
`make pages` writes it from `edgefl/records/result_files.py` and the measures in
`edgefl/learning/measures`.
"""
NOTES = """\
Times and energies are virtual. Numbers have 12 significant digits; an empty cell means that nothing was measured. The
durations, energies and bytes of a participation that was cut short count until then. Fairness in `summary.json` is the
accuracy of the final model on each device's training samples (test samples with `data.test_partition: like_train`):
mean, variance, worst and best tenth of the devices.
"""
OUTRO_OF = {"rounds.csv": "Algorithms from outside the package may add columns at the end."}
INDEX_INTRODUCTION = """\
The folder of a sweep has a folder for each run, and `index.csv` has a row for each run (`docs/sweeps.md`). `<key>`
stands for each varied key, with dots, and `<A>` for each accuracy in `targets`.
"""
WHAT_IF_INTRODUCTION = """\
The first row is the run itself (`docs/what-if.md`). `<A>` stands for each accuracy in `targets`.
"""
TYPE_NAMES = {bool: "`true` / `false`", int: "integer", float: "number", str: "text"}


def text() -> str:
    """Return the text of the page."""
    return "\n".join([INTRODUCTION, *sections()])


def sections() -> list[str]:
    """Return sections in Markdown: the files of a result folder, and the columns of each table."""
    rows = [("file", "content"), ("---", "---")] + [(f"`{file.name}`", file.meaning) for file in result_files()]
    texts = ["".join(_line(row) for row in rows) + f"\n{NOTES}"]
    for file, columns in columns_of_files().items():
        section = f"## {file}\n{_table(columns)}"
        if file in OUTRO_OF:
            section += f"\n{OUTRO_OF[file]}\n"
        texts.append(section)
    texts.append(f"## what_if.csv\n{WHAT_IF_INTRODUCTION}\n{_table(WHAT_IF_COLUMNS)}")
    texts.append(f"## index.csv\n{INDEX_INTRODUCTION}\n{_table(INDEX_COLUMNS)}")
    return texts


def _table(columns: Sequence[ResultColumn]) -> str:
    """Return a Markdown table; optional columns say which runs have them."""
    some_optional = any(column.optional for column in columns)
    head = ["column", "type", "unit", "meaning"]
    if some_optional:
        head.append("only with")
    rows = [head, ["---"] * len(head)]
    for column in columns:
        row = [f"`{column.name}`", TYPE_NAMES[column.type], column.unit, column.meaning]
        if some_optional:
            row.append(column.when)
        rows.append(row)
    return "".join(_line(row) for row in rows)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"
