"""Independent numbers of several tables: counted by hand, and those of the shipped recipes."""

import pytest
from recipe_cases import PARABOLA, RATES, answer, rows_of, write_library

from edgefl.reproductions.comparison import compare
from edgefl.reproductions.discrimination import MOST_PASSING, wrong_numbers
from edgefl.reproductions.evidence import evidence, is_evidence
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan

# The same runs as those of `PARABOLA`, but its `set`, not its axis, gives the fast rate.
AGAIN = PARABOLA.replace("base: bases/parabola.yaml", "base: bases/parabola.yaml\nset: {training.lr: 0.25}").replace(
    "fast: {training.lr: 0.25}", "fast: {}"
)
WIDE = PARABOLA.replace("relative: 0.001", "absolute: 10")


def compared(folder, off=0.0, **recipes):
    """The library, and the comparisons of its recipes, whose slow flat number is `off` in the second one."""
    library = Library(write_library(folder, **recipes))
    found = []
    for name in recipes:
        planned = plan(library, library.load(f"textbook/{name.replace('_', '-')}"), "full")
        rows = rows_of(planned)
        if name == "table_2":
            rows["flat", "slow", "1"].measures["last"] = str(answer("flat", "slow") + off)
        found.append(compare(planned, rows))
    return library, found


def test_runs_of_two_recipes_count_once(tmp_path):
    found = evidence(*compared(tmp_path, table_1=PARABOLA, table_2=AGAIN))
    assert found == (4, 0, 0.0, 0)
    assert found.text.startswith("4 independent numbers within tolerance, 0 outside; 0 % of wrong ones would pass")


def test_a_number_of_two_tables_must_be_within_both(tmp_path):
    assert evidence(*compared(tmp_path, 1.0, table_1=PARABOLA, table_2=AGAIN)) == (3, 1, 0.0, 0)


@pytest.mark.parametrize(
    ("old", "new", "numbers"), [("training.lr: 0.25", "training.lr: 0.3", 6), ("column_final", "column_mean", 8)]
)
def test_other_runs_and_other_measures_are_other_numbers(tmp_path, old, new, numbers):
    other = AGAIN.replace(old, new)
    assert evidence(*compared(tmp_path, table_1=PARABOLA, table_2=other))[:2] == (numbers, 0)


def test_a_wide_tolerance_and_a_counter_example_are_not_evidence(tmp_path):
    counter = f"{PARABOLA}no_evidence: a counter-example\n"
    library, found = compared(tmp_path, table_1=WIDE, table_2=counter)
    assert [wrong_numbers(one).share for one in found] == [1.0, 0.0]
    assert evidence(library, found) == (0, 0, 0.0, 8)


def test_a_number_that_another_row_prints_counts_there(tmp_path):
    repeated = f"{PARABOLA}repeated: [{{when: {{shape: flat}}, columns: slow, why: as an example}}]\n"
    assert evidence(*compared(tmp_path, table_1=repeated))[:2] == (2 * len(RATES) - 1, 0)


@pytest.mark.oracle
def test_a_shipped_tolerance_that_wrong_numbers_pass_says_why():
    """A fifth of the wrong numbers, or more: its numbers do not count as evidence, as its recipe says."""
    library = Library()
    silent = []
    for entry in library.all():
        comparison = compare(plan(library, entry, "full"), {})
        share = wrong_numbers(comparison).share or 0.0
        assert is_evidence(comparison) == (share < MOST_PASSING and entry.recipe.no_evidence is None)
        if share >= MOST_PASSING and entry.recipe.no_evidence is None:
            silent.append((entry.name, round(share, 3)))
    assert not silent
