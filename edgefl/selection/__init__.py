"""Who takes part: one file a selection."""

from edgefl.catalogue import Catalogue
from edgefl.selection.base import Selection

SELECTIONS: Catalogue[Selection] = Catalogue(
    "selection",
    {
        "uniform": "edgefl.selection.uniform:UniformSelection",
        "bernoulli": "edgefl.selection.bernoulli:BernoulliSelection",
        "schedule": "edgefl.selection.schedule:ScheduleSelection",
        "all": "edgefl.selection.everybody:Everybody",
        "round_robin": "edgefl.selection.round_robin:RoundRobin",
        "fastest": "edgefl.selection.fastest:Fastest",
        "energy_aware": "edgefl.selection.energy_aware:EnergyAware",
        "power_of_choice": "edgefl.selection.power_of_choice:PowerOfChoice",
        "oort": "edgefl.selection.oort:Oort",
    },
)

__all__ = ["SELECTIONS", "Selection"]
