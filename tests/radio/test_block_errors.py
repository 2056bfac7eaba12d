"""Block errors, HARQ and link adaptation: closed forms, the outer loop's identity, and the same slots by two ways."""

import math
from typing import Any

import numpy as np
import pytest
import simpy
from plain_blocks import PlainBlocks, raced
from radio_cases import DEVICE_W, SLOT_S, link, participants, snr_hz, transfers

import channel
from channel import link_columns
from channel.link_adaptation import (
    LinkAdaptation,
    awgn_block_error_rate,
    grid_db,
    nr_block_error_rate,
    tabulated,
)
from channel.waves import TILE_SLOTS
from edgefl.core.errors import InputError
from edgefl.radio.bands.band import Band
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.messages import UPLOAD, round_trip
from edgefl.radio.prices.slot_rates import KEPT_TILES, WaveGains
from edgefl.radio.prices.transmission import effective_snr
from edgefl.scenario import load

BLOCKS: dict[str, Any] = {"errors": "bler", "rate": "mcs"}
SCHEMES = channel.mcs.Mcs().efficiencies_bps_hz
SNR = 10 ** (grid_db() / 10)
RATES = nr_block_error_rate(SCHEMES[:, None], SNR, 1000)


def fading_snr(mean_snr, slots, seed=1, rho=0.98):
    rng = np.random.default_rng(seed)
    draws = rng.normal(size=(1, slots)) + 1j * rng.normal(size=(1, slots))
    return mean_snr * np.abs(channel.fading.gauss_markov(draws * math.sqrt(0.5), [rho], [1.0])[0]) ** 2


# Curves


def test_at_capacity_half_of_the_blocks_are_lost():
    for efficiency in (0.25, 1.0, 7.0):
        snr = 10**0.3 * (2**efficiency - 1)
        assert awgn_block_error_rate(efficiency, snr, 1000, 3.0) == pytest.approx(0.5)


def test_longer_code_words_come_nearer_to_capacity():
    """The distance to capacity at a given error rate shrinks with the root of the length (Polyanskiy et al.)."""
    distance = []
    for symbols in (500, 2000, 8000):
        rates = awgn_block_error_rate(1.0, SNR, symbols)
        distance.append(math.log2(1 + np.interp(-1e-3, -rates, SNR)) - 1.0)
    assert distance[0] / distance[1] == pytest.approx(2.0, rel=0.05)
    assert distance[1] / distance[2] == pytest.approx(2.0, rel=0.05)


def test_curves_fall_with_the_signal_to_noise_ratio():
    assert (np.diff(RATES, axis=1) <= 0).all()
    assert RATES[:, 0] == pytest.approx(1.0)
    assert RATES[:, -1] == pytest.approx(0.0)
    assert (np.diff(LinkAdaptation(SCHEMES, RATES).thresholds_db) > 0).all()


# HARQ and the outer loop


@pytest.mark.parametrize("transmissions", [1, 2, 4])
@pytest.mark.parametrize("db", [-6.0, -3.0, 0.0])
def test_the_goodput_of_one_scheme_is_its_closed_form(transmissions, db):
    """A block takes 1 + B(s) + B(2s) + ... slots and is lost with B(n s): 400,000 slots, four standard deviations."""
    slots = 400_000
    rates = tabulated([-10.0, 10.0], [1.0, 0.0])[None]  # slow to fall: every number of transmissions occurs
    adaptation = LinkAdaptation(np.array([0.5]), rates, transmissions=transmissions)
    lost = [float(np.interp(db + 10 * math.log10(n), [-10.0, 10.0], [1.0, 0.0])) for n in range(1, transmissions + 1)]
    found = raced(adaptation, np.full(slots, 10 ** (db / 10)), 2)
    first = found[link_columns.FIRST_SENT]
    mean_slots = 1.0 + sum(lost[:-1])
    blocks = slots / mean_slots
    assert first == pytest.approx(blocks, abs=4 * math.sqrt(blocks) * transmissions)
    error = 4 * math.sqrt(0.25 / blocks)
    assert found[link_columns.FIRST_LOST] / first == pytest.approx(lost[0], abs=error)
    assert found[link_columns.BITS] / slots == pytest.approx(
        0.5 * (1 - lost[-1]) / mean_slots, abs=4 * transmissions * error / 4
    )


