"""Readings of a run whose tables are written by hand, so that every answer is known."""

import json

import numpy as np
import pytest

from edgefl.core.errors import InputError
from edgefl.reproductions import readings
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.readings.base import numbers_of
from edgefl.results.csv_format import csv_bytes, csv_cell
from edgefl.results.result_tables import columns_of_files

ACCURACIES = [0.5, 0.8, None, 0.9, 0.7, 0.95]


@pytest.fixture
def run(tmp_path):
    count = len(ACCURACIES)
    columns = {column.name: [0] * count for column in columns_of_files()["rounds.csv"] if not column.optional}
    columns["session"] = [1, 1, 1, 2, 2, 2]
    columns["round"] = [1, 2, 3, 1, 2, 3]
    columns["time_s"] = [2.0 * number for number in range(1, count + 1)]
    columns["energy_j"] = [10.0 * number for number in range(1, count + 1)]
    columns["duration_s"] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    columns["test_accuracy"] = ACCURACIES
    (tmp_path / "rounds.csv").write_bytes(csv_bytes(columns))
    (tmp_path / "scenario.yaml").write_text("name: x\n")
    (tmp_path / "manifest.json").write_text(json.dumps({"status": "finished", "digests": {}}))
    (tmp_path / "summary.json").write_text(json.dumps({"fairness": {"worst_10": 0.25}, "energy_j": 60.0}))
    return FinishedRun(tmp_path)


def read(run, kind, **keys):
    return readings.READINGS.load(kind).model_validate(keys).read(run)


def test_rounds_to_an_accuracy(run):
    assert read(run, "rounds_to", accuracy=0.85) == {"": 4}
    assert read(run, "rounds_to", accuracy=0.99) == {"": ">6"}


def test_means_over_tests(run):
    assert read(run, "last_mean", rounds=2)[""] == pytest.approx(82.5)
    assert read(run, "last_mean", rounds=2)["_std"] == pytest.approx(12.5)
    assert read(run, "last_mean", rounds=2, percent=False)[""] == pytest.approx(0.825)
    assert read(run, "first_rounds_mean", session=2, rounds=2)[""] == pytest.approx(80.0)
    assert read(run, "first_rounds_mean", session=2, first=0, rounds=2)[""] == pytest.approx(85.0)
    assert read(run, "final")[""] == pytest.approx(95.0)
    assert read(run, "best")[""] == pytest.approx(95.0)


def test_columns(run):
    assert read(run, "column_mean", column="duration_s")[""] == 3.5
    assert read(run, "column_mean", column="duration_s", last=2, scale=2.0)[""] == 11.0
    assert read(run, "rounds_in", time_s=14.0) == {"": 4.0}
    assert read(run, "column_final", column="energy_j", scale=1e-3)[""] == pytest.approx(0.06)
    assert read(run, "column_at", column="test_accuracy", round=4)[""] == 0.9
    assert read(run, "column_at", column="test_accuracy", round=3)[""] is None


def test_curves_are_texts_of_numbers(run):
    text = read(run, "column_curve", column="test_accuracy")[""]
    np.testing.assert_equal(numbers_of(text), [0.5, 0.8, np.nan, 0.9, 0.7, 0.95])
    assert read(run, "column_curve", column="duration_s", every=4)[""] == "4 6"


def test_a_round_without_its_evaluation(run):
    """By hand: joules of 10 to 60, and durations of 1 to 6 s that are taken off them."""
    assert read(run, "column_mean", column="energy_j", without="duration_s")[""] == pytest.approx(35 - 3.5)
    assert read(run, "column_final", column="energy_j", without="duration_s", scale=2.0)[""] == pytest.approx(108.0)


def test_rows_of_devices_may_be_chosen_and_combined(run):
    columns = {column.name: [0] * 4 for column in columns_of_files()["devices.csv"] if not column.optional}
    columns |= {"status": ["received", "received", "evaluated", "late"], "download_s": [1.0, 3.0, 10.0, 20.0]}
    columns |= {"rx_energy_j": [2.0, 9.0, 50.0, 80.0], "upload_s": [0.5, 0.5, 2.0, 2.0]}
    (run.folder / "devices.csv").write_bytes(csv_bytes(columns))
    assert read(run, "device_mean", column="download_s", status="received")[""] == 2.0
    assert read(run, "device_mean", column="rx_energy_j", per="download_s", status="received")[""] == 2.5
    assert read(run, "device_percentile", column="download_s", plus="upload_s", percentile=100)[""] == 22.0
    assert read(run, "device_sum", column="download_s", status="evaluated")[""] == 10.0
    with pytest.raises(InputError, match="has no numbers"):
        read(run, "device_mean", column="download_s", status="polled")


