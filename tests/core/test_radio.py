"""The link: the paper's table, and what must not change a device's transfer."""

import numpy as np
import pytest

import channel
from edgefl.radio import Link
from edgefl.scenario import load
from edgefl.streams import Streams


def link(seed=1, **radio):
    scenario = load({"radio": radio})
    return Link(scenario.radio, scenario.cells, Streams(seed))


def transfers(of, ids, bits=1e6, index=0, distance=100.0, speed=10.0):
    """Download and upload durations of devices `ids`."""
    n = len(ids)
    drop = of.drop(ids, np.tile([distance, 0.0], (n, 1)), np.full(n, 1.5), index)
    fading = of.fading(ids, np.full(n, speed), index)
    down = of.download_s(np.full(n, bits), drop, fading)
    return down, of.upload_s(np.full(n, bits), np.full(n, 0.2), drop, fading, np.full(n, 0.01))


@pytest.mark.parametrize("downlink", ["unicast", "broadcast"])
def test_a_devices_transfer_does_not_depend_on_the_others(downlink):
    """The same band for each of three devices as for one alone: 30 MHz for three, 10 MHz for one."""
    ids = np.array([3, 8, 20])
    three = transfers(link(bandwidth_hz=30e6, downlink=downlink), ids)
    alone = transfers(link(bandwidth_hz=10e6, downlink=downlink), ids[1:2])
    assert three[1][1] == alone[1][0] or downlink == "broadcast"
    if downlink == "unicast":
        assert three[0][1] == alone[0][0]
    permuted = transfers(link(bandwidth_hz=30e6, downlink=downlink), ids[::-1])
    assert np.array_equal(permuted[0][::-1], three[0])
    assert np.array_equal(permuted[1][::-1], three[1])


def test_broadcast_uses_the_whole_band():
    ids = np.arange(10)
    shared = transfers(link(downlink="unicast"), ids, bits=1e7)[0]
    broadcast = transfers(link(downlink="broadcast"), ids, bits=1e7)[0]
    assert (broadcast < shared / 5).all()  # ten times the band, less than ten times the rate


def test_without_fading_or_shadowing_the_duration_is_the_closed_form():
    """Speed 0: one constant gain, so ceil(Z / (R tau)) slots with the gain that the start draws."""
    of = link(shadowing_db=0.0)
    ids = np.array([5])
    gain = abs(of.fading(ids, np.zeros(1), 0).gain[0]) ** 2
    loss = channel.umi.path_loss_db(100.0, 3.5e9, los=True)
    snr = channel.units.dbm_to_w(43) * 10 ** (-loss / 10) * gain / (channel.units.dbm_to_w(-174) * 100e6)
    slots = np.ceil(5e7 / (100e6 * np.log2(1 + snr) * 0.0005))
    assert transfers(of, ids, bits=5e7, speed=0.0)[0][0] == pytest.approx(slots * 0.0005, rel=1e-12)


def test_shadowing_is_constant_in_a_round_and_new_in_the_next():
    of, ids = link(), np.arange(50)
    first, again, other = (of.drop(ids, np.tile([50.0, 0.0], (50, 1)), np.full(50, 1.5), k) for k in (0, 0, 1))
    assert np.array_equal(first.shadowing_db, again.shadowing_db)
    assert not np.any(first.shadowing_db == other.shadowing_db)
    assert np.allclose(first.pathloss_db, channel.umi.path_loss_db(50.0, 3.5e9, los=True), rtol=1e-12)
    assert np.allclose(first.path_gain, 10 ** (-(first.pathloss_db + first.shadowing_db) / 10), rtol=1e-12)


def test_upload_starts_with_the_fading_that_the_download_left():
    """One process for both directions (TDD): without a gap and without motion, both see the same gain."""
    of, ids = link(shadowing_db=0.0), np.arange(200)
    fading = of.fading(ids, np.zeros(200), 0)
    before = fading.gain.copy()
    fading.advance(np.full(200, 50.0))
    assert np.array_equal(fading.gain, before)
    moving = of.fading(ids, np.full(200, 30.0), 0)
    start = moving.gain.copy()
    moving.advance(np.full(200, 1e6))
    correlation = np.abs(np.vdot(start, moving.gain)) / 200
    assert correlation < 4 / np.sqrt(200)  # forgotten, within four standard errors
    assert np.mean(np.abs(moving.gain) ** 2) == pytest.approx(1.0, abs=4 / np.sqrt(200))


def test_the_fading_goes_on_through_the_gap(monkeypatch):
    """The upload starts from the download's last gain, carried over the slots of computing, with draws of its own."""
    of, ids, calls, purposes = link(), np.arange(20), [], []
    walk, generator = channel.transfer.walk, of.streams.generator

    def spy(*arguments):
        result = walk(*arguments)
        calls.append((arguments[6], result[1]))
        return result

    monkeypatch.setattr(channel.transfer, "walk", spy)
    monkeypatch.setattr(of.streams, "generator", lambda *key: purposes.append(key) or generator(*key))
    transfers(of, ids, index=3, speed=2.0)
    (start, down_end), (up_start, _) = calls
    assert np.array_equal(start, of.fading(ids, np.full(20, 2.0), 3).gain)
    parts = of.streams.normal("fading_gap", ids, 3, count=2)
    rho = channel.fading.doppler_correlation(2.0, 3.5e9, 0.0005) ** 20  # 0.01 s are 20 slots
    expected = rho * down_end + np.sqrt(1 - rho**2) * (parts[:, 0] + 1j * parts[:, 1]) / np.sqrt(2)
    assert np.allclose(up_start, expected, rtol=1e-9)
    assert set(purposes) == {(way, i, 3) for way in ("fading_down", "fading_up") for i in range(20)}
