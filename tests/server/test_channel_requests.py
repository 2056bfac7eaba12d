"""Reports on channels that the server asks for: their time, energy and bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgefl
from edgefl import gym

SLOT_S = 0.0005
BAND_HZ = 5e6
COUNT = 8
REPORT_BITS = 20_000  # so that a report takes more than a slot
ROBUST_BPS_HZ = 0.15234375  # CQI 1: 2 * 78/1024 (TS 38.214, Table 5.2.2.1-2: 0.1523)
SCENARIO: dict[str, Any] = {
    "rounds": 4,
    "data": {"dataset": "digits"},
    "devices": {"count": COUNT, "tx_power_dbm": {"uniform": [10, 23]}},
    "mobility": {"kind": "static", "speed_mps": 0},
    "radio": {"bandwidth_hz": BAND_HZ, "slot_s": SLOT_S},
}
ENERGIES = ["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]


def run(csi: Any, *, train: bool = False, **sections: Any) -> Any:
    """Return the result of a run whose server asks for reports."""
    server = {"selection": "best_channel", "participants": 3, "csi": csi} | sections.pop("server", {})
    scenario = {**SCENARIO, **sections, "server": server}
    if scenario["rounds"] is None:
        del scenario["rounds"]
    return edgefl.run(scenario, train=train)


def check_books(result: Any) -> None:
    """Check that the sums of the devices' rows are those of the rounds, and that every report is there."""
    rounds = result.rounds
    devices = result.devices
    spent_j = devices[ENERGIES].to_numpy().sum()
    np.testing.assert_allclose(rounds["energy_j"].iloc[-1], spent_j, rtol=1e-12)
    np.testing.assert_allclose(rounds["round_energy_j"].sum(), spent_j, rtol=1e-12)
    assert rounds["bytes_up"].sum() == devices["bytes_up"].sum()
    reports = devices[devices["status"] == "reported"]
    assert rounds["csi_reports"].sum() == len(reports)
    np.testing.assert_allclose(rounds["csi_energy_j"].sum(), reports[ENERGIES].to_numpy().sum(), rtol=1e-12)
    asked = ~devices["status"].isin(["reported", "polled"])
    assert rounds["selected"].sum() == asked.sum()


@pytest.mark.parametrize("kind", ["perfect", "mean"])
@pytest.mark.parametrize("frame", [None, {"downlink": 0.6, "uplink": 0.4}], ids=["fdd", "tdd"])
def test_reports_take_the_time_and_energy_of_their_bits(kind: str, frame: dict[str, float] | None) -> None:
    radio = SCENARIO["radio"] | ({"tdd": frame} if frame else {})
    free = run({"kind": kind, "report_bits": 0}, radio=radio)
    paid = run({"kind": kind, "report_bits": REPORT_BITS}, radio=radio)
    check_books(paid)
    air = frame["uplink"] if frame else 1.0
    on_air_s = REPORT_BITS / (ROBUST_BPS_HZ * BAND_HZ)
    slots = np.ceil(COUNT * on_air_s / air / SLOT_S)
    # The channel is the same, so that a round takes as much longer as the reports do.
    np.testing.assert_allclose(paid.rounds["duration_s"] - free.rounds["duration_s"], slots * SLOT_S, atol=1e-9)
    reports = paid.devices[paid.devices["status"] == "reported"]
    assert (paid.rounds["csi_reports"] == COUNT).all()
    assert (reports["bytes_up"] == REPORT_BITS / 8).all()
    np.testing.assert_allclose(reports["upload_s"], on_air_s / air)
    assert (reports["wait_s"] == 0).all()
    # One after another, in order of their ids, from the beginning of the round.
    first = reports[reports["round"] == 1].sort_values("start_s")
    assert first["device"].tolist() == list(range(COUNT))
    np.testing.assert_allclose(first["start_s"], np.arange(COUNT) * on_air_s / air, atol=1e-12)
    # What a device draws while it sends at full power, as its uploads tell.
    taking_part = paid.devices[paid.devices["status"] == "received"]
    watts = (taking_part["tx_energy_j"] / (taking_part["upload_s"] * air)).groupby(taking_part["device"]).first()
    drawn_w = reports["tx_energy_j"] / on_air_s
    known = reports["device"].isin(watts.index)
    np.testing.assert_allclose(drawn_w[known], watts[reports["device"][known]], rtol=1e-9)
    # Without a price no reports are recorded.
    assert "csi_reports" not in free.rounds
    assert "reported" not in set(free.devices["status"])
    assert paid.devices[paid.devices["status"] == "received"]["device"].tolist() == free.devices["device"].tolist()


