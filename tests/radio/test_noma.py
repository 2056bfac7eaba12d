"""`radio.uplink: noma` through the emulator: closed forms, books, limits, and no dependence on an order of events."""

import math

import numpy as np
import pytest
from radio_cases import DEVICE_W, NOISE_W_HZ, SLOT_S, STILL, link, snr_hz, transfers

import channel
import edgefl
from edgefl.core.errors import InputError
from edgefl.radio.budget.link_budget import OtherTransmitters
from edgefl.radio.budget.shares import divide_bands
from edgefl.radio.multiple_access.noma import Noma
from edgefl.scenario import load
from edgefl.world.control import Control

BAND_HZ = 5e6
NOMA = {"kind": "noma"}
PAIRS = {"kind": "noma", "users_per_group": 2}
PRICED = {
    "rounds": 2,
    "model": {"kind": "logistic", "cost": {"parameters": 300_000, "flops_per_parameter": 6.5}},
    "devices": {"count": 9},
    "server": {"participants": 6},
    "radio": {"bandwidth_hz": BAND_HZ, "uplink": NOMA},
}


def divided(gains, cell=None, payload_bits=None, devices=None, all_gains=None, others=None, **radio):
    """The shares of uploads over given path gains at full power."""
    count = len(gains)
    cells = 1 if all_gains is None else np.shape(all_gains)[1]
    layout = {} if cells == 1 else {"layout": "listed", "positions_m": [[200.0 * k, 0.0] for k in range(cells)]}
    propagation = {"kind": "umi_los", "out_of_range": "clamp"}
    budget = link(layout, bandwidth_hz=BAND_HZ, propagation=propagation, **radio).pricing.budget
    return divide_bands(
        budget,
        "up",
        devices=np.arange(count) if devices is None else np.asarray(devices),
        cell=np.zeros(count, dtype=np.int64) if cell is None else np.asarray(cell),
        path_gain=np.asarray(gains),
        all_gains=np.asarray(gains)[:, None] if all_gains is None else np.asarray(all_gains),
        tx_power_w=np.full(count, DEVICE_W),
        payload_bits=np.full(count, 1e6) if payload_bits is None else np.asarray(payload_bits),
        others=others,
    )


def some_gains(count, seed=4):
    return 10 ** np.random.default_rng(seed).uniform(-13, -8, count)


def test_rates_of_a_cell_add_up_to_its_sum_capacity():
    gains = some_gains(7)
    shares = divided(gains, uplink=NOMA)
    assert (shares.bandwidth_hz == BAND_HZ).all()
    assert (shares.air == 1).all()
    total = BAND_HZ * math.log2(1 + DEVICE_W * gains.sum() / (NOISE_W_HZ * BAND_HZ))
    assert (BAND_HZ * np.log2(1 + shares.mean_snr)).sum() == pytest.approx(total, rel=1e-12)
    # Equal shares of the band carry less, as long as powers differ.
    apart = divided(gains)
    assert (apart.bandwidth_hz * np.log2(1 + apart.mean_snr)).sum() < total


@pytest.mark.parametrize("residual", [0.0, 0.02, 1.0])
def test_interference_in_runs_matches_channel_noma(residual):
    gains = some_gains(6)
    shares = divided(gains, uplink={**NOMA, "residual": residual})
    expected = channel.noma.sinr(DEVICE_W * gains, NOISE_W_HZ * BAND_HZ, residual)
    np.testing.assert_allclose(shares.mean_snr, expected, rtol=1e-12)


def test_empty_upload_does_not_interfere():
    gains = some_gains(4)
    silent = divided(gains, payload_bits=[1e6, 0.0, 1e6, 1e6], uplink=NOMA)
    without = divided(gains[[0, 2, 3]], devices=[0, 2, 3], uplink=NOMA)
    np.testing.assert_array_equal(silent.mean_snr[[0, 2, 3]], without.mean_snr)


