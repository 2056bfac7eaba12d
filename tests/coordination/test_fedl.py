"""FEDL's decisions: the published optimum, a general solver, and the run that they predict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from optimiser_cases import forecast_of, random_forecast
from scipy.optimize import minimize

import edgefl
from channel import rate
from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.optimisers.fedl import Fedl

LEAST_HZ = 0.3e9
LEAST_W = 0.2
UNIT_SNR_W = np.array([5.554526, 1.767710, 0.952769, 0.375257, 0.146095])  # N0 / h
BAND_HZ = 1e6
PAPER = forecast_of(
    cycles=np.array([28, 24, 15, 17, 10]) * np.array([42.285183, 55.696564, 44.570296, 54.280259, 56.162909]) * 1e6,
    capacitance=1e-28,  # alpha / 2
    cpu_hz=np.array([1.156872, 1.490714, 1.669664, 1.009747, 1.710620]) * 1e9,
    up_bits=25e3 / np.log(2),
    up_snr_hz=BAND_HZ / UNIT_SNR_W,  # at a full power of 1 W
    tx_power_w=1.0,
    band_hz=BAND_HZ,
    in_turn=True,
)


def sums(forecast: Forecast, decisions: Decisions) -> tuple[float, float, float, float]:
    """Return T_cmp, E_cmp, T_com and E_com of decisions, by the forecast."""
    upload_s = forecast.upload_s(decisions.up_share, decisions.power_share)
    # Turns end together: that is what shares in proportion to airtimes mean.
    np.testing.assert_allclose(upload_s, upload_s[0], rtol=1e-9)
    return (
        float(forecast.compute_s(decisions.clock_share).max()),
        float(forecast.compute_j(decisions.clock_share).sum()),
        float(upload_s[0]),
        float(forecast.upload_j(decisions.up_share, decisions.power_share).sum()),
    )


@pytest.mark.parametrize(
    ("kappa", "expected"),
    [
        (1e-4, (4.455725, 0.0420629, 1.158689, 0.231738)),
        (0.01, (3.946617, 0.0453669, 0.876847, 0.233419)),
        (1.0, (1.023436, 0.506950, 0.274119, 0.271699)),
    ],
)
def test_optimum_of_five_devices(kappa: float, expected: tuple[float, ...]) -> None:
    decisions = Fedl(kappa=kappa, min_power_w=LEAST_W, min_clock_hz=LEAST_HZ).decide(PAPER)
    np.testing.assert_allclose(sums(PAPER, decisions), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_no_solver_finds_less(seed: int) -> None:
    frame = {"time_share": 0.5, "payload_share": 0.9, "free_share": 0.8} if seed % 2 else {}
    forecast = random_forecast(seed, 6, in_turn=True, **frame)
    rng = np.random.default_rng(seed)
    kappa = float(10 ** rng.uniform(-2, 2))
    least_hz = 0.0 if seed % 3 else 4e8
    optimiser = Fedl(kappa=kappa, min_power_w=0.05, min_clock_hz=least_hz)
    decided = optimiser.decide(forecast)
    compute_s, compute_j, upload_s, upload_j = sums(forecast, decided)
    n = len(forecast)
    free = forecast.up.time_share * forecast.up.free_share

    def energy_j(power: Any, clock: Any) -> tuple[float, float]:
        """Return the energy and the time that uploads take in turn, each as if it had all turns."""
        each_s = forecast.upload_s(1.0, power)
        on_air_j = (forecast.amplifier_w * power + forecast.circuit_w) * each_s * free
        return float(forecast.compute_j(clock).sum() + on_air_j.sum()), float(each_s.sum())

    def cost(x: Any) -> float:
        spent_j, taken_s = energy_j(x[:n], x[n : 2 * n])
        return spent_j + kappa * (x[-1] + taken_s)

    least_clock = least_hz / forecast.cpu_hz
    bounds = [(0.05 / w, 1.0) for w in forecast.tx_power_w] + [(max(c, 1e-3), 1.0) for c in least_clock] + [(0, None)]
    fast_enough = {"type": "ineq", "fun": lambda x: x[-1] - forecast.compute_s(x[n : 2 * n])}
    start = np.r_[np.full(n, 0.9), np.full(n, 0.9), 2 * forecast.compute_s().max()]
    found = minimize(
        cost, start, bounds=bounds, constraints=[fast_enough], method="SLSQP", options={"maxiter": 500, "ftol": 1e-13}
    )
    slowest_s = forecast.compute_s(found.x[n : 2 * n]).max()  # the solver keeps its constraint only nearly
    found_cost = cost(np.r_[found.x[:-1], slowest_s])
    ours = compute_j + upload_j + kappa * (compute_s + upload_s)
    assert ours <= found_cost * (1 + 1e-12)
    assert ours == pytest.approx(found_cost, rel=1e-4)


def test_mean_csi_plans_with_a_rate_that_is_never_above_the_mean() -> None:
    fading = replace(
        PAPER, up=replace(PAPER.up, mean_rates=True, bps_hz=lambda snr: rate.mean_rayleigh_bps_hz(rate.SHANNON, snr))
    )
    snr = fading.steady_up_snr_hz() * np.logspace(-8, 4, 5)[:, None]
    mean = rate.mean_rayleigh_bps_hz(rate.SHANNON, snr * np.exp(np.euler_gamma))
    assert (rate.SHANNON.bps_hz(snr) <= mean).all()
    decided = Fedl(min_power_w=LEAST_W).decide(fading)
    upload_s = fading.upload_s(decided.up_share, decided.power_share)
    planned_s = Fedl(min_power_w=LEAST_W)._uploads(fading)[0].sum()
    assert (upload_s <= planned_s).all()


STILL: dict[str, Any] = {
    "rounds": 2,
    "data": {"dataset": "digits"},
    "devices": {"count": 6, "cpu_hz": {"uniform": [5e8, 1e9]}, "tx_power_dbm": 20},
    "mobility": {"kind": "static", "speed_mps": 0},
    "radio": {"bandwidth_hz": 2e6, "slot_s": 1e-4, "allocation": "round_robin", "downlink": "broadcast"},
}


noted: list[tuple[float, float, float, float]] = []


class NotedFedl(Fedl):
    """FEDL, and what it predicts (test)."""

    def decide(self, forecast: Forecast) -> Decisions:
        """Decide as FEDL does."""
        decisions = super().decide(forecast)
        noted.append(sums(forecast, decisions))
        return decisions


@pytest.mark.parametrize("kappa", [0.05, 5.0])
def test_optimum_comes_true_over_a_constant_channel(kappa: float) -> None:
    noted.clear()
    server = {
        "csi": {"kind": "perfect", "report_bits": 0},
        "optimiser": NotedFedl(kappa=kappa, min_power_w=0.001, min_clock_hz=1e8),
    }
    result = edgefl.run({**STILL, "server": server}, train=False)
    for number, (compute_s, compute_j, upload_s, upload_j) in enumerate(noted, start=1):
        rows = result.devices[result.devices["round"] == number]
        assert rows["compute_s"].max() == pytest.approx(compute_s, rel=1e-9)
        assert rows["cpu_energy_j"].sum() == pytest.approx(compute_j, rel=1e-9)
        late_s = rows["upload_s"] - upload_s  # an upload ends with a slot
        assert late_s.between(-1e-9, 1e-4 + 1e-9).all()
        assert (rows["tx_energy_j"] / rows["upload_s"]).sum() == pytest.approx(upload_j / upload_s, rel=1e-9)
    rows = result.devices[result.devices["round"] == 1]
    free = edgefl.run({**STILL, "server": {"csi": {"kind": "perfect", "report_bits": 0}}}, train=False)
    plain = free.devices[free.devices["round"] == 1]

    def cost(of: Any) -> float:
        spent_j = of["cpu_energy_j"].sum() + of["tx_energy_j"].sum()
        return float(spent_j + kappa * (of["compute_s"].max() + of["upload_s"].max()))

    assert cost(rows) < cost(plain)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"min_power_w": 0.2}, r"server.optimiser.min_power_w: must be <= 0.1 W, the most of device 0, got 0.2"),
        ({"min_clock_hz": 9e8}, r"server.optimiser.min_clock_hz: must be <= .* Hz, the most of device \d, got 9e\+08"),
    ],
)
def test_wrong_bounds_are_refused(keys: dict[str, float], message: str) -> None:
    server = {"csi": {"kind": "perfect", "report_bits": 0}, "optimiser": {"kind": "fedl", **keys}}
    with pytest.raises(edgefl.InputError, match=message):
        edgefl.run({**STILL, "server": server}, train=False)
