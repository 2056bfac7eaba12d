"""Recorded links instead of a model: closed forms, energy and cuts, sharing of a band, and refusals."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from radio_cases import DEVICE_W
from server_cases import BITS, ENERGY, check_books, interrupted, presence_trace, run

import edgefl
from channel.link_traces import SnrSteps, Steps
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.radio.recorded_links import RecordedLinks
from edgefl.radio.traces import LinkTrace, Recording
from edgefl.scenario import load, shipped

ROOT = Path(__file__).parents[2]
RX_W = 0.3
MBIT = BITS / 1e6  # 0.64 of each message
FULL_DBM = np.full(4000, 23.0)
POLICIES = [
    "synchronous",
    "asynchronous",
    {"kind": "buffered", "buffer": 3},
    "hierarchical",
    "sequential",
]


def table(folder, rows, columns="device,time_s,downlink_bps,uplink_bps", name="links.csv"):
    path = folder / name
    path.write_text("\n".join([columns, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def traced(path, **keys):
    """A run's radio; every device of 20 draws from the pool unless told otherwise."""
    return {"trace": {"kind": "csv", "path": str(path), **keys}}


def constant(folder, down_bps, up_bps, count=20):
    return table(folder, [(device, 0, down_bps, up_bps) for device in range(count)])


def snrs(folder, down_db, up_db, count=20):
    columns = "device,time_s,downlink_snr_db,uplink_snr_db"
    return table(folder, [(device, 0, down_db, up_db) for device in range(count)], columns)


# Rates


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_constant_rate_gives_bits_over_rate_under_every_policy(tmp_path, policy):
    """However many devices send at a time, as rates are not shared."""
    result = run({"policy": policy}, radio=traced(constant(tmp_path, 8e6, 2e6)))
    done = result.devices[result.devices["status"] == "received"]  # the run's end cuts others short
    assert done["download_s"].to_numpy() == pytest.approx(np.full(len(done), MBIT / 8), rel=1e-12)
    assert done["upload_s"].to_numpy() == pytest.approx(np.full(len(done), MBIT / 2), rel=1e-12)
    assert done["rx_energy_j"].to_numpy() == pytest.approx(np.full(len(done), RX_W * MBIT / 8), rel=1e-12)
    assert done["tx_energy_j"].to_numpy() == pytest.approx(np.full(len(done), DEVICE_W * MBIT / 2), rel=1e-12)
    assert result.devices[["pathloss_db", "shadowing_db"]].isna().all(axis=None)


def test_rates_that_change_are_integrated_on_the_runs_clock(tmp_path):
    """Download from 0 on: 1 Mbit/s for 0.2 s, nothing for 0.3 s, then 2 Mbit/s: 0.64 Mbit take 0.5 + 0.44 / 2 s."""
    rows = []
    for device in range(20):
        rows += [(device, 0.0, 1e6, 5e6), (device, 0.2, 0, 5e6), (device, 0.5, 2e6, 5e6), (device, 9.5, 3e6, 5e6)]
    result = run({}, radio=traced(table(tmp_path, rows)), rounds=1)
    assert result.devices["download_s"].to_numpy() == pytest.approx(np.full(6, 0.72), rel=1e-12)
    later = run({}, radio=traced(table(tmp_path, rows), begin_s=0.5), rounds=1)
    assert later.devices["download_s"].to_numpy() == pytest.approx(np.full(6, 0.32), rel=1e-12)
    shifted = [(device, time_s + 1000, down, up) for device, time_s, down, up in rows]
    same = run({}, radio=traced(table(tmp_path, shifted)), rounds=1)
    assert same.devices["download_s"].to_numpy() == pytest.approx(np.full(6, 0.72), rel=1e-9)


