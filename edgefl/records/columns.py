"""The columns of all result files: names, types, units and meanings (`result_files.py` has the files).

The ledger, the readers of result folders, the exports and `results/README.md` take their columns from `columns.csv`,
and the ledger refuses any other column. To add a column to ``devices.csv``, add a line there, and a statement where its
value is known (`edgefl.server.accounting.device_columns`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from edgefl.core.words import table_of

ColumnType = type[bool | int | float | str]
TYPES: Mapping[str, ColumnType] = {"bool": bool, "int": int, "float": float, "str": str}


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result file."""

    name: str
    type: ColumnType
    unit: str  # empty for counts, fractions and texts
    meaning: str
    when: str = ""  # which runs have it; empty: all runs
    title: str = ""  # of its last value on the page of a run; empty: the page does not show that

    @property
    def optional(self) -> bool:
        """Whether only some runs have this column."""
        return bool(self.when)


def _tables() -> dict[str, tuple[ResultColumn, ...]]:
    """Return the columns of `columns.csv` by table."""
    tables = defaultdict(list)
    for row in table_of(__file__, "columns.csv"):
        texts = [row[name] for name in ("unit", "meaning", "when", "title")]
        tables[row["table"]].append(ResultColumn(row["column"], TYPES[row["type"]], *texts))
    return {name: tuple(columns) for name, columns in tables.items()}


COLUMNS: Mapping[str, tuple[ResultColumn, ...]] = _tables()
ROUND_COLUMNS = COLUMNS["rounds"]
DEVICE_COLUMNS = COLUMNS["devices"]
EVENT_COLUMNS = COLUMNS["events"]
# Keys of rows, which several files share
SESSION = DEVICE_COLUMNS[0]
ROUND = DEVICE_COLUMNS[1]
DEVICE = DEVICE_COLUMNS[2]
# A participant spends the sum of these, as far as a run has them.
ENERGY_COLUMNS = ("rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j", "setup_energy_j")


def fixed_names(columns: Iterable[ResultColumn]) -> tuple[str, ...]:
    """Return the names of the columns that every run writes, in the order of the file."""
    return tuple(column.name for column in columns if not column.optional)


def check_known(names: Iterable[str], columns: Sequence[ResultColumn]) -> None:
    """Check that all columns are known.

    Raises:
        KeyError: a column is not.
    """
    known = {column.name for column in columns}
    for name in names:
        if name not in known:
            raise KeyError(f"column {name} is unknown: add its type, unit and meaning to edgefl/records/columns.csv")