@pytest.mark.parametrize("target", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("rho", [1.0, 0.98, 0.5, 0.0])
def test_in_the_long_run_the_outer_loop_meets_its_target(target, rho):
    """However old the reports are. The share is the target up to the remaining offset, a constant over N."""
    slots = 60_000
    adaptation = LinkAdaptation(SCHEMES, RATES, target=target)
    snr = fading_snr(100.0, slots, rho=rho)
    found = raced(adaptation, snr, 3)
    first = found[link_columns.FIRST_SENT]
    lost = found[link_columns.FIRST_LOST]
    left_over = found[link_columns.OFFSET] * (1 - target) / adaptation.step_db
    assert target * first - lost == pytest.approx(left_over, abs=1e-6 * first)
    assert lost / first == pytest.approx(target, abs=60 / 0.5 / first)
    assert lost / first == pytest.approx(target, rel=0.03)


def test_the_outer_loop_makes_up_for_curves_that_are_off():
    """The transmitter believes in curves that are 3 dB better than the true ones; its offset learns it."""
    slots = 40_000
    better = np.stack([np.interp(grid_db() + 3.0, grid_db(), curve) for curve in RATES])
    adaptation = LinkAdaptation(SCHEMES, RATES)
    believed = LinkAdaptation(SCHEMES, better).thresholds_db

    class Misled(LinkAdaptation):
        thresholds_db = believed

    misled = Misled(SCHEMES, RATES)
    snr = np.full(slots, 60.0)
    right = raced(adaptation, snr, 4)
    wrong = raced(misled, snr, 4)
    assert wrong[link_columns.OFFSET] - right[link_columns.OFFSET] == pytest.approx(-3.0, abs=1.5)
    assert wrong[link_columns.BITS] == pytest.approx(right[link_columns.BITS], rel=0.02)


# Transfers


FADINGS = ["none", "rayleigh", {"kind": "ricean", "k_mean_db": 6.0, "k_std_db": 0.0}, "block", "jakes",
           {"kind": "tdl", "profile": "A"}]  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("fading", FADINGS)
def test_alone_a_transfer_takes_as_long_under_both_sharings(fading):
    found = []
    for sharing in ("fixed", "processor"):
        of = link(**BLOCKS, bandwidth_hz=1e6, sharing=sharing, fading=fading, faults={"attempts": 2})
        down, up = transfers(of, [3], 2e5, distance_m=300.0, compute_s=0.02)
        bits = [down.sent_bits[0], up.sent_bits[0]]
        blocks = [up.first_sent[0], up.first_lost[0], down.first_sent[0], down.first_lost[0]]
        found.append([down.duration_s[0], up.duration_s[0], *bits, *blocks, down.sinr_s[0], up.sinr_s[0]])
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert found[0][2] == 2e5
    assert found[0][4] > 0


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_the_slots_of_a_still_channel_are_those_of_its_blocks(sharing):
    """Slot by slot from the draws of the upload, as the loop of a reader would."""
    of = link(**BLOCKS, bandwidth_hz=1e6, sharing=sharing, fading="none", shadowing_db=0.0)
    _, up = transfers(of, [5], 3e5, distance_m=200.0)
    uniform = of.streams.sequence("blocks_up", 5, 0, 0).random(5_000)
    snr = snr_hz(DEVICE_W, 200.0) / 1e6
    adaptation = of.pricing.engine.adaptation
    blocks = PlainBlocks(adaptation, uniform.tolist())
    bits = np.array([blocks.step(snr) for _ in uniform]) * 1e6 * SLOT_S
    slots = int((bits.cumsum() < 3e5).sum()) + 1
    assert up.duration_s == pytest.approx([slots * SLOT_S])
    assert 50 < slots < 5_000
    ideal = math.ceil(3e5 / (of.pricing.budget.efficiency.bps_hz(snr) * 1e6 * SLOT_S))
    assert 0.8 * ideal < slots < 1.6 * ideal


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(6))
def test_transfers_that_join_at_any_time_have_the_slots_of_a_plain_program(seed):
    """Slot by slot, with the draws of each transfer; several begin in one slot, and each has an equal share."""
    of = link(**BLOCKS, bandwidth_hz=2e6, sharing="processor", fading="rayleigh", shadowing_db=0.0)
    rng = np.random.default_rng(seed)
    begins = np.sort(rng.integers(0, 60, 7)) // 8 * 8
    payload_bits = rng.uniform(2e4, 3e5, 7)
    who = participants(of, np.arange(7), distance_m=200.0)
    env = simpy.Environment()
    band = Band(env, of.pricing.engine, "up")
    sent = []

    def send(row):
        one = who.only(np.array([row]))
        transfer = BandTransfer(
            participant=one,
            attempt=0,
            left_bits=payload_bits[row],
            longest_slots=10**6,
            gain=one.start[0],
            draws=None,
        )
        yield env.timeout(begins[row] * SLOT_S)
        yield band.send(transfer)
        sent.append((row, transfer.slots, transfer.first_sent, transfer.first_lost))

    for row in range(7):
        env.process(send(row))
    env.run()
    most = 20_000
    adaptation = of.pricing.engine.adaptation
    blocks = [
        PlainBlocks(adaptation, of.streams.sequence("blocks_up", row, 0, 0).random(most).tolist()) for row in range(7)
    ]
    draws = of.pricing.fading.innovations("up", who, 0)(np.arange(7), most)
    power = np.abs(channel.fading.gauss_markov(draws, who.correlation, who.start)) ** 2
    power_hz = who.tx_power_w * who.drop.path_gain / of.pricing.budget.noise_w_hz["up"]
    left_bits = payload_bits.copy()
    slots = np.zeros(7, dtype=int)
    for slot in range(most):
        active = np.flatnonzero((begins <= slot) & (left_bits > 0))
        for row in active.tolist():
            share_hz = 2e6 / active.size
            bits = blocks[row].step(power[row, slots[row]] * (power_hz[row] / share_hz)) * share_hz * SLOT_S
            left_bits[row] = max(left_bits[row] - bits, 0.0)
            slots[row] += 1
    assert (left_bits == 0).all()
    assert sorted(sent) == [(row, slots[row], blocks[row].first, blocks[row].lost) for row in range(7)]


