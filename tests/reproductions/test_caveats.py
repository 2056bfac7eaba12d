"""Misprints, numbers that count once, fitted readings, and states of orders and echoes, for numbers chosen by hand."""

import csv
from dataclasses import replace

import pytest
from recipe_cases import PARABOLA, answer, exact, planned, rows_of, with_divergence, write_library

from edgefl.core.errors import InputError
from edgefl.reproductions.comparison import compare
from edgefl.reproductions.library import Library
from edgefl.reproductions.pages import as_csv
from edgefl.reproductions.remarks import reading_text
from edgefl.reproductions.texts import order_text, published_text, state_with_notes
from edgefl.reproductions.web_page import render

MISPRINT = "misprinted: [{when: {shape: steep}, columns: fast, why: a copy of another row}]\n"
ORDER = PARABOLA.replace("relative: 0.001", 'orders: ["slow > fast"]')


def wrong_when_steep_and_fast(run):
    return 99 if tuple(run.point.values()) == ("steep", "fast") else exact(run)


# Misprints


def test_misprinted_cell_is_shown_and_never_counted(tmp_path):
    plan = planned(tmp_path, PARABOLA + MISPRINT)
    found = compare(plan, rows_of(plan, wrong_when_steep_and_fast))
    assert (found.state, found.counts()) == ("within tolerance", (3, 3))
    (cell,) = [cell for cell in found.cells if cell.is_misprint]
    assert (cell.row["shape"], cell.column, cell.mean) == ("steep", "fast", 99)
    assert (cell.difference, cell.relative, cell.within) == (None, None, None)
    assert published_text(cell) == f"{answer('steep', 'fast'):.4g}†"


def test_without_the_key_the_same_number_is_outside(tmp_path):
    plan = planned(tmp_path, PARABOLA)
    found = compare(plan, rows_of(plan, wrong_when_steep_and_fast))
    assert (found.state, found.counts()) == ("outside tolerance", (3, 4))


def test_misprinted_row_without_columns_is_the_whole_row(tmp_path):
    plan = planned(tmp_path, PARABOLA + "misprinted: [{when: {shape: [steep, flat]}, why: copies}]\n")
    found = compare(plan, rows_of(plan))
    assert all(cell.is_misprint for cell in found.cells)
    assert (found.state, found.counts()) == ("measured", (0, 0))


def test_misprinted_cell_asks_for_no_order(tmp_path):
    plan = planned(tmp_path, ORDER + MISPRINT)
    assert [order.row["shape"] for order in compare(plan, rows_of(plan)).orders] == ["flat"]


def test_reason_of_a_misprint_is_in_the_table_and_on_the_page(tmp_path):
    plan = planned(tmp_path, PARABOLA + MISPRINT)
    found = compare(plan, rows_of(plan))
    rows = list(csv.DictReader(as_csv(found).decode().splitlines()))
    assert list(rows[0])[-1] == "misprinted"
    assert [row["misprinted"] for row in rows] == ["", "", "", "a copy of another row"]
    page = render(found, tmp_path / "runs", [])
    assert "Misprinted: † steep, fast: a copy of another row." in page
    assert ">misprinted<" in page


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{when: {shpe: steep}, why: w}", r"when.shpe: steps.csv has no column shpe \(did you mean \"shape\"\?\)"),
        ("{when: {shape: round}, why: w}", "when: no row of steps.csv has these values"),
        ("{when: {shape: flat}, columns: fats, why: w}", r"columns: fats is not a column with numbers \(did you mean"),
        ("{when: {}, why: w}", "when: must not be empty"),
        ("{when: {shape: flat}}", "why: is required"),
    ],
)
@pytest.mark.parametrize("key", ["misprinted", "repeated"])
def test_remark_about_nothing_is_refused(tmp_path, key, entry, message):
    with pytest.raises(InputError, match=rf"table-1.yaml:\d+: {key}.0.{message}"):
        planned(tmp_path, f"{PARABOLA}{key}: [{entry}]\n")


def test_another_table_does_not_take_over_misprints(tmp_path):
    folder = write_library(
        tmp_path,
        table_1=PARABOLA + MISPRINT,
        table_2="like: textbook/table-1\npublished: others.csv\n",
        table_3="like: textbook/table-1\n",
    )
    text = (folder / "published" / "steps.csv").read_text()
    (folder / "published" / "others.csv").write_text(text)
    library = Library(folder)
    assert library.load("textbook/table-2").recipe.misprinted == ()
    assert library.load("textbook/table-3").recipe.misprinted == library.load("textbook/table-1").recipe.misprinted


# Numbers that count once


def test_cells_of_one_run_count_once(tmp_path):
    # Both shapes are printed, and stand for the runs of one: four cells, two runs.
    text = PARABOLA.replace("    steep: {data.coefficients: [[1.0, 0, 0]]}\n", "")
    plan = planned(tmp_path, text + "same: {shape: {steep: flat}}\n")
    found = compare(plan, rows_of(plan))
    assert len(plan.runs) == 2
    assert [cell.within for cell in found.cells] == [True, True, False, False]  # another shape is printed there
    assert found.counts() == (0, 2)  # a number is within tolerance if all of its cells are


