"""Selections, which choose the participants of a round: one file a selection; `base.py` says how to write one."""

from edgefl.coordination.selection.base import Selection
from edgefl.core.catalogue import Catalogue

SELECTIONS: Catalogue[Selection] = Catalogue(
    noun="selection",
    members={
        "uniform": "edgefl.coordination.selection.uniform:UniformSelection",
        "bernoulli": "edgefl.coordination.selection.bernoulli:BernoulliSelection",
        "schedule": "edgefl.coordination.selection.schedule:ScheduleSelection",
        "all": "edgefl.coordination.selection.everybody:Everybody",
        "round_robin": "edgefl.coordination.selection.round_robin:RoundRobin",
        "fastest": "edgefl.coordination.selection.fastest:Fastest",
        "energy_aware": "edgefl.coordination.selection.energy_aware:EnergyAware",
        "best_channel": "edgefl.coordination.selection.best_channel:BestChannel",
        "proportional_fair": "edgefl.coordination.selection.proportional_fair:ProportionalFair",
        "age_of_update": "edgefl.coordination.selection.age_of_update:AgeOfUpdate",
        "update_norm": "edgefl.coordination.selection.update_norm:UpdateNorm",
        "channel_and_update": "edgefl.coordination.selection.channel_and_update:ChannelAndUpdate",
        "fedcs": "edgefl.coordination.selection.fedcs:FedCS",
        "lyapunov": "edgefl.coordination.selection.lyapunov:Lyapunov",
        "bandit": "edgefl.coordination.selection.bandit:Bandit",
        "tifl": "edgefl.coordination.selection.tifl:TiFL",
        "data_diversity": "edgefl.coordination.selection.data_diversity:DataDiversity",
        "power_of_choice": "edgefl.coordination.selection.power_of_choice:PowerOfChoice",
        "oort": "edgefl.coordination.selection.oort:Oort",
    },
    base=Selection,
    kind="selection",
)

__all__ = ["SELECTIONS", "Selection"]
