"""What a run's tables tell of its radios and processors: made-up tables by hand, and runs with closed forms."""

import math

import numpy as np
import pytest
from made_up_rounds import DEVICE
from radio_cases import DEVICE_W, SERVER_W, STILL, snr_hz
from server_cases import BASE, POLICIES, run

import edgefl
from edgefl.core.plugin_import import Access
from edgefl.results.published_ranges import RANGES, PublishedRange
from edgefl.results.reader import Documents
from edgefl.results.report.page import render
from edgefl.results.report.run.plausibility import Plausible, line, plausibility
from edgefl.results.report.shared.read import from_memory, load
from edgefl.scenario import load as load_scenario

ROW = DEVICE | {"round": 1, "start_s": 0.0, "bytes_down": 0, "bytes_up": 0}
ROW |= dict.fromkeys(["download_s", "compute_s", "upload_s", "wait_s"], 0.0)
UNITS = ["bit/s/Hz down", "bit/s/Hz up", "nJ/bit sent", "W sending", "W waiting", "Gflop/J", "handovers a minute"]


def told(rows, handovers=0, **scenario):
    """The quantities, by what is said of them, of a run of one round with these participations."""
    rows = [ROW | {"device": device} | row for device, row in enumerate(rows)]
    devices = {name: [row[name] for row in rows] for name in rows[0]} if rows else {name: [] for name in ROW}
    rounds = {"session": [1], "round": [1], "time_s": [9.0], "duration_s": [9.0], "energy_j": [1.0]}
    rounds |= {"selected": [len(rows)], "received": [len(rows)], "late": [0], "departed": [0], "handovers": [handovers]}
    resolved = load_scenario(scenario, access=Access(mode="skip")).model_dump(mode="json")
    made = from_memory(Documents("", resolved, {}, {}), {"rounds.csv": rounds, "devices.csv": devices})
    return {each.published.said: each.value for each in plausibility(made)}


def of_run(result):
    return {each.published.said: each.value for each in result.plausibility()}


# By hand


def test_fixed_shares_are_those_of_devices_that_begin_together_in_a_cell():
    """4 MHz a cell: a third of it for 2 s is 2.67e6 Hz s, all of it 8e6. In bit/s/Hz: 3, 6, 9 and 1; median 4.5."""
    third = 2.0 * 4e6 / 3
    rows = [{"download_s": 2.0, "bytes_down": times * third / 8} for times in (3, 6, 9)]
    rows.append({"download_s": 2.0, "bytes_down": 8e6 / 8, "cell": 1})
    rows.append({"download_s": 1.0, "bytes_down": 4.5 * 4e6 / 8, "start_s": 5.0})  # later it has the band to itself
    radio = {"bandwidth_hz": 12e6, "reuse": 3, "sharing": "fixed"}
    radio["propagation"] = {"kind": "umi_los", "out_of_range": "clamp"}
    cells = {"layout": "hexagonal", "sites": 7}
    assert told(rows, radio=radio, cells=cells)["bit/s/Hz down"] == pytest.approx(4.5)
    broadcast = told(rows, radio=radio | {"downlink": "broadcast"}, cells=cells)["bit/s/Hz down"]
    assert broadcast == pytest.approx(2.0)  # of 1, 2, 3, 1 and 4.5


def test_on_a_shared_band_shares_change_as_transfers_come_and_go():
    """Uploads from 0 to 4 s and from 2 to 6 s: each has the band for 2 s and half of it for 2 s, 3e6 Hz s; and one
    in another cell has 8 s of its own, after a gap."""
    rows = [
        {"upload_s": 4.0, "bytes_up": 2 * 3e6 / 8},
        {"compute_s": 2.0, "upload_s": 4.0, "bytes_up": 5 * 3e6 / 8},
        {"download_s": 3.0, "compute_s": 5.0, "upload_s": 8.0, "bytes_up": 3 * 8e6 / 8, "cell": 1},
    ]
    radio = {"bandwidth_hz": 1e6, "sharing": "processor"}
    assert told(rows, radio=radio)["bit/s/Hz up"] == pytest.approx(3.0)
    assert told(rows[:2], radio=radio)["bit/s/Hz up"] == pytest.approx(3.5)


