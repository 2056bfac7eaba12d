"""Rows left out of a fit."""

import math
import statistics

import pytest
import yaml
from calibration_cases import LAW, counts_text, log_text, networks, training

from edgefl.calibration.calibration import calibrate, write
from edgefl.calibration.comparison import Compared
from edgefl.calibration.held_out_errors import held_out_errors
from edgefl.calibration.holdout import left_out
from edgefl.calibration.log import LogRow, read_log
from edgefl.core.errors import InputError
from edgefl.scenario import load


@pytest.fixture
def rows(tmp_path):
    """Nine networks with two rounds each."""
    path = tmp_path / "log.csv"
    path.write_text(log_text(training(LAW, networks(9), rounds="12")))
    return read_log(path)


def names(rows, out):
    """The networks and rounds of the rows left out."""
    return [f"{row.network}/{row.round}" for row in rows if row.line in out.lines]


def test_each_network_is_left_out_in_turn_with_all_its_rows(rows):
    found = left_out(rows, None, by_network=True)
    assert [out.told for out in found] == list(networks(9))
    assert names(rows, found[3]) == ["net3/1", "net3/2"]


def test_share_or_names_choose_rows_to_leave_out(rows):
    assert [out.told for out in left_out(rows, "0.5", by_network=True)] == ["net1, net3, net5, net7"]
    assert left_out(rows, "0", by_network=True) == []
    assert names(rows, *left_out(rows, "net2", by_network=False)) == ["net2/1", "net2/2"]


def test_rounds_are_left_out_where_networks_cannot_be_predicted(rows):
    assert names(rows, *left_out(rows, None, by_network=False)) == ["net3/2", "net7/2"]
    alone = [row for row in rows if row.network == "net1"]
    assert names(alone, *left_out(alone, None, by_network=True)) == ["net1/2"]
    assert left_out(alone[:1], None, by_network=True) == []


@pytest.mark.parametrize(
    ("choice", "fault"),
    [
        ("0.7", "--hold-out 0.7: must be a share from 0 to 0.5, or names of networks"),
        ("lenet", '--hold-out lenet: the log has no network "lenet"; networks: net1'),
        ("net1", "--hold-out net1: leaves out all networks: name fewer"),
    ],
)
def test_other_choices_are_refused(rows, choice, fault):
    with pytest.raises(InputError) as refused:
        left_out([row for row in rows if row.network == "net1"], choice, by_network=True)
    assert refused.value.faults == (fault,)


def test_rows_left_out_do_not_move_the_fit_that_predicts_them(tmp_path):
    path = tmp_path / "log.csv"
    rows = training(LAW, networks(1), rounds="1234")
    rows[3]["seconds"] *= 2
    path.write_text(log_text(rows))
    found = calibrate(path)
    (errors,) = found.errors
    assert errors.errors == pytest.approx([-0.5])
    # The scenario has the mean of all four rows.
    (step_s,) = found.fitted.types["pi"].measured.table.values()
    assert step_s == pytest.approx(rows[0]["seconds"] / 10 * 5 / 4)


@pytest.mark.oracle
def test_errors_of_networks_left_out_become_the_profiles(tmp_path):
    path = tmp_path / "log.csv"
    rows = training(LAW, networks(9), rounds="12")
    for row in rows:
        row["seconds"] *= {"net0": 1.3, "net1": 0.7}.get(row["network"], 1)
    path.write_text(log_text(rows))
    counts = tmp_path / "counts.csv"
    counts.write_text(counts_text(networks(9)))
    found = calibrate(path, counts)
    of_network = {}
    for number in found.compared:
        of_network.setdefault(number.row.network, []).append(math.log(number.measured / number.predicted))
    means = [statistics.fmean(logarithms) for logarithms in of_network.values()]
    sigma = math.sqrt(statistics.fmean(mean**2 for mean in means))
    for text in (found.scenario, found.profiles["profile.yaml"]):
        devices = yaml.safe_load(text)
        devices = devices.get("devices", devices)
        # Counts do not say how large images are, so that the error holds for all.
        for error in devices["held_out"]["compute"].values():
            assert error == {"sigma": pytest.approx(sigma, rel=1e-5), "numbers": 9}
        assert len(devices["held_out"]["compute"]) == 3
    assert yaml.safe_load(found.profiles["profile.yaml"])["source"] == "log.csv: pi"


@pytest.mark.oracle
def test_profile_of_each_type_is_read_by_a_group(tmp_path):
    rows = training(LAW, networks(4), rounds="12")
    rows += [row | {"device": "a b/c", "seconds": 2 * row["seconds"]} for row in rows]
    (tmp_path / "log.csv").write_text(log_text(rows))
    (tmp_path / "counts.csv").write_text(counts_text(networks(4)))
    found = calibrate(tmp_path / "log.csv", tmp_path / "counts.csv")
    write(found, tmp_path / "out", overwrite=False, with_picture=False)
    groups = [{"name": name, "share": 0.5, "profile": f"out/{name}.profile.yaml"} for name in ("pi", "a_b")]
    scenario = tmp_path / "s.yaml"
    scenario.write_text(yaml.safe_dump({"devices": {"count": 2, "groups": groups}}))
    fast, slow = load(scenario).devices.made_of
    assert slow.compute.step_s.value > 1.5 * fast.compute.step_s.value
    assert slow.source == "log.csv: a b"
    inline = load(tmp_path / "out" / "scenario.yaml")
    assert [hardware.compute for hardware in inline.devices.made_of] == [fast.compute, slow.compute]


def test_errors_of_directions_and_of_kinds_of_networks_stand_apart():
    def number(phase, measured, network="", quantity="seconds", line=0):
        return Compared(LogRow(line, "pi", phase, network, "1", 1.0), quantity, 1.0, measured, left_out=True)

    pairs = [("download", 1.1), ("upload", 1.5)]
    numbers = [number(phase, factor**sign, line=line) for phase, factor in pairs for line, sign in enumerate((1, -1))]
    numbers += [number("train", 2.0, network) for network in ("a", "b")]
    numbers += [number("train", 3.0, network) for network in ("c", "d")]
    numbers += [number("train", 4.0, "alone"), number("train", 1.2, "a", "joules")]
    kinds = {"a": "large_images", "b": "large_images", "c": "small_images", "d": "small_images", "alone": "other"}
    found = held_out_errors(numbers, kinds, law=True)
    assert found.links == {"downlink": (pytest.approx(math.log(1.1)), 2), "uplink": (pytest.approx(math.log(1.5)), 2)}
    large, small = math.log(2), math.log(3)
    assert found.compute == {
        "pi": {"large_images": (pytest.approx(large), 2), "small_images": (pytest.approx(small), 2)}
    }
    assert found.power == {}  # one number tells no spread
