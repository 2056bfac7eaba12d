"""Sequential learning over direct links: the walk's time and bits in closed form, chains that break, the channel."""

import numpy as np
import pytest
import simpy
from radio_cases import DEVICE_W, NOISE_W_HZ, SERVER_W, SLOT_S, STILL, drop, link, still_slots
from server_cases import BAND_HZ, BASE, BITS, FLOPS, assert_same, check_books_of_a_walk, cpu_hz, locally, run

import edgefl
from edgefl.core.streams import Streams
from edgefl.radio.messages import DOWNLOAD, UPLOAD, round_trip
from edgefl.radio.sidelink import DirectLinks, Peer, path_between

DIRECT = {"policy": {"kind": "sequential", "links": "device_to_device"}}
RELAYED = {"policy": "sequential"}
FADING = {"bandwidth_hz": BAND_HZ}


def loss_db(distance_m, los):
    """3GPP TR 37.885, Table 6.2.1-1, urban, at 3.5 GHz."""
    log_d = np.log10(distance_m)
    log_f = np.log10(3.5)
    if los:
        return 38.77 + 16.7 * log_d + 18.2 * log_f
    return 36.85 + 30.0 * log_d + 18.9 * log_f


def in_order(result, number):
    """Return a round's rows in the order in which devices end their parts."""
    devices = result.devices[result.devices["round"] == number]
    return devices.sort_values("wait_s", ascending=False).reset_index(drop=True)


def link_s(bits, power_w, pathloss_db):
    received_w = power_w * 10 ** (-pathloss_db / 10)
    return still_slots(bits, BAND_HZ, received_w / NOISE_W_HZ / BAND_HZ) * SLOT_S


def hops_s(rows, number, seed=2):
    """Return the seconds each device needs to hand the model on to the next, in closed form on a channel that holds."""
    place = rows[["x_m", "y_m"]].to_numpy()
    times = []
    for j in range(len(rows) - 1):
        away = np.linalg.norm(place[j] - place[j + 1])
        u = Streams(seed).uniform("direct_los", rows["device"][j], number - 1)
        los = u < min(1.0, 1.05 * np.exp(-0.0114 * away))
        times.append(link_s(BITS, DEVICE_W, loss_db(away, los)))
    return times


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_round_lasts_the_sum_over_all_links_and_trainings(sharing):
    """Server to first, device to device, last to server; under processor sharing each from a slot boundary."""
    result = run(DIRECT, radio={**BASE["radio"], "sharing": sharing})
    clocks = cpu_hz(result)
    border_s = SLOT_S if sharing == "processor" else 1e-9
    for number in range(1, 5):
        rows = in_order(result, number)
        first_s = link_s(BITS, SERVER_W, rows["pathloss_db"].iloc[0])
        last_s = link_s(BITS, DEVICE_W, rows["pathloss_db"].iloc[-1])
        uploads_s = np.array([*hops_s(rows, number), last_s])
        computing_s = FLOPS / clocks[rows["device"]]
        assert (np.abs(rows["upload_s"] - uploads_s - border_s / 2) <= border_s / 2 + 1e-9).all()
        assert rows["download_s"].tolist() == pytest.approx([first_s, *rows["upload_s"][:-1]])
        assert rows["compute_s"].tolist() == pytest.approx(computing_s)
        whole_s = first_s + rows["upload_s"].sum() + computing_s.sum()
        assert result.rounds["duration_s"][number - 1] == pytest.approx(whole_s)
        assert rows["rx_energy_j"].tolist() == pytest.approx((0.3 * rows["download_s"]).tolist(), abs=0.3 * border_s)
        assert rows["tx_energy_j"].tolist() == pytest.approx(DEVICE_W * uploads_s)
    check_books_of_a_walk(result)


