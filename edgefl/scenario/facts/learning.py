"""Facts about the algorithm, local training, data and reports."""

from __future__ import annotations

from collections.abc import Iterator

from edgefl.core.section import dotted
from edgefl.learning.algorithms import Algorithm, properties
from edgefl.learning.report_section import AskedMeasure
from edgefl.scenario.sections import Sections

# The algorithm


def trains_by_more_than_plain_sgd(scenario: Sections) -> bool:
    """Return whether the algorithm does more than plain SGD at devices and a mean at the server."""
    plain = properties.trains_by_plain_sgd(scenario.algorithm) and properties.only_averages(scenario.algorithm)
    return not plain


def needs_more_than_last_model(scenario: Sections) -> bool:
    """Return whether the algorithm needs more than a model that walks from device to device."""
    return not needs_only_last_model(scenario.algorithm)


def needs_only_last_model(algorithm: Algorithm) -> bool:
    """Return whether an algorithm works on a model that walks from device to device and is never averaged."""
    return properties.only_averages(algorithm) and properties.is_divisible(algorithm)


def is_indivisible(scenario: Sections) -> bool:
    """Return whether the algorithm keeps more at the server than the model."""
    return not properties.is_divisible(scenario.algorithm)


def needs_more_than_mean(scenario: Sections) -> bool:
    """Return whether the algorithm needs more of a round's updates than their mean."""
    return not properties.needs_only_mean(scenario.algorithm)


def divides_by_rate(scenario: Sections) -> bool:
    """Return whether the algorithm divides model updates by the learning rate."""
    return properties.divides_by_lr(scenario.algorithm)


def keeps_for_each_device(scenario: Sections) -> bool:
    """Return whether the algorithm, or the initial model of sessions, keeps a state for each device."""
    return properties.keeps_for_each_device(scenario.learning)


def keeps_at_devices(scenario: Sections) -> bool:
    """Return whether the algorithm keeps a state at devices."""
    return properties.keeps_at_devices(scenario.algorithm)


def uploads_no_move(scenario: Sections) -> bool:
    """Return whether the algorithm lets devices upload something other than the move of their model."""
    return not properties.uploads_move(scenario.algorithm)


def uploads_changes(scenario: Sections) -> bool:
    """Return whether the algorithm adds up at the server how the states of devices change."""
    return scenario.algorithm.uploads_changes


def keeps_no_updates(scenario: Sections) -> bool:
    """Return whether the algorithm does not keep each device's last update at the server."""
    return not properties.keeps_updates(scenario.algorithm)


def cannot_forget(scenario: Sections) -> bool:
    """Return whether the algorithm keeps no mean of the devices' states that one can be taken out of."""
    return not properties.can_forget(scenario.algorithm)


def is_coupled(scenario: Sections) -> bool:
    """Return whether the algorithm keeps sums of the devices' states at the server."""
    return properties.is_coupled(scenario.algorithm)


# Training, data, reports


def cost_is_given(scenario: Sections) -> bool:
    """Return whether the scenario gives the cost of the whole model."""
    return scenario.model.cost is not None


def compresses(scenario: Sections) -> bool:
    """Return whether a codec compresses uploads."""
    return scenario.training.codec.compresses


def codec_loses_for_good(scenario: Sections) -> bool:
    """Return whether a codec compresses uploads without error feedback."""
    codec = scenario.training.codec
    return codec.compresses and not codec.error_feedback


def drops_stragglers(scenario: Sections) -> bool:
    """Return whether the updates of stragglers are dropped."""
    stragglers = scenario.training.stragglers
    return stragglers is not None and not stragglers.keep


def rate_is_zero(scenario: Sections) -> bool:
    """Return whether the learning rate is 0."""
    return not scenario.training.lr


def statistics_stay_at_devices(scenario: Sections) -> bool:
    """Return whether the statistics of batch normalisation stay at devices."""
    return scenario.training.batch_norm == "local"


def redivides(scenario: Sections) -> bool:
    """Return whether the samples of a round's participants are divided among them again in each round."""
    return scenario.data.redivide is not None


def redivision_needs_whole_set(scenario: Sections) -> bool:
    """Return whether the partition in `data.redivide` divides nothing but a whole training set."""
    partition = scenario.data.redivide
    return partition is not None and (not partition.of_parts or partition.groups > 1)


def measures_stored_updates(scenario: Sections) -> bool:
    """Return whether a measure asks for each device's last update, such as contributions of all devices."""
    return measure_of_stored_updates(scenario) != ""


def measure_of_stored_updates(scenario: Sections) -> str:
    """Return the key, below `report`, of the first measure that asks for stored updates; "" for none."""
    return _first(asked for asked in scenario.report.asked if asked.measure.of_stored_updates)


def measures_joint_updates(scenario: Sections) -> bool:
    """Return whether a measure asks for updates that a round has aggregated together, such as contributions."""
    return measure_of_joint_updates(scenario) != ""


def measure_of_joint_updates(scenario: Sections) -> str:
    """Return the key, below `report`, of the first measure that asks for jointly aggregated updates; "" for none."""
    return _first(asked for asked in scenario.report.asked if asked.measure.of_joint_updates)


def measures_local_models(scenario: Sections) -> bool:
    """Return whether a measure asks for the models that participants have made, such as device_losses."""
    return measure_of_local_models(scenario) != ""


def measure_of_local_models(scenario: Sections) -> str:
    """Return the key, below `report`, of the first measure that asks for local models; "" for none."""
    return _first(asked for asked in scenario.report.asked if asked.measure.of_local_models)


def measures_kept_samples(scenario: Sections) -> bool:
    """Return whether a measure asks for training samples that devices keep, such as device_losses."""
    return measure_of_kept_samples(scenario) != ""


def measure_of_kept_samples(scenario: Sections) -> str:
    """Return the key, below `report`, of the first measure that asks for kept samples; "" for none."""
    return _first(asked for asked in scenario.report.asked if asked.measure.of_kept_samples)


def _first(found: Iterator[AskedMeasure]) -> str:
    for asked in found:
        return dotted(asked.key[1:])
    return ""


def reports_models(scenario: Sections) -> bool:
    """Return whether further models are reported."""
    return bool(scenario.report.models)


def reports_geometry(scenario: Sections) -> bool:
    """Return whether the geometry of links is reported."""
    return scenario.report.geometry
