"""Measures: more records of learned rounds and of models; one file each.

To add one: a file with a subclass of `Measure`, a line in `members.csv`, a test. From outside the package a scenario
names it as `report: {measures: ["my_module:MyMeasure"]}`.
"""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.learning.measures.base import Measure
from edgefl.learning.measures.learned_round import LearnedRound, ModelOutputs
from edgefl.learning.measures.score import Score

MEASURES: Catalogue[Measure] = Catalogue(
    noun="measure",
    members=members_of(__file__),
    base=Measure,
    kind="measures",
)

__all__ = ["MEASURES", "LearnedRound", "Measure", "ModelOutputs", "Score"]
