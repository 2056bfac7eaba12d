"""The words and numbers of a scenario to which names between braces refer in the texts of rules."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from edgefl.coordination.optimisers import OPTIMISERS
from edgefl.coordination.policies import POLICIES
from edgefl.coordination.selection import SELECTIONS
from edgefl.learning.algorithms import ALGORITHMS, properties
from edgefl.learning.partitions import PARTITIONS
from edgefl.radio.allocation import ALLOCATIONS
from edgefl.radio.background import BACKGROUNDS
from edgefl.radio.multiple_access import MULTIPLE_ACCESS
from edgefl.radio.rates import RATES
from edgefl.scenario.facts.learning import needs_only_last_model
from edgefl.scenario.sections import Sections
from edgefl.world.churn import CHURN
from edgefl.world.dvfs import DVFS
from edgefl.world.mobility import MOBILITY


def _most_participants(scenario: Sections) -> int:
    """Return the largest number of participants that the allocation has blocks for, at least 1."""
    served = (scenario.radio.allocation.places() or 0) * scenario.cells.count
    most = served
    while most > 1 and scenario.server.policy.asked(most) > served:
        most -= 1
    return most


NAMES: dict[str, Callable[[Sections], Any]] = {
    "algorithm": lambda scenario: ALGORITHMS.name_of(scenario.algorithm),
    "allocation": lambda scenario: ALLOCATIONS.name_of(scenario.radio.allocation),
    "background": lambda scenario: scenario.radio.background and BACKGROUNDS.name_of(scenario.radio.background),
    "churn": lambda scenario: CHURN.name_of(scenario.churn),
    "dvfs": lambda scenario: DVFS.name_of(scenario.devices.dvfs),
    "mobility": lambda scenario: MOBILITY.name_of(scenario.mobility),
    "optimiser": lambda scenario: OPTIMISERS.name_of(scenario.server.optimiser),
    "optimisers_allocation": lambda scenario: scenario.server.optimiser.allocation,
    "policy": lambda scenario: POLICIES.name_of(scenario.server.policy),
    "rate": lambda scenario: RATES.name_of(scenario.radio.rate),
    "redivision": lambda scenario: scenario.data.redivide and PARTITIONS.name_of(scenario.data.redivide),
    "selection": lambda scenario: SELECTIONS.name_of(scenario.server.selection),
    "uplink": lambda scenario: MULTIPLE_ACCESS.name_of(scenario.radio.uplink),
    # Numbers
    "devices": lambda scenario: scenario.devices.count,
    "batteries": lambda scenario: scenario.devices.battery_count,
    "participants": lambda scenario: scenario.server.participants,
    "depleted": lambda scenario: scenario.stop.depleted,
    "groups": lambda scenario: scenario.groups,
    "most_participants": _most_participants,
    # Members that a remedy names
    "last_model_algorithms": lambda _: ALGORITHMS.names_where(needs_only_last_model),
    "divisible_algorithms": lambda _: ALGORITHMS.names_where(properties.is_divisible),
}


class Words(Mapping[str, Any]):
    """The words and numbers of one scenario, each found when a text names it."""

    def __init__(self, scenario: Sections) -> None:
        self._scenario = scenario

    def __getitem__(self, name: str) -> Any:
        return NAMES[name](self._scenario)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)
