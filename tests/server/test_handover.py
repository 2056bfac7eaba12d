"""Handover on scripted paths: when event A3 says, and what it does to a transfer; without fading all in closed form."""

import math

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st
from radio_cases import drop, link
from scipy.optimize import brentq

import edgefl
from edgefl.radio.band_transfer import BandTransfer
from edgefl.radio.messages import round_trip
from edgefl.server import handover
from edgefl.server.handover import triggered
from edgefl.world.cells_section import Handover

FAR_M, SPEED_MPS, START_M, EXPONENT = 400.0, 10.0, 50.0, 3.0
SLOT_S, BAND_HZ, NOISE_W_HZ, SERVER_W, DEVICE_W = 0.0005, 1e6, 10 ** (-17.4 - 3), 10 ** (4.3 - 3), 10 ** (2.3 - 3)
STEADY = {"propagation": {"kind": "log_distance", "out_of_range": "clamp"}, "shadowing_db": 0.0, "fading": "none"}
RULE = {"hysteresis_db": 3.0, "time_to_trigger_s": 0.16, "measure_s": 0.04}
STRAIGHT = [(0.0, 0, START_M), (40.0, 0, 450.0)]  # time, device, x
LONG_S = 30.0  # a download where the path begins


def run(folder, floats, path=STRAIGHT, flops=1e-9, radio=(), server=(), seed=1, **cells):
    """A round with a model of so many floats; base stations at 0 and 400 m, devices on paths along the line between."""
    trace = folder / "trace.csv"
    trace.write_text("time_s,device,x_m,y_m\n" + "".join(f"{t},{device},{x},0\n" for t, device, x in path))
    powers = {"rx_power_w": 0.1, "idle_power_w": 0.01}
    section = {"layout": "listed", "positions_m": [[0, 0], [FAR_M, 0]], "radius_m": 400.0, "handover": RULE | cells}
    scenario = {
        "rounds": 1,
        "seed": seed,
        "devices": {"count": len({device for _, device, _ in path})} | powers,
        "model": {"kind": "mlp", "cost": {"parameters": floats, "flops_per_parameter": flops}},
        "cells": section,
        "mobility": {"kind": "trace", "path": str(trace)},
        "radio": {"bandwidth_hz": BAND_HZ, "spatial_consistency": True, **STEADY, **dict(radio)},
        "training": {"local_steps": 1, "batch_size": 1},
        "server": dict(server),
    }
    return edgefl.run(scenario, train=False)


def moves(result):
    return result.events[result.events["kind"] == "handover"]


def distance_m(x_m, site_m):
    return math.hypot(x_m - site_m, 10.0 - 1.5)


def better_db(x_m):
    """By how much the far base station is received better."""
    return 10 * EXPONENT * math.log10(distance_m(x_m, 0.0) / distance_m(x_m, FAR_M))


def reported_s(hysteresis_db, time_to_trigger_s, measure_s):
    """The measure at which the neighbour has been better for the time to trigger."""
    crossing_s = (brentq(lambda x: better_db(x) - hysteresis_db, 50, 399) - START_M) / SPEED_MPS
    return (math.floor(crossing_s / measure_s) + 1 + math.ceil(time_to_trigger_s / measure_s - 1e-9)) * measure_s


HANDED_S = reported_s(**RULE)
HANDED_M = START_M + SPEED_MPS * HANDED_S


def slot_bits(x_m, site_m, power_w=SERVER_W, share_hz=BAND_HZ):
    """A slot's, by log-distance loss and Shannon's rate."""
    loss_db = 20 * math.log10(4 * math.pi * 3.5e9 / 3e8) + 10 * EXPONENT * math.log10(distance_m(x_m, site_m))
    return share_hz * SLOT_S * math.log2(1 + power_w * 10 ** (-loss_db / 10) / (NOISE_W_HZ * share_hz))