def test_of_rows_at_one_time_the_last_counts_with_one_warning(tmp_path, caplog):
    """0.64 Mbit at 1 Mbit/s; other rates at the same times are replaced, however many runs read the file."""
    rows = []
    for device in range(20):
        rows += [(device, 0.0, 9e6, 9e6), (device, 0.0, 1e6, 5e6), (device, 5.0, 9e6, 9e6), (device, 5.0, 1e6, 5e6)]
    path = table(tmp_path, rows)
    for _ in range(2):
        result = run({}, radio=traced(path), rounds=1)
    assert result.devices["download_s"].to_numpy() == pytest.approx(np.full(6, 0.64), rel=1e-12)
    (line,) = [record.getMessage() for record in caplog.records if "repeat the time" in record.getMessage()]
    assert line.startswith(
        f"warning: radio.trace: {path}:3: 40 samples repeat the time of their device's sample before"
    )
    assert "(the first: device 0 at 0.0 s)" in line


def test_packets_of_mahimahi(tmp_path):
    """A packet a millisecond is 12 Mbit/s; every fourth is 3."""
    (tmp_path / "down").write_text("\n".join(map(str, range(1, 101))))
    (tmp_path / "up").write_text("\n".join(map(str, range(4, 101, 4))))
    files = [{"downlink": str(tmp_path / "down"), "uplink": str(tmp_path / "up")}]
    result = run({}, radio={"trace": {"kind": "mahimahi", "files": files, "assign": "pool"}}, rounds=1)
    # Up to a millisecond of waiting for the first opportunity, up to one for the last, which may not be full.
    assert result.devices["download_s"].to_numpy() == pytest.approx(np.full(6, MBIT / 12), abs=1.001e-3)
    assert result.devices["upload_s"].to_numpy() == pytest.approx(np.full(6, MBIT / 3), abs=4.001e-3)
    numbered = {"kind": "mahimahi", "files": files * 20}
    exact = run({}, radio={"trace": numbered}, rounds=1)
    packets = np.ceil(BITS / 12_000)
    assert exact.devices["download_s"].to_numpy() == pytest.approx(np.full(6, packets * 1e-3), abs=1e-12)


def test_blank_lines_of_mahimahi_count_for_nothing(tmp_path):
    (tmp_path / "plain").write_text("1\n4\n9\n")
    (tmp_path / "blank").write_text("\ufeff1\r\n4\r\n\r\n9\r\n\r\n \r\n")
    found = []
    for name in ("plain", "blank"):
        files = [{"downlink": str(tmp_path / name), "uplink": str(tmp_path / name)}]
        (recording,) = load(
            {"radio": {"trace": {"kind": "mahimahi", "files": files, "assign": "pool"}}}
        ).radio.trace.recordings()
        found.append(recording.down.time_s.tolist())
    assert found[0] == found[1] == pytest.approx([0.001, 0.004, 0.009])


def test_a_pool_is_drawn_by_device_and_seed(tmp_path):
    """Recordings and beginnings are drawn: of 4,000 devices the shares and the mean of the beginnings are known."""
    rows = [("a", 0, 1e6, 1e6), ("b", 7, 2e6, 2e6), ("b", 17, 2e6, 2e6), ("c", 3, 3e6, 3e6), ("c", 103, 4e6, 4e6)]
    radio = load({"radio": traced(table(tmp_path, rows), assign="pool")}).radio
    links, again, other = (RecordedLinks(radio, 4000, Streams(seed), FULL_DBM) for seed in (1, 1, 2))
    rates = np.array([links.link("down", device).carried(0.0, 1.0) for device in range(4000)]) / 1e6
    counts = np.array([(rates == rate).sum() for rate in (1, 2, 3)])
    assert (np.abs(counts - 4000 / 3) < 4 * np.sqrt(4000 * 2 / 9)).all()
    begins_s = np.array([links.time_s(device, 0.0) for device in range(4000)])
    assert begins_s[rates == 3].mean() == pytest.approx(100.0, abs=4 * 200 / np.sqrt(12 * counts[2]))
    assert begins_s[rates == 3].max() < 200
    assert begins_s.tolist() == [again.time_s(device, 0.0) for device in range(4000)]
    assert begins_s.tolist() != [other.time_s(device, 0.0) for device in range(4000)]
    few = RecordedLinks(radio, 10, Streams(1), FULL_DBM[:10])
    assert begins_s[:10].tolist() == [few.time_s(device, 0.0) for device in range(10)]


# Cuts of transfers


