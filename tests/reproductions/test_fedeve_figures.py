"""FedEve's figures: readings with known answers, and pictures of recorded curves."""

import numpy as np
import pytest
from recipe_cases import run_with_table

from edgefl.core.errors import InputError
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.readings.base import numbers_of
from edgefl.reproductions.readings.devices import HeldLabels, LabelDrift

COLUMNS = ["session", "round", "device", "label", "samples"]
# Two rounds of two devices: in the first both hold class 0 alone, in the second one holds class 0 and one class 1.
HELD = [[1, 1, 3, 0, 10], [1, 1, 8, 0, 30], [1, 2, 3, 0, 10], [1, 2, 5, 1, 10]]


def run_with(folder, rows):
    return run_with_table(folder, "labels_by_round.csv", COLUMNS, rows)


def test_drifts_by_hand(tmp_path):
    """Pools (1, 0) and (1/2, 1/2), mean (3/4, 1/4): 1/4 off each. Devices: 0, 0, then 1/2, 1/2."""
    run = run_with(tmp_path, HELD)
    assert LabelDrift(of="period").read(run) == {"": pytest.approx(0.25)}
    assert LabelDrift(of="client").read(run) == {"": pytest.approx(0.25)}


def test_devices_without_a_class_in_common(tmp_path):
    """n devices of one class each and equal sizes: each is 1 - 1/n from the pool, and rounds are alike."""
    run = run_with(tmp_path, [[1, number, 10 + label, label, 7] for number in (1, 2, 3) for label in range(4)])
    assert LabelDrift(of="client").read(run) == {"": pytest.approx(0.75)}
    assert LabelDrift(of="period").read(run) == {"": pytest.approx(0.0)}


def test_held_labels_can_be_read_back_from_text(tmp_path):
    text = HeldLabels().read(run_with(tmp_path, HELD))[""]
    assert np.array(numbers_of(text)).reshape(-1, 4).tolist() == [row[1:] for row in HELD]


def test_a_run_without_the_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"labels_by_round\.csv"):
        LabelDrift(of="client").read(FinishedRun(tmp_path))