def test_columns_of_devices(run):
    columns = {column.name: [0] * 5 for column in columns_of_files()["devices.csv"] if not column.optional}
    columns |= {"coupling_loss_db": [100.0, 120.0, 110.0, 140.0, 130.0], "sir_db": [1.0, None, 3.0, None, None]}
    (run.folder / "devices.csv").write_bytes(csv_bytes(columns))
    assert read(run, "device_percentile", column="coupling_loss_db", percentile=25)[""] == 110.0
    assert read(run, "device_sum", column="coupling_loss_db", scale=0.5)[""] == 300.0
    assert read(run, "device_sum", column="sir_db")[""] == 4.0
    assert read(run, "device_percentile", column="coupling_loss_db", percentile=25, scale=-1)[""] == -130.0
    assert read(run, "device_percentile", column="sir_db", percentile=50)[""] == 2.0
    curve = numbers_of(read(run, "device_distribution", column="coupling_loss_db")[""])
    assert (len(curve), curve[24], curve[49]) == (99, 110.0, 120.0)
    assert numbers_of(csv_cell("-1.5 2")) == [-1.5, 2.0]


def test_summaries(run):
    assert read(run, "summary", key="fairness.worst_10", scale=100.0) == {"": 25.0}


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        ("summary", {"key": "fairness.best"}, "has no fairness.best"),
        ("column_mean", {"column": "speed"}, "has no column speed"),
        ("column_at", {"column": "time_s", "round": 9}, "has 6 rounds, no round 9"),
        ("first_rounds_mean", {"session": 3}, "has no session 3"),
        ("first_rounds_mean", {"session": 1, "first": 0}, "has no session 0"),
        ("session_curve", {"session": 3}, "has no session 3"),
        ("device_accuracy", {}, "has no device_accuracy.csv: the run learned nothing"),
        ("contribution_share", {"device": 0}, "has no contributions.csv: the run has no report.contributions"),
        ("manifest", {"key": "resources.wall_s"}, "manifest.json: has no resources.wall_s"),
        ("scenario", {"key": "radio.bandwidth_hz"}, "scenario.yaml: has no radio.bandwidth_hz"),
    ],
)
def test_reading_that_a_run_lacks_is_an_error(run, kind, keys, said):
    with pytest.raises(InputError, match=said):
        read(run, kind, **keys)


def test_accuracies_of_devices(run):
    """Twenty devices: the worst and the best tenth are two each."""
    accuracies = np.arange(20, 0, -1) / 20
    columns = {"device": list(range(20)), "samples": [5] * 20, "accuracy": accuracies.tolist()}
    (run.folder / "device_accuracy.csv").write_bytes(csv_bytes(columns))
    assert read(run, "device_accuracy") == {"": pytest.approx(52.5), "_std": pytest.approx(100 * accuracies.std())}
    assert read(run, "device_accuracy", of="worst") == {"": pytest.approx(7.5), "_std": pytest.approx(2.5)}
    assert read(run, "device_accuracy", of="best", percent=False)[""] == pytest.approx(0.975)
    assert numbers_of(read(run, "device_accuracies")[""]) == [5.0 * number for number in range(1, 21)]


def test_shares_of_contributions(run):
    """Shares are those of the last round alone; values may be negative."""
    columns = {"session": [1] * 5, "round": [3, 3, 9, 9, 9], "device": [0, 1, 0, 1, 2]}
    columns["contribution"] = [0.5, 0.5, -0.1, 0.2, 0.4]
    (run.folder / "contributions.csv").write_bytes(csv_bytes(columns))
    assert read(run, "contribution_share", device=0)[""] == pytest.approx(-20.0)
    assert read(run, "contribution_share", device=2)[""] == pytest.approx(80.0)
    assert read(run, "contribution_share", device=3) == {"": None}


def test_a_session_s_curve_counts_from_its_beginning(run):
    """The second session: rounds 4 to 6 of the run, 6 s and 30 J after its beginning."""
    assert read(run, "session_curve", session=2) == {"": "0.9 0.7 0.95"}
    assert read(run, "session_curve", session=2, column="time_s") == {"": "2 4 6"}
    assert read(run, "session_curve", session=2, column="energy_j") == {"": "10 20 30"}


def test_numbers_of_scenario_and_manifest(run):
    (run.folder / "scenario.yaml").write_text("radio: {carrier_hz: 3500000000.0}\n")
    (run.folder / "manifest.json").write_text(json.dumps({"status": "finished", "resources": {"cpu_s": 90.0}}))
    assert read(run, "scenario", key="radio.carrier_hz", scale=1e-9) == {"": pytest.approx(3.5)}
    assert read(run, "manifest", key="resources.cpu_s", scale=1 / 60) == {"": pytest.approx(1.5)}


@pytest.mark.parametrize(
    ("column", "direction"),
    [
        ("train_loss", "lower"),
        ("test_accuracy", "higher"),
        ("distance_to_optimum", "lower"),
        ("round_energy_j", "lower"),
        ("ndcg_10", "higher"),
    ],
)
def test_the_better_value_of_a_column(column, direction):
    reading = readings.READINGS.load("column_final").model_validate({"column": column})
    assert reading.direction == direction
