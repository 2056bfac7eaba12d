"""The load of cells: closed forms of single devices and fixed parts, conservation, and the limit of one band."""

import numpy as np
import pytest
from server_cases import BASE, BITS, SEVEN_CELLS, SEVEN_CELLS_RADIO

import edgefl

SLOT_S = 0.0005
SHARING = "radio.sharing"
PROCESSOR = {SHARING: "processor"}
TDD = {"radio.tdd": {"downlink": 0.6, "uplink": 0.3}}
SLOTS = {"radio.tdd": "DDDSU"}


def run_of(participants=1, **changes):
    """One cell that never changes: keys with dots override those of the base."""
    scenario = {**BASE, "server": {"participants": participants}}
    keys = {key: value for key, value in changes.items() if "." not in key}
    overrides = [(tuple(key.split(".")), value) for key, value in changes.items() if "." in key]
    for path, value in overrides:
        section = path[0]
        scenario[section] = {**scenario.get(section, {}), ".".join(path[1:]): value}
    return edgefl.run(scenario | keys, train=False, device="cpu")


def band_s(result, way):
    """How long each round would have occupied its whole band."""
    return result.rounds[f"load_{way}"] * result.rounds["duration_s"]


@pytest.mark.parametrize(
    "changes",
    [{}, PROCESSOR, TDD, {**TDD, **PROCESSOR}, {"radio.allocation": "round_robin"}, {"radio.transfer": "fast"}],
    ids=["fdd", "processor", "tdd", "tdd_processor", "round_robin", "fast"],
)
def test_single_device_has_the_whole_band_while_it_sends(changes):
    result = run_of(**changes)
    for way, name in (("down", "download_s"), ("up", "upload_s")):
        sending_s = result.devices.groupby("round")[name].sum().to_numpy()
        # On a shared band a transfer also waits for the next slot.
        np.testing.assert_allclose(
            band_s(result, way), sending_s, rtol=1e-6, atol=SLOT_S if changes.get(SHARING) else 0
        )


def test_slots_of_the_other_direction_do_not_count():
    result = run_of(**SLOTS)
    # A period of 5 slots has 1.0 to 1.3 for the uplink: a transfer of many periods occupies nearly all of these.
    upload_s = result.devices.groupby("round")["upload_s"].sum().to_numpy()
    ratio = band_s(result, "up") / upload_s
    assert ratio.between(0.5, 1.5).all()


@pytest.mark.parametrize("changes", [{}, TDD], ids=["fdd", "tdd"])
def test_half_of_the_band_is_half_a_load(changes):
    """Two devices with equal shares: each occupies a half while it sends, however long the other one does."""
    result = run_of(2, **changes)
    for way, name in (("down", "download_s"), ("up", "upload_s")):
        sending_s = result.devices.groupby("round")[name].sum().to_numpy()
        np.testing.assert_allclose(band_s(result, way), sending_s / 2, rtol=1e-9)


def test_load_is_that_of_the_part_that_reuse_leaves_a_cell():
    scenario = {**BASE, "cells": SEVEN_CELLS, "radio": {**SEVEN_CELLS_RADIO, "reuse": 3}, "server": {"participants": 1}}
    result = edgefl.run(scenario, train=False, device="cpu")
    np.testing.assert_allclose(7 * band_s(result, "up"), result.devices["upload_s"], rtol=1e-9)


def test_shared_band_is_full_as_long_as_a_device_sends():
    result = run_of(6, **PROCESSOR)
    assert result.rounds["load_up"].between(0.01, 1).all()
    fixed = run_of(6)
    assert (band_s(result, "up") <= band_s(fixed, "up") * 1.5).all()
    # Whatever each gets, the parts of all add up to the band: less time than the sum of their uploads.
    uploads_s = result.devices.groupby("round")["upload_s"].agg(["sum", "max"])
    assert (band_s(result, "up").to_numpy() <= uploads_s["sum"].to_numpy()).all()
    assert (band_s(result, "up").to_numpy() >= uploads_s["sum"].to_numpy() / 6 - 1e-9).all()


def test_broadcast_occupies_the_band_once():
    result = run_of(6, **{"radio.downlink": "broadcast"})
    longest_s = result.devices.groupby("round")["download_s"].max().to_numpy()
    np.testing.assert_allclose(band_s(result, "down"), longest_s, rtol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("policy", ["asynchronous", {"kind": "buffered", "buffer": 4}])
def test_band_is_never_booked_twice_without_rounds(policy):
    result = edgefl.run(
        {**BASE, "rounds": 60, "server": {"participants": 6, "policy": policy}}, train=False, device="cpu"
    )
    for way in ("down", "up"):
        load = band_s(result, way).sum() / result.summary["time_s"]
        assert 0 < load <= 1 + 1e-9
    assert result.rounds["load_up"].max() > 1  # a round of one update has all of its time on the air


def test_cut_off_transfers_count_in_the_last_round():
    scenario = {**BASE, "server": {"participants": 6, "policy": "asynchronous"}}
    result = edgefl.run(scenario, train=False, device="cpu")
    cut_off = result.devices["status"] == "unfinished"
    assert cut_off.any()
    assert result.rounds["bytes_up"].iloc[-1] == result.devices[result.devices["round"] == 4]["bytes_up"].sum()


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_recorded_snrs_have_a_load(tmp_path, sharing):
    """At 0 dB a band of 20 MHz carries 20 Mbit/s, however it is shared."""
    radio = {"trace": recorded(tmp_path, "snr_db", 0.0), "bandwidth_hz": 20e6, "sharing": sharing}
    result = edgefl.run({**BASE, "radio": radio, "server": {"participants": 6}}, train=False, device="cpu")
    np.testing.assert_allclose(band_s(result, "up"), 6 * BITS / 20e6, rtol=1e-9)


def test_recorded_rates_have_no_load(tmp_path):
    radio = {"trace": recorded(tmp_path, "bps", 1e6)}
    result = edgefl.run({**BASE, "radio": radio, "server": {"participants": 6}}, train=False, device="cpu")
    assert "load_up" not in result.rounds


def recorded(folder, unit, value):
    path = folder / "links.csv"
    rows = [f"{device},0,{value},{value}" for device in range(20)]
    path.write_text("\n".join([f"device,time_s,downlink_{unit},uplink_{unit}", *rows]) + "\n")
    return {"kind": "csv", "path": str(path)}


def test_overlapping_uploads_have_no_load():
    changes = {"radio": {**BASE["radio"], "uplink": "noma"}}
    result = edgefl.run({**BASE, **changes, "server": {"participants": 4}}, train=False, device="cpu")
    assert "load_up" not in result.rounds