def test_default_reports_have_a_price() -> None:
    result = run("perfect")
    check_books(result)
    reports = result.devices[result.devices["status"] == "reported"]
    assert (reports["bytes_up"] == 4).all()
    assert (result.rounds["csi_energy_j"] > 0).all()


def test_cells_report_side_by_side() -> None:
    cells = {"layout": "hexagonal", "sites": 7}
    radio = SCENARIO["radio"] | {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}
    csi = {"kind": "mean", "report_bits": REPORT_BITS}
    result = run(csi, cells=cells, radio=radio, rounds=1)
    check_books(result)
    reports = result.devices[result.devices["status"] == "reported"]
    report_s = REPORT_BITS / (ROBUST_BPS_HZ * BAND_HZ)
    for _, of_cell in reports.groupby("cell"):
        np.testing.assert_allclose(np.sort(of_cell["start_s"]), np.arange(len(of_cell)) * report_s, atol=1e-12)
    assert reports["cell"].nunique() > 1


def test_batteries_pay_for_reports() -> None:
    battery = {"capacity_j": 50, "start": {"uniform": [0.3, 1.0]}}
    devices = SCENARIO["devices"] | {"battery": battery}
    result = run({"kind": "perfect", "report_bits": 10**6}, devices=devices, rounds=6)
    check_books(result)
    rounds = result.rounds
    reports = result.devices[result.devices["status"] == "reported"]
    assert reports["battery_j"].notna().all()
    gained_j = (rounds["charged_j"] - rounds["drained_j"] - rounds["round_energy_j"]).to_numpy()
    np.testing.assert_allclose(np.diff(rounds["stored_j"]), gained_j[1:], rtol=1e-9)


@pytest.mark.parametrize("kind", ["perfect", "mean"])
def test_batteries_that_last_change_no_choice(kind: str) -> None:
    """Every report arrives in all rounds, although differences of two times of the clock are rounded."""
    without = run({"kind": kind, "report_bits": REPORT_BITS})
    battery = {"capacity_j": 1e6, "base_w": 0.1}
    devices = SCENARIO["devices"] | {"battery": battery}
    with_batteries = run({"kind": kind, "report_bits": REPORT_BITS}, devices=devices)
    for column in ("round", "device", "status", "upload_s", "tx_energy_j"):
        assert with_batteries.devices[column].tolist() == without.devices[column].tolist(), column


def test_battery_that_runs_out_during_a_report_pays_its_rest() -> None:
    battery = {"capacity_j": {"uniform": [0.05, 2.0]}, "start": 1.0, "reserve": 0.0}
    devices = SCENARIO["devices"] | {"battery": battery}
    result = run({"kind": "perfect", "report_bits": 10**7}, devices=devices, rounds=2)
    check_books(result)
    rounds = result.rounds
    first = result.devices[(result.devices["round"] == 1) & (result.devices["status"] == "reported")]
    short = first["bytes_up"] < 10**7 // 8
    assert 0 < short.sum() < COUNT
    np.testing.assert_allclose(first[short][ENERGIES].sum(axis=1), first[short]["battery_capacity_j"], rtol=1e-9)
    chosen = result.devices[(result.devices["round"] == 1) & (result.devices["status"] != "reported")]["device"]
    assert not set(chosen) & set(first[short]["device"])
    gained_j = (rounds["charged_j"] - rounds["drained_j"] - rounds["round_energy_j"]).to_numpy()
    np.testing.assert_allclose(np.diff(rounds["stored_j"]), gained_j[1:], rtol=1e-9, atol=1e-9)


# Beside other parts of a scenario

