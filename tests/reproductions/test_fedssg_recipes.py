"""Readings of FedSSG's recipes, with known answers."""

import numpy as np
import pytest
from recipe_cases import run_with_table

from edgefl.core.errors import InputError
from edgefl.reproductions.readings.devices import Confusion, LargestShare, LossSpread
from edgefl.reproductions.readings.rounds import RoundsTo
from edgefl.results.result_tables import columns_of_files


def test_the_largest_share_of_a_class_by_hand(tmp_path):
    """Device 0 has 3 of 4 samples in one class, device 2 has 5 of 5, device 1 has none."""
    run = run_with_table(tmp_path, "labels.csv", ["device", "label", "samples"], [[0, 0, 1], [0, 2, 3], [2, 1, 5]])
    values = LargestShare(devices=1).read(run)
    assert values == {"": pytest.approx((0.75 + 1) / 2), "_counts": "1 0 3"}


def test_the_spread_of_losses_by_hand(tmp_path):
    """The last two rounds change by (-1, 0.5) and (0, 2), so the spread is the root of (1.25 + 4) / 2."""
    header = ["session", "round", "device", "received_loss", "local_loss", "next_loss"]
    rows = [[1, 1, 0, 9, 1, 1], [1, 2, 0, 3, 2, 3.5], [1, 3, 4, 2, 2, 4]]
    values = LossSpread(last=2).read(run_with_table(tmp_path, "device_losses.csv", header, rows))
    assert values == {"": pytest.approx(np.sqrt(5.25 / 2)), "_local": "-1 0", "_global": "0.5 2"}


def test_rounds_of_another_model(tmp_path):
    """The mean of all devices' models gets there one round later than the participants', or never."""
    columns = {column.name: [0] * 3 for column in columns_of_files()["rounds.csv"] if not column.optional}
    columns |= {"sel_accuracy": [0.5, 0.7, 0.9], "all_accuracy": [None, 0.2, 0.7]}
    run = run_with_table(tmp_path, "rounds.csv", list(columns), zip(*columns.values(), strict=True))
    assert RoundsTo(accuracy=0.7, model="sel").read(run) == {"": 2}
    assert RoundsTo(accuracy=0.7, model="all").read(run) == {"": 3}
    assert RoundsTo(accuracy=0.8, model="all").read(run) == {"": ">3"}


def test_a_confusion_matrix_by_hand(tmp_path):
    header = ["session", "round", "label", "predicted", "samples"]
    run = run_with_table(tmp_path, "predictions.csv", header, [[1, 2, 0, 0, 9], [1, 5, 0, 0, 3], [1, 5, 1, 0, 1]])
    assert Confusion(round=5).read(run) == {"": pytest.approx(75.0), "_entries": "0 0 3 1 0 1"}
    with pytest.raises(InputError, match=r"predictions\.csv: has no round 4: name it in report\.predictions"):
        Confusion(round=4).read(run)