def test_a_frame_gives_a_direction_its_share_of_the_time_and_waiting_the_rest():
    """An upload of 10 s in a fourth of the time: 2.5 s on the air, 7.5 s of waiting beside 0.5 s."""
    rows = [{"upload_s": 10.0, "bytes_up": 5e6 / 8, "tx_energy_j": 2.0, "wait_s": 0.5, "idle_energy_j": 0.8}]
    found = told(rows, radio={"bandwidth_hz": 1e6, "tdd": {"downlink": 0.75, "uplink": 0.25}})
    assert found["bit/s/Hz up"] == pytest.approx(2.0)
    assert found["W sending"] == pytest.approx(0.8)
    assert found["W waiting"] == pytest.approx(0.1)
    assert found["nJ/bit sent"] == pytest.approx(400.0)


def test_turns_are_shares_of_the_time():
    """Four devices take turns: each sends for a fourth of its 8 s."""
    rows = [{"upload_s": 8.0, "bytes_up": 6e6 / 8, "tx_energy_j": 1.0, "idle_energy_j": 3.0}] * 4
    found = told(rows, radio={"bandwidth_hz": 1e6, "allocation": "round_robin"})
    assert (found["bit/s/Hz up"], found["W sending"], found["W waiting"]) == pytest.approx((3.0, 0.5, 0.5))


def test_short_answers_are_not_compared():
    """Three answers of 4 bytes, as apps of Flower send them, beside a model of 1 MB."""
    short = [{"upload_s": 1.0, "bytes_up": 4, "tx_energy_j": 1.0}] * 3
    assert not {"bit/s/Hz up", "nJ/bit sent"} & set(told(short))
    model = {"upload_s": 1.0, "bytes_up": 1e6, "tx_energy_j": 1.0, "cell": 1}
    assert told([*short, model])["nJ/bit sent"] == pytest.approx(125.0)


def test_processors_are_known_by_their_power():
    """P = 1e-27 f^3: 0.125 W is 0.5 GHz, or 4 Gflop/s at 8 a cycle; the other group draws 8 W at 2 GHz, 2 a cycle."""
    groups = [{"name": "a", "count": 2}, {"name": "b", "count": 1, "flops_per_cycle": 2.0}]
    rows = [{"compute_s": 2.0, "cpu_energy_j": 0.25}, {"compute_s": 4.0, "cpu_energy_j": 0.5}]
    rows.append({"compute_s": 1.0, "cpu_energy_j": 8.0})
    devices = {"count": 3, "capacitance": 1e-27, "groups": groups}
    assert told(rows[:2], devices=devices)["Gflop/J"] == pytest.approx(32.0)
    assert told([rows[2] | {"device": 2}], devices=devices)["Gflop/J"] == pytest.approx(0.5)
    assert told(rows, devices=devices)["Gflop/J"] == pytest.approx(32.0)  # the median of 32, 32 and 0.5
    groups[1]["capacitance"] = {"uniform": [1e-28, 1e-27]}
    assert "Gflop/J" not in told([rows[2] | {"device": 2}], devices=devices)
    drawn = {"count": 3, "capacitance": {"uniform": [1e-28, 1e-27]}}
    assert "Gflop/J" not in told(rows, devices=drawn)


def test_static_power_does_not_depend_on_the_clock():
    """1.125 W of which 1 W is static: 0.5 GHz at 8 operations a cycle, 4 Gflop/s for 1.125 W."""
    devices = {"count": 1, "capacitance": 1e-27, "cpu_static_w": 1.0}
    rows = [{"compute_s": 2.0, "cpu_energy_j": 2.25}]
    assert told(rows, devices=devices)["Gflop/J"] == pytest.approx(4.0 / 1.125)


def test_shares_are_unknown_where_transfers_outnumber_resource_blocks():
    """5 MHz has 11 blocks at 30 kHz: of twelve equal transfers one waits for another one's end."""
    radio = {"bandwidth_hz": 5e6, "subcarrier_spacing_hz": 30e3, "sharing": "processor"}
    rows = [{"download_s": 1.0, "upload_s": 1.0, "bytes_down": 1e5, "bytes_up": 1e5, "tx_energy_j": 1.0}]
    assert {"bit/s/Hz down", "bit/s/Hz up"} <= set(told(rows * 11, radio=radio))
    assert not {"bit/s/Hz down", "bit/s/Hz up"} & set(told(rows * 12, radio=radio))


