"""Selections and allocations from outside may add columns to rounds.csv and devices.csv."""

import numpy as np
import pytest

import edgefl
from edgefl import InputError
from edgefl.coordination.selection import Selection
from edgefl.core.plugins import WrongReturn
from edgefl.radio.allocation.equal import EqualAllocation
from edgefl.records.columns import ResultColumn
from edgefl.runs.assembly import rehearse
from edgefl.scenario import load
from edgefl.server.observers.added_columns import AddedColumns

SMALL = {"rounds": 3, "devices": {"count": 6}, "mobility": {"kind": "random_waypoint", "speed_mps": 3}}


class Waiting(Selection):
    """Those that have waited longest, and how long that was."""

    round_columns = (ResultColumn("longest_wait", float, "", "rounds that any chosen device had waited"),)
    device_columns = (ResultColumn("waited_rounds", float, "", "rounds that the device had waited"),)

    @property
    def memory_width(self):
        """Return 1: rounds since the last participation."""
        return 1

    def choose(self, present, participants, index, streams, view):
        """Return the devices that have waited longest, the lowest numbers first."""
        order = np.lexsort((present, -view.memory[present, 0]))
        return np.sort(present[order[:participants]])

    def remember(self, memory, reports, view):
        """Return the rounds that each has waited."""
        after = memory + 1.0
        after[reports.ids] = 0.0
        return after

    def columns(self, devices, memory):
        """Return the longest time."""
        return {"longest_wait": memory[:, 0].max() if len(memory) else None}

    def columns_of_devices(self, devices, memory):
        """Return each time."""
        return {"waited_rounds": memory[:, 0]}


class Fairness(EqualAllocation):
    """Equal shares, and Jain's index of the rates that they gave."""

    round_columns = (ResultColumn("rate_fairness", float, "", "Jain's index of the upload rates, 0 to 1"),)
    device_columns = (ResultColumn("upload_bps", float, "bit/s", "mean rate of the upload"),)

    def columns(self, devices, memory):
        """Return Jain's index."""
        rates = devices["upload_bps"]
        return {"rate_fairness": rates.sum() ** 2 / (len(rates) * (rates**2).sum())}

    def columns_of_devices(self, devices, memory):
        """Return the rates."""
        assert memory.shape == (len(devices["device"]), 0)
        return {"upload_bps": 8 * devices["bytes_up"] / devices["upload_s"]}


def run(folder, **keys):
    return edgefl.run({**SMALL, **keys}, out=folder, train=False)


@pytest.mark.oracle
def test_selection_adds_columns_of_its_memory(tmp_path):
    """Three of six devices a round, in turn: those of round 1 are new, all others have waited one round."""
    run(tmp_path / "out", server={"participants": 3, "selection": Waiting})
    read = edgefl.read(tmp_path / "out")
    assert read.rounds["longest_wait"].tolist() == [0.0, 1.0, 1.0]
    assert read.devices["waited_rounds"].tolist() == [0.0] * 3 + [1.0] * 6
    assert read.devices["device"].tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2]
    assert (tmp_path / "out" / "devices.csv").read_text().partition("\n")[0].endswith(",waited_rounds")


@pytest.mark.oracle
def test_allocation_adds_columns_that_follow_from_those_of_the_devices(tmp_path):
    run(tmp_path / "out", server={"participants": 3}, radio={"allocation": Fairness})
    read = edgefl.read(tmp_path / "out")
    rates = 8 * read.devices["bytes_up"] / read.devices["upload_s"]
    np.testing.assert_allclose(read.devices["upload_bps"], rates)
    of_first = rates[read.devices["round"] == 1]
    assert read.rounds["rate_fairness"].iloc[0] == pytest.approx(of_first.sum() ** 2 / (3 * (of_first**2).sum()))


@pytest.mark.oracle
def test_both_add_columns_to_one_run_and_change_no_other(tmp_path):
    both = run(tmp_path / "both", server={"participants": 3, "selection": Waiting}, radio={"allocation": Fairness})
    assert {"longest_wait", "rate_fairness"} <= set(both.rounds)

    class Plain(Waiting):
        """The same without columns."""

        round_columns = ()
        device_columns = ()

    plain = run(tmp_path / "plain", server={"participants": 3, "selection": Plain})
    assert both.devices.drop(columns=["waited_rounds", "upload_bps"]).equals(plain.devices)


class Taken(Waiting):
    """Uses the name of a column that every run has."""

    round_columns = (ResultColumn("time_s", float, "s", "another time"),)


class Undeclared(Waiting):
    """Returns another column than it declares."""

    def columns(self, devices, memory):
        """Return a column without a declaration."""
        return {"something": 1.0}

    def columns_of_devices(self, devices, memory):
        """Return nothing."""
        return {}


def test_name_of_another_column_is_refused_before_a_run(tmp_path):
    scenario = {**SMALL, "server": {"selection": Taken}}
    with pytest.raises(
        InputError, match=r"^server\.selection: its column time_s is one of edgefl or a measure: rename"
    ):
        edgefl.run(scenario, out=tmp_path / "out", train=False)
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="its column time_s"):
        rehearse(load(scenario))


def test_columns_that_were_not_declared_are_refused_with_the_line():
    observer = AddedColumns(Undeclared(), lambda ids: np.zeros((len(ids), 1)))
    with pytest.raises(
        WrongReturn, match=r"Undeclared\.columns_of_devices returned the columns nothing, must return wai"
    ):
        observer.added_device_columns({"device": np.array([1, 2])})
    ended = type("Ended", (), {"devices": {"device": np.array([1, 2])}})
    with pytest.raises(
        WrongReturn, match=r"Undeclared\.columns returned 1\.0 for something, must return a mapping of lon"
    ):
        observer.round_ends(ended)