@pytest.mark.parametrize("uplink", [NOMA, {**NOMA, "residual": 0.1}, PAIRS, {"kind": "noma", "users_per_group": 3}])
@pytest.mark.parametrize(
    "allocation", ["equal", "proportional", "min_makespan", "proportional_fair", "max_rate", "round_robin"]
)
def test_result_does_not_depend_on_the_order_of_transfers(uplink, allocation):
    gains = some_gains(7)
    gains[3] = gains[5]  # equal ones go by their numbers
    payload_bits = 1e6 * np.random.default_rng(8).uniform(0.1, 9.0, 7)  # sums depend on their order in the last digit
    shares = divided(gains, payload_bits=payload_bits, uplink=uplink, allocation=allocation)
    for seed in range(5):
        turned = np.random.default_rng(seed).permutation(7)
        again = divided(
            gains[turned], payload_bits=payload_bits[turned], devices=turned, uplink=uplink, allocation=allocation
        )
        for name in shares._fields:
            np.testing.assert_array_equal(getattr(again, name), getattr(shares, name)[turned], err_msg=name)


def test_groups_divide_the_band_and_their_members_overlap():
    gains = np.array([8e-10, 1e-10, 4e-10, 2e-10])  # by strength: 0, 2, 3, 1
    payload_bits = np.array([1e6, 5e6, 2e6, 4e6])
    shares = divided(gains, payload_bits=payload_bits, uplink=PAIRS, allocation="proportional")
    np.testing.assert_allclose(shares.bandwidth_hz, BAND_HZ * np.array([0.5, 0.5, 0.5, 0.5]))
    for pair in ([0, 1], [2, 3]):
        expected = channel.noma.sinr(DEVICE_W * gains[pair], NOISE_W_HZ * BAND_HZ / 2)
        np.testing.assert_allclose(shares.mean_snr[pair], expected, rtol=1e-12)
    # A pair with twice the bits has twice the band.
    payload_bits = np.array([1e6, 3e6, 3e6, 5e6])
    shares = divided(gains, payload_bits=payload_bits, uplink=PAIRS, allocation="proportional")
    np.testing.assert_allclose(shares.bandwidth_hz, BAND_HZ * np.array([1, 1, 2, 2]) / 3)


def test_groups_in_turn_and_groups_of_blocks():
    gains = some_gains(5)
    shares = divided(gains, uplink=PAIRS, allocation="round_robin")
    np.testing.assert_allclose(shares.air, 1 / 3)
    assert (shares.bandwidth_hz == BAND_HZ).all()
    of_blocks = divided(gains, uplink=PAIRS, subcarrier_spacing_hz=15e3, slot_s=0.001)
    blocks = of_blocks.bandwidth_hz / 180e3
    np.testing.assert_allclose(blocks, blocks.round(), atol=1e-9)
    by_group = {}
    for group, share in zip(channel.noma.strong_with_weak(gains, 2).tolist(), blocks.tolist(), strict=True):
        assert by_group.setdefault(group, share) == share
    assert sum(by_group.values()) == pytest.approx(25)  # TS 38.101-1, Table 5.3.2-1: 5 MHz at 15 kHz


def test_other_users_have_their_part_and_do_not_overlap():
    gains = some_gains(3)
    others = OtherTransmitters(np.array([2.0]), np.array([0.6]), np.zeros((1, 1)))
    shares = divided(gains, uplink=NOMA, others=others)
    np.testing.assert_allclose(shares.bandwidth_hz, 0.6 * BAND_HZ)
    expected = channel.noma.sinr(DEVICE_W * gains, NOISE_W_HZ * 0.6 * BAND_HZ)
    np.testing.assert_allclose(shares.mean_snr, expected, rtol=1e-12)


@pytest.mark.parametrize("allocation", ["equal", "round_robin"])
def test_other_cells_are_noise_without_overlap(allocation):
    all_gains = np.array([[8e-10, 2e-11], [1e-10, 3e-11], [5e-11, 6e-10], [4e-11, 9e-11]])
    cell = [0, 0, 1, 1]
    gains = all_gains[np.arange(4), cell]
    shares = divided(gains, cell=cell, all_gains=all_gains, uplink=NOMA, interference={}, allocation=allocation)
    from_elsewhere_w = [DEVICE_W * all_gains[2:, 0].sum(), DEVICE_W * all_gains[:2, 1].sum()]
    for rows, other_w in (([0, 1], from_elsewhere_w[0]), ([2, 3], from_elsewhere_w[1])):
        expected = channel.noma.sinr(DEVICE_W * gains[rows], NOISE_W_HZ * BAND_HZ + other_w)
        np.testing.assert_allclose(shares.mean_snr[rows], expected, rtol=1e-12)


