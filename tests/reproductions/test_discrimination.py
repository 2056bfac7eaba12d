"""The share of wrong numbers that a tolerance lets pass, against tables that are counted by hand."""

from dataclasses import replace

import pytest
from comparison_cases import cell, comparison

from edgefl.reproductions.discrimination import share_text, wrong_numbers, wrong_text
from edgefl.reproductions.published import Printed, printed
from edgefl.reproductions.recipe import Tolerance
from edgefl.reproductions.texts import tolerance_text

TABLE = {("IID", "FedAvg"): 10.0, ("IID", "FedSSG"): 12.0, ("DiD1", "FedAvg"): 20.0, ("DiD1", "FedSSG"): 50.0}


def of(cells, **limits):
    return comparison(cells, tolerance=Tolerance(why="as an example", **limits))


def exact_cells(numbers=TABLE):
    """Cells whose measured numbers are the printed ones."""
    return [cell(row, column, number, {1: number}) for (row, column), number in numbers.items()]


@pytest.mark.parametrize(
    ("absolute", "passing"),
    [
        (1e-12, 0),  # exact
        (1.9, 0),
        (2.0, 2),  # 10 for 12, and 12 for 10
        (29.9, 2),
        (30.0, 4),
        (1e300, 4),  # anything goes
    ],
)
def test_wrong_numbers_of_a_table_of_two_rows_and_columns(absolute, passing):
    assert wrong_numbers(of(exact_cells(), absolute=absolute)) == (passing, 4)


def test_numbers_that_missed_do_not_make_a_tolerance_look_sharp():
    far = [replace(one, mean=1e6, within=False) for one in exact_cells()]
    unmeasured = [replace(one, mean=None, within=None) for one in exact_cells()]
    for cells in (far, unmeasured):
        assert wrong_numbers(of(cells, absolute=2.0)) == (2, 4)


def test_a_tolerance_relative_to_the_error():
    """Of 90 and 95 the errors are 10 and 5: a half of the former reaches the other, a half of the latter does not."""
    tolerance = Tolerance(of_error=0.5, why="as an example")
    assert tolerance.limits(95.0) == [2.5]
    assert tolerance_text(tolerance) == "50 % of what the printed number lacks to 100"
    cells = exact_cells({("IID", "FedAvg"): 90.0, ("IID", "FedSSG"): 95.0})
    assert wrong_numbers(of(cells, of_error=0.5)) == (1, 2)


def test_a_relative_tolerance_is_relative_to_the_wrong_number():
    """10 is within 20 % of 12, and 12 within 20 % of 10; 20 and 50 are apart in both directions."""
    assert wrong_numbers(of(exact_cells(), relative=0.2)) == (2, 4)
    assert wrong_numbers(of(exact_cells(), relative=0.17)) == (1, 4)  # 10 for 12, as 2 / 12 is 0.167


def test_one_column_is_held_against_the_other_rows():
    cells = [cell(row, "FedAvg", number, {1: number}) for row, number in {"a": 1.0, "b": 2.0, "c": 4.0}.items()]
    assert wrong_numbers(of(cells, absolute=1.0)) == (2, 6)


def test_numbers_of_other_measures_are_not_wrong_ones():
    cells = [cell("IID", "FedAvg", 10.0, {1: 10.0}), cell("IID", "energy", 10.1, {1: 10.1}, measure="energy_j")]
    found = of(cells, absolute=1.0)
    assert wrong_numbers(found) == (0, 0)
    assert share_text(found) == wrong_text(found) == ""


def test_equal_printed_numbers_and_cells_without_numbers_are_left_out():
    cells = [
        cell("IID", "FedAvg", 10.0, {1: 10.0}),
        cell("IID", "FedDyn", 10.0, {1: 10.0}),
        cell("IID", "FedSSG", 12.0, {}, within=None),
        cell("IID", "FedDC", None, {1: 10.0}, within=None),
    ]
    assert wrong_numbers(of(cells, absolute=1.0)) == (0, 4)  # two tens, held against 12, and the other way round


def test_cells_of_one_run_are_not_wrong_ones():
    first, second = exact_cells()[:2]
    shared = [first, second.__class__(**{**vars(second), "point": first.point})]
    assert wrong_numbers(of(shared, absolute=100.0)) == (0, 0)


def test_bounds_that_decide_nothing_are_left_out():
    bound = replace(cell("IID", "FedAvg", 100.0, {}), published=Printed(">100", 100.0, bound=True))
    cells = [bound, cell("IID", "FedSSG", 110.0, {})]
    # Whether more than 100 is near 110 is unknown; 110 may be more than 100.
    assert wrong_numbers(of(cells, relative=0.1)) == (1, 1)


def test_without_a_limit_of_numbers_there_are_not_wrong_ones():
    assert wrong_numbers(comparison(tolerance=None)).share is None
    assert wrong_numbers(of(exact_cells(), orders=("FedSSG > FedAvg",))).held == 0


@pytest.mark.parametrize(("text", "deviation"), [("98.08±0.03", 0.03), ("98.08 ± 0.03", 0.03), ("98.08", None)])
def test_printed_deviations(text, deviation):
    assert printed(text, "mean_std").deviation == deviation


def test_a_tolerance_in_printed_deviations_differs_from_cell_to_cell():
    tolerance = Tolerance(deviations=2, why="as an example")
    assert tolerance.limits(98.0, 0.5) == [1.0]
    assert Tolerance(deviations=2, absolute=0.3, why="both").limits(98.0, 0.5) == [0.3, 1.0]
    assert tolerance.limits(98.0) == []


def test_wide_deviations_let_more_wrong_numbers_pass():
    def found(deviation):
        cells = [
            one.__class__(**{**vars(one), "published": Printed("", one.printed_number, deviation=deviation)})
            for one in exact_cells()
        ]
        return wrong_numbers(of(cells, deviations=1))

    assert [found(deviation) for deviation in (1.0, 2.0, 30.0)] == [(0, 4), (2, 4), (4, 4)]
