"""Access to the radio delays messages at idle power, is not part of a transfer, and may be cut."""

import numpy as np
import pytest
import simpy
import yaml
from radio_cases import STILL, drop, link, transfers
from server_cases import BAND_HZ, BASE, BITS, POLICIES, check_books, presence_trace, run

from edgefl.core.errors import InputError
from edgefl.radio.messages import DOWNLOAD, UPLOAD, round_trip
from edgefl.radio.radio_section import AccessTime
from edgefl.scenario import dump, load

IDS = np.array([2, 6, 9])
DOWN_S = 0.0125  # whole frames of DDDSU, of 2.5 ms
UP_S = 0.05
IDLE_W = 0.05
ACCESS = {"downlink": DOWN_S, "uplink": UP_S}
POWERED = {**BASE["devices"], "idle_power_w": IDLE_W}
FOLLOWED = {"large_scale": {"kind": "time"}, "spatial_consistency": True}


def ends(of, bits=1e6, compute_s=0.01):
    """When the messages [2, n] of devices that begin at 0 end, and their results."""
    env = simpy.Environment()
    n = len(IDS)
    who = of.participants(drop(of, IDS), np.zeros(n), np.full(n, 0.2), 0)
    carrier = of.open(env, who, round_trip(n, bits, bits, lambda _: np.full(n, compute_s)))
    ended_s = np.zeros((2, n))
    results = {}

    def device(row):
        results[row, 0] = yield from carrier.send(row, DOWNLOAD)
        ended_s[0, row] = env.now
        yield env.timeout(compute_s)
        results[row, 1] = yield from carrier.send(row, UPLOAD)
        ended_s[1, row] = env.now

    env.run(env.all_of([env.process(device(row)) for row in range(n)]))
    return ended_s, results


# Its effects


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"transfer": "fast"},
        {"sharing": "processor"},
        {"sharing": "processor", "transfer": "fast"},
        {"tdd": "DDDSU"},
        {"tdd": {"downlink": 0.7, "uplink": 0.3}},
        {"downlink": "broadcast"},
    ],
    ids=str,
)
def test_every_message_ends_later_by_its_access(keys):
    plain_s, plain = ends(link(**STILL, **keys))
    later_s, later = ends(link(**STILL, **keys, access_s=ACCESS))
    assert later_s[0] == pytest.approx(plain_s[0] + DOWN_S, abs=1e-9)
    assert later_s[1] == pytest.approx(plain_s[1] + DOWN_S + UP_S, abs=1e-9)
    for (row, turn), found in later.items():
        assert found.access_s == (DOWN_S, UP_S)[turn]
        assert found[:3] == pytest.approx(plain[row, turn][:3], abs=1e-9)  # duration and time on the air
        assert found.sent_bits == pytest.approx(1e6)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("fading", ["rayleigh", {"kind": "block", "block_s": 0.002}, "jakes"], ids=str)
def test_fading_continues_during_access(sharing, fading):
    keys = {"fading": fading, "sharing": sharing, "bandwidth_hz": BAND_HZ}
    _, computing = transfers(link(**keys), IDS, compute_s=0.06)
    _, asking = transfers(link(**keys, access_s={"uplink": 0.05}), IDS, compute_s=0.01)
    assert asking.duration_s == pytest.approx(computing.duration_s, abs=1e-9)
    _, at_once = transfers(link(**keys), IDS, compute_s=0.01)
    assert (np.abs(asking.duration_s - at_once.duration_s) > 1e-9).any()


def test_empty_message_has_no_access():
    ended_s, results = ends(link(**STILL, access_s=ACCESS), bits=0.0)
    assert ended_s.tolist() == [[0.0] * 3, [0.01] * 3]
    assert {result.access_s for result in results.values()} == {0.0}


def test_repeated_attempts_have_no_other_access():
    """Four attempts that all fail: the access counts once."""
    keys = {**STILL, "faults": {"failure_probability": 0.999, "attempts": 4}}
    plain_s, plain = ends(link(**keys))
    later_s, later = ends(link(**keys, access_s=ACCESS))
    assert not any(result.delivered for result in plain.values())
    assert later_s[1] == pytest.approx(plain_s[1] + DOWN_S + UP_S, abs=1e-9)
    assert later[0, 1].sent_bits == pytest.approx(4e6)


