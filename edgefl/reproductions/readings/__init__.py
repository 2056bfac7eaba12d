"""Readings of finished runs for a recipe's `measures`, such as the rounds to an accuracy.

A reading is a class with one method: `read` returns values by the ending of their column, "" for the value itself. So
a measure `last_50` whose reading returns {"": 98.1, "_std": 0.04} makes the columns last_50 and last_50_std. A value is
a number, a text (`numbers_of` reads the texts of curves), or None if the run lacks it. A bound, for a target that was
not reached, is the text ">300". To add one: a class in a module here, its line in `members.csv`, and a test with a
known answer.
"""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.reproductions.readings.base import Reading

READINGS: Catalogue[Reading] = Catalogue(
    noun="reading",
    members=members_of(__file__),
    base=Reading,
    kind="readings",
)