@pytest.mark.parametrize("recorded", ["rates", "snrs", "snrs, processor"])
def test_deadline_cuts_exactly_at_its_time(tmp_path, recorded):
    """Half of the download's time: half its bits and half its energy."""
    # 6 participants share 20 MHz at 1 bit/s/Hz, so that each has the same rate as from the file.
    whole_s = BITS / (20e6 / 6)
    radio = traced(constant(tmp_path, 20e6 / 6, 20e6 / 6))
    if recorded != "rates":
        sharing = "processor" if "processor" in recorded else "fixed"
        radio = {**traced(snrs(tmp_path, 0.0, 0.0)), "bandwidth_hz": 20e6, "sharing": sharing}
    result = run({"policy": "deadline", "deadline_s": whole_s / 2}, radio=radio, rounds=2)
    assert (result.devices["status"] == "late").all()
    count = len(result.devices)
    assert result.devices["download_s"].to_numpy() == pytest.approx(np.full(count, whole_s / 2), rel=1e-9)
    assert result.devices["bytes_down"].to_numpy() == pytest.approx(np.full(count, BITS / 16), abs=1)
    assert result.devices["rx_energy_j"].to_numpy() == pytest.approx(np.full(count, RX_W * whole_s / 2), rel=1e-9)
    check_books(result.rounds, result.devices, result.summary)


def test_departures_cut_with_the_integral_so_far(tmp_path):
    """Devices leave in the second piece of the download."""
    rows = [(d, t, rate, 1e6) for d in range(12) for t, rate in ((0, 4e6), (0.1, 1e6), (5, 1e6))]
    churn = presence_trace(tmp_path, [(device, 0.0, 0.2 + device / 1000) for device in range(12)])
    _, rounds, devices, _ = interrupted([], radio=traced(table(tmp_path, rows)), churn=churn)
    assert (devices["status"] == "departed").all()
    left_s = 0.2 + devices["device"].to_numpy() / 1000
    assert devices["download_s"].to_numpy() == pytest.approx(left_s, abs=1e-9)
    assert devices["bytes_down"].to_numpy() == pytest.approx((4e5 + 1e6 * (left_s - 0.1)) / 8, abs=1.01)
    assert rounds["departed"].tolist() == [len(devices)]


def test_a_battery_ends_a_transfer_when_it_is_empty(tmp_path):
    """It receives at 0.3 W from the beginning on, so 0.03 J last a tenth of a second."""
    devices = {"count": 1, "rx_power_w": RX_W, "battery": {"capacity_j": 0.03}}
    result = run({"participants": 1}, radio=traced(constant(tmp_path, 1e6, 1e6)), devices=devices, rounds=1)
    assert result.devices["download_s"].tolist() == pytest.approx([0.1], abs=1e-9)
    assert result.devices["bytes_down"].tolist() == [12_500]


