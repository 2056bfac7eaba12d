"""All recipes that come with edgefl: they load, their cells and scenarios make sense, and their rows are readable."""

import pytest

from edgefl.reproductions.comparison import compare
from edgefl.reproductions.library import Library
from edgefl.reproductions.needs import needs
from edgefl.reproductions.plan import plan, scenario_of
from edgefl.reproductions.records import read_rows

LIBRARY = Library()


@pytest.mark.parametrize("name", LIBRARY.names)
def test_a_recipe_is_sound(name):
    entry = LIBRARY.load(name)
    for scale in entry.recipe.scale_names:
        found = plan(LIBRARY, entry, scale)
        needs(found)
        runs = found.runs
        for place in {0, len(runs) // 2, len(runs) - 1}:
            scenario_of(found, runs[place])
        rows = read_rows(LIBRARY.recorded(entry, scale), found.axes)
        comparison = compare(found, rows)
        assert comparison.runs_done <= len(runs)
        if entry.runs_of == name:  # each recorded row is one of a recipe's runs, or of a further seed
            points = {tuple(point.values()) for point in found.points}
            values = [set(of_axis) for of_axis in entry.recipe.axes.values()]
            assert all(
                row.key[:-1] in points or all(v in of for v, of in zip(row.key, values, strict=False))
                for row in rows.values()
            )


def test_every_published_table_that_a_recipe_names_is_there():
    for entry in LIBRARY.all():
        if entry.recipe.published is not None:
            assert LIBRARY.published(entry.recipe.published).is_file()


@pytest.mark.parametrize(("name", "state"), [("fedssg/table-1", "within tolerance"), ("fedssg/table-3", "a named gap")])
def test_recorded_rows_have_a_state(name, state):
    entry = LIBRARY.load(name)
    found = plan(LIBRARY, entry, "full")
    assert compare(found, read_rows(LIBRARY.recorded(entry, "full"), found.axes)).state == state