LONG = round(LONG_S / SLOT_S * slot_bits(START_M, 0.0) / 32)  # floats
BEFORE = round(HANDED_S / SLOT_S) * slot_bits(START_M, 0.0)  # bits of such a download up to the handover


@pytest.mark.parametrize("hysteresis_db", [0.0, 3.0, 6.5])
@pytest.mark.parametrize(("time_to_trigger_s", "measure_s"), [(0.0, 0.04), (0.16, 0.04), (0.1, 0.04), (7.0, 0.1)])
def test_it_happens_when_the_neighbour_has_been_better_for_so_long(
    tmp_path, hysteresis_db, time_to_trigger_s, measure_s
):
    """While it computes, which a handover does not disturb; the upload goes to the new cell."""
    rule = {"hysteresis_db": hysteresis_db, "time_to_trigger_s": time_to_trigger_s, "measure_s": measure_s}
    result = run(tmp_path, 10**5, flops=3e6, **rule)
    (event,), (row,) = moves(result).to_dict("records"), result.devices.to_dict("records")
    assert event["time_s"] == pytest.approx(reported_s(**rule), abs=1e-9)
    assert (event["device"], event["cell"], event["detail"]) == (0, 1, "from 0")
    assert result.rounds["handovers"].tolist() == [1]
    cells = result.events.set_index("kind")["cell"]
    assert (row["cell"], cells["download_end"], cells["compute_end"], cells["upload_end"]) == (0, 0, 1, 1)
    assert row["compute_s"] == pytest.approx(1e5 * 3e6 / 8e9)
    slots = math.ceil(3.2e6 / slot_bits(START_M + SPEED_MPS * event["time_s"], FAR_M, DEVICE_W))
    assert -1e-9 < row["upload_s"] - slots * SLOT_S < SLOT_S  # from the next border of a slot on
    assert row["bytes_up"] == row["bytes_down"] == 400_000


def test_hysteresis_and_time_to_trigger_keep_it_from_going_back_and_forth(tmp_path):
    """To and fro across the middle, two seconds a way, so that either is better for two seconds, by 1.3 dB at most."""
    path = [(2.0 * n, 0, 190.0 if n % 2 else 210.0) for n in range(20)]
    assert 1.29 < better_db(210.0) < 1.31
    quick = {"hysteresis_db": 0.5, "time_to_trigger_s": 0.16}
    counts = [
        len(moves(run(tmp_path, 10**5, path, flops=3e6, **quick | more)))
        for more in ({}, {"hysteresis_db": 1.31}, {"time_to_trigger_s": 2.0})
    ]
    assert counts == [19, 0, 0]  # one each way


def test_nothing_is_measured_in_the_interruption(tmp_path):
    path = [(2.0 * n, 0, 190.0 if n % 2 else 210.0) for n in range(20)]
    rule = {"hysteresis_db": 0.0, "time_to_trigger_s": 0.0, "interruption_s": 4.9}
    times_s = moves(run(tmp_path, 10**5, path, flops=3e6, **rule))["time_s"]
    assert len(times_s) > 4
    assert times_s.diff().min() > 4.9


@pytest.mark.parametrize(
    ("in_transfer", "interruption_s", "pause_s"),
    [("continue", 0.05, 0.05), ("continue", 0.0, 0.0), ("forward", 0.05, 0.07), ("restart", 0.05, 0.05)],
)
def test_a_transfer_goes_on_over_the_new_cell(tmp_path, in_transfer, interruption_s, pause_s):
    result = run(tmp_path, LONG, in_transfer=in_transfer, interruption_s=interruption_s)
    left = 32 * LONG - (0 if in_transfer == "restart" else BEFORE)
    after_s = math.ceil(left / slot_bits(HANDED_M, FAR_M)) * SLOT_S
    row = result.devices.iloc[0]
    assert row["status"] == "received"
    assert result.rounds["handovers"].tolist() == [1]
    assert row["download_s"] == pytest.approx(HANDED_S + pause_s + after_s, abs=1e-9)
    assert row["bytes_down"] == pytest.approx((BEFORE + left) / 8, abs=1)
    assert row["bytes_up"] == 4 * LONG
    assert row["rx_energy_j"] == pytest.approx(0.1 * (HANDED_S + after_s))  # nothing is received meanwhile
    assert row["idle_energy_j"] == pytest.approx(0.01 * pause_s, abs=1e-9)