def test_attempts_that_fail_and_a_longest_time(tmp_path):
    faults = {"failure_probability": 0.5, "attempts": 3}
    result = run({}, radio={**traced(constant(tmp_path, 8e6, 2e6)), "faults": faults})
    attempts = result.devices["download_s"].to_numpy() / (MBIT / 8)
    assert attempts == pytest.approx(np.rint(attempts))
    assert set(np.rint(attempts)) == {1, 2, 3}
    assert result.devices["bytes_down"].to_numpy() == pytest.approx(np.rint(attempts) * BITS / 8)
    short = run({}, radio={**traced(constant(tmp_path, 8e6, 2e6)), "faults": {"max_transfer_s": 0.1}}, rounds=1)
    assert (short.devices["status"] == "upload_failed").all()
    assert short.devices["upload_s"].to_numpy() == pytest.approx(np.full(6, 0.1))
    assert short.devices["bytes_up"].to_numpy() == pytest.approx(np.full(6, 25_000))


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_lost_device_fails_in_time_and_the_others_go_on(tmp_path, sharing):
    """Device 3 never gets anything up: its upload fails, as a hopeless link of a model does."""
    rows = [(device, 0, 0.0, -200.0 if device == 3 else 0.0) for device in range(6)]
    path = table(tmp_path, rows, "device,time_s,downlink_snr_db,uplink_snr_db")
    radio = {**traced(path), "bandwidth_hz": 6e6, "rate": "mcs", "sharing": sharing}
    result = run({}, radio=radio, devices={"count": 6}, rounds=1)
    status = result.devices.set_index("device")["status"]
    assert status[3] == "upload_failed"
    assert (status.drop(3) == "received").all()
    assert result.devices["upload_s"][3] == pytest.approx(100.0)
    sooner = run({}, radio={**radio, "faults": {"link_failure_s": 7.0}}, devices={"count": 6}, rounds=1)
    assert sooner.devices["upload_s"][3] == pytest.approx(7.0)
    assert sooner.devices["bytes_up"][3] == 0


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-9])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_rate_that_no_run_sees_the_end_of_is_a_lost_link(tmp_path, sharing, rate, steps):
    """Times that overflow, or are longer than a run can count, made tracebacks in moving devices and in the tables."""
    rows = [(device, time_s, 1e6, rate if device == 3 else 1e6) for device in range(6) for time_s in range(steps)]
    walking = {"kind": "random_waypoint", "speed_mps": 1.0}
    radio = {**traced(table(tmp_path, rows)), "sharing": sharing}
    result = run({}, radio=radio, devices={"count": 6}, rounds=1, mobility=walking, out=tmp_path / "out")
    status = result.devices.set_index("device")["status"]
    assert status[3] == "upload_failed"
    assert (status.drop(3) == "received").all()
    assert result.devices["upload_s"][3] == pytest.approx(100.0)
    assert result.devices["bytes_up"][3] == 0


def test_the_end_of_a_recording_is_an_error_if_so_chosen(tmp_path):
    """0.64 Mbit at 1 Mbit/s, but the file ends after half a second; an earlier deadline is not an error."""
    rows = [(device, time_s, 1e6, 1e6) for device in range(20) for time_s in (0, 0.25)]
    path = table(tmp_path, rows)
    text = r"^round 1: device \d+'s download goes on past the end of its recording, 0.5 s into the run: set radio.trace"
    assert re.match(text, run({}, radio=traced(path, at_end="error")).error)
    cut = run({"policy": "deadline", "deadline_s": 0.4}, radio=traced(path, at_end="error"), rounds=1)
    assert (cut.devices["status"] == "late").all()
    repeated = run({}, radio=traced(path), rounds=1)
    assert repeated.devices["download_s"].to_numpy() == pytest.approx(np.full(6, MBIT))
    columns = "device,time_s,downlink_snr_db,uplink_snr_db"
    snr_path = table(tmp_path, [(device, t, 0.0, 0.0) for device in range(20) for t in (0, 0.25)], columns)
    shared = {**traced(snr_path, at_end="error"), "bandwidth_hz": 6e6, "sharing": "processor"}
    assert re.match(text, run({}, radio=shared).error)


# Signal-to-noise ratios


