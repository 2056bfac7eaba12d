"""The least energy under a deadline: limits, brute force, a general solver, and the run that it predicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from optimiser_cases import random_forecast
from scipy.optimize import minimize, minimize_scalar

import edgefl
from edgefl.coordination.decisions import Decisions, Infeasible
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.optimisers.min_energy import MinEnergy
from edgefl.coordination.optimisers.min_time import MinTime
from edgefl.coordination.optimisers.shared_band import SharedBand


def energy_j(forecast: Forecast, decisions: Decisions) -> float:
    """Return the energy of computing and uploading."""
    uploads_j = forecast.upload_j(decisions.up_share, decisions.power_share)
    return float((forecast.compute_j(decisions.clock_share) + uploads_j).sum())


def finish_s(forecast: Forecast, decisions: Decisions) -> Any:
    """Return when devices have computed and uploaded [n]."""
    return forecast.compute_s(decisions.clock_share) + forecast.upload_s(decisions.up_share, decisions.power_share)


def least_on_shares_j(forecast: Forecast, share: Any, deadline_s: float) -> float:
    """Return the least energy on given shares, by a search over each device's upload time; inf if one is late."""
    total = 0.0
    shortest_s = forecast.upload_s(share)
    longest_s = deadline_s - forecast.compute_s()
    if (shortest_s > longest_s).any():
        return np.inf
    for row in range(len(forecast)):
        one = forecast.only(np.array([row]))
        hertz = forecast.up.band_hz * share[row]

        def spent_j(upload_s: float, one: Forecast = one, hertz: float = hertz) -> float:
            power_w = hertz / one.up_snr_hz * one.tx_power_w * np.expm1(one.up_bits * np.log(2) / hertz / upload_s)
            sent_j = (power_w * one.amplifier_w / one.tx_power_w + one.circuit_w) * upload_s
            clock_hz = one.flops / (deadline_s - upload_s)
            return float((sent_j + one.capacitance * one.flops * clock_hz**2)[0])

        best = minimize_scalar(
            spent_j, bounds=(shortest_s[row], longest_s[row]), method="bounded", options={"xatol": 1e-9}
        )
        total += best.fun
    return total


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("seed", "n"), [(0, 8), *(pytest.param(seed, 20, marks=pytest.mark.slow) for seed in range(4))]
)
@pytest.mark.parametrize("slack", [1.05, 3.0])
def test_no_solver_finds_less_for_many_devices(seed: int, n: int, slack: float) -> None:
    forecast = random_forecast(seed, n, circuit_w=0.02)
    deadline_s = SharedBand.of(forecast).least_time_s() * slack
    decided = MinEnergy(deadline_s=deadline_s).decide(forecast)
    ours_j = energy_j(forecast, decided)
    decisions = [decided.up_share, decided.power_share, decided.clock_share]

    def unpacked(x: Any) -> Decisions:
        return Decisions(up_share=x[:n], power_share=x[n : 2 * n], clock_share=x[2 * n :])

    constraints: list[dict[str, Any]] = [
        {"type": "ineq", "fun": lambda x: deadline_s - finish_s(forecast, unpacked(x))},
        {"type": "ineq", "fun": lambda x: 1.0 - x[:n].sum()},
    ]
    fastest = MinTime().decide(forecast)
    start = np.concatenate([fastest.up_share, fastest.power_share, fastest.clock_share])  # type: ignore[arg-type]
    found = minimize(
        lambda x: energy_j(forecast, unpacked(x)) / ours_j,
        start,
        bounds=[(1e-4, 1.0)] * (3 * n),
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-12},
    )
    assert found.fun >= 1 - 1e-6
    assert found.fun == pytest.approx(1.0, rel=1e-3)
    assert np.concatenate(decisions) == pytest.approx(found.x, abs=0.05)  # type: ignore[arg-type]


def test_one_device_has_the_whole_band() -> None:
    forecast = random_forecast(3, 1, cycles=np.array([1e6]), circuit_w=0.0)
    decided = MinEnergy(deadline_s=10.0).decide(forecast)
    # Its computing is a millionth of the rest: with all the time for sending, the power is P1 (2^(b/t) - 1).
    bits_per_hz = forecast.up_bits / forecast.up.band_hz / 10.0
    power = (2**bits_per_hz - 1) * forecast.up.band_hz / forecast.up_snr_hz
    assert decided.up_share == pytest.approx(1.0, rel=1e-12)
    assert decided.power_share == pytest.approx(power, rel=1e-2)
    assert energy_j(forecast, decided) == pytest.approx(least_on_shares_j(forecast, np.ones(1), 10.0), rel=1e-6)


def test_endless_deadline_takes_the_least_energy() -> None:
    forecast = random_forecast(5, 10, circuit_w=0.0)
    decided = MinEnergy(deadline_s=1e5).decide(forecast)
    # A bit takes at least ln 2 times the noise's density over the path gain, and a slow cycle nothing.
    sent_j = forecast.up_bits * np.log(2) * forecast.tx_power_w / forecast.up_snr_hz
    least_j = (sent_j * forecast.amplifier_w / forecast.tx_power_w).sum()
    assert least_j < energy_j(forecast, decided) < least_j * 1.001
    decided = MinEnergy(deadline_s=1e5, min_clock_hz=5e8).decide(forecast)
    np.testing.assert_allclose(decided.clock_share * forecast.cpu_hz, 5e8)


