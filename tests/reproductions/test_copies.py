"""The search for rows that printed tables have in common, on tables that are written here, and on shipped ones."""

import json

import pytest
from recipe_cases import write_library

from edgefl.cli import main
from edgefl.reproductions.copies import copies
from edgefl.reproductions.library import Library

RECIPE = """\
title: Accuracy
source: Textbook
published: {table}
columns_as: {{{columns}}}
base: bases/parabola.yaml
axes:
  method: {{A: {{training.lr: 0.1}}, B: {{training.lr: 0.2}}, C: {{training.lr: 0.3}}}}
measures: {{last: {{kind: column_final, column: parameter}}}}
"""
NAMES = ("one", "two", "three", "four", "five")


def library(folder, keys="", **tables):
    """A library with a recipe for each table, given as rows of a method and its numbers by columns."""
    recipes = {}
    for name, (columns, rows) in tables.items():
        lines = [",".join(["method", *columns]), *(",".join(map(str, row)) for row in rows)]
        recipes[name] = RECIPE.format(table=f"{name}.csv", columns=", ".join(f"{column}: {{}}" for column in columns))
        folder.mkdir(exist_ok=True)
        (folder / "published").mkdir(exist_ok=True)
        (folder / "published" / f"{name}.csv").write_text("\n".join(lines) + "\n")
    first = next(iter(recipes))
    recipes[first] += keys
    return Library(write_library(folder, **recipes))


def found(library):
    return [(copy.one.labels["method"], copy.other.labels["method"], len(copy.columns)) for copy in copies(library)]


def test_equal_rows_of_one_table_and_of_two_are_found(tmp_path):
    copied = (62.88, 56.16, 56.23)
    one = (NAMES[:3], [("A", *copied), ("B", 61.5, 57.1, 58.2), ("C", *copied)])
    two = (("t1", "t2", "t3"), [("B", *copied)])
    assert found(library(tmp_path, first=one, second=two)) == [("A", "C", 3), ("A", "B", 3), ("C", "B", 3)]


def test_equal_part_is_found_wherever_it_begins(tmp_path):
    rows = [("A", 94.09, 89.53, 89.35, 91.36, 87.4), ("B", 90.86, 94.09, 89.53, 89.35, 91.36)]
    [copy] = copies(library(tmp_path, first=(NAMES, rows)))
    assert copy.columns == (("one", "two"), ("two", "three"), ("three", "four"), ("four", "five"))
    assert copy.text == "textbook/first (B) prints 4 numbers of textbook/first (A): 94.09, 89.53, 89.35, 91.36"


def test_rows_are_compared_in_the_columns_that_two_tables_share(tmp_path):
    one = (NAMES, [("A", 92.27, 79.11, 89.94, 93.67, 82.01)])
    two = (("one", "two", "four", "five"), [("B", 92.27, 79.11, 93.67, 82.01)])
    assert found(library(tmp_path, first=one, second=two)) == [("A", "B", 4)]


@pytest.mark.parametrize(
    "numbers",
    [
        (10.0, 150, 1000, 20.0),  # round
        (5.13, 5.13, 5.13, 5.13),  # a guess, where all runs collapsed
        (45, 17, 23, 31),  # rounds to a target: two digits are equal by chance
        (62.88, 56.16, 10.0, 56.23),  # two numbers at a time
    ],
)
def test_numbers_that_are_equal_by_chance_are_not_listed(tmp_path, numbers):
    assert found(library(tmp_path, first=(NAMES[:4], [("A", *numbers), ("B", *numbers)]))) == []


def test_equal_numbers_in_another_order_are_not_listed(tmp_path):
    rows = [("A", 62.88, 56.16, 56.23), ("B", 56.16, 62.88, 56.23)]
    assert found(library(tmp_path, first=(NAMES[:3], rows))) == []


@pytest.mark.parametrize(
    ("keys", "explanation"),
    [
        ("", ""),
        ("misprinted: [{when: {method: B}, why: a copy of A}]\n", "a copy of A"),
        ("repeated: [{when: {method: A}, why: one measurement}]\n", "one measurement"),
        ("misprinted: [{when: {method: B}, columns: [one, two], why: a part}]\n", ""),
        ("misprinted: [{when: {method: C}, why: another row}]\n", ""),
    ],
)
def test_recipe_explains_a_copy(tmp_path, keys, explanation):
    rows = [("A", 62.88, 56.16, 56.23), ("B", 62.88, 56.16, 56.23), ("C", 1.11, 2.22, 3.33)]
    [copy] = copies(library(tmp_path, keys, first=(NAMES[:3], rows)))
    assert copy.explanation == explanation


def test_rows_of_the_same_runs_explain_themselves(tmp_path):
    rows = [("A", 62.88, 56.16, 56.23), ("D", 62.88, 56.16, 56.23)]
    [copy] = copies(library(tmp_path, "same: {method: {D: A}}\n", first=(NAMES[:3], rows)))
    assert copy.explanation == "both stand for the same runs"


@pytest.mark.parametrize(
    ("keys", "listed"), [("", True), ("repeated: [{when: {method: A}, why: one measurement}]\n", False)]
)
def test_check_lists_copies_without_an_explanation(tmp_path, capsys, keys, listed):
    rows = [("A", 62.88, 56.16, 56.23), ("B", 62.88, 56.16, 56.23)]
    library(tmp_path, keys, first=(NAMES[:3], rows))
    assert main(["reproduce", "textbook/first", "--check", "--library", str(tmp_path)]) == 0
    line = "printed twice: textbook/first (B) prints 3 numbers of textbook/first (A): 62.88, 56.16, 56.23"
    assert (line in capsys.readouterr().out) is listed
    assert main(["reproduce", "textbook/first", "--check", "--library", str(tmp_path), "--json"]) == 0
    [copy] = json.loads(capsys.readouterr().out)["copies"]
    assert bool(copy["explanation"]) is not listed


@pytest.mark.oracle
def test_copies_in_shipped_tables_are_found_and_explained():
    found = copies(Library())
    unexplained = [copy for copy in found if not copy.explanation]
    # Rows of Table XIV, whose columns stand for different sessions.
    assert {copy.one.file for copy in unexplained} | {copy.other.file for copy in unexplained} <= {
        "dynamic-devices-table-xiv.csv"
    }
    places = [(copy.one.labels, copy.other.labels) for copy in found]
    ours = [{"FedProx", "Partial-Overlap", "MNIST"}, {"FedProx", "Half", "CIFAR100"}]
    assert any(all(names <= set(row.values()) for names, row in zip(ours, pair, strict=True)) for pair in places)
    theirs = [{"FedAvg", "Partial-Overlap", "SVHN"}, {"Partial-Overlap"}]
    assert any(all(names <= set(row.values()) for names, row in zip(theirs, pair, strict=True)) for pair in places)