def test_a_page_does_not_import_an_allocation_from_outside():
    """It may take turns, so the time on the air and the watts are unknown; bits and joules are not."""
    rows = [{"upload_s": 8.0, "bytes_up": 1e6, "tx_energy_j": 1.0, "idle_energy_j": 3.0}] * 4
    found = told(rows, radio={"allocation": "no_such_module:Mine"})
    assert found == {"nJ/bit sent": pytest.approx(125.0)}


def test_handovers_in_a_minute_of_taking_part():
    rows = [{"download_s": 10.0, "compute_s": 5.0, "upload_s": 15.0, "wait_s": 50.0}] * 4
    cells = {"layout": "hexagonal", "sites": 7, "handover": {}}
    radio = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}
    radio |= {"sharing": "processor", "spatial_consistency": True}
    moves = {"kind": "random_waypoint"}
    found = told(rows, handovers=6, cells=cells, radio=radio, mobility=moves)
    assert found["handovers a minute"] == pytest.approx(3.0)
    assert "bit/s/Hz down" not in found  # which cell had which part, no table tells
    assert "handovers a minute" not in told(rows, handovers=0)


# Emulated


@pytest.mark.oracle
@pytest.mark.parametrize(
    "radio",
    [
        {"sharing": "fixed"},
        {"sharing": "processor"},
        {"allocation": "round_robin", "server_power": "total"},
        {"tdd": {"downlink": 0.6, "uplink": 0.4}},
    ],
    ids=str,
)
def test_over_a_channel_that_holds_it_is_the_rate_by_shannon(radio):
    """At 100 m without fading, by the power that each share has; long transfers, so that slots do not count."""
    devices = {"count": 20, "cpu_hz": 1e9, "capacitance": 2e-28, "flops_per_cycle": 4.0, "idle_power_w": 0.05}
    devices |= {"radio_energy": {"pa_efficiency": 0.4, "circuit_w": 0.3}}
    cells = {"radius_m": 100.001, "min_distance_m": 100.0}
    keys = {
        "devices": devices,
        "cells": cells,
        "rounds": 2,
        "radio": {**STILL, "bandwidth_hz": 2e5, "access_s": 0.02, **radio},
    }
    found = of_run(run({}, **keys))
    share = 6 if radio.get("allocation") is None else 1
    assert found["bit/s/Hz up"] == pytest.approx(math.log2(1 + snr_hz(DEVICE_W) / (2e5 / share)), rel=2e-3)
    assert found["bit/s/Hz down"] == pytest.approx(math.log2(1 + snr_hz(SERVER_W) / (2e5 / share)), rel=2e-3)
    drawn_w = DEVICE_W / 0.4 + 0.3
    assert found["W sending"] == pytest.approx(drawn_w, rel=2e-3)  # a transfer may begin with part of a slot
    assert found["W waiting"] == pytest.approx(0.05, rel=2e-2)  # the same of all waiting
    assert found["nJ/bit sent"] == pytest.approx(
        1e9 * drawn_w / (found["bit/s/Hz up"] * 2e5 * (1 if share == 1 else 1 / share)), rel=2e-3
    )
    assert found["Gflop/J"] == pytest.approx(4.0 / (2e-28 * 1e18) / 1e9, rel=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("policy", ["deadline_keep", "over_selection", "asynchronous", "sequential", "hierarchical"])
def test_every_policy_has_finite_numbers(policy):
    radio = dict(BASE["radio"])
    if policy in {"deadline_keep", "buffered", "asynchronous"}:
        radio["sharing"] = "processor"
    found = of_run(run(POLICIES[policy], radio=radio))
    assert set(found) >= {"bit/s/Hz down", "bit/s/Hz up", "nJ/bit sent", "W sending"}
    assert np.isfinite(list(found.values())).all()
    assert 1.0 < found["bit/s/Hz up"] <= found["bit/s/Hz down"] < 40.0


# What is not known is not said


@pytest.mark.parametrize(
    ("radio", "missing"),
    [
        ({"allocation": "proportional"}, ["bit/s/Hz down", "bit/s/Hz up"]),
        ({"background": {"kind": "constant", "load": 0.5}}, ["bit/s/Hz down", "bit/s/Hz up"]),
        ({"uplink": "noma"}, ["bit/s/Hz up"]),
    ],
    ids=str,
)
def test_shares_that_no_table_tells_have_no_efficiency(radio, missing):
    rows = [{"download_s": 1.0, "upload_s": 1.0, "bytes_down": 1e6, "bytes_up": 1e6, "tx_energy_j": 1.0}] * 2
    found = told(rows, radio=radio)
    assert not set(missing) & set(found)
    assert found["nJ/bit sent"] == pytest.approx(125.0)


def test_recorded_rates_have_no_band(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("device,time_s,downlink_bps,uplink_bps\n" + "".join(f"{i},0,8e6,2e6\n" for i in range(20)))
    found = of_run(run({}, radio={"trace": {"kind": "csv", "path": str(path)}}))
    assert not {"bit/s/Hz down", "bit/s/Hz up"} & set(found)
    assert found["nJ/bit sent"] == pytest.approx(1e9 * DEVICE_W / 2e6)


def test_nothing_is_divided_by_nothing():
    with np.errstate(all="raise"):
        assert told([{}]) == {}
        assert told([]) == {}
    assert line([]) == ""


# What is said


def test_values_outside_are_shown_with_published_ranges():
    inside = Plausible(RANGES["sending"], 0.87)
    edge = Plausible(RANGES["download"], 7.4063)  # the last digit of the table's rounding
    outside = Plausible(RANGES["waiting"], 0.0)
    assert Plausible(RANGES["download"], 2 * 30 / 1024).within
    assert (inside.within, edge.within, outside.within) == (True, True, False)
    assert line([edge, inside]) == "7.41 bit/s/Hz down, 0.87 W sending"
    assert line([edge, outside]) == "7.41 bit/s/Hz down; outside of what was published: 0 W waiting (0.0024 to 4.91)"
    assert line([outside]) == "outside of what was published: 0 W waiting (0.0024 to 4.91)"
    assert not Plausible(RANGES["download"], 7.5).within


def test_ranges_are_the_arithmetic_of_their_sources():
    assert RANGES["download"].least == pytest.approx(2 * 30 / 1024, abs=5e-5)
    assert RANGES["download"].most == pytest.approx(8 * 948 / 1024, abs=5e-3)
    # Wi-Fi's base and slope at 1 Mbit/s
    assert RANGES["sending"].least == pytest.approx((132.86 + 283.17) / 1e3, abs=5e-4)


@pytest.mark.oracle
def test_the_page_has_a_card_with_a_column_for_each_run(tmp_path):
    count = 2
    devices = {**BASE["devices"], "radio_energy": {"circuit_w": 0.3}}  # 0.5 W while sending is within
    for number in range(count):
        run({}, out=tmp_path / str(number), rounds=1, seed=number, devices=devices)
    runs = [load(tmp_path / str(number)) for number in range(count)]
    page = render(runs)
    (card,) = [part for part in page.split('<div class="card">') if part.startswith("<h3>Plausible?</h3>")]
    assert card.count('<th scope="col">') == count + 1
    quantities = plausibility(runs[0])
    assert card.count('<th scope="row">') == len(quantities)
    outside = sum(not each.within for made in runs for each in plausibility(made))
    assert card.count(" outside</b>") == outside
    assert 0 < outside < count * len(quantities)
    for each in quantities:
        assert each.range_text in card
    assert "TS 38.214" in card


def test_a_result_has_it_from_memory_and_from_its_folder(tmp_path):
    result = run({}, out=tmp_path / "run", rounds=1)
    again = edgefl.read(tmp_path / "run").plausibility()
    assert all(isinstance(each.published, PublishedRange) for each in again)
    assert [each.value for each in again] == pytest.approx([each.value for each in result.plausibility()])
