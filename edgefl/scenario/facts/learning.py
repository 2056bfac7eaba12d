"""Facts about the algorithm, local training, data and reports."""

from collections.abc import Callable

from edgefl.core.section import dotted
from edgefl.learning.algorithms import Algorithm, properties
from edgefl.learning.measures import Measure
from edgefl.scenario.facts.fact import Fact
from edgefl.scenario.sections import Sections

# The algorithm


def needs_only_last_model(algorithm: Algorithm) -> bool:
    """Return whether an algorithm works on a model that is sent from device to device and is never averaged."""
    return properties.only_averages(algorithm) and properties.is_divisible(algorithm)


def _is_plain_sgd(algorithm: Algorithm) -> bool:
    return properties.trains_by_plain_sgd(algorithm) and properties.only_averages(algorithm)


trains_by_more_than_plain_sgd = Fact(
    "the algorithm does more than plain SGD at devices and a mean at the server",
    lambda scenario: not _is_plain_sgd(scenario.algorithm),
)
needs_more_than_last_model = Fact(
    "the algorithm needs more than a model that is sent from device to device",
    lambda scenario: not needs_only_last_model(scenario.algorithm),
)
is_indivisible = Fact(
    "the algorithm keeps more at the server than the model",
    lambda scenario: not properties.is_divisible(scenario.algorithm),
)
needs_more_than_mean = Fact(
    "the algorithm needs more of a round's updates than their mean",
    lambda scenario: not properties.needs_only_mean(scenario.algorithm),
)
divides_by_rate = Fact(
    "the algorithm divides model updates by the learning rate",
    lambda scenario: properties.divides_by_lr(scenario.algorithm),
)
keeps_for_each_device = Fact(
    "the algorithm, or the initial model of sessions, keeps a state for each device",
    lambda scenario: properties.keeps_for_each_device(scenario.learning),
)
keeps_at_devices = Fact(
    "the algorithm keeps a state at devices", lambda scenario: properties.keeps_at_devices(scenario.algorithm)
)
uploads_no_move = Fact(
    "the algorithm lets devices upload something other than the change of their model",
    lambda scenario: not properties.uploads_move(scenario.algorithm),
)
uploads_changes = Fact(
    "the algorithm adds up at the server how the states of devices change",
    lambda scenario: scenario.algorithm.uploads_changes,
)
keeps_no_updates = Fact(
    "the algorithm does not keep each device's last update at the server",
    lambda scenario: not properties.keeps_updates(scenario.algorithm),
)
cannot_forget = Fact(
    "the algorithm keeps no mean of the devices' states from which one can be removed",
    lambda scenario: not properties.can_forget(scenario.algorithm),
)
is_coupled = Fact(
    "the algorithm keeps sums of the devices' states at the server",
    lambda scenario: properties.is_coupled(scenario.algorithm),
)

# Training and data


def _drops_stragglers(scenario: Sections) -> bool:
    stragglers = scenario.training.stragglers
    return stragglers is not None and not stragglers.keep


def _needs_whole_set(scenario: Sections) -> bool:
    partition = scenario.data.redivide
    return partition is not None and (not partition.of_parts or partition.groups > 1)


