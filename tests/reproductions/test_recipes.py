"""Recipes: what their files may say, and what is said of a wrong one, with file and line."""

import pytest
from recipe_cases import PARABOLA, PRICES, planned, write_library

from edgefl.core.errors import InputError
from edgefl.reproductions.checks import check
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan
from edgefl.reproductions.scenarios import scenario_of, scenarios_of


@pytest.fixture
def library(tmp_path):
    return Library(write_library(tmp_path))


def refused(tmp_path, text):
    with pytest.raises(InputError) as caught:
        scenarios_of(planned(tmp_path, text))
    assert len(caught.value.faults) == 1, caught.value.faults
    return caught.value.faults[0].partition("table-1.yaml:")[2]


def test_a_cell_knows_its_row_its_column_and_its_runs(library):
    found = plan(library, library.load("textbook/table-1"), "full")
    cells = [(cell.row["shape"], cell.column, dict(cell.point), cell.published.text) for cell in found.cells]
    assert cells[1] == ("flat", "fast", {"shape": "flat", "rate": "fast"}, "2.531")
    assert len(cells) == 4  # the row of another set is left out


def test_runs_are_the_combinations_that_cells_need_with_each_seed(library):
    found = plan(library, library.load("textbook/figure-1"), "full")
    assert [(run.point["rate"], run.seed) for run in found.runs][:4] == [
        ("slow", 1), ("fast", 1), ("faster", 1), ("slow", 2),
    ]  # fmt: skip
    assert len(found.runs) == 6


@pytest.mark.parametrize(("count", "seeds"), [(1, (1,)), (3, (1, 2, 3)), (5, (1, 2, 3, 4, 5))])
def test_more_seeds_than_listed_count_on(library, count, seeds):
    assert plan(library, library.load("textbook/figure-1"), "full", count).seeds == seeds


def test_a_scale_takes_a_part_and_overrides_the_rest(tmp_path):
    text = PARABOLA + "scales: {small: {set: {rounds: 2, training.lr: 0.5}, axes: {shape: [steep]}}}\n"
    found = planned(tmp_path, text, "small")
    assert {cell.point["shape"] for cell in found.cells} == {"steep"}
    scenario = scenario_of(found, found.runs[0])
    assert (scenario.rounds, scenario.training.lr) == (2, 0.5)


def test_recipe_like_another_one_overrides_single_keys(tmp_path):
    text = "title: Faster\nlike: textbook/table-1\naxes: {rate: {fast: {training.lr: 0.3}}, shape: {flat: null}}\n"
    library = Library(write_library(tmp_path, table_1=PARABOLA, table_2=text))
    found = plan(library, library.load("textbook/table-2"), "full")
    assert found.recipe.title == "Faster"
    rates = {tuple(run.point.values()): scenario_of(found, run).training.lr for run in found.runs}
    assert rates == {("steep", "slow"): 0.1, ("steep", "fast"): 0.3}


def test_recipe_like_an_unknown_one_is_refused(tmp_path):
    library = Library(write_library(tmp_path, table_1=PARABOLA, table_2="like: textbook/table-3\n"))
    with pytest.raises(InputError, match=r"table-2.yaml:1: like: textbook/table-3: no such recipe"):
        library.load("textbook/table-2")


def test_cases_override_axes(tmp_path):
    text = PARABOLA + "cases: [{when: {rate: slow, shape: [steep]}, set: {training.lr: 0.4}}]\n"
    found = planned(tmp_path, text)
    rates = {tuple(run.point.values()): scenario_of(found, run).training.lr for run in found.runs}
    assert rates["flat", "slow"] == 0.1
    assert rates["steep", "slow"] == 0.4


def test_values_that_share_runs_are_run_once(tmp_path):
    text = PARABOLA.replace("    fast: {training.lr: 0.25}\n", "same: {rate: {fast: slow}}\n")
    found = planned(tmp_path, text)
    assert [cell.column for cell in found.cells[:2]] == ["slow", "fast"]
    assert len(found.runs) == 2


def test_columns_may_stand_for_several_axes_and_a_measure(tmp_path):
    columns = "columns_as: {slow: {rate: slow, measure: last}, fast: {rate: slow, measure: path}}\n"
    found = planned(tmp_path, PARABOLA.replace("columns: rate\n", columns))
    assert [(cell.column, cell.measure) for cell in found.cells[:2]] == [("slow", "last"), ("fast", "path")]
    assert len(found.runs) == 2


def test_a_row_may_have_another_measure_than_its_columns_name(tmp_path):
    other = "measures_as: [{when: {shape: steep}, measures: {last: path}}]\n"
    found = planned(tmp_path, PARABOLA + other)
    measures = {(cell.row["shape"], cell.measure) for cell in found.cells}
    assert measures == {("flat", "last"), ("steep", "path")}


def test_columns_that_are_left_out_name_no_rows(tmp_path):
    """A printed column that the recipe leaves out labels none of its rows."""
    columns = "columns_as: {slow: {rate: slow}}\n"
    text = PARABOLA.replace("columns: rate\n", columns)
    library = Library(write_library(tmp_path, table_1=text, table_2=text + "left_out: [fast]\n"))
    with_it, without = (plan(library, library.load(f"textbook/table-{number}"), "full").cells for number in (1, 2))
    assert [cell.row.pop("fast") for cell in with_it]
    assert [cell.row for cell in without] == [cell.row for cell in with_it]
    assert [cell.published for cell in without] == [cell.published for cell in with_it]


