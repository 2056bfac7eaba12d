"""The memory of a selection from round to round: it follows from the server's reports alone."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import edgefl
from edgefl.coordination.selection.base import Selection, draws, lowest
from edgefl.coordination.server_view import DeviceReports, DeviceTracker, ServerView
from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams

NAN = np.nan
SPENT = ["rx_energy_j", "cpu_energy_j", "tx_energy_j"]


class Booking(Selection):
    """Devices with the fewest reports come first; keeps updates, reported energies, rounds (test)."""

    memory_width: ClassVar[int] = 3
    report_floats: ClassVar[int] = 1

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        assert (view.memory[:, 2] == index).all()
        return lowest(present, view.memory[present, 0], draws(present, index, streams), participants)

    def remember(self, memory: Floats, reports: DeviceReports, view: ServerView) -> Floats:
        after = memory.copy()
        after[reports.ids, 0] += reports.received
        after[reports.ids, 1] += np.nan_to_num(reports.energy_j)
        after[:, 2] += 1
        kept.append(after)
        return after


kept: list[Floats] = []


def reports(ids, received, energy_j):
    some = np.array([0.5] * len(ids))
    return DeviceReports(np.array(ids), np.array(received), some, np.array(energy_j), some, some)


def test_unreported_energy_comes_with_the_next_update():
    tracker = DeviceTracker(np.array([1, 1, 1]))
    first = tracker.close_round(reports([0, 2], [False, True], [3.0, 4.0]))
    np.testing.assert_array_equal(first.energy_j, [NAN, 4.0])
    np.testing.assert_array_equal(first.loss, [NAN, 0.5])
    np.testing.assert_array_equal(first.battery_j, [NAN, 0.5])
    second = tracker.close_round(reports([0, 1, 2], [False, True, True], [2.0, 1.0, 1.0]))
    np.testing.assert_array_equal(second.energy_j, [NAN, 1.0, 1.0])
    third = tracker.close_round(reports([0], [True], [1.5]))
    assert third.energy_j == pytest.approx([6.5])
    fourth = tracker.close_round(reports([0], [True], [1.0]))
    assert fourth.energy_j == pytest.approx([1.0])


def test_a_memory_follows_the_run():
    """Reported energies equal recorded ones, less unreported energy, though uploads are lost."""
    kept.clear()
    result = edgefl.run(
        {
            "rounds": 12,
            "devices": {"count": 10},
            "data": {"dataset": "digits"},
            "radio": {"faults": {"failure_probability": 0.3}},
            "server": {"participants": 4, "selection": Booking()},
        },
        train=False,
    )
    assert len(kept) == 12
    rows = result.devices
    for device in range(10):
        own = rows[rows["device"] == device]
        heard = own["status"] == "received"
        assert kept[-1][device, 0] == heard.sum()
        told = own.loc[: heard[heard].index[-1]] if heard.any() else own.iloc[:0]
        assert kept[-1][device, 1] == pytest.approx(told[SPENT].sum().sum())
    assert (rows["status"] != "received").any()


def test_a_memory_cannot_be_written_to():
    tracker = DeviceTracker(np.array([1, 1]), memory_width=2)
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            tracker.view.memory[0, 0] = 1.0
        tracker.keep(np.ones((2, 2)))
    assert (tracker.view.memory == 1.0).all()


class InPlace(Booking):
    """Changes its memory in place."""

    def choose(self, present, participants, index, streams, view):
        return present[:participants]

    def remember(self, memory, reports, view):
        memory.flags.writeable = True
        memory += 1
        return memory


class TooNarrow(InPlace):
    """Returns less than it has."""

    def remember(self, memory, reports, view):
        return memory[:, :1]


def test_a_wrong_memory_ends_the_run_with_one_line():
    server = {"selection": TooNarrow()}
    result = edgefl.run(
        {"rounds": 2, "devices": {"count": 10}, "data": {"dataset": "digits"}, "server": server}, train=False
    )
    assert result.status == "failed"
    assert "TooNarrow.remember returned an array of shape [10, 1]" in result.error
