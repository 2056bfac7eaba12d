"""Forecasts against the run that they predict: over a constant channel they come true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from still_world import SLOT_S, STILL

import edgefl
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.selection.everybody import Everybody
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams
from edgefl.server.forecaster import Forecaster

SEVEN_CELLS: dict[str, Any] = {
    "devices": {"count": 14},
    "cells": {"layout": "hexagonal", "sites": 7},
    "radio": {**STILL["radio"], "propagation": {"kind": "umi_los", "out_of_range": "clamp"}},
}

seen: list[Forecast] = []


class Noting(Everybody):
    """All devices, and keeps the forecasts that it is given (test)."""

    @property
    def needs_csi(self) -> bool:
        """It keeps forecasts."""
        return True

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return all devices."""
        seen.append(view.forecast_of(present))
        return super().choose(present, participants, index, streams, view)


def forecasts(scenario: dict[str, Any], csi: Any) -> tuple[list[Forecast], Any]:
    """Return the forecasts of a run without learning, and its result."""
    seen.clear()
    if isinstance(csi, str) and csi != "last":
        csi = {"kind": csi, "report_bits": 0}  # rows of reports would stand among those of participations
    server = {**scenario.get("server", {}), "csi": csi, "selection": Noting()}
    result = edgefl.run({**scenario, "server": server}, train=False)
    return list(seen), result


@pytest.mark.parametrize(
    "radio",
    [
        {},
        {"server_power": "total"},
        {"downlink": "broadcast", "server_power": "total"},
        {"allocation": "round_robin"},
        {"tdd": {"downlink": 0.25, "uplink": 0.75}, "overhead": {"downlink": 0.1, "uplink": 0.2}},
        {"fading": "ricean", "rate": "shannon", "noise_figure_db": 7},
        {"fading": "jakes"},
    ],
    ids=["fdd", "total power", "broadcast", "turns", "frame", "ricean", "waves"],
)
def test_forecast_comes_true_over_a_constant_channel(radio: dict[str, Any]) -> None:
    predicted, result = forecasts({**STILL, "radio": STILL["radio"] | radio}, "perfect")
    assert len(predicted) == 2
    for number, forecast in enumerate(predicted, start=1):
        rows = result.devices[result.devices["round"] == number].sort_values("device")
        # A transfer ends with a slot.
        for name in ("download_s", "upload_s"):
            late_s = rows[name].to_numpy() - getattr(forecast, name)()
            assert (late_s > -1e-9).all()
            assert (late_s < SLOT_S + 1e-9).all()
        np.testing.assert_allclose(forecast.compute_s(), rows["compute_s"], rtol=1e-12)
        np.testing.assert_allclose(forecast.compute_j(), rows["cpu_energy_j"], rtol=1e-12)
        ratio = rows["tx_energy_j"] / rows["upload_s"]
        np.testing.assert_allclose(forecast.upload_j() / forecast.upload_s(), ratio, rtol=1e-9)
        ratio = rows["rx_energy_j"] / rows["download_s"]
        np.testing.assert_allclose(forecast.download_j() / forecast.download_s(), ratio, rtol=1e-9)


@pytest.mark.oracle
def test_forecast_counts_set_up_and_the_energy_of_bits() -> None:
    """Both match the run; transfers end with slots, bits and set-ups do not."""
    radio_energy = {"rx_j_per_mbit": 0.4, "tx_j_per_mbit": 1.5}
    hardware = {**STILL["devices"], "setup_s": {"uniform": [1, 3]}, "setup_j": 9.0, "radio_energy": radio_energy}
    predicted, result = forecasts({**STILL, "devices": hardware}, "perfect")
    plain, before = forecasts(STILL, "perfect")
    rows = result.devices[result.devices["round"] == 1].sort_values("device")
    old = before.devices[before.devices["round"] == 1].sort_values("device")
    np.testing.assert_allclose(predicted[0].round_trip_s() - plain[0].round_trip_s(), rows["setup_s"])
    np.testing.assert_allclose(predicted[0].on_the_way_s() - plain[0].on_the_way_s(), rows["setup_s"])
    for name, column in (("download_j", "rx_energy_j"), ("upload_j", "tx_energy_j")):
        more_j = rows[column].to_numpy() - old[column].to_numpy()
        assert (more_j > 0).all()
        np.testing.assert_allclose(getattr(predicted[0], name)() - getattr(plain[0], name)(), more_j, rtol=1e-6)
    more_j = predicted[0].energy_j() - plain[0].energy_j()
    bits_j = sum(rows[column].to_numpy() - old[column].to_numpy() for column in ("rx_energy_j", "tx_energy_j"))
    np.testing.assert_allclose(more_j, bits_j + 9.0)


def test_forecast_counts_access_before_both_messages() -> None:
    """The server waits for an update as long as it has forecast, to the last slots of transfers."""
    radio = STILL["radio"] | {"access_s": {"downlink": 0.3, "uplink": 0.5}}
    predicted, result = forecasts({**STILL, "radio": radio}, "perfect")
    plain, _ = forecasts(STILL, "perfect")
    np.testing.assert_allclose(predicted[0].round_trip_s() - plain[0].round_trip_s(), 0.8)
    np.testing.assert_allclose(predicted[0].on_the_way_s() - plain[0].on_the_way_s(), 0.8)
    assert (predicted[0].upload_s() == plain[0].upload_s()).all()
    ended_s = result.rounds["duration_s"][0] - predicted[0].round_trip_s().max()
    assert -1e-9 < ended_s < 2 * SLOT_S + 1e-9


