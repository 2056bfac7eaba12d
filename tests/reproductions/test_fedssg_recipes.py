"""The recipes of FedSSG: all give sound scenarios, every item has one, and figures show what was measured."""

import pytest

from edgefl.reproductions.comparison import compare
from edgefl.reproductions.figures import learning_curves
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan, scenarios_of
from edgefl.reproductions.records import Row

LIBRARY = Library()
NAMES = [name for name in LIBRARY.names if name.startswith("fedssg/")]


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_gives_sound_scenarios(name):
    entry = LIBRARY.load(name)
    for scale in entry.recipe.scale_names:
        planned = plan(LIBRARY, entry, scale, 1)
        assert len(scenarios_of(planned)) == len(planned.runs)


def test_every_table_of_the_paper_has_a_recipe():
    covered = {item.partition(" (")[0] for name in NAMES for item in LIBRARY.load(name).recipe.covers}
    wanted = {f"Table {number}" for number in range(1, 7)}
    # Figure 2, 3 and 28 are asked for below; Figure 29 is a diagram without data.
    wanted |= {f"Figure {number}" for number in (1, *range(4, 28))}
    assert wanted <= covered


@pytest.mark.parametrize(("name", "rows"), [("table-2", 8), ("table-5", 3), ("table-5-emnist-l", 6), ("table-6", 7)])
def test_recipes_have_the_printed_rows(name, rows):
    planned = plan(LIBRARY, LIBRARY.load(f"fedssg/{name}"), "full", 1)
    assert len({tuple(cell.row.items()) for cell in planned.cells}) == rows
    assert all(cell.published is not None for cell in planned.cells)


def test_a_figure_has_a_line_for_each_algorithm(tmp_path):
    planned = plan(LIBRARY, LIBRARY.load("fedssg/figure-7"), "full", 1)
    rows = {}
    for run in planned.runs[:3]:
        row = Row(run.point, run.seed, {"curve": "0.1 0.5 0.9"})
        rows[row.key] = row
    comparison = compare(planned, rows)
    (file,) = learning_curves.draw(comparison, tmp_path)
    text = file.read_text()
    assert all(f"<!-- {run.point['algorithm']} -->" in text for run in planned.runs[:3])
    assert learning_curves.draw(compare(planned, {}), tmp_path) == []
