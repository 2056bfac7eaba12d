"""The quantities of a whole run: what `summary.json` says about it.

Each quantity is declared once, as a line of `quantities.csv`. `summary.json`, the index of a sweep, the pages of runs
and studies, `compare`, `what-if`, exports, `edgefl explain` and the docs read this table. To add a quantity, add its
line, and give its value: the sum of columns of ``rounds.csv`` (`sums`), or what an observer returns at the end of the
run (`Observer.quantities`). A member from outside declares its own (`AddsColumns.quantities`).
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any

from edgefl.core.units import NO_NUMBER, PERCENT, Unit, as_number, quantity, score, units_of
from edgefl.core.words import table_of
from edgefl.records.columns import COLUMNS, TYPES, ColumnType, ResultColumn

LOSSES = "drops"  # the entry of summary.json that has the lost updates by cause
DECLARED = "declared"  # the entry of summary.json that has the quantities of members from outside


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number about a whole run."""

    name: str  # in summary.json, and the column of a sweep's index
    title: str  # on pages and in tables
    meaning: str  # Markdown
    _: KW_ONLY
    unit: str = ""  # empty for counts, fractions and indices
    type: ColumnType = float
    better: str = ""  # `more` or `less`; empty: neither
    is_share: bool = False  # a fraction, shown in percent
    when: str = ""  # which runs have it; empty: all runs
    sums: tuple[str, ...] = ()  # the columns of rounds.csv that it adds up
    terms: tuple[str, ...] = ()  # the titles of these columns, if there are several
    at_target: str = ""  # its name among the costs of a target; empty: not a cost
    within: str = ""  # the entry of summary.json that holds it; empty: none
    bound: str = ""  # the quantity that it would exceed in a run that has no value of it; empty: none
    end_of: str = ""  # the quantity whose error bar ends here; empty: none

    @property
    def column(self) -> ResultColumn:
        """The column of a sweep's index."""
        return ResultColumn(self.name, self.type, self.unit, self.meaning, self.when)

    @property
    def column_at_target(self) -> ResultColumn:
        """The column of its value when a target <A> was reached."""
        meaning = f"{self.title} until the end of the first round with that accuracy; empty if it was not reached"
        return ResultColumn(f"target_<A>_{self.at_target}", self.type, self.unit, meaning, self.when)

    @property
    def units(self) -> Sequence[Unit]:
        """The units that people read it in."""
        return PERCENT if self.is_share else units_of(self.unit)

    def of(self, summary: Mapping[str, Any]) -> float | None:
        """Return its value in a summary; None if it is unknown."""
        holder = summary.get(self.within) if self.within else summary
        if not isinstance(holder, Mapping):
            return None
        value = holder.get(self.name)
        return None if as_number(value) is None else value  # a count stays one

    def text(self, value: float | None) -> str:
        """Return a value for readers, with its unit."""
        if value is None:
            return NO_NUMBER
        if self.is_share:
            return score(value)
        if self.type is int and not self.unit:
            return f"{value:,.0f}"
        return quantity(value, self.units)


def _quantity(row: Mapping[str, str]) -> Quantity:
    """Return the quantity of a line of the table."""
    return Quantity(
        row["name"],
        row["title"],
        row["meaning"],
        unit=row["unit"],
        type=TYPES[row["type"]],
        better=row["better"],
        is_share=row["share"] == "yes",
        when=row["when"],
        sums=tuple(row["sums"].split()),
        terms=tuple(filter(None, row["terms"].split(" / "))),
        at_target=row["at_target"],
        within=row["within"],
        bound=row["bound"],
        end_of=row["end_of"],
    )


def _row(one: Quantity) -> dict[str, str]:
    """Return a quantity as a line of the table."""
    row = {name: str(value) for name, value in asdict(one).items() if name != "is_share"}
    share = "yes" if one.is_share else ""
    return row | {
        "type": one.type.__name__,
        "share": share,
        "sums": " ".join(one.sums),
        "terms": " / ".join(one.terms),
    }


SUMMARY = tuple(_quantity(row) for row in table_of(__file__, "quantities.csv"))
SHORT_NAMES = {  # that `--measure` also knows
    "time": "time_s",
    "energy": "energy_j",
    "accuracy": "final_accuracy",
    "received": "received_share",
    "wasted": "wasted_j",
}
QUANTITIES: Mapping[str, Quantity] = {one.name: one for one in SUMMARY}
COSTS = tuple(one for one in SUMMARY if one.at_target)  # of a target, and of the whole run
UPDATES = ("received", "received_share")  # the quantities that say how many updates arrived
TOTALS = tuple(one.name for one in COSTS if not one.when)  # those that every run has
_UPDATE_COLUMNS = tuple(QUANTITIES[name].column for name in UPDATES)
_TARGET_COLUMNS = tuple(cost.column_at_target for cost in COSTS)

# In these two tables <key> and <A> stand for keys that vary and for targets.
INDEX_COLUMNS = (*COLUMNS["index"], *(one.column for one in SUMMARY), *_TARGET_COLUMNS)
WHAT_IF_COLUMNS = (*COLUMNS["what_if"], *(cost.column for cost in COSTS), *_UPDATE_COLUMNS, *_TARGET_COLUMNS)
_INDEX_NAMES = frozenset(column.name for column in INDEX_COLUMNS)


def quantities_of(summary: Mapping[str, Any]) -> tuple[Quantity, ...]:
    """Return the quantities that a summary may have: those of edgefl, and those that it declares itself.

    Raises:
        ValueError: a declaration is damaged.
    """
    try:
        declared = [_quantity(entry) for entry in summary.get(DECLARED, ())]
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{DECLARED}: is damaged") from None
    return (*SUMMARY, *declared)


def declared_terms(summary: Mapping[str, Any]) -> list[ResultColumn]:
    """Return the columns of rounds.csv that quantities of members from outside add up.

    Raises:
        ValueError: a declaration is damaged.
    """
    declared = quantities_of(summary)[len(SUMMARY) :]
    return [
        ResultColumn(name, float, one.unit, one.meaning, "members from outside")
        for one in declared
        for name in one.sums
    ]


def costs_of(quantities: Iterable[Quantity], names: Container[str]) -> list[Quantity]:
    """Return the quantities that a target has costs of: those of all runs, and the others whose names are given."""
    return [one for one in quantities if one.at_target and (not one.when or one.name in names)]


def declarations(quantities: Iterable[Quantity]) -> list[dict[str, str]]:
    """Return the declarations of quantities of members from outside, for the summary."""
    return [_row(one) for one in quantities]


def key_column(key: str, others: Container[str]) -> str:
    """Return the name of the column with a swept key's values: the key, or `scenario.<key>` if that name is taken."""
    if key in others:
        return f"scenario.{key}"
    return key


def index_column(key: str) -> str:
    """Return the column of a swept key in a sweep's index and statistics."""
    return key_column(key, _INDEX_NAMES)
