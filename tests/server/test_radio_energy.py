"""Energy of real radios: amplifier, circuit and DRX tail, in the ledger and in batteries; base stations."""

import numpy as np
import pytest
from plugin_cases import fault_of, written
from radio_cases import DEVICE_W, SERVER_W
from server_cases import BASE, POLICIES, run

ENERGY = ["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]
RADIO = {"pa_efficiency": 0.35, "circuit_w": 0.4}
TAIL = {"drx_tail_s": 0.004, "drx_tail_w": 0.7}
IDLE_W = 0.05
NEAR_J = 20 * 0.7 * 1e-6 * 0.0005


def devices(**keys):
    return {**BASE["devices"], "idle_power_w": IDLE_W, **keys}


def test_sending_draws_amplifier_and_circuit():
    plain = run({}, devices=devices()).devices
    real = run({}, devices=devices(radio_energy=RADIO)).devices
    assert real["tx_energy_j"].to_numpy() == pytest.approx((DEVICE_W / 0.35 + 0.4) * plain["upload_s"].to_numpy())
    rest = [column for column in plain if column != "tx_energy_j"]
    assert real[rest].equals(plain[rest])


def test_the_circuit_draws_only_in_the_turns_of_the_device():
    """Power control lowers what the amplifier takes, turns and frame also what the circuit takes."""
    radio = {**BASE["radio"], "allocation": "round_robin", "tdd": {"downlink": 0.6, "uplink": 0.4}}
    control = {"kind": "open_loop", "p0_dbm": -95.0}
    rows = run({}, devices=devices(radio_energy=RADIO, power_control=control), radio=radio).devices
    air_s = 0.4 * rows["upload_s"] / 6  # six participants take turns
    asked_w = 10 ** ((-95.0 + 10 * np.log10(20e6 / 180e3) + rows["pathloss_db"]) / 10 - 3)
    sent_w = np.minimum(asked_w, DEVICE_W)
    assert rows["tx_energy_j"].to_numpy() == pytest.approx(((sent_w / 0.35 + 0.4) * air_s).to_numpy())


def test_the_tail_is_counted_until_it_ends_or_the_round_does():
    plain = run({}, devices=devices()).devices
    tailed = run({}, devices=devices(radio_energy=TAIL)).devices
    awake_s = np.minimum(plain["wait_s"], 0.004)
    assert 0 < (awake_s < 0.004).sum() < len(plain)
    more_j = (0.7 - IDLE_W) * awake_s
    assert tailed["idle_energy_j"].to_numpy() == pytest.approx((plain["idle_energy_j"] + more_j).to_numpy())
    rest = [column for column in plain if column != "idle_energy_j"]
    assert tailed[rest].equals(plain[rest])


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("policy", "sharing"),
    [
        ("synchronous", "fixed"),
        ("deadline", "fixed"),
        ("deadline", "processor"),
        ("buffered", "processor"),
        ("asynchronous", "processor"),
    ],
)
@pytest.mark.parametrize("capacity_j", [10.0, 0.02])
def test_batteries_pay_for_amplifier_circuit_and_tail(policy, sharing, capacity_j):
    """start - spent = level, also where a battery is empty in the middle of an upload or of the tail."""
    powered = devices(
        battery={"capacity_j": capacity_j},
        radio_energy={**RADIO, **TAIL},
        power_control={"kind": "open_loop", "p0_dbm": -80.0, "alpha": 0.95},
    )
    radio = {**BASE["radio"], "sharing": sharing}
    result = run(POLICIES[policy], devices=powered, radio=radio, rounds=10)
    spent_j = result.devices[ENERGY].to_numpy().sum()
    assert 20 * capacity_j - result.rounds["stored_j"].iloc[-1] == pytest.approx(spent_j, abs=NEAR_J)
    if capacity_j < 1 and policy != "asynchronous":  # in which few take part in ten aggregations
        assert result.rounds["depleted"].max() > 0
    if policy == "synchronous" and capacity_j < 1:
        cut = result.devices[result.devices["status"] == "departed"]
        assert (cut["upload_s"] > 0).any()


