"""Published beside measured: differences, bounds, orders and the state, for numbers that are chosen by hand."""

from dataclasses import replace

import pytest
from recipe_cases import DIVERGED, PARABOLA, exact, planned, rows_of, with_divergence

from edgefl.core.errors import InputError
from edgefl.reproductions.comparison import compare, measured
from edgefl.reproductions.published import printed
from edgefl.reproductions.records import Row, read_rows, write_rows
from edgefl.reproductions.texts import mean_text, seeds_text


@pytest.mark.parametrize("cell", ["inf", "-inf", "1e400", "x", "1 inf", ">inf", "[1, 2]", "1;2"])
@pytest.mark.parametrize("name", ["last", "path"])
def test_measured_cell_without_a_number_is_refused(tmp_path, name, cell):
    row = Row({"shape": "flat", "rate": "slow"}, 1, {"last": "1", "path": "1 nan 2"} | {name: cell})
    write_rows(tmp_path / "measured.csv", [row])
    with pytest.raises(InputError, match=f"measured.csv:2: {name}: must be a finite number, or several of them, got "):
        read_rows(tmp_path / "measured.csv", list(row.point))


def test_infinite_duration_is_refused(tmp_path):
    row = Row({"shape": "flat", "rate": "slow"}, 1, {"last": "1"}, {"took_s": "inf"})
    write_rows(tmp_path / "measured.csv", [row])
    with pytest.raises(InputError, match=r"measured\.csv:2: seed and took_s must be numbers"):
        read_rows(tmp_path / "measured.csv", list(row.point))


def test_samples_that_the_data_lacked_stay_with_their_row(tmp_path):
    """The column is there only if a row has it, so that files of whole sets do not change."""
    whole = Row({"shape": "flat", "rate": "slow"}, 1, {"last": "1"})
    partial = Row({"shape": "flat", "rate": "slow"}, 2, {"last": "1"}, {"data_lacks": "59 of 50,000 samples"})
    write_rows(tmp_path / "measured.csv", [whole])
    assert "data_lacks" not in (tmp_path / "measured.csv").read_text()
    write_rows(tmp_path / "measured.csv", [whole, partial])
    found = read_rows(tmp_path / "measured.csv", list(whole.point))
    assert [row.origin["data_lacks"] for row in found.values()] == ["", "59 of 50,000 samples"]


@pytest.mark.parametrize("text", ["", "nan", "1 2"])
def test_texts_other_than_one_number_count_as_not_measured(text):
    assert measured(text) is None


@pytest.mark.parametrize(
    ("text", "form", "number", "bound"),
    [
        ("45", "number", 45, False),
        ("45|1.00", "first", 45, False),
        (">1000|1.00", "first", 1000, True),
        ("98.08±0.03", "mean_std", 98.08, False),
        ("98.08", "mean_std", 98.08, False),
        ("1.15e-163", "number", 1.15e-163, False),
        ("", "number", None, False),
        ("about 44", "text", None, False),
    ],
)
def test_printed_cells(text, form, number, bound):
    found = printed(text, form)
    assert (found.number, found.bound) == (number, bound)


def test_equal_numbers_are_within(tmp_path):
    plan = planned(tmp_path)
    found = compare(plan, rows_of(plan))
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


def test_state_counts_runs_until_all_are_measured(tmp_path):
    plan = planned(tmp_path)
    assert compare(plan, {}).state == "not measured"
    assert compare(plan, {}, data_are_here=False).state == "needs data"
    rows = rows_of(plan)
    del rows["flat", "slow", "1"]
    assert compare(plan, rows).state_text == "partly measured (3 of 4 runs), so far within tolerance"
    rows = {key: replace(row, measures={**row.measures, "last": "1e9"}) for key, row in rows.items()}
    assert compare(plan, rows).state_text == "partly measured (3 of 4 runs), so far outside tolerance"
    assert compare(replace(plan, gap="known"), rows).state_text == "partly measured (3 of 4 runs), so far a named gap"


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
def test_bounds_are_compared_as_far_as_they_are_certain(tmp_path, printed_text, measured, within):
    plan = planned(tmp_path)
    cells = tuple(cell._replace(published=printed(printed_text, "number")) for cell in plan.cells)
    plan = replace(plan, cells=cells)
    assert compare(plan, rows_of(plan, lambda _: measured)).cells[0].within is within


@pytest.mark.parametrize(("better", "holds"), [("slow > fast", True), ("fast > slow", False)])
def test_orders_ask_for_better_columns_within_each_row(tmp_path, better, holds):
    plan = planned(tmp_path, PARABOLA.replace("relative: 0.001", f'orders: ["{better}"]'))
    found = compare(plan, rows_of(plan))
    assert [order.holds for order in found.orders] == [holds, holds]
    assert found.holds is holds


# Runs that diverged


