"""Published beside measured: differences, bounds, orders and the state, for numbers that are chosen by hand."""

from dataclasses import replace

import pytest
from recipe_cases import PARABOLA, answer, write_library

from edgefl.reproductions.comparison import compare
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan
from edgefl.reproductions.published import printed
from edgefl.reproductions.records import Row, read_rows, write_rows


def planned(folder, text=PARABOLA):
    library = Library(write_library(folder, table_1=text))
    return plan(library, library.load("textbook/table-1"), "full")


def rows_of(plan, value):
    """A row for each run, with `last` as a function of the point and the seed."""
    rows = {}
    for run in plan.runs:
        row = Row(dict(run.point), run.seed, {"last": str(value(run)), "path": "1 2"})
        rows[row.key] = row
    return rows


def exact(run):
    return answer(run.point["shape"], run.point["rate"])


@pytest.mark.parametrize(
    ("text", "form", "number", "std", "bound"),
    [
        ("45", "number", 45, None, False),
        ("45|1.00", "first", 45, None, False),
        (">1000|1.00", "first", 1000, None, True),
        ("98.08±0.03", "mean_std", 98.08, 0.03, False),
        ("98.08", "mean_std", 98.08, None, False),
        ("1.15e-163", "number", 1.15e-163, None, False),
        ("", "number", None, None, False),
        ("about 44", "text", None, None, False),
    ],
)
def test_printed_cells(text, form, number, std, bound):
    assert printed(text, form)[1:] == (number, std, bound)


def test_equal_numbers_are_within(tmp_path):
    plan = planned(tmp_path)
    found = compare(plan, rows_of(plan, exact))
    assert found.state == "within tolerance"
    assert found.counts() == (4, 4)


def test_mean_deviation_and_difference(tmp_path):
    plan = planned(tmp_path, PARABOLA.replace("seeds: [1]", "seeds: [1, 2, 3]"))
    cell = compare(plan, rows_of(plan, lambda run: run.seed)).cells[3]  # 0.5 is printed
    assert (cell.mean, cell.std, cell.difference, cell.relative) == (2.0, 1.0, 1.5, 3.0)


def test_one_number_outside_is_enough(tmp_path):
    plan = planned(tmp_path)
    rows = rows_of(plan, lambda run: exact(run) * (1.002 if run.point["rate"] == "fast" else 1))
    found = compare(plan, rows)
    assert found.state == "outside tolerance"
    assert not found.holds
    assert found.counts() == (2, 4)
    assert compare(replace(plan, gap="known"), rows).state == "a named gap"


def test_states_before_all_is_measured(tmp_path):
    plan = planned(tmp_path)
    assert compare(plan, {}).state == "not measured"
    assert compare(plan, {}, data_are_here=False).state == "needs data"
    rows = rows_of(plan, exact)
    del rows["flat", "slow", "1"]
    assert compare(plan, rows).state_text == "partly measured (3 of 4 runs)"


@pytest.mark.parametrize(
    ("printed_text", "measured", "within"),
    [
        (">100", ">100", True),  # neither reached the target
        (">100", "150", True),  # ours reached it, but only when theirs had ended
        (">100", "50", False),  # at least 50 % earlier
        ("100", ">300", False),  # at least three times as late
        ("100", ">50", None),  # ours ended too early to say
        ("100", ">100.01", None),  # it may be much more
        ("100", "100.05", True),
    ],
)
def test_bounds(tmp_path, printed_text, measured, within):
    plan = planned(tmp_path)
    cells = tuple(cell._replace(published=printed(printed_text, "number")) for cell in plan.cells)
    plan = replace(plan, cells=cells)
    assert compare(plan, rows_of(plan, lambda _: measured)).cells[0].within is within


@pytest.mark.parametrize(("better", "holds"), [("slow > fast", True), ("fast > slow", False)])
def test_orders_ask_for_better_columns_within_each_row(tmp_path, better, holds):
    plan = planned(tmp_path, PARABOLA.replace("relative: 0.001", f'orders: ["{better}"]'))
    found = compare(plan, rows_of(plan, exact))
    assert [order.holds for order in found.orders] == [holds, holds]
    assert found.holds is holds


def test_rows_are_read_as_they_were_written(tmp_path):
    plan = planned(tmp_path)
    rows = rows_of(plan, exact)
    write_rows(tmp_path / "rows.csv", rows.values())
    read = read_rows(tmp_path / "rows.csv", plan.axes)
    assert [(row.point, row.seed, row.measures) for row in read.values()] == [
        (row.point, row.seed, row.measures) for row in rows.values()
    ]


@pytest.mark.parametrize(
    ("tolerance", "within"),
    [
        ("{relative: 0.1, why: x}", True),
        ("{absolute: 0.04, why: x}", False),
        ("{relative: 0.1, absolute: 0.04, why: x}", False),  # both must hold
        ("{relative: 0.001, by_measure: {last: {absolute: 0.06, why: x}}, why: x}", True),  # in place of the rest
    ],
)
def test_all_that_a_tolerance_gives_must_hold(tmp_path, tolerance, within):
    plan = planned(tmp_path, PARABOLA.replace("{relative: 0.001, why: four digits are printed}", tolerance))
    cell = compare(plan, rows_of(plan, lambda run: exact(run) + 0.05)).cells[3]  # 0.5 is printed
    assert cell.within is within