def test_groups_and_devices_have_separate_radios():
    groups = [
        {"name": "old", "count": 10, "radio_energy": {"pa_efficiency": 0.2}},
        {"name": "new", "count": 10},
    ]
    inherited = {"pa_efficiency": {"uniform": [0.4, 0.5]}}
    rows = run({"participants": 20}, devices=devices(groups=groups, radio_energy=inherited), rounds=1).devices
    efficiency = (DEVICE_W * rows["upload_s"] / rows["tx_energy_j"]).to_numpy()
    assert efficiency[:10] == pytest.approx(np.full(10, 0.2))
    assert (efficiency[10:] > 0.4 - 1e-9).all()
    assert (efficiency[10:] < 0.5 + 1e-9).all()
    assert len(set(efficiency[10:].round(9))) == 10


@pytest.mark.parametrize(
    ("section", "keys", "match"),
    [
        ("devices", {"radio_energy": {"drx_tail_s": 1.0}}, "devices.radio_energy.drx_tail_s: needs drx_tail_w, too"),
        ("cells", {"energy": {"static_w": 780.0, "slope": 0.5}}, "cells.energy.slope"),
    ],
)
def test_impossible_numbers_name_file_line_and_key(tmp_path, section, keys, match):
    file = written(tmp_path, {section: keys})
    text = fault_of(file)
    assert match in text
    assert f"{file}:" in text


# Base stations

EARTH = {"static_w": 112.0, "slope": 2.6}  # a micro base station with two antennas


def test_base_stations_draw_fixed_power_and_power_for_sending():
    """P_0 over the run, Delta_p times the power of each share over its download; devices' energy is as without."""
    plain = run({})
    result = run({}, cells={"energy": EARTH})
    rounds = result.rounds
    assert rounds["bs_static_energy_j"].to_numpy() == pytest.approx(112.0 * rounds["duration_s"].to_numpy())
    by_round = result.devices.groupby("round")["download_s"].sum().to_numpy()
    assert rounds["bs_load_energy_j"].to_numpy() == pytest.approx(2.6 * SERVER_W * by_round)
    assert result.devices.equals(plain.devices)
    assert rounds[list(plain.rounds)].equals(plain.rounds)
    total_j = rounds[["bs_static_energy_j", "bs_load_energy_j"]].to_numpy().sum()
    assert result.summary["bs_energy_j"] == pytest.approx(total_j)
    assert "bs_energy_j" not in plain.summary


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_total_power_is_sent_in_proportion_to_the_band_in_use(sharing):
    """Equal shares of one power: under fixed shares a share lasts as long as its download, else the band is full."""
    radio = {**BASE["radio"], "server_power": "total", "sharing": sharing, "tdd": {"downlink": 0.5, "uplink": 0.5}}
    result = run({}, cells={"energy": EARTH}, radio=radio, rounds=1)
    if sharing == "fixed":
        full_s = 0.5 * result.devices["download_s"].sum() / 6
    else:
        full_s = 0.5 * result.devices["download_s"].max()
    assert result.rounds["bs_load_energy_j"].item() == pytest.approx(2.6 * SERVER_W * full_s)


def test_a_broadcast_is_sent_once_in_each_cell():
    """Until the last of the cell's devices has received it."""
    radio = {**BASE["radio"], "downlink": "broadcast", "propagation": {"kind": "umi_los", "out_of_range": "clamp"}}
    cells = {"layout": "hexagonal", "sites": 7, "radius_m": 100, "energy": EARTH}
    result = run({"participants": 20}, cells=cells, radio=radio, rounds=2)
    longest_s = result.devices.groupby(["round", "cell"])["download_s"].max().groupby("round").sum().to_numpy()
    assert result.rounds["bs_load_energy_j"].to_numpy() == pytest.approx(2.6 * SERVER_W * longest_s)
    static_j = 7 * 112.0 * result.rounds["duration_s"].to_numpy()
    assert result.rounds["bs_static_energy_j"].to_numpy() == pytest.approx(static_j)


