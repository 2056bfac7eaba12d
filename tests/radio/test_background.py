"""Other users of the band: queueing theory (M/G/1 under processor sharing, M/G/infinity), and their interference."""

import numpy as np
import pytest
import simpy
from radio_cases import DEVICE_W, NOISE_W_HZ, SERVER_W, STILL, path_gain
from scipy.stats import poisson

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.plugins import WrongReturn
from edgefl.core.streams import Streams
from edgefl.radio.background import Background, OtherUsers
from edgefl.radio.background.constant import ConstantLoad
from edgefl.radio.background.poisson import PoissonTransfers
from edgefl.radio.background.sessions import PoissonSessions
from edgefl.radio.link import Link
from edgefl.radio.messages import DOWNLOAD, UPLOAD, round_trip
from edgefl.scenario import load

LAWS = [{"law": "exponential"}, {"law": "fixed"}, {"law": "pareto", "shape": 2.2}]
CAPACITY_HZ = 1e6
BPS_HZ = 2.0
MEAN_BITS = 4e5
MEAN_S = MEAN_BITS / (CAPACITY_HZ * BPS_HZ)  # 0.2 alone on the band


def transfers_of_others(load=0.6, law=LAWS[0]):
    return PoissonTransfers(arrivals_per_s=load / MEAN_S, mean_bits=MEAN_BITS, bps_hz=BPS_HZ, **law)


def users_of(model, seed, way="down"):
    return model.users(way, CAPACITY_HZ, np.random.default_rng(seed))


def response_s(users, work_s, begin_s=0.0, transfers=1):
    """Time until one of `transfers` has been served for `work_s` seconds of the whole band."""
    now_s = begin_s
    users.advance(now_s, 0)
    while True:
        share = users.free_share(transfers) / transfers
        end_s = now_s + work_s / share
        change_s = users.next_change_s(transfers)
        if end_s <= change_s:
            return end_s - begin_s
        work_s -= (change_s - now_s) * share
        now_s = change_s
        users.advance(now_s, transfers)


def within(values, expected, errors=4.0):
    values = np.asarray(values)
    assert abs(values.mean() - expected) < errors * values.std(ddof=1) / np.sqrt(len(values))


# The queues by themselves


@pytest.mark.oracle
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law["law"])
@pytest.mark.parametrize("work_s", [0.05, 1.0])
def test_transfer_takes_x_over_one_minus_load_for_any_sizes(law, work_s):
    """The conditional response of M/G/1-PS from the first moment on: at time 0 the others are in equilibrium."""
    times_s = [response_s(users_of(transfers_of_others(0.6, law), seed), work_s) for seed in range(1500)]
    within(times_s, work_s / (1 - 0.6))


@pytest.mark.oracle
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law["law"])
def test_the_number_of_others_is_geometric_at_any_time(law):
    """Load / (1 - load) on average, at the beginning and later: equilibrium persists."""
    for time_s in (0.0, 3.7):
        counts = []
        for seed in range(1500):
            users = users_of(transfers_of_others(0.5, law), seed)
            users.advance(time_s, 0)
            counts.append(users.count)
        within(counts, 1.0)
        within(np.array(counts) > 0, 0.5)
        within(np.array(counts) == 2, 0.5**3)


@pytest.mark.parametrize("transfers", [1, 4])
def test_long_transfers_get_what_the_others_leave(transfers):
    """Work is conserved: the others carry their load, and the rest, 1 - load, belongs to the devices."""
    work_s = 400.0 / transfers
    took_s = response_s(users_of(transfers_of_others(0.6), 3), work_s, transfers=transfers)
    assert transfers * work_s / took_s == pytest.approx(0.4, rel=0.06)


@pytest.mark.oracle
def test_sojourn_times_follow_from_the_number_by_little():
    """Alone, with sizes that are all equal: E[S] / (1 - load)."""
    users = users_of(transfers_of_others(0.5, LAWS[1]), 5)
    now_s = 0.0
    area = 0.0
    while now_s < 30_000.0:
        next_s = users.next_change_s(0)
        area += users.count * (next_s - now_s)
        now_s = next_s
        users.advance(now_s, 0)
    arrivals_per_s = 0.5 / MEAN_S
    assert area / now_s / arrivals_per_s == pytest.approx(MEAN_S / (1 - 0.5), rel=0.04)