def test_pairs_in_turn_interfere_one_pair_at_a_time():
    all_gains = np.column_stack([some_gains(5, 1), some_gains(5, 2)])
    cell = [0, 1, 1, 1, 1]
    gains = all_gains[np.arange(5), cell]
    shares = divided(gains, cell=cell, all_gains=all_gains, uplink=PAIRS, interference={}, allocation="round_robin")
    other_w = DEVICE_W * all_gains[1:, 0].sum() / 2  # each of two pairs is on the air half of the time
    assert shares.mean_snr[0] == pytest.approx(DEVICE_W * gains[0] / (NOISE_W_HZ * BAND_HZ + other_w), rel=1e-12)


DISTANCES_M = [60.0, 150.0, 40.0, 100.0]


def powers_hz(distances_m=DISTANCES_M):
    """Received powers over the density of noise."""
    return [snr_hz(DEVICE_W, distance_m) for distance_m in distances_m]


def rates_bps(at_hz, sending):
    """Return the rates of senders by a plain loop: the weaker interfere with the stronger."""
    found = {}
    for k in sending:
        weaker = math.fsum(at_hz[j] for j in sending if at_hz[j] < at_hz[k])
        found[k] = BAND_HZ * math.log2(1 + at_hz[k] / (BAND_HZ + weaker))
    return found


def test_overlap_holds_for_the_round_on_fixed_shares():
    bits = 2e7
    at = link(uplink=NOMA, bandwidth_hz=BAND_HZ, **STILL)
    _, up = transfers(at, list(range(4)), bits, distance_m=np.array(DISTANCES_M), speed_mps=0.0)
    expected = rates_bps(powers_hz(), range(4))
    for k in range(4):
        assert up.duration_s[k] == pytest.approx(math.ceil(bits / (expected[k] * SLOT_S)) * SLOT_S)
    assert (up.sent_bits == bits).all()
    np.testing.assert_array_equal(up.air_s, up.duration_s)
    np.testing.assert_array_equal(up.full_power_s, up.duration_s)


def test_ended_upload_does_not_interfere_on_a_shared_band():
    """Against a second implementation of the race: all rates change whenever an upload begins or ends."""
    bits = 2e7
    at = link(uplink=NOMA, bandwidth_hz=BAND_HZ, sharing="processor", downlink="unicast", **STILL)
    down, up = transfers(at, list(range(4)), bits, distance_m=np.array(DISTANCES_M), speed_mps=0.0, compute_s=1.0)
    begins = {k: round((down.duration_s[k] + 1.0) / SLOT_S) for k in range(4)}  # downloads end at different times
    left = dict.fromkeys(range(4), bits)
    ends = {}
    at_hz = powers_hz()
    slot = min(begins.values())
    while left:
        sending = [k for k in left if begins[k] <= slot]
        coming = [begins[k] for k in left if begins[k] > slot]
        if not sending:
            slot = min(coming)
            continue
        rates = rates_bps(at_hz, sending)
        needs = {k: math.ceil(left[k] / (rates[k] * SLOT_S) - 1e-9) for k in sending}
        count = min([*needs.values(), *(begin - slot for begin in coming)])
        slot += count
        for k in sending:
            left[k] -= count * rates[k] * SLOT_S
            if needs[k] == count:
                ends[k] = slot
                del left[k]
    for k in range(4):
        assert up.duration_s[k] == pytest.approx((ends[k] - begins[k]) * SLOT_S, abs=1.1 * SLOT_S)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_single_upload_equals_the_orthogonal_one(sharing, transfer):
    alone = {**PRICED, "server": {"participants": 1}}
    runs = []
    for uplink in ("orthogonal", NOMA, PAIRS, {**NOMA, "residual": 1.0}):
        radio = {"bandwidth_hz": BAND_HZ, "sharing": sharing, "transfer": transfer, "uplink": uplink}
        runs.append(edgefl.run({**alone, "radio": radio}, train=False))
    for other in runs[1:]:
        assert other.devices.equals(runs[0].devices)
        # Uploads that overlap have no load.
        assert other.rounds.equals(runs[0].rounds.drop(columns=["load_down", "load_up"]))


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("tdd", [None, {"downlink": 0.75, "uplink": 0.25}])
def test_devices_send_for_their_whole_uploads(sharing, tdd):
    """Energy is power times the time on the air: all of it, in the frame's direction."""
    radio = {**PRICED["radio"], "sharing": sharing, "tdd": tdd}
    devices = edgefl.run({**PRICED, "radio": radio}, train=False).devices
    on_air = 1.0 if tdd is None else 0.25
    # A shared band begins at borders of slots: the wait for them has the radio off.
    np.testing.assert_allclose(
        devices["tx_energy_j"], DEVICE_W * on_air * devices["upload_s"], rtol=1e-9, atol=DEVICE_W * 2 * SLOT_S
    )
    assert (devices["bytes_up"] == devices["bytes_up"].iloc[0]).all()