def test_p_plus_one_transfers_of_a_model():
    """P that are sent by devices and P that are received, P - 1 of them the same."""
    result = run(DIRECT)
    assert (result.devices[["bytes_down", "bytes_up"]] == BITS // 8).all(axis=None)
    assert result.rounds["bytes_down"].tolist() == result.rounds["bytes_up"].tolist() == [6 * BITS // 8] * 4
    sent = result.events["kind"].isin(["upload_end"]).sum() + len(result.rounds)  # a device's, and the server's
    assert sent == 4 * (6 + 1)


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("participants", [1, 6])
def test_direct_links_do_not_change_learning(participants, sharing):
    """A single participant has no peer: bit by bit as relayed. More learn the same in another time."""
    keys = {"train": True, "rounds": 3, "radio": {**FADING, "sharing": sharing}}
    direct = run({**DIRECT, "participants": participants}, **keys)
    relayed = run({**RELAYED, "participants": participants}, **keys)
    if participants == 1:
        assert_same(direct, relayed)
        return
    assert np.array_equal(direct.parameters, relayed.parameters)
    learned = ["train_loss", "test_loss", "test_accuracy"]
    assert direct.rounds[learned].equals(relayed.rounds[learned])
    assert not np.isclose(direct.rounds["duration_s"], relayed.rounds["duration_s"]).any()


# Chains that break


FUNCTIONS = [(0.5, 1.0), (1.0, -2.0), (0.25, 0.5), (0.5, -1.0), (0.75, 2.0)]


def broken(sharing):
    return edgefl.run({
        "seed": 3,
        "rounds": 8,
        "data": {"dataset": "quadratic", "coefficients": [[a, b, 0] for a, b in FUNCTIONS]},
        "model": {"cost": {"parameters": PARAMETERS, "flops_per_parameter": 5.0}},
        "training": {"local_steps": 2, "batch_size": "full", "lr": 0.1, "engine": "serial"},
        "server": {**DIRECT, "selection": {"kind": "schedule", "rounds": [ORDER]}},
        "devices": {"cpu_hz": 1e7},
        "radio": {**STILL, "bandwidth_hz": BAND_HZ, "sharing": sharing, "faults": {"failure_probability": 0.3}},
    }, device="cpu")  # fmt: skip


ORDER = [3, 0, 4, 1, 2]
PARAMETERS = 20_000


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_device_after_a_failed_link_downloads_from_the_base_station(sharing):
    """Failed transfers cost both ends; the model continues from the last device that has passed it on."""
    result = broken(sharing)
    x = 0.0
    seen = set()
    for number in range(1, 9):
        rows = result.devices[result.devices["round"] == number].set_index("device").loc[ORDER]
        before = None
        for device, row in rows.iterrows():
            handed = before is not None and before["bytes_up"] > 0
            got = handed and before["status"] == "received"
            assert row["bytes_down"] == BITS // 8 * (handed + (not got))
            asked_s = 0.0 if got else link_s(BITS, SERVER_W, row["pathloss_db"])
            handed_s = before["upload_s"] if handed else 0.0
            assert row["download_s"] == pytest.approx(handed_s + asked_s, abs=SLOT_S)
            assert not (got and row["status"] == "download_failed")
            assert row["bytes_up"] == BITS // 8 * (row["status"] != "download_failed")
            if row["status"] == "received":
                x = locally(x, *FUNCTIONS[device], steps=2, lr=0.1)
            seen.add((handed, got, row["status"]))
            before = row
        assert result.rounds["parameter"][number - 1] == pytest.approx(x, rel=1e-12)
    assert len(seen) == 3 * 3 - 1  # all cases: received directly, failed, not sent; and the next link
    check_books_of_a_walk(result)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_cut_direct_link_counts_at_both_ends(sharing):
    of = link(**STILL, sharing=sharing)
    env = simpy.Environment()
    links = DirectLinks(of)
    found = []

    def opened(device, peer):
        speed = np.array([10.0])
        power = np.array([DEVICE_W])
        messages = round_trip(1, 1e6, 1e9, np.zeros_like)
        return links.open(env, drop(of, [device]), speed, power, messages, 0, peer)

    def part(device, peer):
        carrier = opened(device, peer)
        found.append((yield from carrier.send(0, DOWNLOAD)))
        found.append((yield from carrier.send(0, UPLOAD)))

    def cut():
        sender = env.process(part(1, Peer(np.array([50.0]), np.array([10.0]))))
        yield env.timeout(0.1)
        sender.interrupt("late")
        yield sender
        found.append((yield from opened(2, None).send(0, DOWNLOAD)))

    env.run(env.process(cut()))
    got, sent, after = found
    assert (sent.delivered, sent.cut) == (False, "late")
    assert 0 < sent.sent_bits < 1e9
    assert (after.delivered, after.cut) == (True, "")
    assert after.sent_bits == sent.sent_bits + 1e6
    assert after.duration_s == pytest.approx(sent.duration_s + got.duration_s, abs=SLOT_S)


# The channel between two devices


def test_the_path_between_devices():
    """Line of sight as often as it should be, its own shadowing, K in line of sight."""
    of = link(fading="ricean", propagation="umi")
    count = 4000
    ids = np.arange(count)
    distance_m = np.resize([0.2, 20.0, 100.0], count)
    path = path_between(of.channel, drop(of, ids), distance_m, 5)
    for at, probability in ((0.2, 1.0), (20.0, 1.05 * np.exp(-0.228)), (100.0, 1.05 * np.exp(-1.14))):
        assert path.los[distance_m == at].mean() == pytest.approx(probability, abs=4 * np.sqrt(0.25 / (count / 3)))
    expected = [loss_db(max(d, 1.0), los) for d, los in zip(distance_m, path.los, strict=True)]
    assert path.pathloss_db == pytest.approx(expected)
    assert -10 * np.log10(path.path_gain) == pytest.approx(path.pathloss_db + path.shadowing_db)
    for los, deviation in ((True, 3.0), (False, 4.0)):
        of_these = path.shadowing_db[path.los == los]
        assert of_these.std() == pytest.approx(deviation, rel=4 / np.sqrt(2 * len(of_these)))
        assert of_these.mean() == pytest.approx(0, abs=4 * deviation / np.sqrt(len(of_these)))
    assert (path.k_factor > 0).tolist() == path.los.tolist()
    assert not (path_between(link(**STILL).channel, drop(of, ids), distance_m, 5).shadowing_db).any()


@pytest.mark.oracle
def test_direct_link_differs_from_the_download():
    """Devices at rest: one gain for all of a transfer, and another one for the next link."""
    result = edgefl.run(
        {
            **BASE,
            "rounds": 30,
            "mobility": {"kind": "static", "speed_mps": 0.0},
            "server": {"participants": 2, **DIRECT},
            "devices": {**BASE["devices"], "cpu_hz": 1e9},
            "radio": {"bandwidth_hz": BAND_HZ, "shadowing_db": 0.0},
        },
        train=False,
    )
    rows = [in_order(result, number) for number in range(1, 31)]
    down = [row["download_s"][0] / link_s(BITS, SERVER_W, row["pathloss_db"][0]) for row in rows]
    up = [row["upload_s"][0] / hops_s(row, 1 + i)[0] for i, row in enumerate(rows)]
    assert abs(np.corrcoef(np.log(down), np.log(up))[0, 1]) < 0.6  # 30 rounds of equal gains: above 0.9


def test_both_ends_movements_count():
    """Two at 10 m/s fade like one at 14.1 m/s, whichever is the faster one."""
    durations = []
    for mine, its in ((10.0, 10.0), (np.sqrt(200.0), 0.0), (10.0, 0.0)):
        of = link(bandwidth_hz=1e6, shadowing_db=0.0)
        env = simpy.Environment()
        speed = np.array([mine])
        power = np.array([DEVICE_W])
        messages = round_trip(1, 0.0, 1e6, np.zeros_like)
        peer = Peer(np.array([100.0]), np.array([its]))
        carrier = DirectLinks(of).open(env, drop(of, [1]), speed, power, messages, 0, peer)
        process = env.process(carrier.send(0, UPLOAD))
        env.run(process)
        durations.append(process.value.duration_s)
    assert durations[0] == durations[1] != durations[2]