@pytest.mark.parametrize(
    ("dependent", "counts"),
    [
        ("[{over: rate, why: w}]", (2, 2)),
        ("[{over: [rate, shape], why: w}]", (1, 1)),
        ("[{over: rate, when: {shape: flat}, why: w}]", (3, 3)),
        ("[{over: rate, when: {shape: flat}, why: w}, {over: rate, when: {shape: steep}, why: w}]", (2, 2)),
        ("[{over: shape, when: {rate: [slow, fast]}, why: w}]", (2, 2)),
    ],
)
def test_dependent_numbers_count_once(tmp_path, dependent, counts):
    plan = planned(tmp_path, f"{PARABOLA}dependent: {dependent}\n")
    assert compare(plan, rows_of(plan)).counts() == counts


def test_dependent_numbers_of_two_groups_do_not_become_one(tmp_path):
    # Both drop the axis rate, and leave the same other axes.
    groups = "[{over: rate, when: {rate: slow}, why: w}, {over: rate, when: {rate: fast}, why: w}]"
    plan = planned(tmp_path, f"{PARABOLA}dependent: {groups}\n")
    assert compare(plan, rows_of(plan)).counts() == (4, 4)


def test_dependence_over_an_unknown_axis_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"dependent.0.over: rte is not an axis \(did you mean \"rate\"\?\)"):
        planned(tmp_path, f"{PARABOLA}dependent: [{{over: rte, why: w}}]\n")
    with pytest.raises(InputError, match=r"dependent.0.when.rate: quick is not a value of rate"):
        planned(tmp_path, f"{PARABOLA}dependent: [{{over: shape, when: {{rate: quick}}, why: w}}]\n")


# States


def test_order_alone_is_never_within_tolerance(tmp_path):
    plan = planned(tmp_path, ORDER)
    found = compare(plan, rows_of(plan))
    assert (found.state, found.holds, found.counts()) == ("order holds", True, (0, 0))


@pytest.mark.parametrize(
    ("order", "state"), [("slow > fast", "within tolerance"), ("fast > slow", "outside tolerance")]
)
def test_numbers_and_orders_must_both_hold(tmp_path, order, state):
    plan = planned(tmp_path, PARABOLA.replace("relative: 0.001", f'relative: 0.001, orders: ["{order}"]'))
    assert compare(plan, rows_of(plan)).state == state


def test_echoed_inputs_do_not_count(tmp_path):
    plan = planned(
        tmp_path, PARABOLA.replace("{kind: column_final, column: parameter}", "{kind: scenario, key: training.lr}")
    )
    found = compare(plan, rows_of(plan))
    assert (found.state, found.holds, found.counts()) == ("echoes defaults", True, (0, 0))
    wrong = compare(plan, rows_of(plan, wrong_when_steep_and_fast))
    assert wrong.state == "outside tolerance"


def test_order_that_a_divergence_decides_is_told(tmp_path):
    plan = planned(tmp_path, ORDER)
    found = compare(plan, with_divergence(rows_of(plan), ("flat", "fast", "1")))
    assert [order.by_divergence for order in found.orders] == [True, False]
    assert order_text(found.orders[0]) == "holds trivially, as a run diverged"
    assert state_with_notes(found) == "order holds, in part as a run diverged"
    assert "holds trivially, as a run diverged" in render(found, tmp_path / "runs", [])


def test_orders_that_divergences_decide_alone_answer_nothing(tmp_path):
    plan = planned(tmp_path, ORDER)
    lost = [run.key for run in plan.runs if run.point["rate"] == "fast"]
    assert compare(plan, with_divergence(rows_of(plan), *lost)).state == "measured"


def test_diverged_run_of_the_better_column_fails_the_order(tmp_path):
    plan = planned(tmp_path, ORDER)
    assert compare(plan, with_divergence(rows_of(plan), ("flat", "slow", "1"))).state == "outside tolerance"


def test_scale_without_numbers_keeps_the_orders(tmp_path):
    small = "scales: {small: {numbers: false}}\n"
    plan = planned(tmp_path, PARABOLA + small, "small")
    assert compare(plan, rows_of(plan, lambda _: 1e9)).state == "measured"
    both = PARABOLA.replace("relative: 0.001", 'relative: 0.001, orders: ["slow > fast"]')
    plan = planned(tmp_path, both + small, "small")
    found = compare(plan, rows_of(plan, lambda run: 2e9 if run.point["rate"] == "slow" else 1e9))
    assert (found.state, found.counts()) == ("order holds", (0, 0))


# Readings


def test_fitted_reading_stands_beside_the_state(tmp_path):
    key = "reading: {fitted: five rounds are averaged, tried: 10, why: the same number in six checks}\n"
    plan = planned(tmp_path, PARABOLA + key)
    found = compare(plan, rows_of(plan))
    assert state_with_notes(found) == "within tolerance, reading: fitted"
    assert reading_text(found.reading) == "fitted: five rounds are averaged (10 tried); the same number in six checks"
    assert "Reading: fitted: five rounds are averaged" in render(found, tmp_path / "runs", [])
    assert state_with_notes(replace(found, reading=None)) == "within tolerance"


def test_reading_says_how_freely_it_was_chosen(tmp_path):
    with pytest.raises(InputError, match=r"reading: needs tried, how many readings were tried, or constants"):
        planned(tmp_path, PARABOLA + "reading: {fitted: five rounds, why: w}\n")