def test_side_by_side_each_has_its_own_blocks():
    """Two uploads over halves of the band; the second one joins later and the first one continues."""
    of = link(**BLOCKS, bandwidth_hz=2e6, sharing="processor", fading="rayleigh", shadowing_db=0.0)
    down, up = transfers(of, [1, 2], 2e5)
    assert down.delivered.all()
    assert up.delivered.all()
    assert up.duration_s[0] != up.duration_s[1]
    fixed = link(**BLOCKS, bandwidth_hz=2e6, sharing="fixed", fading="rayleigh", shadowing_db=0.0)
    down_fixed, _ = transfers(fixed, [1, 2], 2e5)
    first = down.duration_s.argmin()  # until it ends, both have halves
    assert down.duration_s[first] == pytest.approx(down_fixed.duration_s[first])
    assert down.duration_s[1 - first] <= down_fixed.duration_s[1 - first]


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_cut_transfer_has_sent_the_blocks_that_had_arrived(sharing):
    of = link(**BLOCKS, bandwidth_hz=1e6, sharing=sharing, fading="none", shadowing_db=0.0)
    env = simpy.Environment()
    who = participants(of, [5], distance_m=200.0)
    carrier = of.open(env, who, round_trip(1, 0.0, 3e6, lambda _: np.zeros(1)))
    found = []

    def upload():
        found.append((yield from carrier.send(0, UPLOAD)))

    process = env.process(upload())

    def cut():
        yield env.timeout(0.05)
        process.interrupt("late")

    env.process(cut())
    env.run(process)
    uniform = of.streams.sequence("blocks_up", 5, 0, 0).random(100)
    snr = snr_hz(DEVICE_W, 200.0) / 1e6
    blocks = PlainBlocks(of.pricing.engine.adaptation, uniform.tolist())
    assert found[0].cut == "late"
    assert found[0].sent_bits == pytest.approx(sum(blocks.step(snr) for _ in uniform) * 1e6 * SLOT_S)


