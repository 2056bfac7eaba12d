"""How many numbers of the papers' tables are measured: a small library counted by hand, and the shipped one."""

from collections import Counter

import pytest
from site_pages import table_numbers
from site_pages.printed_chart import points
from site_pages.reproduction_pages import all_recorded, without_data

from edgefl.reproductions.library import Library

RECIPE = """\
title: Numbers of a table
source: Textbook, Table 9
published: textbook-table-9.csv
rows: {dataset: [DATASETS]}
columns: rate
data: [quadratic]
base: 06-quadratic
axes:
  dataset: {here: {}, there: {}}
  rate: {slow: {training.lr: 0.1}, fast: {training.lr: 0.2}}
measures: {last: {kind: column_final, column: parameter}}
"""
TOLERANCE = "tolerance: {absolute: 1, why: as an example}\n"
TABLE = "dataset,slow,fast\nhere,10,20\nthere,30,40\nnowhere,50,\n"


def library(folder, recipes, rows=""):
    """A library with recipes by name, and rows of the first one."""
    for name in ("recipes/textbook", "published", "measured/textbook"):
        (folder / name).mkdir(parents=True)
    for name, text in recipes.items():
        (folder / "recipes" / "textbook" / f"{name}.yaml").write_text(text)
    (folder / "published" / "textbook-table-9.csv").write_text(TABLE)
    first = next(iter(recipes))
    (folder / "measured" / "textbook" / f"{first}-full.csv").write_text(f"dataset,rate,seed,last\n{rows}")
    return Library(folder)


def counted(found):
    compared = all_recorded(found)
    return table_numbers.counts(found, compared, set(without_data(found, compared)))["textbook"]


def test_numbers_are_within_outside_unmeasured_or_without_a_recipe(tmp_path):
    text = RECIPE.replace("DATASETS", "here, there") + TOLERANCE
    found = counted(library(tmp_path, {"table-9": text}, "here,slow,1,10.5\nhere,fast,1,22\n"))
    assert found == {"compared": 2, "without time": 2, "without a recipe": 1}


def test_numbers_that_no_tolerance_asks_are_measured_or_only_ordered(tmp_path):
    rows = "here,slow,1,10\nhere,fast,1,20\n"
    plain = RECIPE.replace("DATASETS", "here")
    assert counted(library(tmp_path / "plain", {"table-9": plain}, rows))["measured, not asked"] == 2
    ordered = f'{plain}tolerance: {{orders: ["slow > fast"], why: as an example}}\n'
    assert counted(library(tmp_path / "ordered", {"table-9": ordered}, rows))["order only"] == 2


def test_data_that_no_measurement_has_used_are_missing(tmp_path):
    text = RECIPE.replace("DATASETS", "here, there").replace("[quadratic]", "[mnist]")
    assert counted(library(tmp_path, {"table-9": text})) == {"without data": 4, "without a recipe": 1}


def test_a_misprint_is_its_own_state(tmp_path):
    text = RECIPE.replace("DATASETS", "here, there") + TOLERANCE
    text += "misprinted: [{when: {dataset: here}, columns: [slow], why: as an example}]\n"
    assert counted(library(tmp_path, {"table-9": text}))["misprinted"] == 1


def test_the_first_recipe_that_measured_a_number_counts(tmp_path):
    """A later one with another reading does not replace it, though it may be compared."""
    other = RECIPE.replace("DATASETS", "here, there") + TOLERANCE
    text = other.replace(TOLERANCE, "")
    found = library(tmp_path, {"table-9": text, "table-9-other": other}, "here,slow,1,15\n")
    rows = "dataset,rate,seed,last\nhere,slow,1,15\nthere,slow,1,30\n"
    (tmp_path / "measured" / "textbook" / "table-9-other-full.csv").write_text(rows)
    assert counted(found) == {"measured, not asked": 1, "compared": 1, "without time": 2, "without a recipe": 1}


def test_processor_time_and_memory_are_of_another_machine(tmp_path):
    text = RECIPE.replace("DATASETS", "here") + "apart: true\n"
    assert counted(library(tmp_path, {"table-9": text})) == {"of another machine": 5}


@pytest.fixture(scope="module")
def shipped():
    found = Library()
    compared = all_recorded(found)
    return found, table_numbers.counts(found, compared, set(without_data(found, compared))), compared


@pytest.mark.oracle
def test_each_shipped_number_has_one_state(shipped):
    """The five papers, and no number of a table twice: their files have as many cells with numbers."""
    _, by_paper, _ = shipped
    assert set(by_paper) == {"dynamic-devices", "fedar", "fedeve", "fedssg", "sequential-fl"}
    assert by_paper["fedssg"].total() == 18 * 8 + 8 * 3 + 18 * 8 + 9 * 8 + 9 * 8 + 14
    assert by_paper["sequential-fl"].total() == 18 * 6 + 24 * 8 + 24 * 4 + 54 * 8
    assert by_paper["fedar"].total() == 4 * 5 + 4 * 4
    assert by_paper["fedeve"].total() == 6 * 7 + 5 * 5 + 6 * 12


@pytest.mark.oracle
def test_the_table_sums_up_the_papers(shipped):
    found, by_paper, compared = shipped
    text = table_numbers.table(found, compared, without_data(found, compared))
    total = sum(by_paper.values(), Counter())
    rows = [
        [cell.strip().replace(",", "") for cell in line.strip("|").split("|")] for line in text.strip().splitlines()
    ]
    heads, _, numbers, *states = rows
    assert heads[1:] == [*by_paper, "total"]
    assert int(numbers[-1]) == sum(map(int, numbers[1:-1])) == total.total()
    assert numbers[1:] == [str(sum(int(state[column]) for state in states)) for column in range(1, len(heads))]


@pytest.mark.oracle
def test_the_chart_has_every_number_that_is_printed_and_measured(shipped):
    found, _, compared = shipped
    both = sum(
        cell.printed_number is not None and cell.mean is not None for one in compared.values() for cell in one.cells
    )
    drawn = points(found)
    assert len(drawn) == both > 500
    assert all(0 <= point.printed < 100 for point in drawn if point.is_accuracy)
