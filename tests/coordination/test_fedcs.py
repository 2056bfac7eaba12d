"""FedCS: the greedy plan by hand, against all orders of all subsets, and in a run."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from forecast_cases import forecast_with, view_with

import edgefl
from edgefl.coordination.selection.fedcs import FedCS, packed
from edgefl.core.errors import RunError
from edgefl.core.streams import Streams

DEVICES = 8


def theta_s(order, update_s, upload_s):
    """Return the end of the last of some uploads in this order (the paper's recursion, written again)."""
    end_s = 0.0
    for device in order:
        end_s = max(end_s, update_s[device]) + upload_s[device]
    return end_s


def most_in_time(update_s, upload_s, download_s, deadline_s):
    """The most devices that are in time in any order, by trying all."""
    for count in range(DEVICES, 0, -1):
        for some in itertools.combinations(range(DEVICES), count):
            sent_s = max(download_s[device] for device in some)
            for order in itertools.permutations(some):
                if sent_s + theta_s(order, update_s, upload_s) < deadline_s:
                    return count
    return 0


def drawn(rng, deadline_s):
    return rng.uniform(0.5, 6, DEVICES), rng.uniform(0.2, 2, DEVICES), rng.uniform(0.1, 0.5, DEVICES), deadline_s


def test_the_plan_by_hand():
    """Increases 4, 2.5, 5; after device 1, at 2.5: 1.5 and 3; after device 0, at 4: 3."""
    update_s = np.array([3.0, 1.5, 2.0])
    upload_s = np.array([1.0, 1.0, 3.0])
    assert packed(forecast_with(update_s, upload_s), 100.0, 3).tolist() == [1, 0, 2]
    assert theta_s([1, 0, 2], update_s, upload_s) == 7.0
    assert packed(forecast_with(update_s, upload_s), 7.0, 3).tolist() == [1, 0]  # in time is before the deadline
    assert packed(forecast_with(update_s, upload_s), 7.01, 3).tolist() == [1, 0, 2]
    assert packed(forecast_with(update_s, upload_s), 100.0, 2).tolist() == [1, 0]


def test_download_comes_before_the_plan():
    """A slow receiver of a broadcast delays all, so it counts by what it adds to the slowest before it."""
    update_s = np.zeros(3)
    upload_s = np.array([1.0, 1.5, 2.0])
    download_s = np.array([5.0, 1.0, 1.0])
    forecast = forecast_with(update_s, upload_s, download_s)
    assert packed(forecast, 100.0, 3).tolist() == [1, 2, 0]
    assert packed(forecast, 5.0 + 4.5, 3).tolist() == [1, 2]
    # To each on its own, 1, 2, 3 receivers take 1, 2, 3 times as long.
    apart = forecast_with(update_s, upload_s, np.ones(3), broadcast=False)
    assert packed(apart, 3 + 4.5 + 1e-9, 3).tolist() == [0, 1, 2]
    assert packed(apart, 3 + 4.5, 3).tolist() == [0, 1]


def test_cells_upload_side_by_side():
    update_s = np.zeros(4)
    upload_s = np.ones(4)
    assert len(packed(forecast_with(update_s, upload_s), 2.5, 4)) == 2
    assert len(packed(forecast_with(update_s, upload_s, cell=[0, 0, 1, 1]), 2.5, 4)) == 4


@pytest.mark.oracle
def test_greedy_beside_all_orders_of_all_subsets():
    """Never more than the best; as many where all updates take equally long, as short uploads then come first."""
    rng = np.random.default_rng(5)
    gaps = []
    for _ in range(5):
        update_s, upload_s, download_s, deadline_s = drawn(rng, 6.0)
        if max(theta_s([device], update_s, upload_s) for device in range(DEVICES)) < 1:
            continue
        found = packed(forecast_with(update_s, upload_s, download_s), deadline_s, DEVICES)
        assert download_s[found].max() + theta_s(found, update_s, upload_s) < deadline_s
        gaps.append(most_in_time(update_s, upload_s, download_s, deadline_s) - len(found))
    assert min(gaps) >= 0
    assert np.mean(gaps) <= 1
    for update in (0.0, 1.0, 3.0):
        upload_s = rng.uniform(0.2, 2, DEVICES)
        forecast = forecast_with(np.full(DEVICES, update), upload_s)
        best = most_in_time(np.full(DEVICES, update), upload_s, np.zeros(DEVICES), 6.0)
        assert len(packed(forecast, 6.0, DEVICES)) == best


def test_as_many_as_fit_or_at_most_participants():
    view = view_with(forecast_with(np.zeros(6), np.ones(6), deadline_s=4.5))
    ids = np.arange(6)
    assert len(FedCS().choose(ids, 3, 0, Streams(1), view)) == 3
    assert len(FedCS(limit="none").choose(ids, 3, 0, Streams(1), view)) == 4
    assert len(FedCS(limit="none", deadline_s=2.5).choose(ids, 3, 0, Streams(1), view)) == 2
    assert len(FedCS(limit="none", requests=3).choose(ids, 3, 0, Streams(1), view)) == 3
    chosen = [FedCS(requests=1).choose(ids, 3, index, Streams(1), view)[0] for index in range(300)]
    assert np.bincount(chosen, minlength=6).min() > 20  # the devices that are asked are drawn


def test_unknown_channels_are_heard_first():
    view = view_with(forecast_with(np.zeros(5), np.ones(5), snr_hz=[1, np.nan, 1, np.nan, np.nan], deadline_s=10.0))
    assert set(FedCS().choose(np.arange(5), 4, 0, Streams(1), view)) == {1, 3, 4}
    assert len(FedCS(limit="none").choose(np.arange(5), 2, 0, Streams(1), view)) == 2
    server = {"csi": "last", "participants": 4, "selection": {"kind": "fedcs", "deadline_s": 20.0, "limit": "none"}}
    rounds = edgefl.run({**STILL, "rounds": 5, "server": server}, train=False).rounds
    assert rounds["selected"].tolist() == [4, 4, 4, 12, 12]


def test_no_device_in_time_is_one_line():
    forecast = forecast_with([3.0, 1.0], [1.0, 2.5], [0.5, 0.5])
    text = "no device would be in time for 4 s; the first would be device 1, after 4 s"
    with pytest.raises(RunError, match=text):
        packed(forecast, 4.0, 2)


STILL = {
    "rounds": 3,
    "data": {"dataset": "digits"},
    "devices": {"count": 12, "cpu_hz": {"uniform": [5e7, 5e8]}},
    "mobility": {"kind": "static", "speed_mps": 0},
    "radio": {"bandwidth_hz": 5e6, "allocation": "round_robin", "sharing": "processor"},
}


@pytest.mark.oracle
def test_in_a_run_all_are_in_time():
    """One upload at a time, or turns on the whole band: the band is never idle while one waits, so none is later."""
    server = {
        "policy": "deadline",
        "csi": {"kind": "perfect", "report_bits": 0},
        "participants": 12,
        "selection": "fedcs",
    }
    alone = edgefl.run({**STILL, "server": {"participants": 12}}, train=False)
    deadline_s = 0.6 * alone.rounds["duration_s"].iloc[0]
    result = edgefl.run({**STILL, "server": {**server, "deadline_s": float(deadline_s)}}, train=False)
    assert (result.rounds["late"] == 0).all()
    assert (result.rounds["received"] == result.rounds["selected"]).all()
    assert (result.rounds["selected"] < 12).any()
    assert (result.rounds["selected"] > 0).all()
    blind = edgefl.run(
        {**STILL, "server": {**server, "selection": "uniform", "deadline_s": float(deadline_s)}}, train=False
    )
    assert blind.rounds["late"].sum() > 0


def test_deadline_that_no_device_meets_ends_the_run():
    server = {
        "policy": "deadline",
        "deadline_s": 1e-4,
        "csi": {"kind": "perfect", "report_bits": 0},
        "selection": "fedcs",
    }
    result = edgefl.run({**STILL, "server": server}, train=False)
    assert result.status == "failed"
    assert "server.selection.deadline_s: no device would be in time for 0.0001 s" in result.error


def test_access_delays_uploads_side_by_side():
    """A device misses the deadline by its access: 1 s of access equals 1 s of computing."""
    forecast = forecast_with([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [0.1, 0.1, 0.1])
    asking = replace(forecast, access_s=np.array([0.0, 0.0, 1.5]))
    longer = forecast_with([1.0, 2.0, 4.5], [1.0, 1.0, 1.0], [0.1, 0.1, 0.1])
    assert packed(forecast, 5.0, 3).tolist() == [0, 1, 2]
    assert packed(asking, 5.0, 3).tolist() == packed(longer, 5.0, 3).tolist() == [0, 1]
    with pytest.raises(RunError, match=r"device 0, after 12\.1 s"):
        packed(replace(forecast, access_s=np.full(3, 10.0)), 5.0, 3)