@pytest.mark.oracle
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law["law"])
def test_sessions_are_poisson_in_number_at_any_time(law):
    model = PoissonSessions(arrivals_per_s=0.3, mean_s=10.0, **law)
    for time_s in (0.0, 25.0):
        counts = []
        for seed in range(1500):
            users = users_of(model, seed)
            users.advance(time_s, 2)
            counts.append(users.count)
        within(counts, 3.0)
        for number in (0, 3, 6):
            within(np.array(counts) == number, poisson.pmf(number, 3.0))


def test_how_often_time_is_looked_at_changes_nothing():
    for model in (transfers_of_others(), PoissonSessions(arrivals_per_s=0.3, mean_s=10.0)):
        once = users_of(model, 1)
        often = users_of(model, 1)
        once.advance(30.0, 2)
        for time_s in np.arange(0.0, 30.001, 0.01):
            often.advance(float(time_s), 2)
        assert once.count == often.count
        assert once.next_change_s(2) == pytest.approx(often.next_change_s(2), abs=1e-9)


def test_directions_may_differ():
    model = transfers_of_others(0.6).model_copy(update={"uplink": 0.25})
    assert model.mean_load("down", CAPACITY_HZ) == pytest.approx(0.6)
    assert model.mean_load("up", CAPACITY_HZ) == pytest.approx(0.15)
    silent = model.model_copy(update={"uplink": 0.0})
    users = users_of(silent, 1, "up")
    users.advance(1e3, 3)
    assert users.count == 0
    assert users.next_change_s(1) == np.inf
    assert users.free_share(5) == 1.0


# On the band


BAND_HZ = 1e6
SNR = SERVER_W * path_gain(100.0) / NOISE_W_HZ / BAND_HZ
BPS = BAND_HZ * np.log2(1 + SNR)  # of a device alone in the downlink, whose power is spread over the band


def link(background, cells=None, seed=1, **radio):
    keys = {**STILL, "bandwidth_hz": BAND_HZ, "server_power": "total", "background": background, **radio}
    scenario = load({"radio": keys, "cells": cells or {}})
    return Link(radio=scenario.radio, cells=scenario.cells, streams=Streams(seed))


def durations_s(of, ids, bits, distance_m=100.0, way=DOWNLOAD, begin_s=0.0):
    """Transfers of devices that all begin together."""
    env = simpy.Environment()
    count = len(ids)
    positions_m = np.stack([np.broadcast_to(distance_m, count), np.zeros(count)], axis=-1)
    at = of.drop(np.asarray(ids), positions_m, np.full(count, 1.5), 0)
    who = of.participants(at, np.full(count, 1.0), np.full(count, DEVICE_W), 0)
    carrier = of.open(env, who, round_trip(count, bits, bits, lambda _: np.zeros(count)))
    found = {}

    def device(row):
        yield env.timeout(begin_s)
        found[row] = (yield from carrier.send(row, way)).duration_s

    env.run(env.all_of([env.process(device(row)) for row in range(count)]))
    return np.array([found[row] for row in range(count)])


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("radio", [{}, {"allocation": "round_robin"}, {"downlink": "broadcast"}], ids=str)
def test_a_constant_load_takes_its_part(sharing, radio):
    if sharing == "processor" and "downlink" in radio:
        return  # a broadcast is not shared
    bits = 4 * BPS  # four seconds alone
    parts = 1 if "downlink" in radio else 2
    took_s = durations_s(link({"kind": "constant", "load": 0.75}, sharing=sharing, **radio), [1, 2], bits)
    assert took_s == pytest.approx(np.full(2, 4.0 * parts / 0.25), abs=0.001)


def test_the_mean_load_of_transfers_is_taken_from_fixed_shares():
    background = {"kind": "poisson", "arrivals_per_s": 2.0, "mean_bits": 1e5, "bps_hz": 0.5}  # 0.4 of the band
    assert durations_s(link(background), [1], BPS) == pytest.approx([1 / 0.6], abs=0.001)