def test_a_run_that_diverged_is_measured_and_outside(tmp_path):
    plan = planned(tmp_path)
    found = compare(plan, with_divergence(rows_of(plan), ("flat", "fast", "1")))
    assert (found.runs_done, found.runs_needed, found.state) == (4, 4, "outside tolerance")
    assert found.counts() == (3, 4)
    (cell,) = [cell for cell in found.cells if cell.diverged]
    assert (cell.mean, cell.difference, cell.within) == (None, None, False)
    assert (mean_text(cell), seeds_text(cell, found.seeds)) == ("diverged", "diverged")
    assert len(found.rows) == 3
    assert [row.diverged for row in found.diverged] == [DIVERGED]


def test_cell_with_a_diverged_seed_has_no_mean(tmp_path):
    plan = planned(tmp_path, PARABOLA.replace("seeds: [1]", "seeds: [1, 2, 3]"))
    rows = with_divergence(rows_of(plan, lambda run: run.seed), ("steep", "fast", "2"))
    cell = compare(plan, rows).cells[3]
    assert cell.mean is None
    assert mean_text(cell) == "1 of 3 diverged"
    assert seeds_text(cell, (1, 2, 3)) == "1, diverged, 3"


@pytest.mark.parametrize("column", ["parameter", "test_loss"])  # the higher and the lower one is the better one
@pytest.mark.parametrize(
    ("diverged", "holds"), [(["fast"], True), (["slow"], False), (["fast", "slow"], None), ([], None)]
)
def test_diverged_run_is_worse_than_any_other(tmp_path, column, diverged, holds):
    text = PARABOLA.replace("{kind: column_final, column: parameter}", f"{{kind: column_final, column: {column}}}")
    text = text.replace("tolerance: {relative: 0.001,", "tolerance: {orders: [slow > fast],")
    plan = planned(tmp_path, text)
    rows = rows_of(plan)
    if not diverged:
        del rows["flat", "fast", "1"]
    keys = [("flat", rate, "1") for rate in diverged]
    assert compare(plan, with_divergence(rows, *keys)).orders[0].holds is holds


def test_relation_to_a_diverged_run_has_no_value(tmp_path):
    relation = "relations: {gain: {kind: mean_difference, measure: path, to: {rate: slow}}}\ncompare: gain\n"
    plan = planned(tmp_path, PARABOLA + relation)
    found = compare(plan, with_divergence(rows_of(plan), ("flat", "slow", "1")))
    diverged = {(cell.point["shape"], cell.point["rate"]) for cell in found.cells if cell.diverged}
    assert {("flat", "slow"), ("flat", "fast")} == diverged


def test_earlier_rows_lack_a_measure_that_was_added_later(tmp_path):
    """Unlike one of which a run had nothing, such as the rounds to a target when no target was set."""
    plan = planned(tmp_path)
    rows = rows_of(plan)
    earlier = rows["flat", "slow", "1"]
    rows["flat", "slow", "1"] = Row(earlier.point, 1, {"path": "1 2"})
    rows["flat", "fast", "1"] = Row(rows["flat", "fast", "1"].point, 1, {"path": "1 2", "last": ""})
    write_rows(tmp_path / "rows.csv", rows.values())
    read = read_rows(tmp_path / "rows.csv", plan.axes)
    assert {key: dict(row.measures) for key, row in read.items()} == {key: row.measures for key, row in rows.items()}
    assert compare(plan, read).state_text == "partly measured (3 of 4 runs), so far within tolerance"


def test_divergence_is_read_as_it_was_written(tmp_path):
    plan = planned(tmp_path)
    rows = with_divergence(rows_of(plan), ("flat", "fast", "1"))
    write_rows(tmp_path / "rows.csv", rows.values())
    read = read_rows(tmp_path / "rows.csv", plan.axes)
    assert [row.diverged for row in read.values()] == [row.diverged for row in rows.values()]
    assert compare(plan, read).counts() == (3, 4)


@pytest.mark.parametrize(
    ("tolerance", "within"),
    [
        ("{relative: 0.1, why: x}", True),
        ("{absolute: 0.04, why: x}", False),
        ("{relative: 0.1, absolute: 0.04, why: x}", False),  # both must hold
        ("{trials: 890, why: x}", True),  # three standard deviations of one half: 0.0503
        ("{trials: 910, why: x}", False),  # 0.0497
        ("{trials: 890, absolute: 0.04, why: x}", False),
        ("{relative: 0.001, by_measure: {last: {absolute: 0.06, why: x}}, why: x}", True),  # instead of the rest
    ],
)
def test_all_limits_of_a_tolerance_must_hold(tmp_path, tolerance, within):
    plan = planned(tmp_path, PARABOLA.replace("{relative: 0.001, why: four digits are printed}", tolerance))
    cell = compare(plan, rows_of(plan, lambda run: exact(run) + 0.05)).cells[3]  # 0.5 is printed
    assert cell.within is within
