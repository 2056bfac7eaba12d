"""Open-loop power control on the air: rate, energy and battery of an upload take one power, whatever changes it."""

import math

import numpy as np
import pytest
from radio_cases import DEVICE_W, NOISE_W_HZ, SLOT_S, STILL, path_gain
from server_cases import BASE, POLICIES, run

import edgefl
from edgefl.core.streams import Streams
from edgefl.radio.bands.clock import BandClock
from edgefl.radio.carriers.fixed_shares import PricedTurn
from edgefl.radio.link import Link
from edgefl.scenario import load
from edgefl.world.uplink_power_control import UplinkPowerControl

P0_DBM = -90.0
OPEN_LOOP = {"kind": "open_loop", "p0_dbm": P0_DBM, "alpha": 0.9}
ENERGY = ["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]
NEAR_J = 20 * 0.3 * 1e-6 * SLOT_S  # the radio takes times within a millionth of a slot for one
IDLE_W = 0.05


def open_loop_w(share_hz, loss_db):
    """The formula of TS 38.213, clause 7.1.1, a second time."""
    dbm = P0_DBM + 10 * math.log10(share_hz / 180e3) + 0.9 * loss_db
    return min(DEVICE_W, 10 ** ((dbm - 30) / 10))


def emulated(**changes):
    scenario = {
        "rounds": 1,
        "model": {"kind": "logistic", "cost": {"parameters": 100_000, "flops_per_parameter": 1.0}},
        "devices": {"count": 4, "power_control": OPEN_LOOP},
        "radio": {"bandwidth_hz": 8e6, **STILL},
        **changes,
    }
    return edgefl.run(scenario, train=False)


def test_fixed_shares_have_rate_and_energy_of_the_same_power():
    """Slots follow from Shannon's rate at that power, energy is the power times these slots."""
    devices = emulated().devices
    share_hz = 2e6
    for row in devices.itertuples():
        power_w = open_loop_w(share_hz, row.pathloss_db)
        snr = power_w * path_gain(row.distance_m) / (NOISE_W_HZ * share_hz)
        slots = math.ceil(3.2e6 / (share_hz * SLOT_S * math.log2(1 + snr)))
        assert row.upload_s == pytest.approx(slots * SLOT_S)
        assert row.tx_energy_j == pytest.approx(power_w * slots * SLOT_S)
    assert devices["tx_energy_j"].max() < 0.9 * (DEVICE_W * devices["upload_s"]).max()  # power control does something


def test_full_power_under_a_maximum_that_all_reach_is_the_run_without():
    strong = emulated(devices={"count": 4, "power_control": {"kind": "open_loop", "p0_dbm": 100.0}})
    plain = emulated(devices={"count": 4})
    assert strong.devices.equals(plain.devices)
    assert strong.rounds.equals(plain.rounds)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("policy", "sharing"),
    [
        ("synchronous", "fixed"),
        ("deadline", "fixed"),
        ("synchronous", "processor"),
        ("deadline", "processor"),
        ("buffered", "processor"),
        ("asynchronous", "processor"),
    ],
)
def test_the_sum_of_power_times_air_time_is_the_energy(policy, sharing):
    """Batteries integrate the power over time while it changes; the tables sum the energy of each transfer."""
    battery = {"capacity_j": 10.0}
    devices = {**BASE["devices"], "idle_power_w": IDLE_W, "battery": battery, "power_control": OPEN_LOOP}
    radio = {**BASE["radio"], "sharing": sharing, "bandwidth_hz": 2e6, "fading": "rayleigh"}
    server = POLICIES[policy]
    if policy == "deadline":
        server = {"policy": "deadline", "deadline_s": 0.2}
    result = run(server, devices=devices, radio=radio, rounds=6)
    spent_j = result.devices[ENERGY].to_numpy().sum()
    assert 200.0 - result.rounds["stored_j"].iloc[-1] == pytest.approx(spent_j, abs=NEAR_J)
    mean_w = result.devices["tx_energy_j"].sum() / result.devices["upload_s"].sum()
    assert mean_w < 0.9 * DEVICE_W