@pytest.mark.oracle
def test_the_band_follows_the_other_users():
    """Each transfer's duration is the sum over the pieces between two changes, up to slots."""
    background = {"kind": "poisson", "arrivals_per_s": 3.0, "mean_bits": 1e5, "bps_hz": 0.5}
    for seed in range(20):
        of = link(background, seed=seed, sharing="processor")
        alone = of.radio.background.users("down", BAND_HZ, Streams(seed).sequence("background_down", 0, 0))
        (took_s,) = durations_s(of, [1], BPS, begin_s=1.0)
        assert took_s == pytest.approx(response_s(alone, 1.0, begin_s=1.0), abs=0.02)


@pytest.mark.oracle
@pytest.mark.parametrize("transfer", ["slots", pytest.param("fast", marks=pytest.mark.slow)])
def test_a_download_takes_x_over_one_minus_load_in_a_run(transfer):
    """Through the whole emulator, with fading: the mean time over seeds is that of the channel alone, over 1 - load."""
    background = {"kind": "poisson", "arrivals_per_s": 1.5, "mean_bits": 1e5, "bps_hz": 0.5, "law": "fixed"}
    keys = {"fading": "rayleigh", "sharing": "processor", "transfer": transfer}
    times_s = [durations_s(link(background, seed=seed, **keys), [1], BPS)[0] for seed in range(120)]
    alone_s = [durations_s(link(None, seed=seed, **keys), [1], BPS)[0] for seed in range(20)]
    within(times_s, np.mean(alone_s) / 0.7)


def test_whole_blocks_are_shared_with_other_users():
    """Two devices and two others get six of 24 blocks each."""
    of = link(
        {"kind": "sessions", "arrivals_per_s": 1e-9, "mean_s": 1.0},
        bandwidth_hz=5e6,
        subcarrier_spacing_hz=15e3,
        slot_s=1e-3,
        sharing="processor",
    )
    resources = of.pricing.budget.resources
    shares = resources.divide(
        np.ones(2), np.ones(2), of.pricing.budget.efficiency, way="up", spread=True, free_share=0.5, others=2.0
    )
    block_hz = resources.band_hz / resources.blocks
    assert resources.blocks == 25
    assert sorted((shares.bandwidth_hz / block_hz).round(9)) in ([6, 6], [6, 7])
    taken = durations_s(of, [1, 2], 1e6)
    assert taken == pytest.approx(durations_s(link(None, bandwidth_hz=5e6, subcarrier_spacing_hz=15e3, slot_s=1e-3,
                                                  sharing="processor"), [1, 2], 1e6))  # fmt: skip


# Interference


SEVEN = {"layout": "hexagonal", "sites": 7, "radius_m": 250}
CLAMPED = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}


def test_base_stations_that_serve_others_interfere():
    """Downlink: six neighbours send for 0.5 of the time, also where no device takes part."""
    of = link({"kind": "constant", "load": 0.5}, SEVEN, interference={}, **CLAMPED)
    took_s = durations_s(of, [1], BPS)
    at = of.drop(np.array([1]), np.array([[100.0, 0.0]]), np.full(1, 1.5), 0)
    interference_w = 0.5 * SERVER_W * at.all_gains[0, 1:].sum()
    sinr = SERVER_W * at.path_gain[0] / (NOISE_W_HZ * BAND_HZ + interference_w)
    assert took_s == pytest.approx(BPS / (0.5 * BAND_HZ * np.log2(1 + sinr)), abs=0.001)


