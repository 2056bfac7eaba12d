"""No share is wider than is of use: against brute force over widths, in every allocation and both ways of sharing."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radio_cases import DEVICE_W, NOISE_W_HZ, SLOT_S, STILL, best_snr, link, transfers

import channel
import edgefl
from edgefl.core.streams import Streams
from edgefl.radio.budget.link_budget import OtherTransmitters
from edgefl.radio.budget.shares import divide_bands
from edgefl.radio.link import Link
from edgefl.scenario import load
from edgefl.world.uplink_power_control import UplinkPowerControl

BAND_HZ = 20e6
BLOCK_HZ = 360e3
BLOCKS = 51
ALLOCATIONS = ["equal", "proportional", "proportional_fair", "min_makespan", "max_rate"]
RATES = {"mcs": channel.mcs.Mcs(), "truncated_shannon": channel.rate.TRUNCATED}


def budget(power_control=None, devices=20, **radio):
    scenario = load({"radio": {"bandwidth_hz": BAND_HZ, **radio}, "devices": {"count": devices}})
    keys = {}
    if power_control is not None:
        hardware = load({"devices": {"count": devices, "power_control": power_control}}).devices
        full_dbm = np.full(devices, 23.0)
        keys["power_control"] = UplinkPowerControl.of_devices(hardware, full_dbm, Streams(1))
    return Link(radio=scenario.radio, cells=scenario.cells, streams=Streams(1), **keys).pricing.budget


def divided(of, gains, bits=1e6, way="up", others=None):
    count = len(gains)
    gains = np.asarray(gains)
    payload = np.broadcast_to(bits, count).astype(float)
    cell = np.zeros(count, dtype=np.int64)
    power_w = np.full(count, DEVICE_W)
    ids = np.arange(count)
    return divide_bands(of, way, ids, cell, gains, gains[:, None], power_w, payload, others=others)


def expected_bps_hz(rate, fading):
    if fading == "none":
        return rate.bps_hz
    return partial(channel.rate.mean_rayleigh_bps_hz, rate)


def snr_hz(gains):
    return DEVICE_W * np.asarray(gains) / NOISE_W_HZ


def gains_of(snrs_hz):
    return np.asarray(snrs_hz) * NOISE_W_HZ / DEVICE_W


@pytest.mark.oracle
@pytest.mark.parametrize("allocation", ALLOCATIONS)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("fading", ["none", "rayleigh"])
def test_no_share_is_wider_than_is_of_use(allocation, rate, fading):
    """Of twelve uplinks, from some that can use a hundredth of the band to some that can use ten times of it."""
    of = budget(allocation=allocation, rate=rate, fading=fading)
    bps_hz = expected_bps_hz(RATES[rate], fading)
    best = best_snr(bps_hz)
    rng = np.random.default_rng(5)
    part = np.geomspace(0.01, 1.0, 2000)
    for _ in range(5):
        a = 10 ** rng.uniform(4.5, 8, 12)
        shares = divided(of, gains_of(a), 10 ** rng.uniform(5, 7, 12))
        width_hz = shares.bandwidth_hz
        assert (width_hz <= a / best * (1 + 1e-4)).all()
        # The band is full unless all have their useful widths.
        assert width_hz.sum() == pytest.approx(min(BAND_HZ, (a / best).sum()), rel=1e-3)
        np.testing.assert_allclose(shares.mean_snr, a / width_hz, rtol=1e-12)
        if (rate, fading) == ("mcs", "none"):  # a staircase jumps: below the widest, more is not always more
            continue
        ours_bps = width_hz * bps_hz(a / width_hz)
        narrower_hz = width_hz[:, None] * part
        narrower_bps = narrower_hz * bps_hz(a[:, None] / narrower_hz)
        assert (narrower_bps.max(axis=1) <= ours_bps * (1 + 1e-9)).all()


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    st.lists(st.floats(2, 11), min_size=1, max_size=20),
    st.sampled_from(["equal", "proportional_fair", "min_makespan"]),
    st.sampled_from(["none", "rayleigh"]),
    st.sampled_from([0.0, 0.4]),
)
def test_whole_blocks_are_those_of_use(decades, allocation, fading, load_of_others):
    """Against the best of all numbers of blocks; a block stays empty only where no uplink can use one more."""
    of = budget(allocation=allocation, rate="mcs", fading=fading, subcarrier_spacing_hz=30e3)
    bps_hz = expected_bps_hz(channel.mcs.Mcs(), fading)
    a = 10 ** np.array(decades)
    others = None
    if load_of_others:
        others = OtherTransmitters(np.array([1.0]), np.array([1.0 - load_of_others]), np.zeros((1, 1)))
    blocks = divided(of, gains_of(a), others=others).bandwidth_hz / BLOCK_HZ
    np.testing.assert_array_equal(blocks, np.round(blocks))
    if fading == "rayleigh":
        widths_hz = BLOCK_HZ * np.arange(1, BLOCKS + 1)
        all_bps = widths_hz * bps_hz(a[:, None] / widths_hz)
        most = 1 + all_bps.argmax(axis=1)  # the fewest of the best
    else:  # a staircase jumps: the best width is that of the lowest scheme
        most = np.clip(np.floor(a / channel.mcs.Mcs().thresholds[0] / BLOCK_HZ), 1, BLOCKS)
    assert (blocks >= 1).all()
    assert (blocks <= most).all()
    free = BLOCKS * (1.0 - load_of_others)
    if (blocks < most).any():
        assert abs(blocks.sum() - free) < len(a) + 1  # largest remainders, beside other users
    if not load_of_others:
        assert blocks.sum() == min(BLOCKS, most.sum())


@pytest.mark.parametrize("way", ["up", "down"])
def test_shannon_and_spread_powers_know_no_widest_share(way):
    a = np.array([1e2, 1e9])
    gains = gains_of(a)
    assert budget().widest_hz(way, np.arange(2), gains, a) is None
    np.testing.assert_array_equal(divided(budget(), gains, way=way).bandwidth_hz, [BAND_HZ / 2] * 2)
    spread = budget(rate="mcs", server_power="total")
    assert (spread.widest_hz(way, np.arange(2), gains, a) is None) == (way == "down")


def test_a_base_station_with_a_power_for_each_share_does_not_spread_it_too_thin():
    of = budget(rate="mcs", fading="none", server_power="per_device")
    lowest = channel.mcs.Mcs().thresholds[0]
    server_hz = of.server_tx_power_w / NOISE_W_HZ
    gains = np.array([lowest * 1e6, lowest * 1e9]) / server_hz
    shares = divided(of, gains, way="down")
    np.testing.assert_allclose(shares.bandwidth_hz, [1e6, 19e6])
    assert (of.efficiency.bps_hz(shares.mean_snr) > 0).all()


def test_in_turns_each_has_what_it_can_use():
    of = budget(rate="mcs", fading="none", allocation="round_robin")
    lowest = channel.mcs.Mcs().thresholds[0]
    shares = divided(of, gains_of([lowest * 1e6, lowest * 1e9]))
    np.testing.assert_allclose(shares.bandwidth_hz, [1e6, BAND_HZ])
    np.testing.assert_array_equal(shares.air, [0.5, 0.5])


@pytest.mark.oracle
@pytest.mark.parametrize("target_db", [-12.0, -6.0, 3.0, 20.0])
@pytest.mark.parametrize("blocks", [{}, {"subcarrier_spacing_hz": 30e3}], ids=["any width", "whole blocks"])
def test_power_control_leaves_power_for_a_wider_share(target_db, blocks):
    """Up to full power the SNR is the target on any share; brute force over widths finds the same limit."""
    target = 10 ** (target_db / 10)
    p0_dbm = 10 * math.log10(target * NOISE_W_HZ * 180e3) + 30
    of = budget({"kind": "open_loop", "p0_dbm": p0_dbm, "alpha": 1.0}, rate="mcs", **blocks)
    a = np.array([1e5, 1e6, 3e6])
    widest_hz = of.widest_hz("up", np.arange(3), gains_of(a), a)
    widths_hz = np.geomspace(1e3, BAND_HZ, 100_001)
    if blocks:
        widths_hz = BLOCK_HZ * np.arange(1.0, BLOCKS + 1)
    snr = np.minimum(target, a[:, None] / widths_hz)
    all_bps = widths_hz * channel.mcs.Mcs().rayleigh_bps_hz(snr)
    assert widest_hz == pytest.approx(widths_hz[all_bps.argmax(axis=1)], rel=5e-3)


def test_no_repetition_is_given_away():
    """Four transmissions add up to the power of one: a share may be four times as wide as without HARQ."""
    a = np.array([1e6])
    plain = budget(rate="mcs").widest_hz("up", np.arange(1), gains_of(a), a)
    harq = budget(rate="mcs", errors={"kind": "bler", "transmissions": 4}).widest_hz("up", [0], gains_of(a), a)
    assert harq == pytest.approx(4 * plain, rel=1e-6)


def test_a_link_without_any_gain_still_has_a_share():
    shares = divided(budget(rate="mcs"), [0.0, 1e-8])
    assert (shares.bandwidth_hz > 0).all()
    np.testing.assert_array_equal(shares.mean_snr[0], 0.0)


# In the emulated world

WEAK = {"rate": "mcs", "bandwidth_hz": 1e6, "shadowing_db": 0.0}


@pytest.mark.parametrize("fading", ["none", "rayleigh"])
@pytest.mark.parametrize("power_dbm", [-60.0, -90.0, -130.0], ids=["whole band", "narrow", "hopeless"])
def test_alone_a_transfer_takes_as_long_under_both_ways_of_sharing(fading, power_dbm):
    found = []
    for sharing in ("fixed", "processor"):
        of = link(**WEAK, fading=fading, sharing=sharing, server_tx_power_dbm=power_dbm)
        down, _ = transfers(of, [3], 1e4)
        found.append((bool(down.delivered[0]), float(down.duration_s[0])))
    (fixed, fixed_s), (processor, processor_s) = found
    assert fixed == processor
    assert fixed_s == pytest.approx(processor_s, rel=1e-9)
    if power_dbm == -130:
        assert (fixed, fixed_s) == (False, pytest.approx(100.0))


def test_uploads_of_a_round_take_what_the_filled_band_says():
    """Equal shares without fading, end to end: each has the common level of the band or what it can use."""
    scenario = {
        "rounds": 3,
        "model": {"kind": "logistic", "cost": {"parameters": 100_000, "flops_per_parameter": 2.0}},
        "devices": {"count": 40},
        "server": {"participants": 10},
        "radio": {
            "propagation": {"kind": "umi", "indoor": 0.8},
            "rate": "mcs",
            "bandwidth_hz": BAND_HZ,
            "fading": "none",
        },
    }
    devices = edgefl.run(scenario, train=False).devices
    model = channel.mcs.Mcs()
    narrow = 0
    for _, row in devices.groupby("round"):
        loss_db = row.pathloss_db.to_numpy() + row.shadowing_db.to_numpy()
        a = snr_hz(10 ** (-loss_db / 10))
        widest_hz = a / model.thresholds[0]
        level_hz = BAND_HZ
        if widest_hz.sum() > BAND_HZ:
            low, high = 0.0, BAND_HZ
            for _ in range(100):
                level_hz = 0.5 * (low + high)
                if np.minimum(widest_hz, level_hz).sum() > BAND_HZ:
                    high = level_hz
                else:
                    low = level_hz
        share_hz = np.minimum(widest_hz, level_hz)
        narrow += int((widest_hz < level_hz).sum())
        expected_s = 3.2e6 / (share_hz * model.bps_hz(a / share_hz * (1 + 1e-11)))
        assert (row.status == "received").all()
        assert (np.abs(row.upload_s - expected_s) <= SLOT_S * 1.01 + 1e-6 * expected_s).all()
    assert narrow > 3


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_weak_links_do_not_hold_up_rounds_for_hours(sharing):
    """The best width of a link bounds its time: no upload has a share that is too wide."""
    scenario = {
        "rounds": 5,
        "model": {"kind": "logistic", "cost": {"parameters": 100_000, "flops_per_parameter": 2.0}},
        "devices": {"count": 50},
        "server": {"participants": 10},
        "radio": {
            "propagation": {"kind": "umi", "indoor": 0.8},
            "rate": "mcs",
            "noise_figure_db": {"base_station": 5, "device": 9},
            "bandwidth_hz": BAND_HZ,
            "sharing": sharing,
            "spatial_consistency": False,
        },
        "mobility": {"kind": "static", "speed_mps": 10},  # so that the fading of an upload is over soon
    }
    devices = edgefl.run(scenario, train=False).devices
    loss_db = (devices.pathloss_db + devices.shadowing_db).to_numpy()
    a = snr_hz(10 ** (-loss_db / 10)) / 10**0.5
    model = channel.mcs.Mcs()
    best = best_snr(model.rayleigh_bps_hz)
    power_limited = a / best < BAND_HZ / 10
    at_best_s = 3.2e6 / (a / best * model.rayleigh_bps_hz(np.array([best]))[0])
    assert power_limited.sum() >= 5
    assert (devices.status == "received").all()
    long = power_limited & (at_best_s > 20)  # the fading is over within a hundredth of the upload
    assert devices.upload_s[long].to_numpy() == pytest.approx(at_best_s[long], rel=0.05)


@pytest.mark.parametrize("blocks", [{}, {"subcarrier_spacing_hz": 30e3}], ids=["any width", "whole blocks"])
def test_shares_that_a_forecast_decides_are_kept(blocks):
    """`equal_finish` gives the weak device more than is of use if need be: no limit of the radio changes it."""
    scenario = {
        "rounds": 1,
        "model": {"kind": "logistic", "cost": {"parameters": 10_000, "flops_per_parameter": 2.0}},
        "devices": {"count": 1, "tx_power_dbm": -45.0},
        "server": {"participants": 1, "csi": "perfect"},
        "radio": {
            "rate": "truncated_shannon",
            "allocation": "equal_finish",
            "bandwidth_hz": BAND_HZ,
            **STILL,
            **blocks,
        },
    }
    decided = edgefl.run(scenario, train=False)
    assert decided.status == "finished"
    equal = edgefl.run({**scenario, "radio": {**scenario["radio"], "allocation": "equal"}}, train=False)
    assert equal.devices.status.iloc[-1] == "received"
    assert decided.devices.status.iloc[-1] == "upload_failed"
