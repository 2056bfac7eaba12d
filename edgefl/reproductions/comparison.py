"""A published table beside measured numbers: the difference of every cell, and the state of the whole."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from edgefl.reproductions.caveats import Dependence, FittedReading, NumberKey, number_key
from edgefl.reproductions.figure import Figure
from edgefl.reproductions.plan import Plan, PlannedCell
from edgefl.reproductions.published import Printed
from edgefl.reproductions.readings.base import Better, Reading, orders_better
from edgefl.reproductions.recipe import ScaleName, Tolerance
from edgefl.reproductions.records import Row, Rows
from edgefl.reproductions.relations import related

State = Literal[
    "within tolerance",
    "order holds",
    "echoes defaults",
    "a named gap",
    "outside tolerance",
    "measured",
    "partly measured",
    "not measured",
    "needs data",
]
"""`within tolerance`: numbers were compared, and all of them agree, as do the orders, if any are asked for; `order
holds`: only orders are asked for; `echoes defaults`: the numbers are what the runs were given; `measured`: neither a
printed number nor an order can be compared."""

HOLDS: frozenset[State] = frozenset({"within tolerance", "order holds", "echoes defaults", "measured"})

ROUNDING = 1e-9  # relative to a printed number: rounding of floats misses no tolerance


class Measured(NamedTuple):
    """A measured number."""

    number: float
    bound: bool = False  # the target was not reached

    @property
    def text(self) -> str:
        """The number in short, with > before a bound."""
        return f"{'>' if self.bound else ''}{self.number:.6g}"


@dataclass(frozen=True)
class Cell:
    """A printed cell beside measured numbers."""

    row: Mapping[str, str]  # the labels of its row, by the columns of the printed table
    column: str
    measure: str
    point: Mapping[str, str]  # the values of the axes
    published: Printed | None  # None where nothing is printed
    by_seed: Mapping[int, Measured]  # the seeds that have been measured
    mean: float | None  # over the seeds; None if nothing was measured, or a run diverged
    std: float | None  # over the seeds, n - 1; None with fewer than two, or with a bound among them
    bound: bool  # the mean is a bound
    difference: float | None  # the mean minus the printed number; None if one of them is unknown
    relative: float | None  # the difference over the printed number
    within: bool | None  # the tolerance; None if there is none, or it cannot be decided
    diverged: frozenset[int] = frozenset()  # the seeds whose runs diverged
    further_seeds: frozenset[int] = frozenset()  # seeds of other rows of its run, which do not count

    @property
    def is_measured(self) -> bool:
        """True if one of its runs has ended or diverged."""
        return bool(self.by_seed or self.diverged)

    @property
    def printed_number(self) -> float | None:
        """The printed number, if any."""
        return None if self.published is None else self.published.number

    @property
    def is_misprint(self) -> bool:
        """True if the printed text cannot be what was measured."""
        return self.published is not None and bool(self.published.misprint)

    @property
    def asked(self) -> bool:
        """True if a number is printed to compare with."""
        return self.printed_number is not None


@dataclass(frozen=True)
class Order:
    """An order of columns in one row, which the recipe's tolerance requires."""

    text: str
    row: Mapping[str, str]
    holds: bool | None  # None if one of them is missing
    by_divergence: bool = False  # it holds because a run of the worst column diverged, which says little


@dataclass(frozen=True)
class Comparison:
    """A recipe's table at a scale: published beside measured."""

    name: str  # PAPER/ITEM
    title: str
    source: str
    covers: tuple[str, ...]
    scale: ScaleName
    cells: tuple[Cell, ...]  # row by row
    orders: tuple[Order, ...]
    tolerance: Tolerance | None
    gap: str | None
    state: State
    runs_done: int
    runs_needed: int
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]  # of finished runs, with version, commit and date
    figure: Figure | None = None
    measures: Mapping[str, Reading] = field(default_factory=dict)
    diverged: tuple[Row, ...] = ()  # the runs that diverged
    dependent: tuple[Dependence, ...] = ()  # which numbers count once
    reading: FittedReading | None = None  # a choice that was made after looking at the printed numbers
    no_evidence: str | None = None  # why an agreement says nothing

    @property
    def holds(self) -> bool:
        """True if all was measured, and the tolerance holds."""
        return self.state in HOLDS

    @property
    def row_names(self) -> list[str]:
        """The names of the columns that tell rows apart, or all of them if none does."""
        names = list(dict.fromkeys(name for cell in self.cells for name in cell.row))
        telling = [name for name in names if len({cell.row.get(name) for cell in self.cells}) > 1]
        return telling or names

    @property
    def state_text(self) -> str:
        """The state, with the number of measured runs if some are missing."""
        if self.state != "partly measured":
            return self.state
        text = f"partly measured ({self.runs_done} of {self.runs_needed} runs)"
        answers = [cell.within for cell in self.cells] + [order.holds for order in self.orders]
        if False in answers:
            return f"{text}, so far {_outside(self.gap)}"
        if True in answers:
            if not any(cell.within is not None for cell in self.cells):
                return f"{text}, so far the order holds"
            return f"{text}, so far within tolerance"
        return text

    def independent(self) -> list[list[Cell]]:
        """Return the compared cells of each independent number.

        Cells of the same run and measure are one number, as are numbers that follow from one another (`dependent`).
        What a run was given is none, and a number that another row prints, too, counts there (`repeated`).
        """
        found: dict[NumberKey, list[Cell]] = {}
        for cell in self.cells:
            is_repeated = cell.published is not None and cell.published.repeated
            if cell.within is not None and not is_repeated and not _is_input(self.measures, cell):
                key = number_key(cell.point, cell.measure, self.dependent)
                found.setdefault(key, []).append(cell)
        return list(found.values())

    def counts(self) -> tuple[int, int]:
        """Return how many independent numbers are within tolerance, all of their cells, and how many were compared."""
        numbers = self.independent()
        return sum(all(cell.within for cell in cells) for cells in numbers), len(numbers)