def test_snrs_divide_the_band(tmp_path):
    """20 MHz among six at 3 and 1 bit/s/Hz; a frame and control take their parts."""
    radio = {**traced(snrs(tmp_path, 10 * np.log10(7.0), 0.0)), "bandwidth_hz": 20e6}
    result = run({}, radio=radio, rounds=1)
    share = 20e6 / 6
    assert result.devices["download_s"].to_numpy() == pytest.approx(np.full(6, BITS / (3 * share)), rel=1e-12)
    assert result.devices["upload_s"].to_numpy() == pytest.approx(np.full(6, BITS / share), rel=1e-12)
    framed = {**radio, "tdd": {"downlink": 0.7, "uplink": 0.3}, "overhead": {"downlink": 0.5, "uplink": 0.0}}
    rest = run({}, radio=framed, rounds=1)
    assert rest.devices["download_s"].to_numpy() == pytest.approx(np.full(6, BITS / (3 * share * 0.35)), rel=1e-12)
    on_air_s = rest.devices["rx_energy_j"].to_numpy() / RX_W
    assert on_air_s == pytest.approx(0.7 * rest.devices["download_s"].to_numpy(), rel=1e-12)
    everyone = run({}, radio={**radio, "downlink": "broadcast"}, rounds=1)
    assert everyone.devices["download_s"].to_numpy() == pytest.approx(np.full(6, BITS / (3 * 20e6)), rel=1e-12)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_snrs_follow_each_devices_power_and_the_band(tmp_path, sharing):
    """Recorded at 20 dBm over 10 MHz: at 23.01 dBm over 20 MHz the uplink's stay, and the downlink's halve."""
    twice_dbm = 20.0 + 10 * np.log10(2.0)
    radio = traced(snrs(tmp_path, 10 * np.log10(14.0), 0.0, count=6), tx_power_dbm=20.0, bandwidth_hz=10e6)
    radio |= {"bandwidth_hz": 20e6, "sharing": sharing}
    groups = [{"name": "near", "count": 3, "tx_power_dbm": twice_dbm}, {"name": "far", "count": 3}]
    devices = {"count": 6, "cpu_hz": 1e9, "tx_power_dbm": twice_dbm + 10 * np.log10(3.0), "groups": groups}
    result = run({}, radio=radio, devices=devices, rounds=1)
    rows = result.devices.sort_values("device")
    share_hz = 20e6 / 6
    assert rows["download_s"].to_numpy() == pytest.approx(np.full(6, BITS / (3 * share_hz)), rel=1e-9)
    upload_s = np.repeat([BITS / share_hz, BITS / (2 * share_hz)], 3)  # 1 and 2 bit/s/Hz
    if sharing == "processor":  # those that end first leave their parts to the others
        upload_s[:3] = upload_s[3] + (BITS - upload_s[3] * share_hz) / (2 * share_hz)
    assert rows["upload_s"].to_numpy() == pytest.approx(upload_s, rel=1e-9)


@pytest.mark.oracle
def test_processor_sharing_of_snrs_that_change(tmp_path):
    """Against steps so small that the division between two of them does not matter."""
    generator = np.random.default_rng(3)
    times_s = np.arange(40) * 0.01
    down_db = generator.uniform(-3, 15, (4, 40))
    rows = [(d, time_s, down_db[d, k], 3.0) for d in range(4) for k, time_s in enumerate(times_s)]
    path = table(tmp_path, rows, "device,time_s,downlink_snr_db,uplink_snr_db")
    radio = {**traced(path), "bandwidth_hz": 4e6, "sharing": "processor"}
    devices = {"count": 4, "cpu_hz": 1e9, "rx_power_w": RX_W}
    result = run({"participants": 4}, radio=radio, devices=devices, rounds=1)
    step_s = 2e-5
    left = np.full(4, float(BITS))
    ends_s = np.zeros(4)
    now_s = 0.0
    while (left > 0).any():
        active = left > 0
        snr = 10 ** (down_db[:, int((now_s % 0.4) / 0.01 + 1e-9)] / 10)
        left -= active * 4e6 / active.sum() * np.log2(1 + snr) * step_s
        now_s += step_s
        ends_s[active & (left <= 0)] = now_s
    assert result.devices["download_s"].to_numpy() == pytest.approx(ends_s, abs=4 * step_s)


@pytest.mark.parametrize(("sharing", "last"), [("fixed", 3.0), ("processor", 2.0)])
def test_unequal_shares_of_recorded_snrs(tmp_path, sharing, last):
    """Two devices with weights 2:1: the first ends after 1.5 times as long as alone, the last as its share lets it."""
    first, second = Streams(1).normal_at("share", [0, 1], 0, 0)
    sigma = np.log(2) / abs(first - second)
    allocation = {"kind": "unequal", "sigma": float(sigma)}
    radio = {**traced(snrs(tmp_path, 5.0, 1.0)), "bandwidth_hz": 4e6, "sharing": sharing, "allocation": allocation}
    result = run({"participants": 2}, radio=radio, devices={"count": 2}, rounds=1, seed=1)
    alone_s = BITS / (4e6 * np.log2(1 + 10**0.5))
    downloads = result.devices.set_index("device")["download_s"].sort_index().to_numpy()
    expected = np.array([1.5, last])
    if second > first:
        expected = expected[::-1]
    assert downloads == pytest.approx(expected * alone_s, rel=1e-9)


