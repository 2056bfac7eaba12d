"""The server's knowledge of channels: its time, its error and its age."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
import simpy
from scipy.special import j0

import edgefl
from channel.fading import doppler_hz
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.policies.base import Coordinator
from edgefl.coordination.policies.synchronous import Synchronous
from edgefl.coordination.selection.everybody import Everybody
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids, Ints
from edgefl.core.streams import Streams

pytestmark = pytest.mark.oracle

SPEED_MPS = 10.0
CARRIER_HZ = 3.5e9
CROWD = 1400
ROUNDS = 4
SCENARIO: dict[str, Any] = {
    "rounds": 3,
    "data": {"dataset": "digits"},
    "devices": {"count": 6},
    "mobility": {"kind": "static", "speed_mps": SPEED_MPS},
    "radio": {"carrier_hz": CARRIER_HZ},
}

seen: list[Forecast] = []


class Noting(Everybody):
    """All devices, or the first ones, and keeps the forecasts that it is given (test)."""

    first: int | None = None
    asks: bool = False

    @property
    def needs_csi(self) -> bool:
        """It keeps forecasts."""
        return True

    @property
    def polls(self) -> bool:
        """It polls all devices if it `asks`."""
        return self.asks

    def polled_samples(self, samples: Ints) -> Ints:
        """Return one sample [n]: the loss does not matter."""
        return np.ones_like(samples)

    def expected(self, participants: int, present: float) -> float:
        """Return how many it chooses."""
        return present if self.first is None else min(self.first, present)

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the first devices."""
        seen.append(view.forecast_of(present))
        return present[: self.first]


def forecasts(csi: Any, first: int | None = None, *, asks: bool = False, **sections: Any) -> tuple[list[Forecast], Any]:
    """Return the forecasts of a run, which learns only if devices are asked for losses, and its result."""
    seen.clear()
    server = {"csi": csi, "selection": Noting(first=first, asks=asks)} | sections.pop("server", {})
    result = edgefl.run({**SCENARIO, **sections, "server": server}, train=asks)
    return list(seen), result


def crowd(csi: Any, fading: Any = "rayleigh") -> np.ndarray:
    """Return |h|^2 [rounds * devices] as the server knows it; the devices and their channels are always the same."""
    radio = {"carrier_hz": CARRIER_HZ, "fading": fading}
    known, _ = forecasts(csi, first=1, rounds=ROUNDS, devices={"count": CROWD}, radio=radio)
    assert len(known) == ROUNDS
    return np.concatenate([forecast.fading for forecast in known])


# Reports that come with updates


def test_csi_last_is_the_channel_at_the_start_of_the_last_update() -> None:
    perfect, _ = forecasts("perfect", first=2)
    last, result = forecasts({"kind": "last", "report_bits": 0}, first=2)
    assert np.isnan(last[0].fading).all()
    assert np.isnan(last[0].age_s).all()
    for number in (1, 2):
        np.testing.assert_array_equal(last[number].fading[:2], perfect[number - 1].fading[:2])
        np.testing.assert_array_equal(last[number].path_gain[:2], perfect[number - 1].path_gain[:2])
        np.testing.assert_allclose(last[number].age_s[:2], result.rounds["duration_s"].iloc[number - 1])
        # The others were never heard.
        for name in ("fading", "path_gain", "age_s"):
            assert np.isnan(getattr(last[number], name)[2:]).all()
        for seconds in (last[number].upload_s(), last[number].download_s(), last[number].energy_j()):
            assert np.isnan(seconds[2:]).all()
            assert np.isfinite(seconds[:2]).all()


def test_an_update_that_is_lost_brings_no_report() -> None:
    faults = {"failure_probability": 0.3, "attempts": 1}
    known, result = forecasts("last", radio={"carrier_hz": CARRIER_HZ, "faults": faults}, rounds=2)
    first = result.devices[result.devices["round"] == 1].sort_values("device")
    arrived = (first["status"] == "received").to_numpy()
    assert 0 < arrived.sum() < len(arrived)
    np.testing.assert_array_equal(np.isfinite(known[1].fading), arrived)


