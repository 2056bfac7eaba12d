"""Checks that the data suit a scenario."""

import numpy as np
import numpy.typing as npt

from edgefl.coordination.selection import SELECTIONS
from edgefl.core.errors import InputError
from edgefl.core.section import dotted
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.data_section import IMAGE_AXES
from edgefl.learning.datasets import Data
from edgefl.learning.datasets.array_forms import floats_as_classes
from edgefl.learning.datasets.base import IGNORED, telling_rows
from edgefl.learning.losses import LOSSES, Loss
from edgefl.learning.losses.imported import ImportedLoss, ignored_label
from edgefl.learning.models import MODELS, Model
from edgefl.learning.models.counted import without_values
from edgefl.learning.models.imported import has_own_network
from edgefl.learning.parameter_groups import values_of
from edgefl.learning.parts import PartsError
from edgefl.learning.report_section import ReportSection
from edgefl.scenario import Scenario, Stop

COLOURS = (3, 4)  # numbers of a pixel of an image


def check(scenario: Scenario, data: Data) -> None:
    """Check that the data suit the scenario.

    Raises:
        InputError: they do not.
    """
    _check_loss(scenario, data)
    _check_model(scenario.network.with_loss(scenario.training.loss), data, Streams(scenario.seed))
    if scenario.training.parameter_groups:
        _check_parameter_groups(scenario, data)
    if data.regression:
        _check_regression(scenario)
    if data.several_labels:
        _check_several_labels(scenario)
    _check_patience(scenario.stop, data)
    if scenario.data.augmentation and len(data.shape) not in IMAGE_AXES:
        raise InputError(f"data.augmentation: needs images, got samples of shape {list(data.shape)}")
    _check_report(scenario.report, data)
    if scenario.server.selection.needs_labels and not data.one_class_each:
        name = SELECTIONS.name_of(scenario.server.selection)
        raise InputError(f"server.selection: {name} needs samples with one class each: choose another")
    if scenario.learning.sent_once() and (data.ranked or not data.one_class_each):
        raise InputError("sessions.initialisation: continuous needs samples with one class each to distil")
    if scenario.model.init.kind != "default":
        # A wrong length is an error even without learning.
        vector = scenario.model.init.vector(scenario.model.parameters(data.shape, data.outputs))
        _check_initial(vector, data.dtype, scenario.model.init.kind)


def _check_model(model: Model, data: Data, streams: Streams) -> None:
    """Check that the model can learn from the data; a user's network is tried."""
    # A regression has no classes: the model is checked for the smallest number.
    classes = 2 if data.regression else data.classes
    if data.several_labels and not model.bare.of_each_token and not has_own_network(model):
        name = MODELS.name_of(model)
        text = f"{name} gives the class of a sample, and each sample has labels {list(data.label_shape)}"
        wanted = ", ".join(map(str, data.output_shape))
        remedy = f"use a network of your own that gives [B, {wanted}]"
        raise InputError(f"model.kind: {text}: {remedy}{_remedy_of_labels(data)}")
    for samples in (data.train_x, data.test_x):
        reason = model.misfit(samples, classes)
        reason = reason or model.refusal(data.normalised(samples[telling_rows(samples, 2)]), data.output_shape)
        if reason:
            raise InputError(f"model.kind: {reason}{_remedy_of_labels(data)}")
    if reason := model.global_draw(data.shape, data.outputs):
        raise InputError(f"model.kind: {reason}")
    if has_own_network(model):
        from edgefl.learning.learner.network_trial import network_problem  # late, as it imports torch

        name = MODELS.name_of(model)
        if reason := network_problem(model, data, streams, name):
            raise InputError(f"model.kind: {reason}")


def _check_parameter_groups(scenario: Scenario, data: Data) -> None:
    module = without_values(lambda: scenario.network.module(data.shape, data.outputs))
    names = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
    try:
        values_of(scenario.training.parameter_groups, names, "lr", 0.0)  # raises what is wrong with the names
    except PartsError as error:
        raise InputError(f"training.{error.key}: {error}") from None


def _remedy_of_labels(data: Data) -> str:
    """Return how several labels of a sample become one, if they look like one; otherwise ''."""
    if 1 in data.label_shape:
        axis = 1 + data.label_shape.index(1)
        return f"; labels have an axis of length 1: without it, y.squeeze({axis}), they are {_squeezed(data)}"
    if len(data.label_shape) == len(data.shape) == 3 and data.label_shape[-1] in COLOURS:
        return "; a mask in colours must become the number of a class for each pixel"
    return ""


def _squeezed(data: Data) -> str:
    shape = list(data.label_shape)
    shape.remove(1)
    return f"[{', '.join(['n', *map(str, shape)])}]"


def _check_report(report: ReportSection, data: Data) -> None:
    for key, asked in report.asked:
        if reason := asked.refusal(data):
            raise InputError(f"{dotted(key)}: {reason}: leave it out, or use other data")
    if report.train_accuracy and not data.classes:
        raise InputError("report.train_accuracy: needs samples with classes: leave it out")
    if report.labels_by_round and not data.one_class_each:
        raise InputError("report.labels_by_round: needs samples with one class each: leave it out")
    if report.strict_auc and not data.ranked:
        raise InputError("report.strict_auc: needs a dataset of rankings (movielens): leave it out")