HEXAGONS: dict[str, Any] = {
    "cells": {"layout": "hexagonal", "sites": 7},
    "radio": {**SCENARIO["radio"], "propagation": {"kind": "umi_los", "out_of_range": "clamp"}},
}
# Reports that take longer than a round: devices under way end meanwhile.
LONG_REPORTS = {"kind": "perfect", "noise_db": 1, "age_s": 0.001, "report_bits": REPORT_BITS}
TOGETHER: dict[str, dict[str, Any]] = {
    "handover": {
        **HEXAGONS,
        "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 100, "handover": {}},
        "radio": {**HEXAGONS["radio"], "spatial_consistency": True, "sharing": "processor"},
        "mobility": {"kind": "random_waypoint", "speed_mps": {"uniform": [10, 30]}},
    },
    "churn": {"churn": {"kind": "poisson", "arrivals_per_s": 500, "stay_s": {"exponential": 0.01}}},
    "coins": {"churn": {"kind": "bernoulli", "probability": 0.5}},
    "refills": {"server": {"policy": {"kind": "buffered", "buffer": 2}}},
    "asynchronous": {"server": {"policy": "asynchronous"}, "rounds": 9},
    "late ones go on": {"server": {"policy": {"kind": "deadline", "late": "keep"}, "deadline_s": 0.01}},
    "deadline": {"server": {"policy": "deadline", "deadline_s": 0.01}},
    "over-selection": {"server": {"policy": "over_selection"}},
    "hierarchical": {**HEXAGONS, "server": {"policy": "hierarchical"}},
    "sequential": {"server": {"policy": "sequential"}},
    "sessions": {"sessions": {"count": 2, "rounds": 2, "groups": 2}, "rounds": None},
    "large scale over time": {
        "radio": {**SCENARIO["radio"], "spatial_consistency": True, "large_scale": "time"},
        "mobility": {"kind": "random_waypoint", "speed_mps": {"uniform": [10, 30]}},
    },
    "waves on a shared band": {"radio": {**SCENARIO["radio"], "fading": "jakes", "sharing": "processor"}},
}


@pytest.mark.parametrize("csi", [LONG_REPORTS, "mean", "last"])
@pytest.mark.parametrize("name", TOGETHER)
def test_csi_works_with_other_keys(name: str, csi: Any) -> None:
    result = run(csi, **TOGETHER[name])
    assert len(result.rounds) >= 2
    assert (result.rounds["selected"] > 0).any()
    if csi != "last":
        check_books(result)
        assert (result.rounds["csi_reports"] > 0).any()


@pytest.mark.parametrize("csi", ["perfect", "last"])
def test_csi_works_with_polls(csi: str) -> None:
    selection = {"kind": "power_of_choice", "d": 5}
    result = run(csi, train=True, server={"selection": selection}, rounds=2)
    assert (result.rounds["polled"] == 2).all()
    if csi == "perfect":
        check_books(result)
        assert (result.rounds["csi_reports"] == COUNT).all()


def test_radios_that_stay_awake_are_refused() -> None:
    devices = SCENARIO["devices"] | {"radio_energy": {"drx_tail_s": 1.0, "drx_tail_w": 0.1}}
    message = r"^scenario: devices\.radio_energy: the server asks for reports on channels"
    with pytest.raises(edgefl.InputError, match=message):
        run("perfect", devices=devices)
    run("last", devices=devices)
    run({"kind": "perfect", "report_bits": 0}, devices=devices)


def test_an_agent_pays_for_reports_too() -> None:
    server = {"selection": "best_channel", "participants": 3, "csi": "perfect"}
    env = gym.make({**SCENARIO, "server": server}, action="powers")
    env.reset(seed=1)
    ended = False
    while not ended:
        _, _, terminated, truncated, _ = env.step(np.full(COUNT, 0.5, np.float32))
        ended = terminated or truncated
    result = env.result()
    check_books(result)
    assert (result.rounds["csi_reports"] == COUNT).all()
    # A report is sent at the full power of the scenario, whatever the agent decides for uploads.
    reports = result.devices[result.devices["status"] == "reported"]
    by_scenario = run("perfect").devices
    expected = by_scenario[by_scenario["status"] == "reported"].groupby("device")["tx_energy_j"].first()
    np.testing.assert_allclose(reports["tx_energy_j"], expected[reports["device"]], rtol=1e-12)


@pytest.mark.process
@pytest.mark.usefixtures("forked_sweeps")
def test_results_do_not_depend_on_workers(tmp_path: Path) -> None:
    csi = {"kind": "perfect", "noise_db": 2, "age_s": 0.01}
    scenario = {**SCENARIO, "server": {"selection": "best_channel", "participants": 3, "csi": csi}}
    (tmp_path / "base.yaml").write_text(json.dumps(scenario))
    (tmp_path / "sweep.yaml").write_text("base: base.yaml\nseeds: [1, 2]\n")
    files = {}
    for workers in (1, 2):
        out = tmp_path / str(workers)
        edgefl.sweep(tmp_path / "sweep.yaml", out=out, train=False, workers=workers)
        files[workers] = [path.read_bytes() for path in sorted(out.rglob("devices.csv"))]
    assert len(files[1]) == 2
    assert files[1] == files[2]
