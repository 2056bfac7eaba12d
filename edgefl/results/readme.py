"""The page `results/README.md`: what a result folder holds, with every column of its tables.

python -m edgefl.results.readme > results/README.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from edgefl.server.columns import COLUMNS_OF, INDEX_COLUMNS, WHAT_IF_COLUMNS, ResultColumn

INTRODUCTION = """\
# Results

`edgefl run` writes here: `results/<name>/seed-<N>/`, one folder for each run. Nothing in this folder but this page is
kept in git. `python -m edgefl.results.readme > results/README.md` writes this page from the table of columns in
`edgefl/server/columns.py`.
"""
FILES = """\
| file | content |
| --- | --- |
| `scenario.yaml` | the complete scenario with every default filled in; running it again gives the same bytes |
| `manifest.json` | versions, platform, processor, device, git revision, start, wall time, status, SHA-256 digests |
| `rounds.csv` | one row for each global round: virtual time, energy, bytes, losses, accuracy |
| `devices.csv` | one row for each participant and round: position, path loss, durations, energies, status |
| `contributions.csv` | what each participant added, where `report.contributions` asks for it (`docs/evaluation.md`) |
| `device_losses.csv` | losses before and after local training, where `report.device_losses` asks for them |
| `device_accuracy.csv` | accuracy of the final model on each device's own samples (`docs/evaluation.md`) |
| `predictions.csv` | which classes the model predicts in some rounds, where `report.predictions` names them |
| `labels_by_round.csv` | the same in each round for its participants, where `report.labels_by_round` asks for it |
| `labels.csv` | how many samples of each label each device holds |
| `tracks.csv` | where up to 30 devices moved, where any device moves (`docs/report.md`) |
| `events.parquet` | the event log |
| `summary.json` | totals, costs of reaching the targets, last tests (`docs/metrics.md`), fairness, wall-clock times |
| `parameters.npy` | the final global model, flat float32; `model: {init: {kind: file, path: ...}}` starts from it |
| `model.safetensors` | the same model: tensors by name, with the statistics of batch normalisation (`docs/python.md`) |
| `what_if.csv` | costs with other values of some keys, where they were asked for (`docs/what-if.md`) |
| `report.html` | one self-contained page (`docs/report.md`) |

Times and energies are virtual. Numbers have 12 significant digits; an empty cell means that nothing was measured. If a
participation was cut short, its durations, energies and bytes are those until then. Fairness in `summary.json` is the
accuracy of the final model on each device's own training samples (test samples with
`data.test_partition: like_train`): mean, variance, worst and best tenth of the devices.
"""
OUTRO_OF = {
    "rounds.csv": "An algorithm from outside the package may trace columns of its own, which stand behind these.",
}
INDEX_INTRODUCTION = """\
The folder of a sweep has a folder for each run, and one row for each of them in `index.csv` (`docs/sweeps.md`). `<key>`
stands for the dotted keys that the sweep varies, `<A>` for each accuracy in `targets`.
"""
WHAT_IF_INTRODUCTION = """\
The first row is the run itself (`docs/what-if.md`). `<A>` stands for each accuracy in `targets`.
"""
TYPE_NAMES = {bool: "`true` / `false`", int: "integer", float: "number", str: "text"}


def readme() -> str:
    """Return the text of the page."""
    return "\n".join([INTRODUCTION, *sections()])


def sections() -> list[str]:
    """Return what a result folder holds, and the columns of each of its tables, as Markdown."""
    texts = [FILES]
    for file, columns in COLUMNS_OF.items():
        section = f"## {file}\n{_table(columns)}"
        if file in OUTRO_OF:
            section += f"\n{OUTRO_OF[file]}\n"
        texts.append(section)
    texts.append(f"## what_if.csv\n{WHAT_IF_INTRODUCTION}\n{_table(WHAT_IF_COLUMNS)}")
    texts.append(f"## index.csv\n{INDEX_INTRODUCTION}\n{_table(INDEX_COLUMNS)}")
    return texts


def _table(columns: Sequence[ResultColumn]) -> str:
    """Return a Markdown table; which runs have a column is told where some do without it."""
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


if __name__ == "__main__":
    sys.stdout.write(readme())
