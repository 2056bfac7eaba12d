"""The table `what_if.csv`: the costs of a finished run with other values of some keys."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.units import Unit, as_number, digits, percent, quantity, units_of_key
from edgefl.records.ledger import Columns
from edgefl.records.quantities import QUANTITIES, TOTALS, UPDATES, costs_of, quantities_of
from edgefl.results.csv_format import csv_cell
from edgefl.results.integrity import WHAT_IF_FILE
from edgefl.results.reader import text_of

TEXTS = ("key", "value", "refused")
AGAIN = "remove the file, and run edgefl what-if again"


@dataclass(frozen=True)
class WhatIfRow:
    """A row: the run itself, or the run with another value of one key."""

    key: str = ""  # empty: the run itself
    value: str = ""  # the text of the cell
    refused: str = ""  # why it is not priced
    costs: Mapping[str, float | None] = field(default_factory=dict)  # by column; empty if it is not priced


class Measure(NamedTuple):
    """A part of a run with a cost in each row: the whole run, or the way to a target."""

    name: str
    time: str  # the column of its virtual time
    energy: str  # the column of its energy
    round: str  # the column of its round


def measures_of(own: WhatIfRow) -> list[Measure]:
    """Return the measures in the row of a run: the whole run, and each target that it reached."""
    found = [Measure("whole run", "time_s", "energy_j", "rounds")]
    for column, value in own.costs.items():
        accuracy = column.removeprefix("target_").removesuffix("_round")
        if column == f"target_{accuracy}_round" and value is not None:
            columns = [f"target_{accuracy}_{name}" for name in ("time_s", "energy_j", "round")]
            found.append(Measure(f"to {percent(accuracy)}", *columns))
    return found


def value_text(key: str, cell: str) -> str:
    """Return a value of a key for readers: a number with its unit, anything else as in the table."""
    number = as_number(cell)
    if number is None:
        return cell.strip('"')
    return quantity(number, units_of_key(key))


def ratio(value: float | None, own: float | None) -> str:
    """Return the ratio of a cost to the run's own cost: "× 1.23"; an empty text if it is undefined."""
    if value is None or not own:
        return ""
    return f"× {digits(value / own)}"


def ratio_text(value: float | None, own: float | None, units: Sequence[Unit]) -> str:
    """Return a cost with its unit, and its ratio to the run's own cost."""
    return f"{quantity(value, units)} {ratio(value, own)}".rstrip()


def updates_text(row: WhatIfRow) -> str:
    """Return how many updates were received, with their share; an empty text in tables without them."""
    received, share = (row.costs.get(name) for name in UPDATES)
    if received is None or share is None:
        return ""
    return f"{received:.0f} ({percent(share)})"


def row_of(key: str, value: Any, summary: Mapping[str, Any]) -> WhatIfRow:
    """Return the row of a run that has been priced with a value of a key; without a key, of the run itself."""
    known = costs_of(quantities_of(summary), summary)
    costs = {cost.name: summary[cost.name] for cost in known}
    costs |= {name: QUANTITIES[name].of(summary) for name in UPDATES}
    for target in summary["targets"]:
        if target["accuracy"] is not None:
            costs |= {target_column(target["accuracy"], cost.at_target): target[cost.at_target] for cost in known}
    return WhatIfRow(key, value_cell(value) if key else "", "", costs)


def target_column(accuracy: float, name: str) -> str:
    """Return the column of a cost of a target, as in the index of a sweep."""
    return f"target_{accuracy:.6g}_{name}"


def value_cell(value: Any) -> str:
    """Return a value of a scenario as a cell: numbers and texts plain, mappings and lists as JSON."""
    if value is None or isinstance(value, bool | dict | list | tuple):
        return json.dumps(value)
    return csv_cell(value)


def columns_of(rows: Sequence[WhatIfRow]) -> Columns:
    """Return rows as the columns of the file."""
    columns: Columns = {name: [getattr(row, name) for row in rows] for name in TEXTS}
    for name in dict.fromkeys(name for row in rows for name in row.costs):
        columns[name] = [row.costs.get(name) for row in rows]
    return columns


def merged(before: Sequence[WhatIfRow], now: Sequence[WhatIfRow]) -> list[WhatIfRow]:
    """Return the new rows, and the rows of an earlier table with other keys.

    Earlier rows count only if they belong to the same run: if their first rows are equal.
    """
    if not before or cells(before[0]) != cells(now[0]):
        return list(now)
    new_keys = {row.key for row in now}
    return [now[0], *(row for row in before if row.key not in new_keys), *now[1:]]


def cells(row: WhatIfRow) -> dict[str, str]:
    """Return the cells of a row by column."""
    texts = {name: csv_cell(getattr(row, name)) for name in TEXTS}
    return texts | {name: csv_cell(value) for name, value in row.costs.items()}


def read_table(folder: Path) -> list[WhatIfRow]:
    """Return the rows of a result folder's table, the run itself first; none if the folder has no table.

    Raises:
        InputError: the table is damaged.
    """
    if not (folder / WHAT_IF_FILE).is_file():
        return []
    text = text_of(folder, WHAT_IF_FILE)
    try:
        rows = [_row(line) for line in csv.DictReader(io.StringIO(text, newline=""), strict=True)]
        _check(rows)
    except (ValueError, TypeError, csv.Error) as error:
        raise InputError(f"{folder / WHAT_IF_FILE}: is damaged ({error}): {AGAIN}") from None
    return rows


def _row(line: Mapping[str, str]) -> WhatIfRow:
    if None in line or None in line.values():
        raise ValueError("a line has more or fewer cells than the header")
    if not {*TEXTS, *TOTALS} <= line.keys():
        raise ValueError("a column is missing")
    numbers = {name: cell for name, cell in line.items() if name not in TEXTS}
    costs: dict[str, float | None] = {}
    if not line["refused"]:
        costs = {name: float(cell) if cell else None for name, cell in numbers.items()}
    return WhatIfRow(line["key"], line["value"], line["refused"], costs)


def _check(rows: Iterable[WhatIfRow]) -> None:
    for place, row in enumerate(rows):
        if (row.key == "") != (place == 0):
            raise ValueError("the first row, and no other, must be the run itself")
        if not row.refused and any(as_number(row.costs[name]) is None for name in TOTALS):
            raise ValueError("a total is not a number")
