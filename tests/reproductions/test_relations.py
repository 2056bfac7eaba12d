"""Measures between two runs: known numbers, the runs that they need, and faults of recipes."""

import numpy as np
import pytest
from recipe_cases import PARABOLA, planned
from scipy.stats import ttest_rel

from edgefl.core.errors import InputError
from edgefl.reproductions.comparison import compare
from edgefl.reproductions.records import Row
from edgefl.reproductions.relations import RELATIONS

OWN = [0.1, 0.4, 0.5, 0.55, 0.7]
OTHER = [0.2, 0.5, 0.45, 0.7, 0.85]
RELATED = PARABOLA.replace(
    "tolerance:",
    "relations:\n  behind: {kind: mean_difference, measure: path, to: {rate: fast}}\ncompare: behind\ntolerance:",
)


def text_of(numbers):
    return " ".join(map(str, numbers))


def value(kind, own=OWN, other=OTHER, **keys):
    relation = RELATIONS.load(kind).model_validate({"measure": "path", "to": {"rate": "fast"}, **keys})
    return relation.value(text_of(own), text_of(other))


def test_paired_t():
    assert value("paired_t") == pytest.approx(ttest_rel(OWN, OTHER).pvalue)
    assert value("paired_t", one_sided=True) == pytest.approx(ttest_rel(OTHER, OWN, alternative="greater").pvalue)
    assert value("paired_t", OTHER, OWN, one_sided=True) > 0.9  # the other run is worse


def test_differences():
    assert value("mean_difference", scale=100) == pytest.approx(100 * (np.mean(OWN) - np.mean(OTHER)))


def test_relation_skips_rounds_that_one_run_lacks():
    own = [*OWN[:2], "nan", *OWN[3:], 9.0]
    expected = np.mean(np.delete(OWN, 2)) - np.mean(np.delete(OTHER, 2))
    assert value("mean_difference", own) == pytest.approx(expected)


def test_relation_compares_runs_of_one_seed(tmp_path):
    """The mean over the seeds is that of the relations; the run that all are compared with is 0 to itself."""
    found = planned(tmp_path, RELATED.replace("seeds: [1]", "seeds: [1, 2]"))
    rows = {}
    for run in found.runs:
        slow = run.point["rate"] == "slow"
        path = f"{run.seed} {run.seed}" if slow else "0.5 0.5"
        row = Row(dict(run.point), run.seed, {"last": "0", "path": path})
        rows[row.key] = row
    cell, other, *_ = compare(found, rows).cells
    assert {seed: one.number for seed, one in cell.by_seed.items()} == {1: 0.5, 2: 1.5}
    assert cell.mean == 1.0
    assert other.mean == 0.0


def test_the_other_run_belongs_to_the_study(tmp_path):
    text = RELATED.replace("columns: rate", "columns_as: {slow: {rate: slow}}")
    found = planned(tmp_path, text)
    assert {cell.column for cell in found.cells} == {"slow"}
    assert {run.point["rate"] for run in found.runs} == {"slow", "fast"}
    assert compare(found, {}).runs_needed == 4


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("measure: path", "measure: paths", "relations.behind.measure: paths is not a measure"),
        ("to: {rate: fast}", "to: {rates: fast}", "relations.behind.to.rates: rates is not an axis"),
        ("kind: mean_difference", "kind: mean", "unknown relation"),
    ],
)
def test_faults_of_relations_are_named(tmp_path, old, new, said):
    with pytest.raises(InputError, match=said):
        planned(tmp_path, RELATED.replace(old, new))