cost_is_given = Fact("the scenario gives the cost of the whole model", lambda scenario: scenario.model.cost is not None)
has_parts = Fact("parameters of the model are named", lambda scenario: scenario.training.parts is not None)
has_adapters = Fact("linear layers have adapters", lambda scenario: scenario.model.adapters is not None)
keeps_parts = Fact(
    "devices keep a part of the model",
    lambda scenario: scenario.training.parts is not None and scenario.training.parts.keeps,
)
has_first_part = Fact(
    "a part of the model trains alone at first",
    lambda scenario: scenario.training.parts is not None and scenario.training.parts.first is not None,
)
weighs_steps = Fact(
    "the algorithm divides a device's move by its steps, or uses the gradient of all its samples",
    lambda scenario: properties.weighs_steps(scenario.learning),
)
needs_whole_model = Fact(
    "the algorithm adds a loss or a decay to the whole model",
    lambda scenario: properties.needs_whole_model(scenario.learning),
)
has_one_test_set = Fact(
    "devices have no test samples of their own", lambda scenario: scenario.data.test_partition == "none"
)
has_validation = Fact(
    "training samples are held out as a validation set", lambda scenario: scenario.data.validation_share is not None
)
compresses = Fact("a codec compresses uploads", lambda scenario: scenario.training.codec.compresses)
codec_loses_for_good = Fact(
    "a codec compresses uploads without error feedback",
    lambda scenario: scenario.training.codec.compresses and not scenario.training.codec.error_feedback,
)
drops_stragglers = Fact("the updates of stragglers are dropped", _drops_stragglers)
rate_is_zero = Fact("the learning rate is 0", lambda scenario: not scenario.training.lr)
statistics_stay_at_devices = Fact(
    "the statistics of batch normalisation stay at devices", lambda scenario: scenario.training.batch_norm == "local"
)
redivides = Fact(
    "samples are divided again among the participants of each round",
    lambda scenario: scenario.data.redivide is not None,
)
redivision_needs_whole_set = Fact("the partition in `data.redivide` needs the whole training set", _needs_whole_set)

drifts = Fact("the data of devices change during the run", lambda scenario: scenario.data.drift is not None)
labels_drift = Fact(
    "the labels of samples change during the run",
    lambda scenario: scenario.data.drift is not None and scenario.data.drift.changes_labels,
)

ends_without_improvement = Fact(
    "the run ends when its model no longer improves", lambda scenario: scenario.stop.patience is not None
)
needs_validation = Fact(
    "the run ends when its model no longer improves on the validation set",
    lambda scenario: scenario.stop.patience is not None and (scenario.stop.patience.of or "").startswith("validation"),
)
has_no_validation = Fact(
    "no training samples are held out as a validation set", lambda scenario: scenario.data.validation_share is None
)

# Reports


def _first_measure(asks: Callable[[Measure], bool]) -> Callable[[Sections], str]:
    """Return a function with the key, below `report`, of the first measure that asks for something; "" for none."""

    def key(scenario: Sections) -> str:
        return next((dotted(asked.key[1:]) for asked in scenario.report.asked if asks(asked.measure)), "")

    return key


measure_of_stored_updates = _first_measure(lambda measure: measure.of_stored_updates)
measures_stored_updates = Fact(
    "a measure asks for each device's last update, such as contributions of all devices",
    lambda scenario: measure_of_stored_updates(scenario) != "",
)
measure_of_joint_updates = _first_measure(lambda measure: measure.of_joint_updates)
measures_joint_updates = Fact(
    "a measure asks for updates that a round has aggregated together, such as contributions",
    lambda scenario: measure_of_joint_updates(scenario) != "",
)
measure_of_local_models = _first_measure(lambda measure: measure.of_local_models)
measures_local_models = Fact(
    "a measure asks for the models that participants have made, such as device_losses",
    lambda scenario: measure_of_local_models(scenario) != "",
)
measure_of_kept_samples = _first_measure(lambda measure: measure.of_kept_samples)
measures_kept_samples = Fact(
    "a measure asks for training samples that devices keep, such as device_losses",
    lambda scenario: measure_of_kept_samples(scenario) != "",
)
reports_models = Fact("further models are reported", lambda scenario: bool(scenario.report.models))


def report_of_one_model(scenario: Sections) -> str:
    """Return the key, below `report`, of the first report about one model for all devices; "" for none."""
    report = scenario.report
    if report.asked:
        return dotted(report.asked[0].key[1:])
    return next((key for key in ("best_model", "models", "train_accuracy") if getattr(report, key)), "")


reports_one_model = Fact(
    "a report is about one model for all devices", lambda scenario: report_of_one_model(scenario) != ""
)
reports_labels_by_round = Fact(
    "the labels of each round's participants are reported", lambda scenario: scenario.report.labels_by_round
)
reports_geometry = Fact("the geometry of links is reported", lambda scenario: scenario.report.geometry)
