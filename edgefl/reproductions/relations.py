"""Relations: measures between two runs of one seed for a recipe's `relations`, such as a paired t-test.

A relation is computed from readings of both runs (curves are texts of numbers), so that recorded rows are enough. To
add one: a class here, its line in RELATIONS, and a test with a known answer.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Catalogue, Member
from edgefl.reproductions.caveats import Scalar
from edgefl.reproductions.readings.base import Better, numbers_of
from edgefl.results import metrics


class Relation(Member):
    """Base of all relations of a run to another one."""

    measure: str  # of both runs
    to: Annotated[dict[str, Scalar], Field(min_length=1)]  # the other run: its differing values of axes
    better: Better = "higher"  # which of two values is the better one, for a recipe's orders

    @property
    def direction(self) -> Better:
        """Return the same by the name that readings have for it."""
        return self.better

    def value(self, own: str, other: str) -> float:
        """Return the relation, given the texts of the measure of both runs."""
        raise NotImplementedError


class PairedTest(Relation):
    """The p value of a paired t-test over all tests of two runs of one seed (FedAR paper, Table 2).

    Tests of successive rounds are correlated, so p is smaller than it would be for independent pairs.
    """

    better: Better = "lower"
    one_sided: bool = False  # true: the hypothesis is that the other run is better, so p is near 1 where it is worse

    def value(self, own: str, other: str) -> float:  # noqa: D102 - the base class says it
        reference, run = _in_same_rounds(own, other)
        test = metrics.paired_t(reference, run)
        if not self.one_sided or np.isnan(test.p):
            return test.p
        if test.t > 0:
            return test.p / 2
        return 1 - test.p / 2


class MeanDifference(Relation):
    """The mean difference, own minus other, over all rounds."""

    scale: float = 1.0  # the difference is multiplied by it: 100 for points of accuracies from 0 to 1

    def value(self, own: str, other: str) -> float:  # noqa: D102 - the base class says it
        first, second = _in_same_rounds(own, other)
        return self.scale * float((first - second).mean())


def related(relation: Relation, own: Mapping[str, str], other: Mapping[str, str]) -> str:
    """Return a relation as text, from the measures of both runs; "" if one lacks the measure."""
    texts = [measures.get(relation.measure, "") for measures in (own, other)]
    if not all(texts):
        return ""
    value = relation.value(*texts)
    if np.isnan(value):
        return ""
    return f"{value:.8g}"


def _in_same_rounds(own: str, other: str) -> tuple[Floats, Floats]:
    """Return the numbers [n] of both curves in rounds where both have one."""
    first = np.array(numbers_of(own))
    second = np.array(numbers_of(other))
    rounds = min(len(first), len(second))
    first = first[:rounds]
    second = second[:rounds]
    both = np.isfinite(first) & np.isfinite(second)
    return first[both], second[both]


RELATIONS: Catalogue[Relation] = Catalogue(
    noun="relation",
    members={
        "paired_t": "edgefl.reproductions.relations:PairedTest",
        "mean_difference": "edgefl.reproductions.relations:MeanDifference",
    },
    base=Relation,
    kind="relations",
)
