"""Clocks that are as slow as the deadline allows: closed forms of clock, time and energy, and limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from radio_cases import DEVICE_W, SERVER_W, SLOT_S
from server_cases import BAND_HZ, BASE, BITS, FLOPS, assert_same, cpu_hz, run

import edgefl
from edgefl.world.compute import LocalComputation
from edgefl.world.dvfs.deadline import DeadlineClock

DEADLINE_S = 0.2
COSTLY = {
    "model": {"kind": "mlp", "cost": {"parameters": 667_178, "flops_per_parameter": 91.04}},
    "training": {"local_epochs": 5, "batch_size": 50},
}
DEADLINE = {"policy": "deadline", "deadline_s": DEADLINE_S}
POSITIVE = st.floats(1e-3, 1e3)


def clocks(dvfs="fixed", server=DEADLINE, radio=None, **changes):
    radio = BASE["radio"] | (radio or {})
    return run(server, devices={**BASE["devices"], "dvfs": dvfs}, radio=radio, **changes)


def slow(margin=1.5, least_hz=1.0):
    return {"kind": "deadline", "min_cpu_hz": least_hz, "upload_margin": margin}


def estimate_s(download_s, share_hz, snr_ratio):
    """Return the estimate for an upload, from Shannon's capacity of the download."""
    snr = 2 ** (BITS / share_hz / download_s) - 1
    return BITS / (BAND_HZ / 6) / np.log2(1 + snr * snr_ratio)


@pytest.mark.oracle
@given(*[POSITIVE] * 6)
def test_the_clock_is_the_lowest_that_leaves_time_for_the_upload(flops, fast_hz, least_hz, down_s, up_s, deadline_s):
    """f = cycles / (deadline - download - margin x estimated upload), between the least and the device's clock."""
    dvfs = DeadlineClock(min_cpu_hz=least_hz, upload_margin=2.0)
    one = np.ones(1)
    computing = LocalComputation(
        dvfs, flops * one, fast_hz * one, 4.0 * one, deadline_s * one, lambda seen, _: up_s * seen
    )
    clock_hz, seconds = computing.of_device(0, down_s)
    left_s = deadline_s - down_s - 2.0 * up_s * down_s
    needed_hz = flops / 4.0 / left_s if left_s > 0 else np.inf
    assert clock_hz == pytest.approx(min(fast_hz, max(least_hz, needed_hz)))
    assert seconds == pytest.approx(flops / 4.0 / clock_hz)
    if needed_hz <= fast_hz:
        assert seconds <= left_s * (1 + 1e-9)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_devices_compute_as_slowly_as_the_deadline_allows(sharing):
    """Each row by itself: its time, and its energy as f^2 (eq. 28); each that can be in time is."""
    result = clocks(slow(), radio={"sharing": sharing})
    rows = result.devices
    own_hz = cpu_hz(result)[result.devices["device"]]
    estimated_s = estimate_s(rows["download_s"], BAND_HZ / 6, DEVICE_W / SERVER_W)
    left_s = DEADLINE_S - rows["download_s"] - 1.5 * estimated_s
    clock_hz = np.minimum(FLOPS / left_s, own_hz)
    assert rows["compute_s"].to_numpy() == pytest.approx((FLOPS / clock_hz).to_numpy())
    assert rows["cpu_energy_j"].to_numpy() == pytest.approx((1e-28 * FLOPS * clock_hz**2).to_numpy())
    able = (FLOPS / own_hz < left_s) & (rows["upload_s"] < 1.5 * estimated_s)
    assert (rows["status"][able] == "received").all()
    assert able.mean() > 0.5
    assert (clock_hz < 0.5 * own_hz).any()


def test_both_accesses_come_off_the_computing_time():
    access_s = 0.4 * DEADLINE_S
    result = clocks(slow(), radio={"access_s": {"downlink": 0.25 * access_s, "uplink": 0.75 * access_s}})
    rows = result.devices
    own_hz = cpu_hz(result)[rows["device"]]
    estimated_s = estimate_s(rows["download_s"], BAND_HZ / 6, DEVICE_W / SERVER_W)
    left_s = DEADLINE_S - access_s - rows["download_s"] - 1.5 * estimated_s
    computed = rows["compute_s"] > 0
    assert computed.any()
    expected_s = FLOPS / np.clip(FLOPS / left_s, None, own_hz)
    assert rows["compute_s"][computed].to_numpy() == pytest.approx(expected_s[computed].to_numpy())