def test_a_share_that_halves_halves_the_power():
    """Two uploads of different length on one band: P(W/2) together, then P(W) alone, each to the slot."""
    groups = [
        {"name": "short", "count": 1},
        {"name": "long", "count": 1, "cpu_hz": 1e9},
    ]
    devices = {"count": 2, "cpu_hz": 1e9, "power_control": OPEN_LOOP, "groups": groups}
    result = emulated(devices=devices, radio={"bandwidth_hz": 4e6, "sharing": "processor", **STILL})
    ended = result.events[result.events["kind"] == "upload_end"].set_index("device")["time_s"]
    computed = result.events[result.events["kind"] == "compute_end"].set_index("device")["time_s"]
    rows = result.devices.set_index("device")
    first = ended.idxmin()
    last = ended.idxmax()
    begins = {device: math.ceil(computed[device] / SLOT_S - 1e-6) * SLOT_S for device in (first, last)}
    assert max(begins.values()) < ended[first] < ended[last]
    alone = {device: open_loop_w(4e6, rows.loc[device, "pathloss_db"]) for device in (first, last)}
    shared = {device: open_loop_w(2e6, rows.loc[device, "pathloss_db"]) for device in (first, last)}
    assert shared[last] == pytest.approx(alone[last] / 2)
    together_s = max(begins.values())
    expected = {}
    for device in (first, last):
        expected[device] = alone[device] * (together_s - begins[device]) + shared[device] * (ended[first] - together_s)
    expected[last] += alone[last] * (ended[last] - ended[first])
    for device in (first, last):
        assert rows.loc[device, "tx_energy_j"] == pytest.approx(expected[device], rel=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_batteries_run_dry_at_the_power_that_is_sent(sharing):
    """start - spent = level, also where a battery is empty in the middle of an upload."""
    listening = {"rx_power_w": 1e-4, "idle_power_w": 1e-5}  # little, so that only uploads empty batteries
    devices = {**BASE["devices"], **listening, "battery": {"capacity_j": 5e-5}, "power_control": OPEN_LOOP}
    result = run({}, devices=devices, radio={**BASE["radio"], "sharing": sharing}, rounds=12)
    spent_j = result.devices[ENERGY].to_numpy().sum()
    assert result.rounds["stored_j"].iloc[-1] + spent_j == pytest.approx(5e-5 * 20, abs=NEAR_J * 1e-3)
    departed = result.devices[result.devices["status"] == "departed"]
    assert (departed["upload_s"] > 0).any()


@pytest.mark.oracle
def test_a_handover_changes_the_path_loss_and_with_it_the_power(tmp_path, monkeypatch):
    """A device that walks to another base station sends at the power of its new path."""
    seen = []

    def switch(clock, transfer, air, share):
        if clock._way == "up" and air:
            seen.append((clock._env.now, transfer.cell, share))
        transfer.switch(air)

    monkeypatch.setattr(BandClock, "_switch", switch)
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,device,x_m,y_m\n0.0,0,50.0,0\n40.0,0,450.0,0\n")
    result = edgefl.run(
        {
            "rounds": 1,
            "devices": {"count": 1, "power_control": OPEN_LOOP},
            "model": {"kind": "mlp", "cost": {"parameters": 6_000_000, "flops_per_parameter": 1e-9}},
            "cells": {
                "layout": "listed", "positions_m": [[0, 0], [400, 0]], "radius_m": 400.0, "handover": {},
            },
            "mobility": {"kind": "trace", "path": str(trace)},
            "radio": {
                "bandwidth_hz": 1e6, "spatial_consistency": True, "sharing": "processor", **STILL,
                "propagation": {"kind": "log_distance", "out_of_range": "clamp"},
            },
            "training": {"local_steps": 1, "batch_size": 1},
        },
        train=False,
    )  # fmt: skip
    handover = result.events[result.events["kind"] == "handover"]
    assert len(handover) == 1
    row = result.devices.iloc[0]
    start_s, _, before = seen[0]
    after_s, cell, after = seen[-1]
    assert cell == 1
    assert start_s < handover["time_s"].item() < after_s

    def share(x_m, site_m):
        distance_m = math.hypot(x_m - site_m, 8.5)
        loss_db = 20 * math.log10(4 * math.pi * 3.5e9 / 3e8) + 30 * math.log10(distance_m)
        return open_loop_w(1e6, loss_db) / DEVICE_W

    assert before == pytest.approx(share(50.0, 0.0))
    assert after == pytest.approx(share(50.0 + 10.0 * handover["time_s"].item(), 400.0))
    assert after > before
    end_s = result.events[result.events["kind"] == "upload_end"]["time_s"].item()
    expected_j = DEVICE_W * (before * (handover["time_s"].item() - start_s) + after * (end_s - after_s))
    assert row["tx_energy_j"] == pytest.approx(expected_j, rel=1e-6)


def test_interference_is_that_of_the_power_that_is_sent():
    """In two cells, each base station receives both devices at their powers over the band."""
    section = {"layout": "listed", "positions_m": [[0, 0], [400, 0]]}
    scenario = load(
        {
            "cells": section,
            "radio": {
                **STILL,
                "interference": {"load": 0.5},
                "bandwidth_hz": 4e6,
                "propagation": {"kind": "umi_los", "out_of_range": "clamp"},
            },
            "devices": {"count": 3, "power_control": OPEN_LOOP},
        }
    )
    streams = Streams(1)
    control = UplinkPowerControl.of_devices(scenario.devices, np.full(3, 23.0), streams)
    of = Link(radio=scenario.radio, cells=scenario.cells, streams=streams, power_control=control)
    at = of.drop(np.arange(3), np.array([[60.0, 0], [140.0, 0], [330.0, 0]]), np.full(3, 1.5), 0)
    assert at.cell.tolist() == [0, 0, 1]
    offer = of.pricing.shares("up", at, np.full(3, DEVICE_W), 1e6)
    share_hz = np.array([2e6, 2e6, 4e6])
    loss_db = -10 * np.log10(at.path_gain)
    sent_w = np.array([open_loop_w(hz, loss) for hz, loss in zip(share_hz, loss_db, strict=True)])
    assert offer.power_share * DEVICE_W == pytest.approx(sent_w)
    assert max(sent_w) < DEVICE_W
    heard_w_hz = np.array([0.5 * sent_w[2] * at.all_gains[2, 0], 0.5 * (sent_w[:2] @ at.all_gains[:2, 1])]) / 4e6
    snr = sent_w * at.path_gain / ((NOISE_W_HZ + heard_w_hz[at.cell]) * share_hz)
    assert offer.mean_snr == pytest.approx(snr)


def test_radio_time_matches_its_power():
    """Fixed shares note time on the air and time at full power: their quotient is the power."""
    heard = []
    original = PricedTurn.send

    def send(turn, env, row):
        result = yield from original(turn, env, row)
        heard.append((turn._offer.way, float(turn._offer.power_share[row]), result))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PricedTurn, "send", send)
        emulated()
    assert {way for way, _, _ in heard} == {"down", "up"}
    for _, share, result in heard:
        assert result.full_power_s == pytest.approx(share * result.air_s)
