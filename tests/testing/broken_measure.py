"""Measures, healthy and broken."""

import numpy as np
import torch

from edgefl.learning.measures import MEASURES, Measure
from edgefl.records.columns import ResultColumn

MOVE = (ResultColumn("move", float, "", "how far the model moved"),)


class Good(Measure):
    """The norm of the move, with a noise that a run can repeat."""

    round_columns = MOVE

    def columns(self, learned):
        noise = learned.generator("noise").normal()
        return {"move": float((learned.after - learned.before).norm()) + noise}


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
    """Takes no data."""

    def refusal(self, data):
        return "needs sounds"


class Fails(Good):
    """Raises an error."""

    def columns(self, learned):
        return {"move": learned.nothing}


HEALTHY = [*((MEASURES.load(name), {}) for name in MEASURES.members), (Good, {"every": 2})]
BROKEN = [
    (OtherColumn, {}, "returns", "returned a column 'moves', must return a mapping of move"),
    (Text, {}, "returns", "returned a str for move, must return float or None there"),
    (InPlace, {}, "arguments", "InPlace.columns changes its arguments in place"),
    (Draws, {}, "repeatable", "draws from numpy.random's global generator"),
    (Counts, {}, "repeatable", "Counts.columns returns other values when it is called again"),
    (Silent, {}, "recorded", "has added no column and no row"),
    (Picky, {}, "returns", "takes no data: needs sounds; needs sounds; needs sounds"),
    (Fails, {}, "returns", "Fails.columns raised AttributeError"),
]