# Rounds


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("policy", ["synchronous", "hierarchical"])
def test_a_round_is_longer_by_both_and_its_devices_wait_at_idle_power(policy, sharing):
    keys = {"devices": {**POWERED, "cpu_hz": 1e7}, "seed": 5}
    radio = {**BASE["radio"], "sharing": sharing, "bandwidth_hz": BAND_HZ}
    plain = run(POLICIES[policy], radio=radio, **keys)
    later = run(POLICIES[policy], radio={**radio, "access_s": ACCESS}, **keys)
    extra_s = DOWN_S + UP_S
    assert (later.rounds["duration_s"] - plain.rounds["duration_s"]).to_numpy() == pytest.approx(extra_s, abs=1e-9)
    for column in ("download_s", "compute_s", "upload_s", "rx_energy_j", "tx_energy_j", "cpu_energy_j", "bytes_up"):
        assert later.devices[column].to_numpy() == pytest.approx(plain.devices[column].to_numpy(), abs=1e-9)
    waited_s = (later.devices["wait_s"] - plain.devices["wait_s"]).to_numpy()
    assert waited_s == pytest.approx(extra_s, abs=1e-9)
    drawn_j = (later.devices["idle_energy_j"] - plain.devices["idle_energy_j"]).to_numpy()
    assert drawn_j == pytest.approx(IDLE_W * extra_s, abs=1e-9)
    if policy == "synchronous":
        check_books(later.rounds, later.devices, later.summary)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_access_before_downloads_equals_a_backhaul_delay(sharing):
    """A star delays both trips by as much; the way back comes after the upload, so only waits differ."""
    keys = {"radio": {**BASE["radio"], "sharing": sharing, **FOLLOWED}, "rounds": 1, "devices": POWERED}
    keys["mobility"] = {"kind": "random_waypoint", "speed_mps": 20.0}
    wired = run({}, **keys, backhaul={"kind": "star", "delay_s": DOWN_S})
    keys["radio"] = {**keys["radio"], "access_s": {"downlink": DOWN_S}}
    asking = run({}, **keys)
    for column in ("download_s", "compute_s", "upload_s", "tx_energy_j"):
        assert asking.devices[column].to_numpy() == pytest.approx(wired.devices[column].to_numpy(), abs=1e-9)


def test_each_message_of_split_learning_has_access():
    """Two local steps: the front down and up, and activations and gradients twice each."""
    keys = {"model": {"kind": "mlp"}, "training": {**BASE["training"], "local_steps": 2}, "rounds": 1}
    server = {"policy": {"kind": "split"}}
    plain = run(server, **keys)
    later = run(server, **keys, radio={**BASE["radio"], "access_s": ACCESS})
    extra_s = later.rounds["duration_s"][0] - plain.rounds["duration_s"][0]
    assert extra_s == pytest.approx(3 * DOWN_S + 3 * UP_S, abs=1e-9)


@pytest.mark.oracle
def test_polls_ask_too():
    """Model down and loss up; then the update up, as the chosen devices have the model."""
    server = {"selection": {"kind": "power_of_choice", "d": 6}, "participants": 6}
    plain = run(server, rounds=1, train=True)
    later = run(server, rounds=1, train=True, radio={**BASE["radio"], "access_s": ACCESS})
    extra_s = later.rounds["duration_s"][0] - plain.rounds["duration_s"][0]
    assert extra_s == pytest.approx(DOWN_S + 2 * UP_S, abs=1e-9)


def test_recorded_links_have_access(tmp_path):
    path = tmp_path / "links.csv"
    rows = [f"{device},0,8e6,2e6\n" for device in range(20)]
    path.write_text("device,time_s,downlink_bps,uplink_bps\n" + "".join(rows))
    trace = {"trace": {"kind": "csv", "path": str(path)}}
    plain = run({}, rounds=1, radio=trace)
    later = run({}, rounds=1, radio={**trace, "access_s": ACCESS})
    assert later.devices["download_s"].to_numpy() == pytest.approx(BITS / 8e6)
    extra_s = later.rounds["duration_s"][0] - plain.rounds["duration_s"][0]
    assert extra_s == pytest.approx(DOWN_S + UP_S, abs=1e-9)


# With causes that cut a participation short


