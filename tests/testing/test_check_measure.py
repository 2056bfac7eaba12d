"""The kit for authors of measures: it passes what is shipped, and names what is wrong with broken ones."""

import numpy as np
import pytest
import torch

from edgefl.learning.measures import MEASURES, Measure
from edgefl.records.columns import ResultColumn
from edgefl.testing import ConformanceError, check, check_measure

MOVE = (ResultColumn("move", float, "", "how far the model moved"),)


@pytest.mark.parametrize("name", MEASURES.members)
def test_shipped_measures_conform(name):
    assert check(MEASURES.load(name)).ok


class Good(Measure):
    """The norm of the move, with a noise that a run can repeat."""

    round_columns = MOVE

    def columns(self, learned):
        noise = learned.generator("noise").normal()
        return {"move": float((learned.after - learned.before).norm()) + noise}


def test_a_measure_may_draw_from_the_generator_that_it_is_given():
    assert check_measure(Good, every=2).ok


class OtherColumn(Good):
    """A column that is not declared."""

    def columns(self, learned):
        return {"moves": 1.0}


class Text(Good):
    """Text in a column of numbers."""

    row_columns = MOVE

    def rows(self, learned):
        return [("far",)]


class InPlace(Good):
    """Changes the model that others still use."""

    def columns(self, learned):
        learned.after.mul_(2.0)
        return {"move": 1.0}


class Draws(Good):
    """Draws from a generator that the whole program shares."""

    def columns(self, learned):
        return {"move": float(np.random.rand())}  # noqa: NPY002 - that is what is to be found


class Counts(Good):
    """Counts its own calls."""

    def columns(self, learned):
        calls = self.__dict__.setdefault("_calls", [])
        calls.append(1)
        return {"move": float(len(calls)) + float(torch.tensor(0.0))}


class Silent(Good):
    """Never records anything."""

    def columns(self, learned):
        return {}


class Picky(Good):
    """Takes no data at all."""

    def refusal(self, data):
        return "needs sounds"


class Fails(Good):
    """Raises an error."""

    def columns(self, learned):
        return {"move": learned.nothing}


@pytest.mark.parametrize(
    ("measure", "fault"),
    [
        (OtherColumn, "returned a column 'moves', must return a mapping of move"),
        (Text, "returned a str for move, must return float or None there"),
        (InPlace, "changes vectors of the round in place"),
        (Draws, "draws from numpy.random's global generator"),
        (Counts, "returns other values for the same round"),
        (Silent, "has added no column and no row"),
        (Picky, "takes no data: needs sounds; needs sounds; needs sounds"),
        (Fails, "Fails.columns raised AttributeError"),
    ],
)
def test_faults_of_measures_are_found_with_their_file(measure, fault):
    with pytest.raises(ConformanceError) as caught:
        check_measure(measure)
    assert fault in str(caught.value)
    assert len(caught.value.report.faults) == 1, caught.value.report.faults