def test_users_of_other_cells_interfere_in_the_uplink():
    """The base station receives them from places all over their cells."""
    of = link({"kind": "constant", "load": 0.5, "tx_power_dbm": 20.0}, SEVEN, interference={}, **CLAMPED)
    at = of.drop(np.array([1]), np.array([[100.0, 0.0]]), np.full(1, 1.5), 0)
    received_w = of.pricing.traffic.mean_others("up").received_w
    assert (np.diag(received_w) > received_w.sum(axis=0) - np.diag(received_w)).all()  # its own users are nearest
    generator = np.random.default_rng(1)
    # Another draw of places, by the free choice of hexagons: all that a base station serves in line of sight.
    points = generator.uniform(-700, 700, (20_000, 2))
    gains = of.channel.paths(np.arange(20_000), points, np.full(20_000, 1.5), 0).gains
    inside = np.hypot(*points.T) < of.channel.cells.coverage_m
    serving = gains.argmax(axis=1)
    expected = np.array([gains[inside & (serving == cell), 0].mean() for cell in range(1, 7)]) * 0.1
    assert received_w[1:, 0].sum() == pytest.approx(expected.sum(), rel=0.15)
    took_s = durations_s(of, [1], BPS / 10, way=UPLOAD)
    interference_w = 0.5 * received_w[1:, 0].sum()
    sinr = DEVICE_W * at.path_gain[0] / ((NOISE_W_HZ * BAND_HZ + interference_w) * 0.5)
    assert took_s == pytest.approx(BPS / 10 / (0.5 * BAND_HZ * np.log2(1 + sinr)), abs=0.001)


# Runs


RUN = {
    "rounds": 2,
    "devices": {"count": 20},
    "server": {"participants": 5},
    "radio": {"bandwidth_hz": 5e6, "sharing": "processor"},
}


def run(background, **radio):
    keys = {**RUN, "radio": {**RUN["radio"], "background": background, **radio}}
    return edgefl.run(keys, train=False, device="cpu")


class Shower(Background):
    """Every second second, other users take half of the band; or, wrongly, all of it."""

    taken: float = 0.5

    def mean_load(self, way, capacity_hz):
        """Return half of the time's half."""
        return self.taken / 2

    def users(self, way, capacity_hz, generator):
        """Return users by the clock."""
        return _Showers(self.taken)


class _Showers(OtherUsers):
    def __init__(self, taken):
        self.taken = taken
        self.second = 0

    @property
    def count(self):
        return float(self.second % 2)

    def advance(self, time_s, transfers):
        self.second = int(time_s + 1e-6)

    def next_change_s(self, transfers):
        return self.second + 1.0

    def free_share(self, transfers):
        return 1.0 - self.taken * self.count


def test_traffic_from_outside():
    """A second alone on the band, then half of it for a second, and so on: four seconds of work take five."""
    (took_s,) = durations_s(link({"kind": Shower}, sharing="processor"), [1], 4 * BPS)
    assert took_s == pytest.approx(5.0, abs=0.002)
    (fixed_s,) = durations_s(link({"kind": Shower}), [1], 4 * BPS)
    assert fixed_s == pytest.approx(4 / 0.75, abs=0.002)
    with pytest.raises(WrongReturn, match=r"_Showers.free_share returned 0.0, must return the share of the band"):
        durations_s(link({"kind": Shower, "taken": 1.0}, sharing="processor"), [1], 4 * BPS)


# Refusals


FULL = {"kind": "poisson", "arrivals_per_s": 1, "mean_bits": 2e6, "bps_hz": 2}  # of 1 MHz


@pytest.mark.parametrize(
    ("radio", "text"),
    [
        ({"background": {"kind": "constant", "load": 0.6, "uplink": 2.0}}, r"fills 1.2 of the uplink, must be less"),
        (
            {"bandwidth_hz": 1e6, "background": FULL},
            r"radio.background: fills 1 of the downlink, must be less than 1",
        ),
        ({"background": {"kind": "sessions", "arrivals_per_s": 1, "mean_s": 2}}, r"radio.sharing: the number of users"),
        (
            {"sharing": "processor", "background": {"kind": "sessions", "arrivals_per_s": 1, "mean_s": 2, "shape": 2}},
            r"radio.background.shape: is for the law pareto",
        ),
    ],
)  # fmt: skip
def test_traffic_that_cannot_be(radio, text):
    with pytest.raises(InputError, match=text):
        load({"radio": radio})


def test_no_background_means_no_users():
    assert users_of(ConstantLoad(load=0.0), 1).free_share(3) == 1.0