@pytest.mark.parametrize(
    ("radio", "share_hz", "snr_ratio"),
    [
        ({"downlink": "unicast"}, BAND_HZ / 6, DEVICE_W / SERVER_W),
        ({"downlink": "broadcast"}, BAND_HZ, 6 * DEVICE_W / SERVER_W),
        ({"server_power": "total"}, BAND_HZ / 6, 6 * DEVICE_W / SERVER_W),
    ],
)
def test_upload_is_predicted_from_the_download_over_a_constant_channel(radio, share_hz, snr_ratio):
    """One path both ways, so only powers and shares differ: right except for the last slots of transfers."""
    rows = clocks(slow(1.1), radio={"slot_s": 1e-6, **radio}).devices
    assert (rows["upload_s"] > 0).all()
    estimated_s = estimate_s(rows["download_s"], share_hz, snr_ratio)
    assert rows["upload_s"].to_numpy() == pytest.approx(estimated_s.to_numpy(), rel=0.01)


@pytest.mark.parametrize("preset", [{"downlink": "broadcast"}, {"preset": "dynamic_devices"}, {"downlink": "unicast"}])
def test_devices_finish_just_in_time_if_they_can(preset):
    """Also where the download has the whole band, and the upload a share; under fading."""
    radio = {"bandwidth_hz": 20e6, "transfer": "fast", **preset}
    slower = {"server": {**DEADLINE, "deadline_s": 20.0}, "devices": {"count": 20, "dvfs": slow()}, "radio": radio}
    result = edgefl.run({**BASE, **COSTLY, **slower}, train=False, device="cpu")
    assert (result.devices["status"] == "received").all()
    assert (result.devices[["download_s", "compute_s", "upload_s"]].sum(axis=1) > 18).all()


def test_slower_clocks_save_energy_as_their_square():
    fast = clocks()
    economic = clocks(slow())
    columns = ["round", "device", "status", "cpu_energy_j", "compute_s"]
    both = fast.devices[columns].merge(economic.devices[columns], on=["round", "device"])
    both = both[(both["status_x"] == "received") & (both["status_y"] == "received")]
    slower = both["compute_s_y"] / both["compute_s_x"]
    assert (both["cpu_energy_j_x"] / both["cpu_energy_j_y"]).to_numpy() == pytest.approx((slower**2).to_numpy())
    assert slower.max() > 2


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_least_clock_equal_to_the_fastest_is_the_fixed_rule(sharing):
    """Bit by bit, also where fading continues while devices compute."""
    keys = {"radio": {"sharing": sharing, "fading": "rayleigh"}, "mobility": {"kind": "static", "speed_mps": 3.0}}
    assert_same(clocks(slow(least_hz=1e15), **keys), clocks(**keys))


@pytest.mark.oracle
def test_fading_continues_while_the_device_computes():
    """Shares that hold are priced ahead, processor sharing as it goes: for one device alone both are the same.

    Except for the upload's wait for the border of a slot, which only transfers that share the band meet.
    """
    radio = {"fading": "rayleigh", "bandwidth_hz": 2e6}
    one = {**DEADLINE, "participants": 1}
    keys = {"mobility": {"kind": "static", "speed_mps": 0.5}, "rounds": 1}
    uploads_s = []
    for seed in range(6):
        ahead = clocks(slow(), one, {**radio, "sharing": "fixed"}, seed=seed, **keys).devices.iloc[0]
        shared = clocks(slow(), one, {**radio, "sharing": "processor"}, seed=seed, **keys).devices.iloc[0]
        assert ahead[["download_s", "compute_s"]].tolist() == pytest.approx(
            shared[["download_s", "compute_s"]].tolist()
        )
        waits_s = -(ahead["download_s"] + ahead["compute_s"]) % SLOT_S
        assert shared["upload_s"] - waits_s == pytest.approx(ahead["upload_s"])
        uploads_s.append(ahead["upload_s"])
    assert len(set(uploads_s)) > 3