def test_a_recipe_takes_the_runs_of_another_one(tmp_path):
    cells = "published: steps.csv\ncolumns: rate\nrows: {set: [tried]}\n"
    text = f"title: Others\nsource: Textbook\nruns: textbook/table-1\n{cells}"
    library = Library(write_library(tmp_path, table_2=text))
    entry = library.load("textbook/table-2")
    assert entry.runs_of == "textbook/table-1"
    assert [run.key for run in plan(library, entry, "full").runs] == [
        run.key for run in plan(library, library.load("textbook/table-1"), "full").runs
    ]


SHAPES = PARABOLA + "scales: {small: {rows: {shape: [steep]}, set: {stop.accuracy: 0.9}}}\n"
OTHERS = "title: Paths\nsource: Textbook\nruns: textbook/table-1\ncolumns: rate\ncompare: path\n"


def test_rows_that_a_scale_leaves_out_are_also_left_out_without_a_printed_table(tmp_path):
    library = Library(write_library(tmp_path, table_1=SHAPES, figure_2=OTHERS))
    whole = plan(library, library.load("textbook/figure-2"), "full")
    small = plan(library, library.load("textbook/figure-2"), "small")
    assert [run.point["shape"] for run in whole.runs] == ["flat", "flat", "steep", "steep"]
    assert [run.key for run in small.runs] == [
        run.key for run in plan(library, library.load("textbook/table-1"), "small").runs
    ]
    assert {run.point["shape"] for run in small.runs} == {"steep"}


def test_a_recipe_may_leave_out_a_scale_of_the_one_whose_runs_it_takes(tmp_path):
    library = Library(write_library(tmp_path, table_1=SHAPES, figure_2=f"{OTHERS}not_at: [small]\n"))
    assert library.load("textbook/table-1").recipe.scale_names == ["full", "small"]
    entry = library.load("textbook/figure-2")
    with pytest.raises(InputError, match="textbook/figure-2: has no scale small; it has full"):
        plan(library, entry, "small")


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("seeds: [1]", "seeds: [1]\nnot_at: [small]", 16, "is about the scales of another recipe"),
        ("covers:", "cover:", 3, 'unknown key (did you mean "covers"?)'),
        (
            "kind: column_final",
            "kind: column_finel",
            17,
            'unknown reading "column_finel" (did you mean "column_final"?)',
        ),
        ("columns: rate", "columns: rat", 6, 'rat is not an axis (did you mean "rate"?)'),
        ("{set: [tried]}", "{sets: [tried]}", 5, 'steps.csv has no column sets (did you mean "set"?)'),
        ("{set: [tried]}", "{set: [none]}", 5, "scale full has no rows: no row of steps.csv has these values"),
        ("training.lr: 0.1", "training.lr: -0.1", 13, "must be >= 0, got -0.1"),
        ("bases/parabola.yaml", "bases/hyperbola.yaml", 7, "does not exist: name a scenario file"),
        ("{relative: 0.001, why: four digits are printed}", "{why: nothing}", 19, "asks nothing"),
        ("learns: false", "check: small", 20, "check: scales has no small: set check to true, or add it"),
        ("learns: false", "figure: {kind: pie, y: last}", 20, "figure.kind: must be "),
        (
            "learns: false",
            "measures_as: [{when: {form: steep}, measures: {last: path}}]",
            20,
            "steps.csv has no column form",
        ),
        (
            "learns: false",
            "measures_as: [{when: {shape: steep}, measures: {last: pth}}]",
            20,
            'pth is not a measure (did you mean "path"?)',
        ),
    ],
)
def test_faults_are_named_with_their_lines(tmp_path, old, new, line, said):
    fault = refused(tmp_path, PARABOLA.replace(old, new))
    assert fault.startswith(f"{line}: "), fault
    assert said in fault


def test_recipes_are_sorted_by_their_numbers(tmp_path):
    names = ["figure-3a", "figure-3b", "figure-6", "figure-10", "table-iv", "table-v-small", "table-ix", "table-xiv"]
    folder = write_library(tmp_path, **{name.replace("-", "_"): PRICES for name in reversed(names)})
    for name in ("figure-1", "table-1"):
        (folder / "recipes" / "textbook" / f"{name}.yaml").unlink()
    assert Library(folder).names == [f"textbook/{name}" for name in names]


def test_unknown_recipe_gets_the_nearest_name(library):
    with pytest.raises(InputError, match=r'textbook/tabel-1: no such recipe \(did you mean "textbook/table-1"\?\)'):
        library.load("textbook/tabel-1")
    with pytest.raises(InputError, match=r'textbok: no such recipe \(did you mean "textbook"\?\)'):
        library.find("textbok")


@pytest.mark.process
def test_a_recipe_is_checked_at_the_scale_that_it_names(tmp_path):
    text = PARABOLA.replace("learns: false", "check: small") + "scales: {small: {axes: {shape: [steep]}}}\n"
    library = Library(write_library(tmp_path, table_1=text))
    (checked,) = check(library, ["textbook/table-1"], workers=1)
    assert checked.passed
    assert checked.comparison.scale == "small"
    assert {cell.row["shape"] for cell in checked.comparison.cells} == {"steep"}
