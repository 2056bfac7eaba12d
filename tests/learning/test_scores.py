"""Scores of classifiers and regressions against their definitions, worked out by hand or in another way."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from edgefl.learning.measures import ModelOutputs
from edgefl.learning.measures.auc import Auc
from edgefl.learning.measures.binary_accuracy import BinaryAccuracy
from edgefl.learning.measures.binary_scores import BinaryScores
from edgefl.learning.measures.calibration import Calibration
from edgefl.learning.measures.confusion import Confusion
from edgefl.learning.measures.f1 import F1
from edgefl.learning.measures.mae import MeanAbsoluteError
from edgefl.learning.measures.r2 import R2

RNG = np.random.default_rng(4)


def given(labels, predicted, classes=3):
    """Samples of some classes, and outputs with the predicted class highest."""
    labels = np.array(labels)
    predicted = np.array(predicted)
    return ModelOutputs(np.eye(classes, dtype=np.float32)[predicted], labels, predicted)


def numbers(outputs, labels):
    return ModelOutputs(np.array(outputs, dtype=np.float32), np.array(labels, dtype=np.float32), None)


def test_f1_of_a_small_table_worked_out_by_hand():
    """Class 0: 2 hits of 3 samples and 2 predictions; class 1: 1 of 2 and 3; class 2: never predicted, 1 sample."""
    samples = given([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 0, 1])
    rows = F1().rows_of(samples)
    assert rows == [
        (3, 0, pytest.approx(2 / 3), pytest.approx(2 / 3), pytest.approx(2 / 3)),
        (2, 1, pytest.approx(1 / 3), 0.5, pytest.approx(0.4)),
        (1, 2, None, 0.0, 0.0),
    ]
    assert F1().values(samples)["f1"] == pytest.approx((2 / 3 + 0.4 + 0) / 3)


def test_f1_leaves_out_a_class_that_is_neither_there_nor_predicted():
    assert F1().values(given([0, 1], [0, 1], classes=9)) == {"f1": 1.0}


def test_f1_is_the_harmonic_mean_of_precision_and_recall():
    labels = RNG.integers(0, 5, 300)
    predicted = np.where(RNG.random(300) < 0.6, labels, RNG.integers(0, 5, 300))
    for _, _, precision, recall, f1 in F1().rows_of(given(labels, predicted, 5)):
        assert f1 == pytest.approx(2 / (1 / precision + 1 / recall))


def test_confusion_counts_every_sample_once():
    labels = RNG.integers(0, 4, 200)
    predicted = RNG.integers(0, 4, 200)
    rows = Confusion().rows_of(given(labels, predicted, 4))
    assert sum(samples for samples, *_ in rows) == 200
    for samples, label, guess in rows:
        assert samples == sum((labels == label) & (predicted == guess))
    assert [row[1:] for row in rows] == sorted(row[1:] for row in rows)


def test_auc_of_two_classes_is_the_statistic_of_mann_and_whitney():
    """With two classes both areas are the same, as their softmax adds up to 1. Ties count half."""
    labels = RNG.integers(0, 2, 80)
    margin = np.round(RNG.normal(size=80) + 2 * labels, 1)  # of which many are equal
    statistic = mannwhitneyu(margin[labels == 1], margin[labels == 0]).statistic
    area = statistic / (sum(labels == 1) * sum(labels == 0))
    outputs = np.stack([np.zeros(80), margin], axis=1)
    assert len(np.unique(margin)) < 60
    assert Auc().values(ModelOutputs(outputs, labels, outputs.argmax(1)))["auc"] == pytest.approx(area, rel=1e-12)


def test_auc_of_several_classes_is_the_mean_over_pairs_of_samples():
    labels = RNG.integers(0, 3, 60)
    outputs = RNG.normal(size=(60, 3)) + np.eye(3)[labels]
    exponents = np.exp(outputs)
    scores = exponents / exponents.sum(axis=1, keepdims=True)
    areas = []
    for label in range(3):
        inside = scores[labels == label, label]
        outside = scores[labels != label, label]
        areas.append((inside[:, None] > outside[None, :]).mean())
    assert Auc().values(ModelOutputs(outputs, labels, outputs.argmax(1)))["auc"] == pytest.approx(np.mean(areas))


def test_auc_is_not_defined_for_a_single_class():
    assert Auc().values(given([1, 1], [0, 1])) == {"auc": None}


def test_auc_of_a_perfect_model_is_1_and_of_constant_outputs_one_half():
    assert Auc().values(given([0, 1, 2], [0, 1, 2])) == {"auc": 1.0}
    constant = ModelOutputs(np.zeros((4, 2)), np.array([0, 1, 1, 0]), np.zeros(4, dtype=int))
    assert Auc().values(constant) == {"auc": 0.5}


def test_calibration_of_two_confidences_worked_out_by_hand():
    """Of 4 samples at confidence 0.8, 2 are right (gap 0.3); of 2 at 0.6, both (gap 0.4)."""
    logits = np.log([[0.8, 0.2]] * 4 + [[0.4, 0.6]] * 2)
    samples = ModelOutputs(logits, np.array([0, 0, 1, 1, 1, 1]), logits.argmax(1))
    measure = Calibration(bins=10)
    assert measure.rows_of(samples) == [
        (2, 5, pytest.approx(0.6), 1.0),
        (4, 7, pytest.approx(0.8), 0.5),
    ]
    assert measure.values(samples)["ece"] == pytest.approx((4 * 0.3 + 2 * 0.4) / 6)


def test_a_model_with_equal_confidence_and_accuracy_has_no_calibration_error():
    """30,000 samples: each bin's accuracy has a standard error below 1.2 %, so the mean gap stays below 1 %."""
    sure = RNG.uniform(0.5, 1.0, 30_000)
    right = RNG.random(30_000) < sure
    logits = np.log(np.stack([sure, 1 - sure], axis=1))
    labels = np.where(right, 0, 1)
    samples = ModelOutputs(logits, labels, np.zeros(30_000, dtype=int))
    assert Calibration().values(samples)["ece"] < 0.01
    assert Calibration().values(samples._replace(labels=1 - labels))["ece"] > 0.4