def _check_initial(vector: npt.NDArray[np.floating], dtype: str, kind: str) -> None:
    """Check that the initial model's numbers can be multiplied."""
    with np.errstate(over="ignore"):
        squares = np.square(vector.astype(dtype))
    if not np.isfinite(squares).all():
        key = "path" if kind == "file" else "value"
        raise InputError(f"model.init.{key}: products of such large numbers exceed {dtype}: use smaller ones")


def _check_labels_of_loss(loss: Loss, data: Data) -> None:
    if loss.weighs_classes and not data.one_class_each:
        text = "class_weights needs samples with one class each"
        raise InputError(f"training.loss: {text}: leave it out, or give each sample a weight with the data")
    if loss.of_all_labels and not data.several_labels and not data.regression:
        text = f"{LOSSES.name_of(loss)} compares all labels of a sample, and each of these samples has one class"
        raise InputError(f"training.loss: {text}: leave it out, or use data with a label for each pixel or token")


def _check_loss(scenario: Scenario, data: Data) -> None:
    model = scenario.model
    loss = scenario.training.loss
    if loss is not None and model.has_own_loss:
        raise InputError(f"training.loss: the model {MODELS.name_of(model)} has its own loss: leave it out")
    if model.has_own_loss:
        return
    _check_labels_of_loss(loss or model.loss, data)
    wanted = (loss or model.loss).labels
    if data.regression and wanted == "classes":
        where = "data.dataset" if loss is None else "training.loss"
        text = "labels are floating-point numbers, and the loss is the cross-entropy of classes"
        remedy = f"for a regression set training.loss to mse, for classes {floats_as_classes(data.train_y)}"
        raise InputError(f"{where}: {text}: {remedy}")
    if wanted == "numbers" and not data.regression:
        text = f"{LOSSES.name_of(loss or model.loss)} needs floating-point labels, these are {data.classes} classes"
        raise InputError(f"training.loss: {text}: leave it out, or make the labels floating-point numbers")
    labels = data.train_y
    if data.several_labels:
        labels = labels[labels != IGNORED]  # a loss takes one label after another
    if loss is not None and (reason := loss.refusal(data.outputs, labels)):
        raise InputError(f"training.loss: {reason}{_forms_of_labels(data)}")
    if loss is not None and data.several_labels and (ignored := ignored_label(loss, data.outputs, labels)) is not None:
        text = f"{LOSSES.name_of(loss)} gives the label {ignored} no loss, and means and accuracies would count it"
        raise InputError(f"training.loss: {text}: give ignore_index={ignored} with the data")
    # The output of a user's network is tried instead.
    if loss is not None and not has_own_network(model) and loss.takes_log_probabilities(data.outputs, labels):
        text = f"{LOSSES.name_of(loss)} needs logarithms of probabilities (it falls without limit)"
        text += f", which {MODELS.name_of(model)} does not return"
        raise InputError(f"training.loss: {text}: leave it out, for the cross-entropy")
    if isinstance(loss, ImportedLoss) and not has_own_network(model) and loss.takes_probabilities(data.outputs, labels):
        text = f"{LOSSES.name_of(loss)} takes no outputs below 0, which {MODELS.name_of(model)} may return"
        remedy = (
            "for yes-or-no labels write torch.nn:BCEWithLogitsLoss, or end a network of your own with torch.sigmoid"
        )
        raise InputError(f"training.loss: {text}: {remedy}")


def _forms_of_labels(data: Data) -> str:
    """Return the form of a sample's several labels for a loss; '' if there is only one."""
    if not data.several_labels:
        return ""
    return f": it gets one token or pixel after another, outputs [B, {data.outputs}] and labels [B]"


def _check_patience(stop: Stop, data: Data) -> None:
    if stop.patience is None or stop.patience.of is None or data.classes:
        return
    if stop.patience.of.endswith("_accuracy"):
        text = "needs samples with classes, as no accuracy is measured for others"
        raise InputError(f"stop.patience.of: {text}: set it to {stop.patience.of.replace('accuracy', 'loss')}")


def _check_regression(scenario: Scenario) -> None:
    """Check that nothing in the scenario needs classes, as a regression has none."""
    text = "labels of a regression are numbers, and no accuracy is measured"
    if scenario.targets:
        raise InputError(f"targets: {text}: leave them out")
    if scenario.stop.accuracy is not None:
        raise InputError(f"stop.accuracy: {text}: leave it out")
    if scenario.learning.needs_classes:
        name = ALGORITHMS.name_of(scenario.algorithm)
        raise InputError(f"algorithm: {name} needs classes, and labels of a regression are numbers: choose another")
    if scenario.churn.by_classes:
        raise InputError("churn.p_min: labels of a regression are numbers, not classes: set churn.probability")


def _check_several_labels(scenario: Scenario) -> None:
    """Check that nothing in the scenario needs one class a sample, where tokens or pixels have classes."""
    text = "each sample has several labels"
    if scenario.data.augmentation:
        raise InputError(f"data.augmentation: {text}, which do not move with the pixels: leave it out")
    if scenario.learning.needs_classes:
        name = ALGORITHMS.name_of(scenario.algorithm)
        raise InputError(f"algorithm: {name} needs the class of a sample, and {text}: choose another")
    if scenario.churn.by_classes:
        raise InputError(f"churn.p_min: depends on the class of a sample, and {text}: set churn.probability")
