"""Handover on scripted paths: event A3 and its effect on a transfer; without fading all in closed form."""

import math

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st
from radio_cases import DEVICE_W, NOISE_W_HZ, SERVER_W, SLOT_S, drop, link
from scipy.optimize import brentq

import edgefl
from edgefl.radio.bands.band import Band
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.messages import round_trip
from edgefl.server import handover
from edgefl.server.handover import triggered
from edgefl.world.cells_section import Handover

FAR_M = 400.0
SPEED_MPS = 10.0
START_M = 50.0
EXPONENT = 3.0
BAND_HZ = 1e6
STEADY = {"propagation": {"kind": "log_distance", "out_of_range": "clamp"}, "shadowing_db": 0.0, "fading": "none"}
RULE = {"hysteresis_db": 3.0, "time_to_trigger_s": 0.16, "measure_s": 0.04}
STRAIGHT = [(0.0, 0, START_M), (40.0, 0, 450.0)]  # time, device, x
LONG_S = 30.0  # a download where the path begins
RX_W = 0.1
IDLE_W = 0.01
PAUSE_S = 0.05  # interruption_s where nothing is said


def run(folder, floats, path=STRAIGHT, flops=1e-9, radio=(), server=(), devices=(), seed=1, **cells):
    """A round with a model of so many floats; base stations at 0 and 400 m, devices on paths along the line between."""
    trace = folder / "trace.csv"
    trace.write_text("time_s,device,x_m,y_m\n" + "".join(f"{t},{device},{x},0\n" for t, device, x in path))
    powers = {"rx_power_w": RX_W, "idle_power_w": IDLE_W}
    rule = RULE | {"filter_k": 0} | cells
    section = {"layout": "listed", "positions_m": [[0, 0], [FAR_M, 0]], "radius_m": 400.0, "handover": rule}
    scenario = {
        "rounds": 1,
        "seed": seed,
        "devices": {"count": len({device for _, device, _ in path})} | powers | dict(devices),
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


def test_the_filter_is_that_of_scipy_to_the_last_bit():
    from scipy.signal import lfilter

    powers_db = np.random.default_rng(1).normal(-90.0, 8.0, (57, 7))
    last_db = powers_db[0] + 3.0
    share = 0.3
    expected_db, _ = lfilter([share], [1.0, share - 1.0], powers_db, axis=0, zi=(1.0 - share) * last_db[None])
    assert np.array_equal(handover.filtered(powers_db, share, last_db), expected_db)


@pytest.mark.parametrize("hysteresis_db", [0.0, 3.0, 6.5])
@pytest.mark.parametrize(("time_to_trigger_s", "measure_s"), [(0.0, 0.04), (0.16, 0.04), (0.1, 0.04), (7.0, 0.1)])
def test_handover_happens_after_the_time_to_trigger(tmp_path, hysteresis_db, time_to_trigger_s, measure_s):
    """While it computes, which a handover does not disturb; the upload goes to the new cell."""
    rule = {"hysteresis_db": hysteresis_db, "time_to_trigger_s": time_to_trigger_s, "measure_s": measure_s}
    result = run(tmp_path, 10**5, flops=3e6, **rule)
    (event,) = moves(result).to_dict("records")
    (row,) = result.devices.to_dict("records")
    assert event["time_s"] == pytest.approx(reported_s(**rule), abs=1e-9)
    assert (event["device"], event["cell"], event["detail"]) == (0, 1, "from 0")
    assert result.rounds["handovers"].tolist() == [1]
    cells = result.events.set_index("kind")["cell"]
    assert (row["cell"], cells["download_end"], cells["compute_end"], cells["upload_end"]) == (0, 0, 1, 1)
    assert row["compute_s"] == pytest.approx(1e5 * 3e6 / 8e9)
    slots = math.ceil(3.2e6 / slot_bits(START_M + SPEED_MPS * event["time_s"], FAR_M, DEVICE_W))
    assert -1e-9 < row["upload_s"] - slots * SLOT_S < SLOT_S  # from the next border of a slot on
    assert row["bytes_up"] == row["bytes_down"] == 400_000


@pytest.mark.parametrize("measure_s", [0.04, 0.2])
@pytest.mark.parametrize("filter_k", [0, 4, 13])
def test_filter_follows_the_standard(tmp_path, filter_k, measure_s):
    """F_n = (1 - a) F_(n-1) + a M_n, a = 1 / 2^(k / 4) every 200 ms: five steps of 40 ms have the weight of one."""
    share = 1.0 - (1.0 - 2.0 ** (-filter_k / 4)) ** (measure_s / 0.2)
    filtered_db = better_db(START_M + SPEED_MPS * measure_s)
    timer = 0
    number = 0
    while timer <= math.ceil(0.16 / measure_s - 1e-9):
        number += 1
        filtered_db += share * (better_db(START_M + SPEED_MPS * number * measure_s) - filtered_db)
        timer = timer + 1 if filtered_db > 3.0 else 0
    result = run(tmp_path, 10**5, flops=3e6, filter_k=filter_k, measure_s=measure_s)
    assert moves(result)["time_s"].tolist() == [pytest.approx(number * measure_s, abs=1e-9)]
    late_s = number * measure_s - reported_s(3.0, 0.16, measure_s)
    assert late_s == 0 if filter_k == 0 else late_s > 0


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
def test_transfer_continues_over_the_new_cell(tmp_path, in_transfer, interruption_s, pause_s):
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


def test_transfer_that_ends_at_the_handover_has_ended(tmp_path):
    """The download is not dropped; the upload, which begins then, goes to the new base station."""
    result = run(tmp_path, int(BEFORE // 32), in_transfer="drop")
    row = result.devices.iloc[0]
    assert row["download_s"] == pytest.approx(HANDED_S, abs=1e-9)
    assert row["bytes_down"] == int(BEFORE // 32) * 4
    assert result.rounds["handovers"].tolist() == [1]
    assert row["status"] == "received"
    slots = math.ceil(int(BEFORE // 32) * 32 / slot_bits(HANDED_M, FAR_M, DEVICE_W))
    assert row["upload_s"] == pytest.approx(slots * SLOT_S, abs=1.01 * SLOT_S)


@pytest.mark.parametrize("after_s", [-0.01, 0.03, 0.06])
def test_transfer_cut_short_keeps_its_cost(tmp_path, after_s):
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


def test_arriving_device_shares_the_band_of_the_new_cell(tmp_path):
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


@pytest.mark.oracle
@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_bits_are_conserved_through_fading_faults_and_many_handovers(tmp_path, transfer):
    """The bytes of each seed are those without any handover: whole attempts, as many as it takes."""
    radio = FADED | {"transfer": transfer}
    handed = 0
    for seed in range(3):
        moving = run(tmp_path, LONG, TO_AND_FRO, radio=radio, seed=seed, hysteresis_db=1.0)
        staying = run(tmp_path, LONG, TO_AND_FRO, radio=radio, seed=seed, hysteresis_db=30.0)
        assert not len(moves(staying))
        handed += len(moves(moving))
        sent = moving.devices[["bytes_down", "bytes_up", "status"]]
        assert sent.equals(staying.devices[["bytes_down", "bytes_up", "status"]])
    assert handed > 6


def test_each_piece_of_a_transfer_has_separate_fading():
    """Keys count on over pieces and their attempts; where the fading begins is another draw for each base station."""
    of = link(faults={"attempts": 3}, sharing="processor")
    at = drop(of, [4, 7])
    one = np.array([5.0, 5.0])
    who = of.participants(at, one, one, 2)
    carrier = of.roam(simpy.Environment(), who, round_trip(2, 1e6, 1e6, np.zeros_like), Handover())
    assert carrier.serving(1).attempts_before == 0
    gains = [carrier.turns.gain[1]]
    for count in (1, 2, 3):
        carrier.hand_over(1, drop(of, [7], distance_m=50.0 * count))
        served = carrier.serving(1)
        assert (served.attempts_before, served.drop.distance_m.tolist()) == (3 * count, [50.0 * count])
        gains.append(carrier.turns.gain[1])
    assert len(set(gains)) == 4
    stays = carrier.serving(0)
    assert (stays.attempts_before, stays.drop.ids.tolist(), stays.drop.distance_m.tolist()) == (0, [4], [100.0])


def test_knowledge_of_the_old_fading_is_forgotten():
    """Gains of the coming slots are those of the new base station from its first one on, by its own draws."""
    of = link(sharing="processor")
    at = of.participants(drop(of, [7]), np.array([5.0]), np.array([DEVICE_W]), 0)

    def transfer(attempt, bits):
        return BandTransfer(
            participant=at,
            attempt=attempt,
            left_bits=bits,
            longest_slots=10**6,
            gain=(1 + 0j, 0.5j)[attempt],
            draws=of.pricing.fading.innovations("up", at, attempt),
        )

    env = simpy.Environment()
    band = Band(env, of.pricing.engine, "up")
    moved = transfer(0, 5e7)
    band.send(moved)
    env.run(20.5 * SLOT_S)
    band.withdraw(moved)
    assert (moved.slots, moved.gain == 1) == (20, False)
    left_bits = moved.left_bits
    moved.go_on(at, 0.5j, of.pricing.fading.innovations("up", at, 1), 10)
    env.run(band.send(moved))
    new = transfer(1, left_bits)
    env = simpy.Environment()
    env.run(Band(env, of.pricing.engine, "up").send(new))
    assert new.slots > 20
    assert (moved.gain, moved.slots) == (new.gain, 30 + new.slots)


@pytest.mark.oracle
def test_result_does_not_depend_on_the_lookahead(tmp_path, monkeypatch):
    found = []
    for least, most in ((64, 1024), (7, 7), (1, 3)):
        monkeypatch.setattr(handover, "LEAST_AHEAD", least)
        monkeypatch.setattr(handover, "MOST_AHEAD", most)
        found.append(run(tmp_path, LONG // 2, TO_AND_FRO, radio=FADED, hysteresis_db=1.0, filter_k=4))
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


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("policy", "in_transfer"), [("synchronous", "drop"), ("asynchronous", "forward"), ("hierarchical", "restart")]
)
def test_accounts_balance_under_other_policies(policy, in_transfer):
    hasty = {"measure_s": 0.1, "time_to_trigger_s": 0.1, "filter_k": 4}  # so that some come within a transfer
    cells = WORLD["cells"] | {"handover": hasty | {"in_transfer": in_transfer}}
    server = WORLD["server"] | {"policy": policy}
    churn = {"kind": "coverage"}
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


@pytest.mark.oracle
def test_device_without_handover_is_not_affected():
    """As without the section, except for the column."""
    radio = WORLD["radio"] | STEADY | {"sharing": "processor"}
    still = WORLD | {"radio": radio, "mobility": "static"}
    on = edgefl.run(still, train=False)
    off = edgefl.run(still | {"cells": {"layout": "hexagonal", "radius_m": 120}}, train=False)
    assert not on.rounds["handovers"].any()
    assert "handovers" not in off.rounds
    assert on.rounds.drop(columns="handovers").equals(off.rounds)
    assert on.devices.equals(off.devices)


@pytest.mark.oracle
@given(st.data())
@settings(max_examples=150, deadline=None)
def test_rule_follows_the_standard(data):
    """Measure by measure: each neighbour has a timer that runs while it is better, and is reported when it is up."""
    steps = data.draw(st.integers(1, 12))
    sites = data.draw(st.integers(2, 4))
    powers = np.array(data.draw(st.lists(st.integers(0, 6), min_size=steps * sites, max_size=steps * sites)))
    powers = powers.reshape(steps, sites).astype(float)
    cell = data.draw(st.integers(0, sites - 1))
    hysteresis_db = float(data.draw(st.integers(0, 2)))
    waited = data.draw(st.integers(0, steps - 1))
    offsets_db = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=sites, max_size=sites))).astype(float)
    expected = None
    timers = [0] * sites
    for step, row in enumerate(powers + offsets_db):
        timers = [
            timer + 1 if power > row[cell] + hysteresis_db else 0 for timer, power in zip(timers, row, strict=True)
        ]
        up = [site for site, timer in enumerate(timers) if timer > waited]
        if up:
            expected = step, max(up, key=lambda site: (row[site], -site))
            break
    assert triggered(powers, cell, hysteresis_db, waited, offsets_db) == expected


def test_the_target_is_the_strongest_with_its_offset():
    powers_db = np.array([[0.0, 5.0, 4.0]])
    assert triggered(powers_db, 0, 1.0, 0) == (0, 1)
    assert triggered(powers_db, 0, 1.0, 0, np.array([0.0, 0.0, 2.0])) == (0, 2)


# Links that fail


def sinr_db(x_m, site_m):
    loss_db = 20 * math.log10(4 * math.pi * 3.5e9 / 3e8) + 10 * EXPONENT * math.log10(distance_m(x_m, site_m))
    return 10 * math.log10(SERVER_W / (NOISE_W_HZ * BAND_HZ)) - loss_db


# The near link fails at 150 m and the far one is good enough from 260.1 m on; nothing is handed over before.
FAILURE = {"out_of_sync_db": sinr_db(150.0, 0.0), "in_sync_db": sinr_db(260.1, FAR_M)}
NO_HANDOVER = {"hysteresis_db": 30.0}


def failing(**more):
    return NO_HANDOVER | {"radio_link_failure": FAILURE | more}


def measured_at_s(x_m):
    """The first measurement beyond a place."""
    return (math.floor((x_m - START_M) / SPEED_MPS / 0.04 + 1e-6) + 1) * 0.04


@pytest.mark.parametrize(
    ("n310", "t310_s", "reestablish_s"), [(1, 1.0, 0.2), (3, 0.5, 0.2), (1, 0.0, 0.0), (1, 1.0, 12)]
)
def test_link_fails_when_the_timer_expires_and_recovers_at_a_good_cell(tmp_path, n310, t310_s, reestablish_s):
    rule = failing(n310=n310, t310_s=t310_s, reestablish_s=reestablish_s)
    result = run(tmp_path, 10**5, flops=3e6, **rule)
    events = result.events.set_index("kind")
    failed_s = measured_at_s(150.0) + (n310 - 1) * 0.04 + math.ceil(t310_s / 0.04 - 1e-9) * 0.04
    assert events["time_s"]["radio_link_failure"] == pytest.approx(failed_s, abs=1e-9)
    back_s = max(measured_at_s(260.1), math.ceil((failed_s + reestablish_s) / 0.04 - 1e-6) * 0.04)
    assert events["time_s"]["reestablished"] == pytest.approx(back_s, abs=1e-9)
    assert (events["cell"]["radio_link_failure"], events["cell"]["reestablished"]) == (0, 1)
    assert events["cell"]["upload_end"] == 1
    assert result.rounds[["handovers", "link_failures"]].to_numpy().tolist() == [[0, 1]]


def test_a_link_that_is_in_sync_again_in_time_does_not_fail(tmp_path):
    """Below the threshold for less than T310, over and over."""
    path = [(2.0 * n, 0, 155.0 if n % 2 else 130.0) for n in range(31)]
    rule = {"out_of_sync_db": sinr_db(150.0, 0.0), "in_sync_db": sinr_db(149.0, 0.0)}
    assert run(tmp_path, 10**5, path, flops=3e6, **failing(**rule, t310_s=1.0)).rounds["link_failures"].tolist() == [0]
    assert run(tmp_path, 10**5, path, flops=3e6, **failing(**rule, t310_s=0.2)).rounds["link_failures"].item() > 0


@pytest.mark.parametrize("in_transfer", ["continue", "forward", "restart", "drop"])
def test_transfer_pauses_without_a_link(tmp_path, in_transfer):
    result = run(tmp_path, LONG, in_transfer=in_transfer, **failing(t311_s=30.0))
    row = result.devices.iloc[0]
    events = result.events.set_index("kind")
    failed_s = events["time_s"]["radio_link_failure"]
    before = round(failed_s / SLOT_S) * slot_bits(START_M, 0.0)
    if in_transfer == "drop":
        assert (row["status"], row["download_s"]) == ("download_failed", pytest.approx(failed_s))
        assert row["bytes_down"] == pytest.approx(before / 8, abs=1)
        return
    back_s = events["time_s"]["reestablished"] + (0.02 if in_transfer == "forward" else 0.0)
    left = 32 * LONG - (0 if in_transfer == "restart" else before)
    back_m = START_M + SPEED_MPS * events["time_s"]["reestablished"]
    after_s = math.ceil(left / slot_bits(back_m, FAR_M)) * SLOT_S
    assert row["download_s"] == pytest.approx(back_s + after_s, abs=1e-9)
    assert row["rx_energy_j"] == pytest.approx(RX_W * (failed_s + after_s))
    assert row["idle_energy_j"] == pytest.approx(IDLE_W * (back_s - failed_s), abs=1e-9)
    assert row["bytes_down"] == pytest.approx((before + left) / 8, abs=1)


def test_an_upload_waits_for_a_link(tmp_path):
    """The device has computed while it has none."""
    result = run(tmp_path, 10**5, flops=1.2e6, **failing())  # computes for 15 s
    events = result.events.set_index("kind")["time_s"]
    assert events["radio_link_failure"] < events["compute_end"] < events["reestablished"]
    back_m = START_M + SPEED_MPS * events["reestablished"]
    slots = math.ceil(3.2e6 / slot_bits(back_m, FAR_M, DEVICE_W))
    assert events["upload_end"] == pytest.approx(events["reestablished"] + slots * SLOT_S, abs=2 * SLOT_S)


@pytest.mark.parametrize("after_s", [0.1, 5.0])
def test_a_deadline_ends_the_wait_for_a_link(tmp_path, after_s):
    failed_s = measured_at_s(150.0) + 1.0
    result = run(tmp_path, LONG, server={"policy": "deadline", "deadline_s": failed_s + after_s}, **failing())
    row = result.devices.iloc[0]
    assert (row["status"], row["download_s"]) == ("late", pytest.approx(failed_s + after_s))
    assert row["bytes_down"] == pytest.approx(round(failed_s / SLOT_S) * slot_bits(START_M, 0.0) / 8, abs=1)
    assert row["idle_energy_j"] == pytest.approx(IDLE_W * after_s)
    assert "reestablished" not in result.events["kind"].tolist()


def test_a_transfer_gives_up_where_no_cell_is_good_enough(tmp_path):
    """The path ends between the cells; T311 counts from the failure of the link."""
    path = [(0.0, 0, START_M), (17.0, 0, 220.0)]
    result = run(tmp_path, LONG, path, **failing(t311_s=3.0))
    failed_s = measured_at_s(150.0) + 1.0
    row = result.devices.iloc[0]
    assert (row["status"], row["download_s"]) == ("download_failed", pytest.approx(failed_s + 3.0))
    assert row["bytes_down"] == pytest.approx(round(failed_s / SLOT_S) * slot_bits(START_M, 0.0) / 8, abs=1)


# On batteries


ENERGY = ["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]


@pytest.mark.parametrize("after_s", [-0.0098, 0.03, 0.0602, 1.0002])
def test_empty_battery_ends_the_participation_exactly_then(tmp_path, after_s):
    """Just before the handover, in the interruption, just after it, and a second later."""
    silent_s = min(max(after_s, 0.0), PAUSE_S)
    received_s = HANDED_S + after_s - silent_s
    capacity_j = RX_W * received_s + IDLE_W * silent_s
    result = run(tmp_path, LONG, devices={"battery": {"capacity_j": capacity_j}})
    row = result.devices.iloc[0]
    assert (row["status"], row["battery_j"], row["wait_s"]) == ("departed", 0.0, 0.0)
    assert row["download_s"] == pytest.approx(HANDED_S + after_s)
    assert row["rx_energy_j"] == pytest.approx(RX_W * received_s)
    assert row["idle_energy_j"] == pytest.approx(IDLE_W * silent_s, abs=1e-9)
    assert row[ENERGY].sum() == pytest.approx(capacity_j)
    near_slots = math.floor((HANDED_S + min(after_s, 0.0)) / SLOT_S + 1e-6)
    far_slots = math.floor(max(after_s - PAUSE_S, 0.0) / SLOT_S + 1e-6)
    sent_bits = near_slots * slot_bits(START_M, 0.0) + far_slots * slot_bits(HANDED_M, FAR_M)
    assert row["bytes_down"] == pytest.approx(sent_bits / 8, abs=1)
    assert result.rounds[["received", "departed", "handovers"]].to_numpy().tolist() == [[0, 1, int(after_s > 0)]]
    assert result.rounds["wasted_j"].item() == pytest.approx(capacity_j)
    assert result.rounds["stored_j"].item() == pytest.approx(0.0, abs=1e-12)


def test_a_battery_that_runs_out_in_the_wait_after_a_dropped_transfer(tmp_path):
    """The device that is handed over waits for the one that stays, on what the download up to there has left."""
    waits_s = 2.0
    capacity_j = [RX_W * HANDED_S + IDLE_W * waits_s, 1e3]
    table = tmp_path / "devices.csv"
    table.write_text("capacity_j\n" + "".join(f"{value!r}\n" for value in capacity_j))
    battery = {"capacity_j": {"file": str(table), "column": "capacity_j"}}
    path = [*STRAIGHT, (0.0, 1, START_M), (40.0, 1, START_M)]
    result = run(tmp_path, LONG, path, devices={"battery": battery}, in_transfer="drop")
    dropped, stays = (result.devices.iloc[device] for device in (0, 1))
    assert [dropped["status"], stays["status"]] == ["handover_failed", "received"]
    assert dropped["download_s"] == pytest.approx(HANDED_S)
    assert dropped["battery_j"] == pytest.approx(IDLE_W * waits_s)
    assert dropped["wait_s"] == pytest.approx(waits_s)
    assert dropped[ENERGY].sum() == pytest.approx(capacity_j[0])
    assert result.rounds["duration_s"].item() > HANDED_S + 2 * waits_s
    empty = result.events.set_index("kind")["time_s"]["battery_empty"]
    assert empty == pytest.approx(HANDED_S + waits_s)


@pytest.mark.oracle
@pytest.mark.parametrize("in_transfer", ["continue", "forward", "restart", "drop"])
def test_batteries_lose_the_recorded_energy_through_many_handovers(tmp_path, in_transfer):
    """Two devices to and fro under fading and faults, one of which runs out: levels, energy and bytes add up."""
    capacity_j = 1.6
    path = [*TO_AND_FRO, *((1.0 * n, 1, 120.0 if n % 2 else 280.0) for n in range(60))]
    battery = {"devices": {"battery": {"capacity_j": capacity_j}}, "hysteresis_db": 1.0, "in_transfer": in_transfer}
    result = run(tmp_path, LONG, path, radio=FADED | {"bandwidth_hz": 2e6}, **battery)
    rows = result.devices
    (row,) = result.rounds.to_dict("records")
    assert row["handovers"] == len(moves(result)) > 1
    assert (rows["status"] == "departed").any() or in_transfer == "drop"
    assert row["round_energy_j"] == pytest.approx(rows[ENERGY].to_numpy().sum())
    assert row["stored_j"] == pytest.approx(2 * capacity_j - row["round_energy_j"], abs=1e-9)
    lasted_s = rows[["download_s", "compute_s", "upload_s", "wait_s"]].sum(axis=1)
    left = rows["status"] == "departed"
    assert lasted_s[~left].to_numpy() == pytest.approx(row["duration_s"])
    ended_s = result.events[result.events["kind"] == "departed"].set_index("device")["time_s"]
    assert lasted_s[left].tolist() == pytest.approx([ended_s[device] for device in rows["device"][left]])


# With clocks that meet a deadline


CAPACITANCE = 1e-28
FLOPS_PER_CYCLE = 8.0
MARGIN = 3.0  # upload_margin: the path to the new cell may be worse than that of the download


def slow_clock_hz(floats, flops, download_s, deadline_s):
    """The lowest clock that leaves time for the upload, as reciprocity estimates it from the download."""
    bits = 32 * floats
    snr = 2 ** (bits / BAND_HZ / download_s) - 1
    upload_s = bits / (BAND_HZ * math.log2(1 + snr * DEVICE_W / SERVER_W))
    return floats * flops / FLOPS_PER_CYCLE / (deadline_s - download_s - MARGIN * upload_s)


def with_deadline(folder, floats, flops, deadline_s, **battery):
    server = {"policy": "deadline", "deadline_s": deadline_s}
    dvfs = {"kind": "deadline", "min_cpu_hz": 1.0, "upload_margin": MARGIN}
    devices = {"dvfs": dvfs, "capacitance": CAPACITANCE, "flops_per_cycle": FLOPS_PER_CYCLE, **battery}
    result = run(folder, floats, flops=flops, server=server, devices=devices)
    (row,) = result.devices.to_dict("records")
    return result, row


def test_a_clock_makes_up_for_the_interruption_of_the_download(tmp_path):
    """The handover comes in the download, so that the clock knows what that took, the interruption included."""
    flops = 1e2
    deadline_s = 200.0
    result, row = with_deadline(tmp_path, LONG, flops, deadline_s)
    left_bits = 32 * LONG - BEFORE
    download_s = HANDED_S + PAUSE_S + math.ceil(left_bits / slot_bits(HANDED_M, FAR_M)) * SLOT_S
    clock_hz = slow_clock_hz(LONG, flops, download_s, deadline_s)
    assert result.rounds["handovers"].item() == 1
    assert row["download_s"] == pytest.approx(download_s)
    assert row["compute_s"] == pytest.approx(LONG * flops / FLOPS_PER_CYCLE / clock_hz)
    assert row["cpu_energy_j"] == pytest.approx(CAPACITANCE * LONG * flops / FLOPS_PER_CYCLE * clock_hz**2)
    assert row["status"] == "received"
    assert result.rounds["duration_s"].item() < deadline_s
    assert clock_hz < 1e9


def test_a_handover_while_a_slow_clock_computes(tmp_path):
    """At the fastest clock the device would be done before its handover; the upload goes to the new cell."""
    floats = 10**4
    flops = 3e6
    deadline_s = 30.0
    result, row = with_deadline(tmp_path, floats, flops, deadline_s)
    download_s = math.ceil(32 * floats / slot_bits(START_M, 0.0)) * SLOT_S
    clock_hz = slow_clock_hz(floats, flops, download_s, deadline_s)
    assert download_s + floats * flops / FLOPS_PER_CYCLE / 1e9 < HANDED_S < download_s + row["compute_s"]
    assert result.rounds["handovers"].item() == 1
    assert row["compute_s"] == pytest.approx(floats * flops / FLOPS_PER_CYCLE / clock_hz)
    assert row["cpu_energy_j"] == pytest.approx(CAPACITANCE * floats * flops / FLOPS_PER_CYCLE * clock_hz**2)
    upload_m = START_M + SPEED_MPS * HANDED_S  # the path's loss is that of the handover
    slots = math.ceil(32 * floats / slot_bits(upload_m, FAR_M, DEVICE_W))
    assert -1e-9 < row["upload_s"] - slots * SLOT_S < SLOT_S
    assert row["status"] == "received"
    assert result.rounds["duration_s"].item() < deadline_s


def test_a_battery_that_runs_out_after_a_handover_at_a_slow_clock(tmp_path):
    """The battery empties at the power of the chosen clock (f^3), and the handover in between draws nothing more."""
    floats = 10**4
    flops = 3e6
    deadline_s = 30.0
    after_s = 1.5
    download_s = math.ceil(32 * floats / slot_bits(START_M, 0.0)) * SLOT_S
    clock_hz = slow_clock_hz(floats, flops, download_s, deadline_s)
    cpu_w = CAPACITANCE * clock_hz**3
    computing_s = HANDED_S + after_s - download_s
    capacity_j = RX_W * download_s + cpu_w * computing_s
    result, row = with_deadline(tmp_path, floats, flops, deadline_s, battery={"capacity_j": capacity_j})
    assert (row["status"], row["battery_j"], row["upload_s"]) == ("departed", 0.0, 0.0)
    assert result.rounds[["handovers", "departed"]].to_numpy().tolist() == [[1, 1]]
    assert row["compute_s"] == pytest.approx(computing_s)
    assert row["cpu_energy_j"] == pytest.approx(cpu_w * computing_s)
    assert sum(row[name] for name in ENERGY) == pytest.approx(capacity_j)