def test_the_deadline_of_the_server_counts_too() -> None:
    forecast = random_forecast(1, 4, deadline_s=20.0)
    for optimiser in (MinEnergy(), MinEnergy(deadline_s=50.0)):
        assert finish_s(forecast, optimiser.decide(forecast)).max() == pytest.approx(20.0)
    assert finish_s(forecast, MinEnergy(deadline_s=15.0).decide(forecast)).max() == pytest.approx(15.0)


def test_infeasible_deadlines_name_the_device() -> None:
    forecast = random_forecast(2, 5)
    alone_s = forecast.compute_s() + forecast.upload_s(1.0)
    last = int(alone_s.argmax())
    with pytest.raises(Infeasible, match=rf"device {last} cannot finish by the deadline of .*misses it by 0.1 s$"):
        MinEnergy(deadline_s=float(alone_s.max()) - 0.1).decide(forecast)
    together_s = SharedBand.of(forecast).least_time_s()
    with pytest.raises(Infeasible, match=r"5 participants cannot all finish .* misses it by 0.01 s at best$"):
        MinEnergy(deadline_s=together_s - 0.01).decide(forecast)


@pytest.mark.parametrize("seed", range(5))
def test_least_time_is_when_all_finish_and_no_shares_are_faster(seed: int) -> None:
    forecast = random_forecast(seed, 8)
    decided = MinTime().decide(forecast)
    finished_s = finish_s(forecast, decided)
    np.testing.assert_allclose(finished_s, finished_s[0], rtol=1e-9)
    # Taking band from one to give it to others makes that one late: any other shares have a later end.
    rng = np.random.default_rng(seed)
    share = np.asarray(decided.up_share)
    for _ in range(50):
        others = share * rng.uniform(0.9, 1.1, len(share))
        others = others / others.sum()
        assert (forecast.compute_s() + forecast.upload_s(others)).max() > finished_s[0]


SLOT_S = 1e-4
STILL: dict[str, Any] = {
    "rounds": 2,
    "data": {"dataset": "digits"},
    "devices": {"count": 6, "cpu_hz": {"uniform": [5e8, 1e9]}},
    "mobility": {"kind": "static", "speed_mps": 0},
    "radio": {"bandwidth_hz": 2e6, "slot_s": SLOT_S},
}


def test_all_finish_by_the_deadline_over_a_constant_channel() -> None:
    server = {
        "csi": {"kind": "perfect", "report_bits": 0},
        "optimiser": {"kind": "min_energy"},
        "policy": "deadline",
        "deadline_s": 0.4,
    }
    result = edgefl.run({**STILL, "server": server}, train=False)
    assert (result.devices["status"] == "received").all()
    done_s = result.devices["download_s"] + result.devices["compute_s"] + result.devices["upload_s"]
    assert (done_s <= 0.4 + 1e-9).all()
    assert (done_s > 0.4 - 2 * SLOT_S - 1e-9).all()
    plain = edgefl.run({**STILL, "server": {"csi": {"kind": "perfect", "report_bits": 0}}}, train=False)
    columns = ["cpu_energy_j", "tx_energy_j"]
    assert result.devices[columns].sum().sum() < plain.devices[columns].sum().sum() / 2


def test_least_time_comes_true_over_a_constant_channel() -> None:
    result = edgefl.run(
        {**STILL, "server": {"csi": {"kind": "perfect", "report_bits": 0}, "optimiser": "min_time"}}, train=False
    )
    plain = edgefl.run({**STILL, "server": {"csi": {"kind": "perfect", "report_bits": 0}}}, train=False)
    for number in (1, 2):
        rows = result.devices[result.devices["round"] == number]
        assert np.ptp(rows["download_s"] + rows["compute_s"] + rows["upload_s"]) < 2 * SLOT_S
    assert (result.rounds["duration_s"] < plain.rounds["duration_s"]).all()


@pytest.mark.parametrize(
    ("optimiser", "message"),
    [
        ({}, "server.optimiser: min_energy needs to know when rounds have to be over: set its key deadline_s"),
        ({"deadline_s": 1e-5}, "server.optimiser.deadline_s: no device can compute in 1e-05 s: device "),
        ({"deadline_s": 1.0, "min_clock_hz": 2e9}, "server.optimiser.min_clock_hz: must be <= "),
    ],
)
def test_wrong_keys_of_min_energy_are_refused(optimiser: dict[str, Any], message: str) -> None:
    server = {"csi": {"kind": "perfect", "report_bits": 0}, "optimiser": {"kind": "min_energy", **optimiser}}
    with pytest.raises(edgefl.InputError, match=message.replace(".", r"\.")):
        edgefl.run({**STILL, "server": server}, train=False)


def test_deadline_that_no_device_meets_ends_the_run_with_one_line() -> None:
    server = {"csi": {"kind": "perfect", "report_bits": 0}, "optimiser": {"kind": "min_energy", "deadline_s": 0.02}}
    error = edgefl.run({**STILL, "server": server}, train=False).error
    assert error is not None
    assert error.startswith("round 1: device ")


def test_access_comes_off_the_time_for_computing_and_uploads():
    """A deadline that is longer by the access asks for the same shares, powers and clocks."""
    forecast = random_forecast(3, 4)
    deadline_s = 1.5 * SharedBand.of(forecast).least_time_s()
    plain = MinEnergy().decide(replace(forecast, deadline_s=deadline_s))
    asking = MinEnergy().decide(replace(forecast, deadline_s=deadline_s + 0.7, access_s=0.7))
    for name in ("up_share", "power_share", "clock_share"):
        assert getattr(asking, name) == pytest.approx(getattr(plain, name), rel=1e-6)
