"""Facts about the algorithm, local training, data and reports."""

from collections.abc import Callable
from typing import Any

from edgefl.core.section import dotted
from edgefl.learning.algorithms import Algorithm, properties
from edgefl.learning.measures import Measure
from edgefl.scenario.facts.fact import Fact, equals, is_false, is_given, is_missing, is_true
from edgefl.scenario.sections import Sections

# The algorithm


def needs_only_last_model(algorithm: Algorithm) -> bool:
    """Return whether an algorithm works on a model that is sent from device to device and is never averaged."""
    return properties.only_averages(algorithm) and properties.is_divisible(algorithm)


def _is_plain_sgd(algorithm: Algorithm) -> bool:
    return properties.trains_by_plain_sgd(algorithm) and properties.only_averages(algorithm)


def _algorithm(asks: Callable[[Any], bool], said: str) -> Fact:
    return Fact(said, lambda scenario: asks(scenario.algorithm), calls_hooks=True)


def _no_algorithm(asks: Callable[[Any], bool], said: str) -> Fact:
    return Fact(said, lambda scenario: not asks(scenario.algorithm), calls_hooks=True)


def _learning(asks: Callable[[Any], bool], said: str) -> Fact:
    return Fact(said, lambda scenario: asks(scenario.learning), calls_hooks=True)


trains_by_more_than_plain_sgd = _no_algorithm(
    _is_plain_sgd, "the algorithm does more than plain SGD at devices and a mean at the server"
)
needs_more_than_last_model = _no_algorithm(
    needs_only_last_model, "the algorithm needs more than a model that is sent from device to device"
)
is_indivisible = _no_algorithm(properties.is_divisible, "the algorithm keeps more at the server than the model")
divides_by_rate = _algorithm(properties.divides_by_lr, "the algorithm divides model updates by the learning rate")
weighs_rates = _algorithm(properties.weighs_rates, "the algorithm assumes one learning rate for all parameters")
keeps_for_each_device = _learning(
    properties.keeps_for_each_device, "the algorithm, or the initial model of sessions, keeps a state for each device"
)
keeps_at_devices = _algorithm(properties.keeps_at_devices, "the algorithm keeps a state at devices")
uploads_no_move = _no_algorithm(
    properties.uploads_move, "the algorithm lets devices upload something other than the change of their model"
)
uploads_changes = is_true(
    "algorithm.uploads_changes", "the algorithm adds up at the server how the states of devices change"
)
keeps_no_updates = _no_algorithm(
    properties.keeps_updates, "the algorithm does not keep each device's last update at the server"
)
cannot_forget = _no_algorithm(
    properties.can_forget, "the algorithm keeps no mean of the devices' states that one can be removed from"
)
is_coupled = _algorithm(properties.is_coupled, "the algorithm keeps sums of the devices' states at the server")

# Training and data


def _needs_whole_set(scenario: Sections) -> bool:
    partition = scenario.data.redivide
    return partition is not None and (not partition.of_parts or partition.groups > 1)


cost_is_given = is_given("model.cost", "the scenario gives the cost of the whole model")
has_parts = is_given("training.parts", "parameters of the model are named")
has_adapters = is_given("model.adapters", "linear layers have adapters")
keeps_parts = is_true("training.parts.keeps", "devices keep a part of the model")
has_first_part = is_given("training.parts.first", "at first only a part of the model trains")
weighs_steps = _learning(
    properties.weighs_steps,
    "the algorithm divides a device's move by its steps, or uses the gradient of all its samples",
)
needs_whole_model = _learning(properties.needs_whole_model, "the algorithm adds a loss or a decay to the whole model")
has_one_test_set = equals("data.test_partition", "none", "devices have no test samples of their own")
has_validation = is_given("data.validation_share", "training samples are held out as a validation set")
compresses = is_true("training.codec.compresses", "a codec compresses uploads")
codec_loses_for_good = Fact(
    "a codec compresses uploads without error feedback",
    lambda scenario: scenario.training.codec.compresses and not scenario.training.codec.error_feedback,
)
varies = is_true("training.variations", "rates, batches or local work differ between devices or rounds")
has_own_rates = Fact(
    "some parameters have a learning rate of their own",
    lambda scenario: any(group.lr is not None for group in scenario.training.parameter_groups),
)
rate_is_zero = is_false("training.lr", "the learning rate is 0")
statistics_stay_at_devices = equals(
    "training.batch_norm", "local", "the statistics of batch normalisation stay at devices"
)
redivides = is_given("data.redivide", "samples are divided again among the participants of each round")
redivision_needs_whole_set = Fact("the partition in `data.redivide` needs the whole training set", _needs_whole_set)

drifts = is_given("data.drift", "the data of devices change during the run")
labels_drift = is_true("data.drift.changes_labels", "the labels of samples change during the run")

ends_without_improvement = is_given("stop.patience", "the run ends when its model no longer improves")
needs_validation = Fact(
    "the run ends when its model no longer improves on the validation set",
    lambda scenario: scenario.stop.patience is not None and (scenario.stop.patience.of or "").startswith("validation"),
)
has_no_validation = is_missing("data.validation_share", "no training samples are held out as a validation set")

# Reports


def _first_measure(asks: Callable[[Measure], bool]) -> Callable[[Sections], str]:
    """Return a function with the key, below `report`, of the first measure that asks for something; "" for none."""

    def key(scenario: Sections) -> str:
        return next((dotted(asked.key[1:]) for asked in scenario.report.asked if asks(asked.measure)), "")

    return key


def _has(key_of: Callable[[Sections], str], said: str) -> Fact:
    return Fact(said, lambda scenario: key_of(scenario) != "")


measure_of_stored_updates = _first_measure(lambda measure: measure.of_stored_updates)
measures_stored_updates = _has(
    measure_of_stored_updates,
    "a measure asks for each device's last update, such as contributions of all devices",
)
measure_of_joint_updates = _first_measure(lambda measure: measure.of_joint_updates)
measures_joint_updates = _has(
    measure_of_joint_updates,
    "a measure asks for updates that a round has aggregated together, such as contributions",
)
measure_of_local_models = _first_measure(lambda measure: measure.of_local_models)
measures_local_models = _has(
    measure_of_local_models, "a measure asks for the models that participants have made, such as device_losses"
)
measure_of_kept_samples = _first_measure(lambda measure: measure.of_kept_samples)
measures_kept_samples = _has(
    measure_of_kept_samples, "a measure asks for training samples that devices keep, such as device_losses"
)
reports_models = is_true("report.models", "more models are reported")


def report_of_one_model(scenario: Sections) -> str:
    """Return the key, below `report`, of the first report about one model for all devices; "" for none."""
    report = scenario.report
    if report.asked:
        return dotted(report.asked[0].key[1:])
    return next((key for key in ("best_model", "models", "train_accuracy") if getattr(report, key)), "")


reports_one_model = _has(report_of_one_model, "a report is about one model for all devices")
reports_labels_by_round = is_true("report.labels_by_round", "the labels of each round's participants are reported")
reports_geometry = is_true("report.geometry", "the geometry of links is reported")