def test_a_link_that_only_repetition_carries_is_not_hopeless():
    """3 dB below the threshold of the lowest scheme each block takes two transmissions or more, and arrives."""
    of = link(**BLOCKS, bandwidth_hz=1e6, fading="none", shadowing_db=0.0)
    lowest = of.pricing.budget.efficiency.thresholds[0]
    power_dbm = 10 * math.log10(lowest / 2 / (snr_hz(1.0) / 1e6)) + 30
    of = link(**BLOCKS, bandwidth_hz=1e6, fading="none", shadowing_db=0.0, server_tx_power_dbm=power_dbm)
    down, _ = transfers(of, [1], 1e4)
    assert down.delivered.all()
    assert down.duration_s[0] == pytest.approx(2 * 1e4 / (SCHEMES[0] * 1e6), rel=0.3)


def test_over_a_selective_channel_blocks_see_the_snr_of_equal_capacity():
    assert effective_snr(np.array([0.0, 1.0, 3.0])) == pytest.approx([0.0, 1.0, 7.0])


def test_a_new_block_takes_the_scheme_that_the_curves_allow():
    """Thresholds are where the curves reach the target; the receiver's loss moves them, the staircase's gap not."""

    def thresholds_db(errors, rate):
        return link(errors=errors, rate=rate).pricing.engine.adaptation.thresholds_db

    found = thresholds_db("bler", "mcs")
    above = nr_block_error_rate(SCHEMES, 10 ** (found / 10), 1000)
    below = nr_block_error_rate(SCHEMES, 10 ** ((found - 0.05) / 10), 1000)
    assert (above <= 0.1 + 1e-12).all()
    assert (below > 0.1).all()
    lossy = thresholds_db({"kind": "bler", "implementation_loss_db": 2.5}, "mcs")
    np.testing.assert_allclose(lossy, found + 2.5, atol=0.051)
    assert np.array_equal(thresholds_db("bler", {"kind": "mcs", "snr_gap_db": 6.0}), found)


# Refusals


@pytest.mark.parametrize(
    ("radio", "text"),
    [
        ({"errors": "bler"}, "radio.rate: block errors belong to schemes: set it to mcs, or leave radio.errors out"),
        (
            {**BLOCKS, "transfer": "fast"},
            "radio.transfer: fast does not know how long payloads take under radio.errors",
        ),
    ],
)
def test_contradicting_keys_are_refused(radio, text):
    with pytest.raises(InputError) as error:
        load({"radio": radio})
    assert text in str(error.value)


def test_slots_before_the_kept_tiles_are_computed_again():
    """A division far ahead of the clock must not lose the slots to which the next one comes back."""
    of = link(**BLOCKS, bandwidth_hz=1e6, sharing="processor", fading={"kind": "tdl", "profile": "A"})
    who = participants(of, [3])
    far = WaveGains(who.waves)
    near = WaveGains(who.waves)
    slots = (KEPT_TILES + 3) * TILE_SLOTS
    whole = far.bps_hz(channel.rate.SHANNON, SLOT_S, 10.0, 1e6, 0, slots)
    assert np.array_equal(far.bps_hz(channel.rate.SHANNON, SLOT_S, 10.0, 1e6, 5, 20), whole[5:25])
    assert np.array_equal(near.bps_hz(channel.rate.SHANNON, SLOT_S, 10.0, 1e6, 5, 20), whole[5:25])