def test_broadcast_of_a_poll_is_counted_once():
    """A chosen device continues from the poll's download, which was sent to all candidates together."""
    radio = {**BASE["radio"], "downlink": "broadcast"}
    server = {"selection": {"kind": "power_of_choice", "d": 12}}
    result = run(server, train=True, cells={"energy": EARTH}, radio=radio, rounds=1)
    longest_s = result.devices["download_s"].max()
    assert (result.devices["status"] == "polled").sum() == 6
    assert result.rounds["bs_load_energy_j"].item() == pytest.approx(2.6 * SERVER_W * longest_s)


def test_transfers_that_the_end_of_the_run_cuts_off_are_counted():
    result = run(POLICIES["asynchronous"], cells={"energy": EARTH}, radio={**BASE["radio"], "sharing": "processor"})
    assert (result.devices["status"] == "unfinished").any()
    # A download under processor sharing begins with the next slot; the radio is on for the time from then on.
    sent = result.devices["rx_energy_j"].sum() / 0.3
    assert result.rounds["bs_load_energy_j"].sum() == pytest.approx(2.6 * SERVER_W * sent)


@pytest.mark.oracle
def test_energy_to_an_accuracy_counts_base_stations_apart():
    target = 0.2
    result = run({}, train=True, cells={"energy": EARTH}, rounds=12, targets=[target])
    found = result.summary["targets"][0]
    rounds = result.rounds
    until = rounds[rounds["round"] <= found["round"]]
    expected_j = until[["bs_static_energy_j", "bs_load_energy_j"]].to_numpy().sum()
    assert found["bs_energy_j"] == pytest.approx(expected_j)
    assert found["energy_j"] == pytest.approx(until["energy_j"].iloc[-1])


# Power by rate: W = a + b Mbit/s

BY_RATE = {"rx_j_per_mbit": 0.4, "tx_j_per_mbit": 1.5}
MBIT = 1e6


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_energy_is_power_times_time_and_joules_times_megabits(sharing):
    radio = {**BASE["radio"], "sharing": sharing}
    plain = run({}, devices=devices(radio_energy=RADIO), radio=radio)
    rated = run({}, devices=devices(radio_energy={**RADIO, **BY_RATE}), radio=radio)
    rows = plain.devices
    received_j = rows["rx_energy_j"] + 0.4 * 8 * rows["bytes_down"] / MBIT
    sent_j = rows["tx_energy_j"] + 1.5 * 8 * rows["bytes_up"] / MBIT
    assert rated.devices["rx_energy_j"].to_numpy() == pytest.approx(received_j.to_numpy())
    assert rated.devices["tx_energy_j"].to_numpy() == pytest.approx(sent_j.to_numpy())
    rest = [column for column in rows if column not in {"rx_energy_j", "tx_energy_j"}]
    assert rated.devices[rest].equals(rows[rest])
    total_j = rated.devices[ENERGY].to_numpy().sum()
    assert rated.rounds["energy_j"].iloc[-1] == pytest.approx(total_j)


def test_a_transfer_cut_short_costs_the_bits_that_it_has_carried():
    """At a deadline in the middle of uploads the energy of each row is that of its bytes."""
    server = {"policy": "deadline", "deadline_s": 0.05}
    plain = run(server, devices=devices()).devices
    rated = run(server, devices=devices(radio_energy=BY_RATE)).devices
    cut = (plain["status"] == "late") & plain["bytes_up"].between(1, plain["bytes_up"].max() - 1)
    assert cut.any()
    more_j = (rated["tx_energy_j"] - plain["tx_energy_j"])[cut]
    assert more_j.to_numpy() == pytest.approx((1.5 * 8 * plain["bytes_up"][cut] / MBIT).to_numpy(), rel=1e-3)


