"""Who takes part: one file a selection."""

from edgefl.catalogue import Catalogue
from edgefl.selection.base import Selection

SELECTIONS: Catalogue[Selection] = Catalogue(
    "selection",
    {
        "uniform": "edgefl.selection.uniform:UniformSelection",
        "bernoulli": "edgefl.selection.bernoulli:BernoulliSelection",
        "schedule": "edgefl.selection.schedule:ScheduleSelection",
    },
)

__all__ = ["SELECTIONS", "Selection"]
