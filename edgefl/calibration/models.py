"""Counts of the models of scenarios, instead of a table."""

from collections.abc import Mapping
from pathlib import Path

from edgefl.calibration.log import NetworkCounts
from edgefl.runs import data_checks
from edgefl.scenario import Scenario, load_with_source
from edgefl.world.held_out import kind_of_network


def counts_of_models(models: Mapping[str, str]) -> dict[str, NetworkCounts]:
    """Return what each network computes, by its name.

    Args:
        models: the file or the name of a scenario, by the network that is its model.

    Raises:
        InputError: a scenario or its data cannot be loaded, or its model cannot be counted.
    """
    here = Path.cwd()  # now, as code that a scenario names may change it
    found: dict[str, NetworkCounts] = {}
    for network, file in models.items():
        scenario, source = load_with_source(file, here=here)
        with source.placing():
            found[network] = _counts(scenario)
    return found


def _counts(scenario: Scenario) -> NetworkCounts:
    data = scenario.data.load()
    data_checks.check(scenario, data)
    forward = scenario.network.forward_counts(data.shape, data.outputs, tokens=data.tokens)
    passes = scenario.network.training_passes(data.shape, data.outputs, tokens=data.tokens)
    return NetworkCounts(forward, passes, kind_of_network(data.shape))