@pytest.mark.oracle
def test_processor_sharing_alone_is_a_fixed_share(tmp_path):
    path = snrs(tmp_path, 5.0, 1.0, count=1)
    results = []
    for sharing in ("fixed", "processor"):
        for allocation in ("equal", "round_robin", "min_makespan"):
            radio = {**traced(path), "bandwidth_hz": 4e6, "sharing": sharing, "allocation": allocation}
            results.append(run({"participants": 1}, radio=radio, devices={"count": 1}))
    for result in results[1:]:
        for column in ("download_s", "upload_s", "start_s", *ENERGY):
            assert result.devices[column].to_numpy() == pytest.approx(results[0].devices[column].to_numpy(), rel=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_other_users_take_their_part_of_a_recorded_link(tmp_path, sharing):
    """One of two MHz at 1 bit/s/Hz; then a queue that leaves 0.6 on average."""
    radio = {**traced(snrs(tmp_path, 0.0, 0.0, count=1)), "bandwidth_hz": 2e6, "sharing": sharing}
    keys = {"devices": {"count": 1}, "rounds": 1}
    half = run({"participants": 1}, radio={**radio, "background": {"kind": "constant", "load": 0.5}}, **keys)
    assert half.devices["download_s"].tolist() == pytest.approx([BITS / 1e6], rel=1e-9)
    queue = {"kind": "poisson", "arrivals_per_s": 4.0, "mean_bits": 2e5, "bps_hz": 1.0}
    times_s = [
        run({"participants": 1}, radio={**radio, "background": queue}, **keys, seed=seed).devices["download_s"][0]
        for seed in range(40 if sharing == "processor" else 2)
    ]
    error_s = np.std(times_s) / np.sqrt(len(times_s))
    assert np.mean(times_s) == pytest.approx(BITS / 2e6 / 0.6, abs=4 * error_s + 1e-9)


@pytest.mark.oracle
def test_asynchronous_rounds_over_snrs_conserve_bits(tmp_path):
    """The uplink of a cell is never idle while a device sends."""
    radio = {**traced(snrs(tmp_path, 40.0, 0.0)), "bandwidth_hz": 1e6}
    result = run({"policy": "asynchronous"}, radio=radio, rounds=40)
    assert result.scenario["radio"]["sharing"] == "processor"
    events = result.events
    begins = events[events["kind"] == "compute_end"][["time_s"]].assign(change=1)
    ends = events[events["kind"] == "upload_end"][["time_s"]].assign(change=-1)
    changes = pd.concat([begins, ends]).sort_values("time_s")
    busy_s = (changes["time_s"].diff().to_numpy()[1:] * (changes["change"].cumsum().to_numpy()[:-1] > 0)).sum()
    sent_bits = len(ends) * BITS
    under_way = changes["change"].sum()
    assert sent_bits <= busy_s * 1e6 * (1 + 1e-9)
    assert busy_s * 1e6 <= sent_bits + under_way * BITS + 1


# Shipped recordings, and plugins


class Sawtooth(LinkTrace):
    """A link that falls from a rate to half of it every second."""

    bps: float = 1e6

    def recordings(self):
        """Return one recording for all."""
        link = Steps(np.array([0.0, 0.5]), np.array([self.bps, self.bps / 2]), 1.0)
        return [Recording("saw", link, link)]


class Mixed(LinkTrace):
    """Returns wrong recordings."""

    def recordings(self):
        """Return a rate down and an SNR up."""
        one = np.zeros(1)
        return [Recording("mixed", Steps(one, one + 1, 1.0), SnrSteps(one, one, 1.0))]


def test_a_trace_from_outside():
    result = run({}, radio={"trace": {"kind": Sawtooth, "bps": 1.28e6, "assign": "pool"}}, rounds=2)
    assert result.devices["download_s"].between(0.5, 0.75 + 1e-9).all()
    with pytest.raises(InputError, match=r"Mixed.recordings returned both rates and SNRs, must return a list of"):
        load({"radio": {"trace": {"kind": Mixed, "assign": "pool"}}})


@pytest.mark.process
def test_the_shipped_recordings_come_from_their_program(tmp_path):
    program = ROOT / "benchmarks" / "link_traces.py"
    subprocess.run([sys.executable, program, tmp_path / "again.csv"], check=True)
    assert (tmp_path / "again.csv").read_bytes() == (ROOT / "scenarios" / "link-traces.csv").read_bytes()


def test_a_copy_of_the_shipped_scenario_finds_its_recordings(tmp_path):
    copy = shipped.copy_to("22-link-traces", tmp_path)
    result = edgefl.run(copy, overrides=["rounds=2"], train=False, device="cpu")
    assert (result.devices["status"] == "received").all()


# Refusals


RATES = "device,time_s,downlink_bps,uplink_bps"


@pytest.mark.parametrize(
    ("content", "keys", "text"),
    [
        ("device,time_s,downlink_snr_db,uplink_bps\n0,0,1,1\n", {}, r":1: has columns of both rates and SNRs"),
        (f"{RATES}\n0,5,1,1\n0,4,1,1\nno row\n", {}, r":3: device 0: times must not fall, got 4 s after 5 s: sort"),
        (f"{RATES}\na,0,1,1\n", {}, r':2: "a" is not the number of a device'),
        (f"{RATES}\n0,0,1,1\n2,0,1,1\n", {}, r"has no rows of device 1, but of 2 others"),
        (f"{RATES}\n0,0,1,1\n1,1,1,1\n", {}, r":3: device 1 begins at 1 s, device 0 at 0 s: all must begin together"),
        (f"{RATES}\n0,0,1,1\n", {}, r"has recordings of 1 devices, the scenario has 2: lower devices.count"),
        (f"{RATES}\nx,0,0,1\n", {"assign": "pool"}, r"no downlink carries anything at any time"),
        (f"{RATES}\nx,0,1,1\n", {"assign": "pool", "begin_s": 3.0}, r"each device of a pool draws where it begins"),
        (f"{RATES}\n0,0,1,1\n1,0,1,1\n", {"at_end": "error", "begin_s": 3.0}, r"recording 0 ends at 1 s, before begin"),
    ],
)  # fmt: skip
def test_files_that_are_wrong(tmp_path, content, keys, text):
    path = tmp_path / "links.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=text) as refused:
        load({"devices": {"count": 2}, "radio": traced(path, **keys)})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("1\nx\n", r"down:2: must be a whole number of milliseconds, such as 12, got \"x\""),
        ("3\n2\n", r"down:2: times must not fall, got 2 ms after 3 ms"),
        ("0\n0\n", r"down:2: lasts no time"),
    ],
)
def test_files_of_mahimahi_that_are_wrong(tmp_path, content, text):
    (tmp_path / "down").write_text(content)
    (tmp_path / "up").write_text("1\n")
    files = [{"downlink": str(tmp_path / "down"), "uplink": str(tmp_path / "up")}]
    with pytest.raises(InputError, match=text):
        load({"radio": {"trace": {"kind": "mahimahi", "files": files, "assign": "pool"}}})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"radio": {"allocation": "proportional"}}, "radio.allocation: has no effect where rates were recorded"),
        ({"radio": {"kind": "model"}}, "radio.trace: takes the place of a model"),
        ({"radio": {"trace": None, "kind": "trace"}}, "radio.trace: is required where radio.kind is trace"),
    ],
)  # fmt: skip
def test_keys_of_a_model_are_refused(tmp_path, changes, text):
    given = {**changes, "radio": {**traced(constant(tmp_path, 1e6, 1e6, count=100)), **changes.get("radio", {})}}
    with pytest.raises(InputError, match=text):
        load(given)


def test_an_agent_sees_no_channel_of_a_model(tmp_path):
    pytest.importorskip("gymnasium")
    import edgefl.gym

    world = {"rounds": 1, "radio": traced(constant(tmp_path, 1e6, 1e6, 100))}
    with pytest.raises(InputError, match="need a channel model"):
        edgefl.gym.make(world, observation=("view", "csi"))
    edgefl.gym.make(world, observation="view").close()