def compare(plan: Plan, rows: Rows, *, data_are_here: bool = True) -> Comparison:
    """Return the comparison of a recipe's printed numbers with measured rows.

    Args:
        plan: the recipe's plan.
        rows: measured rows; those of other runs are ignored.
        data_are_here: whether this machine has the data of the runs.
    """
    further = _further_seeds(plan, rows)
    cells = tuple(_cell(plan, cell, rows, further) for cell in plan.cells)
    orders = _orders(plan, cells)
    needed = plan.runs
    done = [run for run in needed if run.key in rows and not missing(plan, run.key, rows)]
    found = [rows[run.key] for run in needed if run.key in rows]
    return Comparison(
        name=plan.entry.name,
        title=plan.recipe.title,
        source=plan.recipe.source,
        covers=plan.recipe.covers,
        scale=plan.scale,
        cells=cells,
        orders=orders,
        tolerance=plan.tolerance,
        gap=plan.gap,
        state=_state(plan, cells, orders, len(done) / len(needed), data_are_here=data_are_here),
        runs_done=len(done),
        runs_needed=len(needed),
        seeds=plan.seeds,
        rows=tuple(row for row in found if not row.diverged),
        figure=plan.recipe.figure,
        measures=plan.recipe.measures,
        diverged=tuple(row for row in found if row.diverged),
        dependent=plan.recipe.dependent,
        reading=plan.recipe.reading,
        no_evidence=plan.recipe.no_evidence,
    )


def missing(plan: Plan, key: tuple[str, ...], rows: Rows) -> set[str]:
    """Return the measures of a run's cells that its row lacks, or all of them without a row."""
    wanted = plan.needed_measures(key)
    row = rows.get(key)
    if row is None:
        return wanted
    if row.diverged:
        return set()
    return {measure for measure in wanted if measure not in row.measures}


def measured(text: str) -> Measured | None:
    """Return a number of a row; None if the text is empty or a curve."""
    try:
        found = Measured(float(text.removeprefix(">")), text.startswith(">"))
    except ValueError:
        return None
    return found if math.isfinite(found.number) else None


def _further_seeds(plan: Plan, rows: Rows) -> Mapping[tuple[str, ...], set[int]]:
    """Return the seeds that the plan lacks, of the rows of each point."""
    found: dict[tuple[str, ...], set[int]] = {}
    for row in rows.values():
        if row.seed not in plan.seeds:
            found.setdefault(row.key[:-1], set()).add(row.seed)
    return found


def _cell(plan: Plan, planned: PlannedCell, rows: Rows, further: Mapping[tuple[str, ...], set[int]]) -> Cell:
    by_seed: dict[int, Measured] = {}
    diverged: set[int] = set()
    for seed in plan.seeds:
        row = rows.get((*planned.point.values(), str(seed)))
        if row is None:
            continue
        if _diverged(plan, planned, seed, rows):
            diverged.add(seed)
            continue
        texts = row.measures
        if planned.measure in plan.recipe.relations:
            texts = _related(plan, planned, seed, rows)
        found = measured(texts.get(planned.measure, ""))
        if found is not None:
            by_seed[seed] = found
    mean: float | None = None
    std: float | None = None
    bound = any(one.bound for one in by_seed.values())
    if by_seed and not diverged:  # a mean without the diverged runs would flatter
        numbers = [one.number for one in by_seed.values()]
        mean = statistics.fmean(numbers)
        if len(numbers) > 1 and not bound:
            std = statistics.stdev(numbers)
    difference = _difference(planned.published, mean, bound=bound)
    relative: float | None = None
    if difference is not None and planned.published is not None and planned.published.number:
        relative = difference / abs(planned.published.number)
    tolerance = None if plan.tolerance is None else plan.tolerance.of(planned.measure)
    within = is_within(planned.published, tolerance, mean, bound=bound)
    if diverged and tolerance is not None and planned.published is not None and planned.published.number is not None:
        within = False
    return Cell(
        **planned._asdict(),
        by_seed=by_seed,
        mean=mean,
        std=std,
        bound=bound,
        difference=difference,
        relative=relative,
        within=within,
        diverged=frozenset(diverged),
        further_seeds=frozenset(further.get(tuple(planned.point.values()), ())),
    )