def test_a_report_costs_its_bits_with_every_update() -> None:
    _, free = forecasts({"kind": "last", "report_bits": 0})
    _, paid = forecasts({"kind": "last", "report_bits": 800})
    _, default = forecasts("last")
    more = paid.devices["bytes_up"] - free.devices["bytes_up"]
    assert (more == 100).all()
    assert (default.devices["bytes_up"] - free.devices["bytes_up"] == 4).all()


def test_answers_to_polls_bring_reports_and_pay_for_them() -> None:
    known, result = forecasts({"kind": "last", "report_bits": 320}, first=2, asks=True, rounds=1)
    assert np.isfinite(known[0].fading).all()
    assert (known[0].age_s > 0).all()
    polled = result.devices[result.devices["status"] == "polled"]
    assert len(polled) == 4
    assert (polled["bytes_up"] == 4 + 40).all()


def test_without_rounds_reports_come_with_every_arrival() -> None:
    server = {"policy": "asynchronous", "participants": 3}
    known, result = forecasts("last", first=3, server=server, rounds=12, devices={"count": 5})
    assert result.summary["rounds"] == 12
    heard = [int(np.isfinite(forecast.fading).sum()) for forecast in known]
    assert heard[0] == 0
    assert max(heard) > 0


class Unasked(Synchronous):
    """Refills each round without `before_refill`, so that no device is asked for reports (test)."""

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Dispatch one device, and then one more."""
        while (yield from server.ready(1)):
            yield server.env.all_of(server.dispatch(server.select(1)))
            yield server.env.all_of(server.dispatch(server.select(1, refill=True)))
            server.aggregate()


def test_reports_are_about_the_selection_that_asked_for_them() -> None:
    known, _ = forecasts("perfect", first=1, server={"policy": Unasked()}, rounds=2)
    assert [bool(np.isfinite(forecast.fading).all()) for forecast in known] == [True, False, True, False]
    # Reports that are free are always there.
    known, _ = forecasts({"kind": "perfect", "report_bits": 0}, first=1, server={"policy": Unasked()}, rounds=2)
    assert all(np.isfinite(forecast.fading).all() for forecast in known)


# Age


@pytest.mark.parametrize("fading", ["rayleigh", "jakes"])
@pytest.mark.parametrize("correlation", [0.9, 0.6, 0.0])
def test_fading_changes_while_a_report_ages(fading: str, correlation: float) -> None:
    # 5600 pairs: the standard error of a correlation is at most 0.013, so that 0.9^2 and 0.9, or 0.6^2 and 0.6, are
    # more than six of them apart, and the band of four misses a true value in 6 of 100,000 cases.
    age_s = age_of(correlation)
    now = crowd("perfect", fading)
    before = crowd({"kind": "perfect", "age_s": age_s}, fading)
    found = np.corrcoef(now, before)[0, 1]
    assert abs(found - correlation**2) < 4 / np.sqrt(now.size)
    # What is known is as strong as what is true: an exponential variable of mean 1.
    assert abs(before.mean() - 1) < 4 / np.sqrt(now.size)


def age_of(correlation: float) -> float:
    """Return the first age [s] at which J0(2 pi f_d age) is a correlation."""
    ages_s = np.linspace(0.0, 0.383 / doppler_hz(SPEED_MPS, CARRIER_HZ), 100_001)
    return float(ages_s[np.argmin(np.abs(j0(2 * np.pi * doppler_hz(SPEED_MPS, CARRIER_HZ) * ages_s) - correlation))])


@pytest.mark.parametrize("fading", ["rayleigh", "jakes", {"kind": "block", "block_s": 0.02}, "ricean"])
def test_report_age_has_its_limits(fading: Any) -> None:
    now = crowd("perfect", fading)
    np.testing.assert_array_equal(crowd({"kind": "perfect", "age_s": 0}, fading), now)
    np.testing.assert_allclose(crowd({"kind": "perfect", "age_s": 1e-9}, fading), now, rtol=0.01, atol=1e-4)


def test_fading_blocks_are_independent() -> None:
    fading = {"kind": "block", "block_s": 0.02}
    # Free reports take no time: rounds begin 1 to 2 ms apart in the first block, the first one as the block begins.
    free = {"kind": "perfect", "report_bits": 0}
    now = crowd(free, fading)
    recent = crowd({**free, "age_s": 0.001}, fading)
    np.testing.assert_array_equal(recent[CROWD:], now[CROWD:])
    assert abs(np.corrcoef(recent[:CROWD], now[:CROWD])[0, 1]) < 4 / np.sqrt(CROWD)
    old = crowd({**free, "age_s": 0.021}, fading)
    assert abs(np.corrcoef(old, now)[0, 1]) < 4 / np.sqrt(CROWD)  # one gain a device on either side


def test_polls_meet_the_blocks_of_all_other_messages() -> None:
    radio = {"carrier_hz": CARRIER_HZ, "fading": {"kind": "block", "block_s": 1000}}
    perfect, _ = forecasts({"kind": "perfect", "report_bits": 0}, first=2, radio=radio)
    polled, _ = forecasts({"kind": "last", "report_bits": 0}, first=2, asks=True, radio=radio)
    # The others never took part: what is known of them comes from polls alone.
    np.testing.assert_array_equal(polled[-1].fading, perfect[-1].fading)


def test_a_block_that_is_a_round_has_no_age() -> None:
    fading = {"kind": "block", "length": "round"}
    now = crowd("perfect", fading)
    np.testing.assert_array_equal(crowd({"kind": "perfect", "age_s": 0.021}, fading), now)
    assert abs(np.corrcoef(now[:-CROWD], now[CROWD:])[0, 1]) < 4 / np.sqrt(now.size - CROWD)


def test_an_old_report_is_from_where_the_device_was() -> None:
    radio = {"carrier_hz": CARRIER_HZ, "fading": "none", "spatial_consistency": True}
    mobility = {"kind": "constant_velocity", "speed_mps": 30}
    moving = {"radio": radio, "mobility": mobility}
    # Free reports take no time in which devices would move on.
    known, result = forecasts({"kind": "mean", "age_s": 1e9, "report_bits": 0}, **moving)
    first, _ = forecasts({"kind": "mean", "report_bits": 0}, **moving, rounds=1)
    # However old: no device moved before the run began.
    same_cell = known[2].cell == first[0].cell
    assert same_cell.all()
    np.testing.assert_allclose(known[2].path_gain, first[0].path_gain, rtol=1e-12)
    now, _ = forecasts({"kind": "mean", "report_bits": 0}, **moving)
    assert (now[2].path_gain != known[2].path_gain).all()
    assert result.summary["rounds"] == 3


# Errors


@pytest.mark.parametrize("kind", ["perfect", "mean"])
def test_errors_have_the_requested_standard_deviation(kind: str) -> None:
    exact, _ = forecasts(kind, first=1, rounds=1, devices={"count": CROWD})
    noisy, _ = forecasts({"kind": kind, "noise_db": 3}, first=1, rounds=1, devices={"count": CROWD})
    ratio = noisy[0].path_gain * noisy[0].fading / (exact[0].path_gain * exact[0].fading)
    error_db = 10 * np.log10(ratio)
    assert abs(error_db.mean()) < 4 * 3 / np.sqrt(CROWD)
    assert abs(error_db.std() - 3) < 4 * 3 / np.sqrt(2 * CROWD)


def test_each_report_has_a_separate_error() -> None:
    exact, _ = forecasts("last")
    noisy, _ = forecasts({"kind": "last", "noise_db": 3})
    first = noisy[1].fading / exact[1].fading
    second = noisy[2].fading / exact[2].fading
    assert (first != second).all()
    np.testing.assert_array_equal(noisy[1].path_gain, exact[1].path_gain)


def test_knowledge_of_a_device_does_not_depend_on_the_others() -> None:
    csi = {"kind": "perfect", "noise_db": 2, "age_s": 0.001}
    many, _ = forecasts(csi, rounds=1)
    few, _ = forecasts(csi, rounds=1, churn={"kind": "bernoulli", "probability": 0.5})
    assert 0 < len(few[0]) < len(many[0])
    np.testing.assert_array_equal(few[0].fading, many[0].fading[few[0].ids])