def test_a_transfer_may_be_dropped(tmp_path):
    result = run(tmp_path, LONG, in_transfer="drop")
    row = result.devices.iloc[0]
    assert row["status"] == "handover_failed"
    assert row["download_s"] == pytest.approx(HANDED_S)
    assert row["bytes_down"] == pytest.approx(BEFORE / 8, abs=1)
    assert (row["compute_s"], row["bytes_up"]) == (0, 0)
    assert result.rounds[["received", "failed", "handovers"]].to_numpy().tolist() == [[0, 1, 1]]
    assert result.rounds["wasted_j"].item() == pytest.approx(0.1 * HANDED_S)
    assert result.events["kind"].tolist() == ["round_start", "handover", "handover_failed", "round_end"]


def test_a_transfer_that_ends_at_that_very_moment_has_ended(tmp_path):
    """Nothing is dropped; the upload, which begins then, goes to the new base station."""
    result = run(tmp_path, int(BEFORE // 32), in_transfer="drop")
    row = result.devices.iloc[0]
    assert row["download_s"] == pytest.approx(HANDED_S, abs=1e-9)
    assert row["bytes_down"] == int(BEFORE // 32) * 4
    assert result.rounds["handovers"].tolist() == [1]
    assert row["status"] == "received"
    slots = math.ceil(int(BEFORE // 32) * 32 / slot_bits(HANDED_M, FAR_M, DEVICE_W))
    assert row["upload_s"] == pytest.approx(slots * SLOT_S, abs=1.01 * SLOT_S)


@pytest.mark.parametrize("after_s", [-0.01, 0.03, 0.06])
def test_what_cuts_it_short_costs_what_it_has_cost(tmp_path, after_s):
    """A deadline just before the handover, in the interruption and just after it."""
    server = {"policy": "deadline", "deadline_s": HANDED_S + after_s}
    result = run(tmp_path, LONG, server=server)
    row = result.devices.iloc[0]
    after = round(max(after_s - 0.05, 0.0) / SLOT_S) * slot_bits(HANDED_M, FAR_M)
    assert row["status"] == "late"
    assert row["download_s"] == pytest.approx(HANDED_S + after_s)
    assert row["bytes_down"] == pytest.approx((BEFORE + min(after_s, 0) / SLOT_S * slot_bits(START_M, 0.0) + after) / 8)
    assert result.rounds["handovers"].tolist() == [int(after_s > 0)]


@pytest.mark.parametrize("more_s", [-0.001, 0.001])
def test_the_longest_time_of_a_transfer_counts_the_interruption(tmp_path, more_s):
    whole_s = HANDED_S + 0.05 + math.ceil((32 * LONG - BEFORE) / slot_bits(HANDED_M, FAR_M)) * SLOT_S
    result = run(tmp_path, LONG, radio={"faults": {"max_transfer_s": whole_s + more_s}})
    assert (result.devices["status"].item() == "download_failed") == (more_s < 0)
    assert result.devices["download_s"].item() == pytest.approx(whole_s + min(more_s, 0))


def test_who_comes_shares_the_band_of_the_new_cell(tmp_path):
    """One stands in the far cell and downloads alone until the other's interruption is over, then on half the band."""
    path = [(0.0, 0, START_M), (0.0, 1, 380.0), (40.0, 0, 450.0), (40.0, 1, 380.0)]
    result = run(tmp_path, LONG, path)
    come_s = HANDED_S + 0.05
    left = 32 * LONG - round(come_s / SLOT_S) * slot_bits(380.0, FAR_M)
    slots = math.ceil(left / slot_bits(380.0, FAR_M, share_hz=BAND_HZ / 2))
    assert left > 0
    assert result.devices["download_s"][1] == pytest.approx(come_s + slots * SLOT_S, abs=1e-9)
    assert result.devices["bytes_down"].tolist() == [4 * LONG] * 2


FADED = {"fading": "rayleigh", "faults": {"failure_probability": 0.4, "attempts": 3}, "bandwidth_hz": 1e7}
TO_AND_FRO = [(1.0 * n, 0, 280.0 if n % 2 else 120.0) for n in range(60)]


@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_bits_are_conserved_through_fading_faults_and_many_handovers(tmp_path, transfer):
    """The bytes of each seed are those without any handover: whole attempts, as many as it takes."""
    radio, handed = FADED | {"transfer": transfer}, 0
    for seed in range(3):
        moving, staying = (
            run(tmp_path, LONG, TO_AND_FRO, radio=radio, seed=seed, hysteresis_db=hysteresis_db)
            for hysteresis_db in (1.0, 30.0)
        )
        assert not len(moves(staying))
        handed += len(moves(moving))
        sent = moving.devices[["bytes_down", "bytes_up", "status"]]
        assert sent.equals(staying.devices[["bytes_down", "bytes_up", "status"]])
    assert handed > 6


def test_each_piece_has_fading_of_its_own():
    """Keys count on over pieces and their attempts; where the fading begins is another draw for each base station."""
    of = link(faults={"attempts": 3}, sharing="processor")
    at, one = drop(of, [4, 7]), np.array([5.0, 5.0])
    who = of.participants(at, one, one, 2)
    carrier = of.roam(simpy.Environment(), who, round_trip(2, 1e6, 1e6, np.zeros_like), Handover())
    assert carrier.serving(1).attempts_before == 0
    gains = [carrier.gain[1]]
    for count in (1, 2, 3):
        carrier.hand_over(1, drop(of, [7], distance_m=50.0 * count))
        served = carrier.serving(1)
        assert (served.attempts_before, served.drop.distance_m.tolist()) == (3 * count, [50.0 * count])
        gains.append(carrier.gain[1])
    assert len(set(gains)) == 4
    stays = carrier.serving(0)
    assert (stays.attempts_before, stays.drop.ids.tolist(), stays.drop.distance_m.tolist()) == (0, [4], [100.0])


def test_what_was_known_of_the_old_fading_is_forgotten():
    """Gains of the coming slots are those of the new base station from its first one on, by its own draws."""
    of = link(sharing="processor")
    at = of.participants(drop(of, [7]), np.array([5.0]), np.array([DEVICE_W]), 0)
    transfers = [
        BandTransfer(at, 0, 1e6, 100, gain, of.pricing.fading.innovations("up", at, attempt))
        for attempt, gain in enumerate((1 + 0j, 0.5j))
    ]
    for transfer in transfers:
        transfer.look_ahead(20)
    there = of.pricing.fading.innovations("up", at, 1)
    transfers[0].set_work(3.0)
    transfers[0].go_on(at, 0.5j, there, 10)
    transfers[0].look_ahead(20)
    assert transfers[0].ahead.tolist() == transfers[1].ahead.tolist()
    assert (transfers[0].work, transfers[0].slots, transfers[0].left_bits) == (None, 10, 1e6)


def test_nothing_depends_on_how_far_one_looks_ahead(tmp_path, monkeypatch):
    found = []
    for measures in (64, 7, 1):
        monkeypatch.setattr(handover, "LOOKED_AT", measures)
        found.append(run(tmp_path, LONG // 2, TO_AND_FRO, radio=FADED, hysteresis_db=1.0))
    assert len(moves(found[0])) > 2
    for other in found[1:]:
        assert other.devices.equals(found[0].devices)
        assert other.events.equals(found[0].events)


WORLD = {
    "rounds": 4,
    "devices": {"count": 40, "cpu_hz": {"lognormal": [18.5, 0.5]}},
    "server": {"participants": 10},
    "model": {"kind": "mlp", "cost": {"parameters": 100_000, "flops_per_parameter": 91.0}},
    "cells": {"layout": "hexagonal", "radius_m": 120, "handover": {"measure_s": 0.1}},
    "mobility": {"kind": "random_waypoint", "speed_mps": 20},
    "radio": {
        "bandwidth_hz": 2e6,
        "propagation": {"kind": "umi", "out_of_range": "clamp"},
        "spatial_consistency": True,
        "transfer": "fast",
    },
}


@pytest.mark.parametrize(
    ("policy", "in_transfer"), [("synchronous", "drop"), ("asynchronous", "forward"), ("hierarchical", "restart")]
)
def test_books_balance_under_other_policies(policy, in_transfer):
    cells = WORLD["cells"] | {"handover": {"measure_s": 0.1, "in_transfer": in_transfer}}
    server, churn = WORLD["server"] | {"policy": policy}, {"kind": "coverage"}
    algorithm = "fedasync" if policy == "asynchronous" else "fedavg"
    rounds = 20 if policy == "asynchronous" else 4
    keys = {"server": server, "cells": cells, "churn": churn, "algorithm": algorithm, "rounds": rounds}
    result = edgefl.run(WORLD | keys, train=False)
    events = moves(result)
    assert result.status == "finished"
    assert len(events) == result.rounds["handovers"].sum() > 3
    assert (events["cell"].astype(str) != events["detail"].str.removeprefix("from ")).all()
    assert np.allclose(events["time_s"] / 0.1, np.rint(events["time_s"] / 0.1))
    received = result.devices[result.devices["status"] == "received"]
    assert (received["bytes_up"] >= 400_000).all()
    assert ((received["bytes_up"] > 400_000).any()) == (in_transfer == "restart")
    lost = (result.devices["status"] == "handover_failed").sum()
    assert (lost > 0) == (in_transfer == "drop")
    assert lost <= result.rounds["failed"].sum()


def test_who_is_never_handed_over_notices_nothing():
    """As without the section, but for the column."""
    radio = WORLD["radio"] | STEADY | {"sharing": "processor"}
    still = WORLD | {"radio": radio, "mobility": "static"}
    on = edgefl.run(still, train=False)
    off = edgefl.run(still | {"cells": {"layout": "hexagonal", "radius_m": 120}}, train=False)
    assert not on.rounds["handovers"].any()
    assert "handovers" not in off.rounds
    assert on.rounds.drop(columns="handovers").equals(off.rounds)
    assert on.devices.equals(off.devices)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_the_rule_as_the_standard_says_it(data):
    """Measure by measure: each neighbour has a timer that runs while it is better, and is reported when it is up."""
    steps, sites = data.draw(st.integers(1, 12)), data.draw(st.integers(2, 4))
    powers = np.array(data.draw(st.lists(st.integers(0, 6), min_size=steps * sites, max_size=steps * sites)))
    powers = powers.reshape(steps, sites).astype(float)
    cell, hysteresis_db = data.draw(st.integers(0, sites - 1)), float(data.draw(st.integers(0, 2)))
    waited = data.draw(st.integers(0, steps - 1))
    expected, timers = None, [0] * sites
    for step, row in enumerate(powers):
        timers = [
            timer + 1 if power > row[cell] + hysteresis_db else 0 for timer, power in zip(timers, row, strict=True)
        ]
        up = [site for site, timer in enumerate(timers) if timer > waited]
        if up:
            expected = step, max(up, key=lambda site: (row[site], -site))
            break
    assert triggered(powers, cell, hysteresis_db, waited) == expected