# Throughput, mean and standard deviation of W over the 51 seconds of a run, LTE uplink, and the line through seconds
# of all such runs: Narayanan et al., SIGCOMM 2021, SIGCOMM21-5G/artifact 35aaf28, Data-Transfer-Power/MN-Transfer.
MEASURED = [(5.1029, 3.1495, 0.4726), (10.2048, 3.604, 0.2443), (15.3081, 4.1391, 0.1627)]
LTE_UPLINK = {"circuit_w": 2.79153, "tx_j_per_mbit": 0.08524}


@pytest.mark.parametrize(("mbit_s", "mean_w", "std_w"), MEASURED)
def test_the_power_of_a_phone_that_sends_by_lte_is_as_measured(mbit_s, mean_w, std_w, tmp_path):
    """On a link of a recorded rate; the intercept has the amplifier in it, so the power sent is next to nothing."""
    trace = tmp_path / "rates.csv"
    rows = "".join(f"{device},0,50e6,{mbit_s}e6\n" for device in range(6))
    trace.write_text(f"device,time_s,downlink_bps,uplink_bps\n{rows}")
    keys = {**BASE["devices"], "count": 6, "tx_power_dbm": -100.0, "radio_energy": LTE_UPLINK}
    radio = {"trace": {"kind": "csv", "path": str(trace)}}
    sent = run({}, devices=keys, radio=radio, rounds=1).devices
    power_w = (sent["tx_energy_j"] / sent["upload_s"]).to_numpy()
    # A transfer ends with a slot, of which its last bits fill a part.
    assert power_w == pytest.approx(np.full(6, 2.79153 + 0.08524 * mbit_s), rel=1e-3)
    assert (abs(power_w - mean_w) < std_w).all()


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("policy", "sharing"),
    [("synchronous", "fixed"), ("deadline", "fixed"), ("deadline", "processor"), ("asynchronous", "processor")],
)
@pytest.mark.parametrize("capacity_j", [1000.0, 10.0])
def test_batteries_pay_for_bits(policy, sharing, capacity_j):
    """start - spent = level, also of batteries that run out: their reserve pays for the bits of the last transfer."""
    hardware = devices(battery={"capacity_j": capacity_j, "reserve": 0.3, "resume": 0.4}, radio_energy=BY_RATE)
    radio = {**BASE["radio"], "sharing": sharing}
    result = run(POLICIES[policy], devices=hardware, radio=radio, rounds=30)
    spent_j = result.devices[ENERGY].to_numpy().sum()
    assert 20 * capacity_j - result.rounds["stored_j"].iloc[-1] == pytest.approx(spent_j, abs=NEAR_J)
    if capacity_j < 100 and policy == "synchronous":
        assert result.rounds["depleted"].max() > 0


def test_missing_joules_of_bits_empty_the_battery():
    """At the end of the download; the update that would follow is lost."""
    hardware = devices(battery={"capacity_j": 0.1}, radio_energy=BY_RATE)
    rows = run({}, devices=hardware, rounds=1).devices
    assert (rows["status"] == "departed").all()
    assert (rows["battery_j"] == 0).all()
    assert (rows["download_s"] > 0).all()
    assert (rows["upload_s"] == 0).all()


def test_reports_on_channels_pay_for_their_bits():
    hardware = devices(battery={"capacity_j": 10.0})
    server = {"csi": {"kind": "perfect", "report_bits": 2000}, "selection": "best_channel"}
    plain = run(server, devices=hardware, rounds=3)
    rated = run(server, devices={**hardware, "radio_energy": {"tx_j_per_mbit": 1.5}}, rounds=3)
    assert len(rated.devices) > 0
    is_report = plain.devices["status"] == "reported"
    more_j = (rated.devices["tx_energy_j"] - plain.devices["tx_energy_j"])[is_report]
    assert more_j.to_numpy() == pytest.approx(np.full(is_report.sum(), 1.5 * 2000 / MBIT))
    spent_j = rated.devices[ENERGY].to_numpy().sum()
    assert 20 * 10.0 - rated.rounds["stored_j"].iloc[-1] == pytest.approx(spent_j, abs=NEAR_J)
