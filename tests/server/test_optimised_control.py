"""Devices do what an optimiser decides, and over a channel that does not change its predictions come true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from still_world import SLOT_S, STILL

import edgefl
from edgefl.coordination.decisions import Decisions, Infeasible
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.optimisers import Optimiser
from edgefl.radio.allocation.equal import EqualAllocation
from edgefl.server.held_decisions import HeldDecisions
from edgefl.server.optimised_control import OptimisedControl

asked: list[tuple[Forecast, Decisions]] = []


class Graded(Optimiser):
    """Each participant gets more of everything than the one before (test)."""

    def decide(self, forecast: Forecast) -> Decisions:
        """Return shares, powers and clocks that rise with the rows, and note them."""
        grade = np.arange(1.0, len(forecast) + 1)
        decisions = Decisions(
            up_share=grade / grade.sum(), power_share=0.5 * grade / len(forecast), clock_share=grade / len(forecast)
        )
        asked.append((forecast, decisions))
        return decisions


class GradedTurns(Graded):
    """The same for shares of the time (test)."""

    allocation: ClassVar[str] = "round_robin"


class GradedBothWays(EqualAllocation):
    """An allocation that decides both directions from the forecast (test)."""

    by_forecast: ClassVar[bool] = True

    def decide(self, forecast: Forecast) -> Decisions:
        """Return shares that rise in the uplink and fall in the downlink."""
        grade = np.arange(1.0, len(forecast) + 1)
        decisions = Decisions(up_share=grade / grade.sum(), down_share=grade[::-1] / grade.sum())
        asked.append((forecast, decisions))
        return decisions


class Refusing(Optimiser):
    """Finds nothing (test)."""

    def decide(self, forecast: Forecast) -> Decisions:
        """Find nothing."""
        raise Infeasible(f"device {forecast.ids[0]} is late by 2 s")


class Greedy(Optimiser):
    """Asks for more than full power (test)."""

    def decide(self, forecast: Forecast) -> Decisions:
        """Return a power of 2."""
        return Decisions(power_share=np.full(len(forecast), 2.0))


def run(server: dict[str, Any], **keys: Any) -> Any:
    asked.clear()
    scenario: dict[str, Any] = {**STILL, **keys, "server": {"csi": {"kind": "perfect", "report_bits": 0}, **server}}
    return edgefl.run(scenario, train=False)


def assert_comes_true(forecast: Forecast, decisions: Decisions, rows: Any) -> None:
    power = 1.0 if decisions.power_share is None else decisions.power_share
    clock = 1.0 if decisions.clock_share is None else decisions.clock_share
    upload_s = forecast.upload_s(decisions.up_share, power)
    for name, predicted_s in (("upload_s", upload_s), ("download_s", forecast.download_s(decisions.down_share))):
        late_s = rows[name].to_numpy() - predicted_s
        assert (late_s > -1e-9).all()
        assert (late_s < SLOT_S + 1e-9).all()  # a transfer ends with a slot
    np.testing.assert_allclose(rows["compute_s"], forecast.compute_s(clock), rtol=1e-12)
    np.testing.assert_allclose(rows["cpu_energy_j"], forecast.compute_j(clock), rtol=1e-12)
    upload_w = forecast.upload_j(decisions.up_share, power) / upload_s
    np.testing.assert_allclose(rows["tx_energy_j"] / rows["upload_s"], upload_w, rtol=1e-9)


@pytest.mark.parametrize(
    ("server", "radio"),
    [
        ({"optimiser": Graded()}, {}),
        ({"optimiser": Graded()}, {"downlink": "broadcast", "server_power": "total"}),
        ({"optimiser": GradedTurns()}, {"allocation": "round_robin"}),
        ({"optimiser": GradedTurns()}, {"allocation": "round_robin", "tdd": {"downlink": 0.25, "uplink": 0.75}}),
        ({}, {"allocation": GradedBothWays()}),
    ],
    ids=["band", "broadcast", "turns", "turns in a frame", "allocation"],
)
def test_decisions_hold_and_come_true(server: dict[str, Any], radio: dict[str, Any]) -> None:
    result = run(server, radio=STILL["radio"] | radio)
    assert [len(forecast) for forecast, _ in asked] == [6, 6]
    for number, (forecast, decisions) in enumerate(asked, start=1):
        of_round = result.devices[result.devices["round"] == number]
        assert_comes_true(forecast, decisions, of_round.set_index("device").loc[forecast.ids])


def test_each_cell_is_decided_separately() -> None:
    cells = {"layout": "hexagonal", "sites": 7, "radius_m": 200}
    radio = STILL["radio"] | {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}
    result = run({"optimiser": Graded()}, cells=cells, radio=radio, devices=STILL["devices"] | {"count": 12}, rounds=1)
    assert sum(len(forecast) for forecast, _ in asked) == 12
    assert len({forecast.cell[0] for forecast, _ in asked}) == len(asked) > 1
    for forecast, decisions in asked:
        assert len(set(forecast.cell)) == 1
        assert forecast.share == 1 / len(forecast)
        assert_comes_true(forecast, decisions, result.devices.set_index("device").loc[forecast.ids])


def test_decisions_cover_the_chosen_devices() -> None:
    result = run({"optimiser": Graded(), "participants": 2})
    for number, (forecast, _) in enumerate(asked, start=1):
        assert set(forecast.ids) == set(result.devices[result.devices["round"] == number]["device"])
        assert forecast.share == 1 / 2


def forecast_of(count: int) -> Forecast:
    """Return some forecast of devices 0 to count - 1, in one cell."""
    run({"optimiser": Graded()}, devices=STILL["devices"] | {"count": count}, rounds=1)
    return asked[0][0]


class Known:
    """A forecaster without knowledge of some devices (test)."""

    def __init__(self, forecast: Forecast) -> None:
        self._forecast = forecast

    def forecast(self, ids: Any, index: int) -> Forecast:
        return self._forecast.of(ids)


@pytest.mark.parametrize("unusable", [np.nan, 0.0])
def test_devices_of_unknown_channel_get_an_equal_share(unusable: float) -> None:
    forecast = forecast_of(4)
    up_snr_hz = forecast.up_snr_hz.copy()
    up_snr_hz[2] = unusable
    held = HeldDecisions(4)
    known = Known(replace(forecast, up_snr_hz=up_snr_hz))
    control = OptimisedControl(Graded(), known, held)  # type: ignore[arg-type]
    asked.clear()
    control.note_chosen(np.array([2, 0, 1, 3]), 0)
    among, decisions = asked[0]
    np.testing.assert_array_equal(among.ids, [0, 1, 3])
    weights = held.bandwidth_weight(np.arange(4), uplink=True)
    assert weights is not None
    np.testing.assert_allclose(weights, [0.125, 0.25, 0.25, 0.375])
    np.testing.assert_allclose(held.power_share(np.arange(4)), [1 / 6, 1 / 3, 1.0, 0.5])
    np.testing.assert_allclose(held.clock_share(np.arange(4)), [1 / 3, 2 / 3, 1.0, 1.0])
    assert held.bandwidth_weight(np.arange(4), uplink=False) is None
    # The others are told what they get of three quarters of the band: as much as on their weights of the whole.
    np.testing.assert_allclose(
        among.upload_s(decisions.up_share), forecast.only(np.array([0, 1, 3])).upload_s(weights[[0, 1, 3]])
    )


def test_decisions_hold_until_the_device_is_chosen_again() -> None:
    forecast = forecast_of(4)
    held = HeldDecisions(4)
    control = OptimisedControl(Graded(), Known(forecast), held)  # type: ignore[arg-type]
    control.note_chosen(np.array([0, 1]), 0)
    control.note_chosen(np.array([2, 3]), 1)
    np.testing.assert_allclose(held.clock_share(np.arange(4)), [0.5, 1.0, 0.5, 1.0])
    control.note_chosen(np.array([1, 2]), 2)
    np.testing.assert_allclose(held.clock_share(np.arange(4)), [0.5, 0.5, 1.0, 1.0])


def test_infeasible_rounds_end_the_run_with_one_line() -> None:
    assert run({"optimiser": Refusing()}).error == "round 1: device 0 is late by 2 s"


def test_decisions_from_outside_are_checked() -> None:
    error = run({"optimiser": Greedy()}).error
    assert "Greedy.decide returned 2, must return a power_share [n] above 0, at most 1" in error
