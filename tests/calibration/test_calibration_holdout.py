"""Rows left out of a fit."""

import pytest
from calibration_cases import LAW, log_text, networks, training

from edgefl.calibration.calibration import calibrate
from edgefl.calibration.holdout import left_out
from edgefl.calibration.log import read_log
from edgefl.core.errors import InputError


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