@pytest.mark.parametrize("keys", [{"block_s": 60}, {"length": "round"}], ids=str)
def test_knowledge_of_a_block_holds_in_both_directions(keys: dict[str, Any]) -> None:
    radio = STILL["radio"] | {"fading": {"kind": "block", **keys}}
    predicted, result = forecasts({**STILL, "radio": radio}, "perfect")
    for number, forecast in enumerate(predicted, start=1):
        rows = result.devices[result.devices["round"] == number].sort_values("device")
        for name in ("download_s", "upload_s"):
            late_s = rows[name].to_numpy() - getattr(forecast, name)()
            assert (late_s > -1e-9).all()
            assert (late_s < SLOT_S + 1e-9).all()


@pytest.mark.parametrize("radio", [{}, {"allocation": "round_robin"}], ids=["fdd", "turns"])
def test_forecast_knows_uplink_power_control(radio: dict[str, Any]) -> None:
    # A target that some devices reach below their full power, and others do not.
    control = {"kind": "open_loop", "alpha": 0.8, "p0_dbm": -70}
    devices = STILL["devices"] | {"power_control": control}
    predicted, result = forecasts({**STILL, "devices": devices, "radio": STILL["radio"] | radio}, "perfect")
    rows = result.devices[result.devices["round"] == 1].sort_values("device")
    sent = predicted[0].controlled()
    assert (sent <= 1).all()
    assert sent.min() < 0.5
    late_s = rows["upload_s"].to_numpy() - predicted[0].upload_s()
    assert (late_s > -1e-9).all()
    assert (late_s < SLOT_S + 1e-9).all()
    ratio = rows["tx_energy_j"] / rows["upload_s"]
    np.testing.assert_allclose(predicted[0].upload_j() / predicted[0].upload_s(), ratio, rtol=1e-9)


def test_shares_follow_from_the_cells() -> None:
    scenario = {**STILL, **SEVEN_CELLS}
    predicted, result = forecasts(scenario, "perfect")
    counts = np.bincount(predicted[0].cell)
    assert len(set(counts.tolist())) > 1
    np.testing.assert_allclose(predicted[0].share, 1 / counts[predicted[0].cell])
    rows = result.devices[result.devices["round"] == 1].sort_values("device")
    late_s = rows["upload_s"].to_numpy() - predicted[0].upload_s()
    assert (late_s > -1e-9).all()
    assert (late_s < SLOT_S + 1e-9).all()


def test_forecast_leaves_interference_out() -> None:
    radio = SEVEN_CELLS["radio"] | {"interference": {"load": 1.0}}
    scenario = {**STILL, **SEVEN_CELLS, "radio": radio}
    predicted, result = forecasts(scenario, "perfect")
    rows = result.devices[result.devices["round"] == 1].sort_values("device")
    for name in ("download_s", "upload_s"):
        late_s = rows[name].to_numpy() - getattr(predicted[0], name)()
        assert (late_s > -1e-9).all()
        assert late_s.max() > 10 * SLOT_S


@pytest.mark.parametrize(
    ("server", "count"),
    [
        ({"policy": "sequential"}, 1),
        ({"policy": {"kind": "over_selection", "factor": 1.5}, "participants": 2}, 3),
        ({"policy": "asynchronous", "participants": 4}, 4),
        ({"participants": 4, "selection": Noting()}, 6),
    ],
    ids=["one after another", "more than needed", "always under way", "everybody"],
)
def test_shares_follow_from_how_many_take_part_together(server: dict[str, Any], count: int) -> None:
    shares: list[float] = []
    from_scenario = STILL | {"server": {"csi": "perfect", "selection": "best_channel", **server}}

    def note(forecaster: Any, ids: Ids, index: int, busy: int = 0) -> Forecast:
        forecast: Forecast = original(forecaster, ids, index, busy)
        shares.extend(forecast.share.tolist())
        return forecast

    original = Forecaster.forecast
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Forecaster, "forecast", note)
        edgefl.run(from_scenario, train=False)
    assert shares
    np.testing.assert_allclose(shares, 1 / count)


def test_mean_csi_has_the_path_without_the_fading() -> None:
    perfect, _ = forecasts(STILL, "perfect")
    mean, _ = forecasts(STILL, "mean")
    np.testing.assert_array_equal(perfect[0].path_gain, mean[0].path_gain)
    assert (mean[0].fading == 1.0).all()
    assert np.ptp(perfect[0].fading) > 0
    # Jensen: the mean rate over the fading is below the rate of the mean.
    at_mean = mean[0].up.band_hz / 6 * np.log2(1 + mean[0].up_snr_hz * 6 / mean[0].up.band_hz)
    assert (mean[0].up.rate_bps(mean[0].up_snr_hz, 1 / 6) < at_mean).all()


def test_forecast_of_some_is_in_their_order() -> None:
    predicted, _ = forecasts(STILL, "perfect")
    ids = np.array([4, 1])
    some = predicted[0].of(ids)
    np.testing.assert_array_equal(some.ids, ids)
    np.testing.assert_array_equal(some.upload_s(), predicted[0].upload_s()[[4, 1]])
    with pytest.raises(KeyError):
        predicted[0].of(np.array([6]))


def test_best_channel_is_chosen() -> None:
    predicted, _ = forecasts(STILL, "perfect")
    gain = predicted[0].path_gain * predicted[0].fading
    scenario = STILL | {"server": {"participants": 2, "selection": "best_channel", "csi": "perfect"}}
    result = edgefl.run(scenario, train=False)
    first = result.devices[(result.devices["round"] == 1) & (result.devices["status"] == "received")]["device"]
    assert set(first) == set(np.argsort(-gain)[:2])
