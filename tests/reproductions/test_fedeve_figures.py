"""FedEve's figures: readings with known answers, and pictures of recorded curves."""

import csv
import importlib

import numpy as np
import pytest

from edgefl.core.errors import InputError
from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.readings.base import numbers_of
from edgefl.reproductions.readings.devices import HeldLabels, LabelDrift
from edgefl.reproductions.records import Row

COLUMNS = ["session", "round", "device", "label", "samples"]
# Two rounds of two devices: in the first both hold class 0 alone, in the second one holds class 0 and one class 1.
HELD = [[1, 1, 3, 0, 10], [1, 1, 8, 0, 30], [1, 2, 3, 0, 10], [1, 2, 5, 1, 10]]


def run_with(folder, rows):
    with (folder / "labels_by_round.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return FinishedRun(folder)


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


def test_what_participants_hold_survives_as_text(tmp_path):
    text = HeldLabels().read(run_with(tmp_path, HELD))[""]
    assert np.array(numbers_of(text)).reshape(-1, 4).tolist() == [row[1:] for row in HELD]


def test_a_run_without_the_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"labels_by_round\.csv"):
        LabelDrift(of="client").read(FinishedRun(tmp_path))


def comparison(rows):
    return Comparison("fedeve/x", "", "", (), "full", (), (), None, None, "measured", 1, 1, (1,), tuple(rows))


CURVE = "0.1 0.2 nan 0.4"
FIGURES = {
    "drift_curves": [Row({"drift": drift}, 1, {"accuracy": CURVE}) for drift in ("none", "both-0.1", "period-1")],
    "gain_boxes": [Row({"partition": p, "epochs": e}, 1, {"gain": CURVE}) for p in ("1", "0.1") for e in "13"],
    "accuracy_curves": [Row({"alg": a, "partition": "1", "epochs": "1"}, 1, {"accuracy": CURVE}) for a in ("A", "B")],
    "label_scatter": [Row({"partition": "1"}, 1, {"held": "1 3 0 10 1 8 0 30 2 3 0 10 2 5 1 10"})],
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_of_what_was_measured(name, tmp_path):
    pytest.importorskip("matplotlib")
    draw = importlib.import_module(f"edgefl.reproductions.figures.{name}").draw
    written = draw(comparison(FIGURES[name]), tmp_path)
    assert written
    for path in written:
        assert path.read_bytes().startswith(b"\x89PNG")
    (tmp_path / "again").mkdir()
    again = draw(comparison(FIGURES[name]), tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]
    assert draw(comparison([]), tmp_path) == []