def test_r2_of_the_best_line_is_the_squared_correlation():
    x = RNG.normal(size=50)
    y = 2 * x + RNG.normal(size=50)
    slope, intercept = np.polyfit(x, y, 1)
    samples = ModelOutputs((slope * x + intercept)[:, None], y, None)
    assert R2().values(samples)["r2"] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)


def test_r2_of_the_mean_is_0_and_of_equal_labels_not_defined():
    assert R2().values(numbers([[2.0], [2.0]], [1.0, 3.0])) == {"r2": 0.0}
    assert R2().values(numbers([[1.0], [2.0]], [1.0, 1.0])) == {"r2": None}


def test_r2_of_several_numbers_is_the_mean_of_theirs():
    outputs = RNG.normal(size=(20, 3))
    labels = RNG.normal(size=(20, 3))
    each = [R2().values(ModelOutputs(outputs[:, [k]], labels[:, k], None))["r2"] for k in range(3)]
    assert R2().values(ModelOutputs(outputs, labels, None))["r2"] == pytest.approx(np.mean(each))


def test_mae_is_the_mean_of_the_errors():
    assert MeanAbsoluteError().values(numbers([[1.0], [4.0]], [2.0, 2.0])) == {"mae": 1.5}
    assert MeanAbsoluteError().values(numbers([[1.0, 0.0], [4.0, 1.0]], [[2, 0], [2, 1]])) == {"mae": 0.75}


def test_binary_accuracy_of_one_label_and_of_several():
    one = numbers([[2.0], [-1.0], [0.5], [-3.0]], [1, 1, 0, 0])
    assert BinaryAccuracy().values(one) == {"binary_accuracy": 0.5, "exact_match": 0.5}
    several = numbers([[2.0, -1.0], [0.4, 0.9]], [[1, 0], [1, 1]])
    assert BinaryAccuracy().values(several) == {"binary_accuracy": 1.0, "exact_match": 1.0}
    assert BinaryAccuracy(threshold=0.5).values(several) == {"binary_accuracy": 0.75, "exact_match": 0.5}


def test_binary_scores_count_pairs_and_harmonic_means():
    """Area: share of pairs whose positive has the higher output, ties half. A label without both has no area."""
    outputs = RNG.normal(size=(40, 3)).round(1)
    labels = (RNG.random((40, 3)) < 0.4).astype(np.float32)
    labels[:, 2] = 0.0
    found = BinaryScores().values(ModelOutputs(outputs, labels, None))
    areas = []
    scores = []
    for label in range(3):
        ones = outputs[labels[:, label] == 1, label]
        zeros = outputs[labels[:, label] == 0, label]
        said = outputs[:, label] > 0
        if len(ones):
            areas.append(np.mean([(one > zero) + (one == zero) / 2 for one in ones for zero in zeros]))
            precision = (labels[said, label] == 1).mean()
            recall = (ones > 0).mean()
            scores.append(2 / (1 / precision + 1 / recall))
        else:
            scores.append(0.0)  # it is predicted, and never right
    assert found == {"binary_auc": pytest.approx(np.mean(areas)), "binary_f1": pytest.approx(np.mean(scores))}
    nothing = ModelOutputs(np.full((4, 1), -1.0), np.zeros((4, 1), np.float32), None)
    assert BinaryScores().values(nothing) == {"binary_auc": None, "binary_f1": None}