def test_a_device_that_leaves_during_the_access_has_sent_and_received_nothing(tmp_path):
    """At 0.3 s all wait for a model that comes after 1 s."""
    churn = presence_trace(tmp_path, [(device, 0.0, 0.3) for device in range(20)])
    radio = {**BASE["radio"], "access_s": 1.0}
    rows = run({}, rounds=1, churn=churn, radio=radio, devices=POWERED).devices
    assert (rows["status"] == "departed").all()
    nothing = ["download_s", "upload_s", "rx_energy_j", "tx_energy_j", "bytes_down", "bytes_up"]
    assert (rows[nothing] == 0).all(axis=None)
    assert rows["wait_s"].to_numpy() == pytest.approx(0.3)
    assert rows["idle_energy_j"].to_numpy() == pytest.approx(0.3 * IDLE_W)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_deadline_in_the_uplinks_access_loses_the_update(sharing):
    radio = {**BASE["radio"], "sharing": sharing, "access_s": {"uplink": 5.0}}
    result = run({"policy": "deadline", "deadline_s": 2.0}, rounds=1, radio=radio, devices=POWERED)
    rows = result.devices
    assert (rows["status"] == "late").all()
    assert (rows[["upload_s", "tx_energy_j", "bytes_up"]] == 0).all(axis=None)
    busy_s = rows["download_s"] + rows["compute_s"]
    assert rows["wait_s"].to_numpy() == pytest.approx(2.0 - busy_s.to_numpy())
    check_books(result.rounds, result.devices, result.summary)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_battery_that_runs_out_during_the_access_ends_it_there(sharing):
    """Before the upload: the rest of the battery after computing lasts as long as idle power allows."""
    devices = {"count": 6, "cpu_hz": 1e6, "flops_per_cycle": 1.0, "rx_power_w": 1e-9, "idle_power_w": IDLE_W}
    devices |= {"battery": {"capacity_j": 0.01}, "capacitance": 1e-21}  # 1 mW, 0.1 s
    radio = {**BASE["radio"], "sharing": sharing, "access_s": {"uplink": 5.0}}
    rows = run({}, rounds=1, radio=radio, devices=devices).devices
    assert (rows["status"] == "departed").all()
    computing_j = 1e-3 * 0.1
    assert rows["cpu_energy_j"].to_numpy() == pytest.approx(computing_j)
    assert rows["wait_s"].to_numpy() == pytest.approx((0.01 - computing_j) / IDLE_W, rel=1e-6)
    assert (rows["tx_energy_j"] == 0).all()
    assert rows["battery_j"].to_numpy() == pytest.approx(0.0, abs=1e-9)


def test_a_handover_during_the_access_sends_the_message_to_the_new_cell(tmp_path):
    """It moves immediately, is handed over some 2 s later, and gets its model after 30 s: nothing is cut."""
    path = tmp_path / "way.csv"
    path.write_text("time_s,device,x_m,y_m\n0,0,50,0\n1,0,350,0\n200,0,350,0\n")
    cells = {"layout": "listed", "positions_m": [[0, 0], [400, 0]], "radius_m": 400.0}
    keys = {"devices": {"count": 1, "idle_power_w": IDLE_W}, "mobility": {"kind": "trace", "path": str(path)}}
    keys |= {"rounds": 1, "cells": cells | {"handover": {"in_transfer": "drop", "time_to_trigger_s": 2.0}}}
    radio = {"propagation": {"kind": "log_distance", "out_of_range": "clamp"}, "spatial_consistency": True, **STILL}
    radio["bandwidth_hz"] = 1e6
    moved = run({"participants": 1}, **keys, radio={**radio, "access_s": {"downlink": 30.0}})
    path.write_text("time_s,device,x_m,y_m\n0,0,350,0\n200,0,350,0\n")
    there = run({"participants": 1}, **keys, radio=radio)  # a device that stands there from the beginning
    (event,) = moved.events[moved.events["kind"] == "handover"].to_dict("records")
    assert event["time_s"] < 30.0
    assert moved.devices["status"].tolist() == ["received"]
    for column in ("download_s", "upload_s"):
        assert moved.devices[column].to_numpy() == pytest.approx(there.devices[column].to_numpy(), abs=1e-9)
    assert moved.devices["wait_s"].to_numpy() == pytest.approx(30.0)


# The key


def test_one_number_or_one_for_each_direction():
    assert load({}).radio.access_s == 0.0
    assert load({"radio": {"access_s": 0.01}}).radio.access_of("down") == 0.01
    radio = load({"radio": {"access_s": {"uplink": 0.02}}}).radio
    assert radio.access_s == AccessTime(uplink=0.02)
    assert (radio.access_of("down"), radio.access_of("up")) == (0.0, 0.02)
    for value in (0.01, {"downlink": 0.26, "uplink": 0.3}):
        scenario = load({"radio": {"access_s": value}})
        assert load(yaml.safe_load(dump(scenario))) == scenario


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("long", r'radio.access_s: must be a number, or {downlink: .., uplink: ..}, got "long"'),
        ({"up": 1}, "radio.access_s.up: "),
    ],
    ids=str,
)
def test_refusals(value, text):
    with pytest.raises(InputError, match=text):
        load({"radio": {"access_s": value}})