def _diverged(plan: Plan, planned: PlannedCell, seed: int, rows: Rows) -> bool:
    """Return whether a cell's run with a seed, or the other run of its relation, diverged."""
    points = [planned.point]
    if planned.measure in plan.recipe.relations:
        points.append(plan.related_point(planned))
    found = [rows.get((*point.values(), str(seed))) for point in points]
    return any(row is not None and row.diverged for row in found)


def _related(plan: Plan, planned: PlannedCell, seed: int, rows: Rows) -> Mapping[str, str]:
    """Return the value of a cell's relation by its name; empty if one of the two runs is missing."""
    own = rows.get((*planned.point.values(), str(seed)))
    other = rows.get((*plan.related_point(planned).values(), str(seed)))
    if own is None or other is None:
        return {}
    return {planned.measure: related(plan.recipe.relations[planned.measure], own.measures, other.measures)}


def _difference(published: Printed | None, mean: float | None, *, bound: bool) -> float | None:
    """Return mean minus printed number; of bounds only the certain part of the difference."""
    if published is None or published.number is None or mean is None:
        return None
    difference = mean - published.number
    # Both did not reach the target, or the measured run ended later than the printed one.
    if published.bound and (bound or difference >= 0):
        return None
    if bound and difference < 0:
        return None
    return difference


def is_within(
    published: Printed | None, tolerance: Tolerance | None, mean: float | None, *, bound: bool
) -> bool | None:
    """Return whether a mean is within a tolerance; None if there is none, or it cannot be decided."""
    if published is None or published.number is None or tolerance is None or mean is None:
        return None
    if published.bound and (bound or mean >= published.number):
        return True  # both did not reach the target, or only later than the printed run ended
    difference = _difference(published, mean, bound=bound)
    if difference is None:
        return None
    limits = tolerance.limits(published.number, published.deviation)
    if not limits:
        return None  # the tolerance is in printed deviations, and none is printed
    near = all(abs(difference) <= limit + ROUNDING * abs(published.number) for limit in limits)
    if near and (bound or published.bound):
        return None  # the true difference may be larger
    return near


def _orders(plan: Plan, cells: Sequence[Cell]) -> tuple[Order, ...]:
    if plan.tolerance is None:
        return ()
    rows: dict[tuple[tuple[str, str], ...], dict[str, Cell]] = {}
    for cell in cells:
        rows.setdefault(tuple(cell.row.items()), {})[cell.column] = cell
    found = []
    for order in plan.tolerance.orders:
        for row, by_column in rows.items():
            # A scale may run only some columns.
            names = [name for name in (part.strip() for part in order.split(">")) if name in by_column]
            names = [name for name in names if not by_column[name].is_misprint]
            if len(names) > 1:
                text = " > ".join(names)
                ordered = [by_column[name] for name in names]
                holds = _ordered(plan, ordered)
                found.append(Order(text, dict(row), holds, holds is True and bool(ordered[-1].diverged)))
    return tuple(found)


def _ordered(plan: Plan, cells: Sequence[Cell]) -> bool | None:
    """Return whether cells go from better to worse; None if a cell is missing, or two are bounds or diverged.

    A diverged run is worse than any other.
    """
    if any(cell.mean is None and not cell.diverged for cell in cells):
        return None
    if sum(cell.bound or bool(cell.diverged) for cell in cells) > 1:
        return None
    direction = plan.reading(cells[0].measure).direction
    return orders_better(direction, [_in_order(cell, direction) for cell in cells])


def _in_order(cell: Cell, direction: Better) -> float:
    if cell.diverged:
        return math.inf if direction == "lower" else -math.inf
    if cell.bound:  # a target that was not reached
        return math.inf
    return float(cell.mean or 0.0)


def _state(plan: Plan, cells: Sequence[Cell], orders: Sequence[Order], done: float, *, data_are_here: bool) -> State:
    """Return the state of a comparison with a measured share `done` of its runs."""
    if done == 0:
        return "not measured" if data_are_here else "needs data"
    if done < 1:
        return "partly measured"
    asked = [cell for cell in cells if cell.asked] if _asks_numbers(plan) else []
    # An order that holds because a run diverged answers nothing.
    answers = [order.holds for order in orders if not order.by_divergence]
    if not all([*answers, *(cell.within for cell in asked)]):
        return _outside(plan.gap)
    if any(not _is_input(plan.recipe.measures, cell) for cell in asked):
        return "within tolerance"
    if answers:
        return "order holds"
    return "echoes defaults" if asked else "measured"


def _is_input(measures: Mapping[str, Reading], cell: Cell) -> bool:
    """Return whether a cell's measure reads what the run was given."""
    return cell.measure in measures and measures[cell.measure].is_input


def _outside(gap: str | None) -> Literal["outside tolerance", "a named gap"]:
    return "outside tolerance" if gap is None else "a named gap"


def _asks_numbers(plan: Plan) -> bool:
    """Return whether the tolerance limits numbers, not only orders."""
    tolerance = plan.tolerance
    if tolerance is None:
        return False
    parts = [tolerance, *tolerance.by_measure.values()]
    return any(part.asks_numbers for part in parts)
