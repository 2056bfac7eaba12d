"""All cells of a table have the same seeds, or are named."""

from comparison_cases import cell, comparison
from recipe_cases import PARABOLA, planned

from edgefl.reproductions.comparison import compare
from edgefl.reproductions.records import Row
from edgefl.reproductions.remarks import seed_notes


def compared(folder, seeds_of, text=PARABOLA):
    """The comparison of rows with some seeds, by shape and rate."""
    found = planned(folder, text)
    rows = {}
    for point in found.points:
        for seed in seeds_of.get(tuple(point.values()), (1,)):
            row = Row(point, seed, {"last": f"{seed}", "path": "1"})
            rows[row.key] = row
    return compare(found, rows)


def test_equal_seeds_need_no_note(tmp_path):
    assert seed_notes(compared(tmp_path, {})) == []


def test_rows_of_extra_seeds_are_named_and_do_not_count(tmp_path):
    found = compared(tmp_path, {("flat", "slow"): (1, 2, 3)})
    assert seed_notes(found) == ["1 of 4 cells have rows with extra seeds, which are ignored: flat, slow (seeds 2, 3)"]
    assert found.cells[0].mean == 1.0
    assert set(found.cells[0].by_seed) == {1}


def test_extra_seeds_that_all_cells_have_favour_none(tmp_path):
    seeds = {(shape, rate): (1, 2) for shape in ("flat", "steep") for rate in ("slow", "fast")}
    assert seed_notes(compared(tmp_path, seeds)) == []


def test_cells_that_lack_a_seed_are_named(tmp_path):
    text = PARABOLA.replace("seeds: [1]", "seeds: [1, 2]")
    found = compared(tmp_path, {("steep", "fast"): (1, 2)}, text)
    (note,) = seed_notes(found)
    assert note.startswith("3 of 4 cells lack some of the seeds 1, 2: ")
    assert note.count("(seeds 1)") == 3


def test_no_more_than_three_cells_are_named():
    cells = [cell(str(row), "FedAvg", 1.0, {1: 1.0}) for row in range(5)]
    (note,) = seed_notes(comparison(cells, seeds=(1, 2)))
    assert note.endswith("; and 2 more")