def test_fading_of_the_others_counts_by_its_mean():
    """A first-decoded upload over fading: its mean rate is that over a constant interference (Rayleigh's mean)."""
    bits = 3e8
    at = link(uplink=NOMA, bandwidth_hz=BAND_HZ, shadowing_db=0.0, transfer="slots")
    distances_m = [50.0, 120.0]
    strong_hz, weak_hz = powers_hz(distances_m)
    _, up = transfers(at, [0, 1], bits, distance_m=np.array(distances_m), speed_mps=30.0)
    means_bps = channel.rate.mean_rayleigh_bps(BAND_HZ, np.array([strong_hz / (BAND_HZ + weak_hz), weak_hz / BAND_HZ]))
    np.testing.assert_allclose(bits / up.duration_s, means_bps, rtol=0.03)


def test_downloads_do_not_overlap():
    radio = {"bandwidth_hz": BAND_HZ}
    apart = edgefl.run({**PRICED, "radio": radio}, train=False).devices
    together = edgefl.run(PRICED, train=False).devices
    assert (apart["download_s"] == together["download_s"]).all()
    assert (apart["upload_s"] != together["upload_s"]).any()


def test_an_interrupted_upload_has_sent_for_its_time():
    late = {**PRICED, "server": {"participants": 6, "policy": "deadline", "deadline_s": 1.0}}
    for sharing in ("fixed", "processor"):
        devices = edgefl.run({**late, "radio": {**PRICED["radio"], "sharing": sharing}}, train=False).devices
        cut = devices[devices["status"] == "late"]
        assert len(cut) > 0
        np.testing.assert_allclose(
            cut["tx_energy_j"], DEVICE_W * cut["upload_s"], rtol=1e-9, atol=DEVICE_W * 2 * SLOT_S
        )


REFUSED = [
    (
        {"radio": {"large_scale": "time", "spatial_consistency": True}},
        r"radio\.sharing: .*large_scale: time .*noma .*: set it to processor",
    ),
    (
        {"radio": {"trace": {"kind": "csv", "path": "link-traces.csv", "assign": "pool"}}},
        r"radio\.uplink: has no effect",
    ),
]


@pytest.mark.parametrize(("keys", "text"), REFUSED)
def test_contradicting_keys_are_one_line(keys, text):
    radio = {"uplink": NOMA, **keys.get("radio", {})}
    with pytest.raises(InputError, match=text) as refused:
        load({**keys, "radio": radio})
    assert len(str(refused.value).splitlines()) == 1


class Gaps(Noma):
    """Two groups, whose numbers have gaps."""

    def groups(self, received):
        return np.where(np.arange(len(received)) % 2 == 0, 1, 3)


def test_numbers_of_groups_may_leave_some_out():
    shares = divided(some_gains(4), uplink=Gaps())
    np.testing.assert_allclose(shares.bandwidth_hz, BAND_HZ / 2)


def test_devices_in_sequence_do_not_overlap():
    keys = {**PRICED, "server": {"participants": 3, "policy": "sequential"}}
    together = edgefl.run(keys, train=False)
    apart = edgefl.run({**keys, "radio": {"bandwidth_hz": BAND_HZ}}, train=False)
    assert together.devices.equals(apart.devices)


def test_an_agents_weights_are_those_of_groups():
    class Agent(Control):
        def bandwidth_weight(self, ids, *, uplink):
            return np.array([1.0, 2.0, 3.0, 6.0])[ids]

    resources = link(bandwidth_hz=BAND_HZ).pricing.budget.resources
    resources._control = Agent()
    shares = resources.divide(
        np.full(4, 1e6), np.full(4, 1e7), channel.rate.SHANNON, way="up", spread=False,
        devices=np.arange(4), group=np.array([0, 1, 1, 0]),
    )  # fmt: skip
    np.testing.assert_allclose(shares.bandwidth_hz, BAND_HZ * np.array([7, 5, 5, 7]) / 12)
