"""All recipes that come with edgefl: they load, their cells and scenarios make sense, and their rows are readable."""

import re

import pytest
from site_pages.reproduction_pages import overview, without_recipe

from edgefl.reproductions.comparison import compare
from edgefl.reproductions.library import Library
from edgefl.reproductions.needs import needs
from edgefl.reproductions.plan import plan
from edgefl.reproductions.records import read_rows
from edgefl.reproductions.remarks import seed_notes
from edgefl.reproductions.scenarios import scenario_of

LIBRARY = Library()
ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV"]


def numbers(last):
    return [str(number) for number in range(1, last + 1)]


PRINTED = {  # the numbers of the tables and of the figures of each paper
    "dynamic-devices": (ROMAN, numbers(6)),
    "fedar": (numbers(3), numbers(5)),
    "fedeve": (numbers(3), numbers(6)),
    "fedssg": (numbers(6), numbers(29)),
    "sequential-fl": (numbers(11), numbers(13)),
}


def items(kind, text):
    """The numbers that a text gives as "Table 3", or "Tables 4 and 5"."""
    found = re.findall(rf"{kind}s? ([\dIVX]+(?: and [\dIVX]+)?)", text)
    return {number for one in found for number in one.split(" and ")}


@pytest.fixture(scope="module")
def page():
    return overview(LIBRARY)


@pytest.mark.parametrize("paper", PRINTED)
def test_no_table_or_figure_is_absent(paper, page):
    """Each is covered by a recipe, or the paper's page says that nothing is measured in it; none is both."""
    covered = ", ".join(item for name in LIBRARY.find(paper) for item in LIBRARY.load(name).recipe.covers)
    without = without_recipe(LIBRARY, paper)
    for kind, wanted in zip(("Table", "Figure"), PRINTED[paper], strict=True):
        assert items(kind, covered) | items(kind, without) == set(wanted)
        assert not items(kind, covered) & items(kind, without)
    assert without in page


@pytest.mark.parametrize(
    ("name", "scale", "numbers"),
    [
        ("dynamic-devices/table-vii", "full", 4),  # latency and energy of two datasets; rounds are printed
        ("dynamic-devices/table-i", "full", 0),  # defaults
        ("fedssg/table-1", "full", 21),  # the program's FedVRA is its FedDyn
        ("fedssg/table-4", "full", 21),
        ("third-party/pi-compute", "full", 32),  # equal networks under two names
        ("fedeve/table-1", "small", 0),  # other data, and a tenth of the size
        ("fedeve/table-3", "small", 0),
    ],
)
def test_independent_numbers_count_once(name, scale, numbers):
    planned = plan(LIBRARY, LIBRARY.load(name), scale)
    comparison = compare(planned, read_rows(LIBRARY.recorded(planned.entry, scale), planned.axes))
    assert all(cell.is_measured for cell in comparison.cells if cell.asked)
    assert comparison.counts()[1] == numbers


def runs_with_new_values(planned, seen):
    """Return the first run, and runs with values of axes that are not among those seen, which they join."""
    chosen = []
    for run in planned.runs:
        values = set(run.point.items())
        if not chosen or not values <= seen:
            chosen.append(run)
            seen |= values
    return chosen


@pytest.mark.oracle
@pytest.mark.parametrize("name", LIBRARY.names)
def test_a_recipe_is_sound(name):
    entry = LIBRARY.load(name)
    seen = set()
    for scale in entry.recipe.scale_names:
        found = plan(LIBRARY, entry, scale)
        needs(found)
        for run in runs_with_new_values(found, seen):
            scenario_of(found, run)
        rows = read_rows(LIBRARY.recorded(entry, scale), found.axes)
        comparison = compare(found, rows)
        assert comparison.runs_done <= len(found.runs)
        if entry.runs_of == name:  # each recorded row is one of a recipe's runs, or of an extra seed
            points = {tuple(point.values()) for point in found.points}
            values = [set(of_axis) for of_axis in entry.recipe.axes.values()]
            assert all(
                row.key[:-1] in points or all(v in of for v, of in zip(row.key, values, strict=False))
                for row in rows.values()
            )
        if comparison.runs_done == comparison.runs_needed:
            assert not any("lack" in note for note in seed_notes(comparison))
        assert found.seeds[0] in {1, 100}  # none is chosen by what came of it
