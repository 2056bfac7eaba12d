"""Processor sharing: queueing theory, a fluid simulation, the price of a transfer alone, and order without a trace."""

import heapq
import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st
from radio_cases import (
    DEVICE_W,
    NOISE_W_HZ,
    SERVER_W,
    SLOT_S,
    STILL,
    block_gain,
    correlation,
    link,
    participants,
    snr_hz,
    transfers,
)

import edgefl
from edgefl.radio.bands import rows as band_rows
from edgefl.radio.bands.band import Band
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.budget.shares import divide_bands
from edgefl.radio.gains.small_scale import coming_gains

FLAT = {**STILL, "server_power": "total"}  # a rate in proportion to the bandwidth
SERVICE_SLOTS = 200  # of a transfer of mean size, alone


@dataclass
class Queue:
    """A band of rate 1 (mean sizes a second), and the transfers through it."""

    arrivals_s: np.ndarray
    sizes: np.ndarray
    sojourn_s: np.ndarray


def alone(who, row):
    return who.only(np.array([row]))


def simulate(arrivals_s, sizes, transfer="slots"):
    """Arrivals and sizes through a Band; `sizes` in seconds of the whole band."""
    slot_s = 1.0 / SERVICE_SLOTS
    of = link(**FLAT, slot_s=slot_s, transfer=transfer)
    ids = np.arange(len(sizes))
    env = simpy.Environment()
    who = participants(of, ids)
    band = Band(env, of.pricing.engine, "down")
    rate_bps = 100e6 * math.log2(1 + snr_hz(SERVER_W) / 100e6)
    sojourn_s = np.full(len(sizes), np.nan)

    def send(row):
        one = BandTransfer(
            participant=alone(who, row),
            attempt=0,
            left_bits=sizes[row] * rate_bps,
            longest_slots=10**9,
            gain=who.start[row],
            draws=None,
        )
        began = env.now
        yield band.send(one)
        sojourn_s[row] = env.now - began
        assert one.left_bits == 0

    def source():
        for row, arrival in enumerate(arrivals_s):
            yield env.timeout(arrival - env.now)
            env.process(send(row))

    env.process(source())
    env.run()
    return Queue(arrivals_s, sizes, sojourn_s)


def fluid_s(arrivals_s, sizes):
    """Sojourn times if the server were divided in infinitely small parts: service received runs at 1/n."""
    now = 0.0
    served = 0.0
    waiting = []
    end_s = np.empty(len(sizes))
    events = [*zip(arrivals_s, range(len(sizes)), strict=True), (math.inf, None)]
    for arrival, row in events:
        while waiting and now + (waiting[0][0] - served) * len(waiting) <= arrival:
            now = now + (waiting[0][0] - served) * len(waiting)
            served = waiting[0][0]
            end_s[heapq.heappop(waiting)[1]] = now
        if row is not None:
            if waiting:
                served += (arrival - now) / len(waiting)
            now = arrival
            heapq.heappush(waiting, (served + sizes[row], row))
    return end_s - arrivals_s


def poisson(load, count, seed, sizes="exponential"):
    rng = np.random.default_rng(seed)
    arrivals_s = np.cumsum(rng.exponential(1 / load, count))
    if sizes == "exponential":
        return arrivals_s, rng.exponential(1.0, count)
    return arrivals_s, np.ones(count)


def batch_mean(values, batches=20):
    """Mean and standard error of a stationary sequence, after the empty start."""
    parts = values[len(values) // 20 :]
    means = parts[: len(parts) // batches * batches].reshape(batches, -1).mean(axis=1)
    return means.mean(), means.std(ddof=1) / math.sqrt(batches)


@pytest.mark.oracle
@pytest.mark.parametrize(("load", "sizes", "transfer", "count"), [
    (0.5, "exponential", "slots", 1_000), (0.3, "constant", "slots", 500), (0.4, "exponential", "fast", 800),
        pytest.param(0.8, "exponential", "slots", 40_000, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_processor_sharing_queue(load, sizes, transfer, count):
    """M/M/1-PS: a mean sojourn of 1 / (mu - lambda) (Kleinrock 1976, section 4.4), whatever the sizes' distribution.

    Within three standard errors of batch means; and, tighter, as the fluid simulation of the same arrivals: slots end
    at their borders, which adds about one slot of 1/200 to a transfer alone and that much load to all.
    """
    queue = simulate(*poisson(load, count, seed=5, sizes=sizes), transfer)
    mean, error = batch_mean(queue.sojourn_s)
    assert mean == pytest.approx(1 / (1 - load), abs=3 * error)
    assert error < 0.15 * mean
    exact = fluid_s(queue.arrivals_s, queue.sizes)
    assert queue.sojourn_s.mean() == pytest.approx(exact.mean(), rel=0.03)
    assert np.median(np.abs(queue.sojourn_s - exact)) < 4 * (1 / SERVICE_SLOTS) / (1 - load)


def test_the_fluid_simulation_is_right_on_a_case_by_hand():
    """Sizes 1, 1, 0.2 at 0, 0.5, 0.6: alone to 0.5; halves to 0.6; thirds to 1.2; halves to 1.7; alone to 2.2."""
    ends = fluid_s(np.array([0.0, 0.5, 0.6]), np.array([1.0, 1.0, 0.2])) + np.array([0.0, 0.5, 0.6])
    assert ends == pytest.approx([1.7, 2.2, 1.2])


@pytest.mark.oracle
def test_the_sojourn_is_in_proportion_to_the_size():
    """E[T | x] = x / (1 - load) (Kleinrock 1976, eq. 4.17): a straight line through 0, by batches of 50 transfers."""
    load = 0.5
    queue = simulate(*poisson(load, 1_000, seed=11))
    lines = [np.polyfit(queue.sizes[part], queue.sojourn_s[part], 1) for part in np.split(np.arange(1_000), 20)]
    slope, offset = np.mean(lines, axis=0)
    errors = np.std(lines, axis=0, ddof=1) / math.sqrt(20)
    assert slope == pytest.approx(1 / (1 - load), abs=3 * errors[0])
    assert offset == pytest.approx(1 / SERVICE_SLOTS, abs=3 * errors[1])
    assert errors[0] < 0.1 * slope


@pytest.mark.oracle
def test_band_is_never_idle_with_transfers_under_way():
    """Busy periods add up to the bits over the rate, but for the rest of the slot that a transfer ends in."""
    queue = simulate(*poisson(0.7, 400, seed=3))
    begin = queue.arrivals_s
    end = queue.arrivals_s + queue.sojourn_s
    busy_s = 0.0
    until = -math.inf
    for first, last in sorted(zip(begin, end, strict=True)):
        busy_s += max(last - max(first, until), 0.0)
        until = max(until, last)
    assert queue.sizes.sum() <= busy_s
    assert busy_s - queue.sizes.sum() < 2 * len(end) / SERVICE_SLOTS


@pytest.mark.oracle
@pytest.mark.parametrize("radio", [
    {}, {"fading": "none"}, {"fading": "block"}, {"fading": "jakes"}, {"fading": "tdl"},
    {"fading": {"kind": "ricean", "k_mean_db": 5.0, "k_std_db": 2.0}},
    {"transfer": "fast"}, {"transfer": "fast", "fading": "none"}, {"allocation": "round_robin"},
    {"rate": "mcs"}, {"tdd": {}, "overhead": {"downlink": 0.14, "uplink": 0.08}},
    {"faults": {"failure_probability": 0.5, "attempts": 3}}, {"faults": {"max_transfer_s": 0.0215}},
    {"faults": {"failure_probability": 0.5, "attempts": 5, "max_transfer_s": 0.03}, "transfer": "fast"},
], ids=str)  # fmt: skip
def test_a_transfer_alone_is_priced_as_with_a_fixed_share(radio):
    """Also its upload, when computing ends inside a slot: that begins with the next one."""
    for device, compute_s, bits in ((4, 0.01, 3e6), (7, 0.0011, 2.3e7), (9, 0.0011, 3e6)):
        keys = {"compute_s": compute_s, "speed_mps": 20.0}
        fixed = transfers(link(bandwidth_hz=20e6, sharing="fixed", **radio), [device], bits, **keys)
        shared = transfers(link(bandwidth_hz=20e6, sharing="processor", **radio), [device], bits, **keys)
        waits_s = math.ceil(compute_s / SLOT_S) * SLOT_S - compute_s
        for way, wait_s in ((0, 0.0), (1, waits_s)):
            assert shared[way].duration_s == pytest.approx(fixed[way].duration_s + wait_s, abs=1e-9)
            assert shared[way].air_s == pytest.approx(fixed[way].air_s, abs=1e-9)
            assert shared[way].sent_bits == pytest.approx(fixed[way].sent_bits, rel=1e-9)
            assert shared[way].delivered == fixed[way].delivered
            if not fixed[0].delivered[0]:
                break  # no upload follows in a run


@pytest.mark.oracle
def test_an_estimated_transfer_alone_ends_in_its_slot():
    """Rates of the fluid model are quotients: rounding must not cost another slot."""
    for device in range(60):
        fixed = transfers(link(transfer="fast", sharing="fixed"), [device], 3e7)[0]
        shared = transfers(link(transfer="fast", sharing="processor"), [device], 3e7)[0]
        assert shared.duration_s == pytest.approx(fixed.duration_s, abs=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("fading", ["rayleigh", "block"])
def test_overlapping_transfers_keep_their_keyed_fading(fading):
    """Slot by slot from the formulas: half the band each until the first is through, then all of it."""
    of = link(fading=fading, sharing="processor")
    ids = [2, 6]
    bits = np.array([8e6, 1.5e7])
    who = participants(of, ids)
    env = simpy.Environment()
    band = Band(env, of.pricing.engine, "down")
    transfers = [
        BandTransfer(
            participant=one,
            attempt=0,
            left_bits=bits[row],
            longest_slots=10**9,
            gain=one.start[0],
            draws=of.pricing.fading.innovations("down", one, 0),
        )
        for row in (0, 1)
        for one in [alone(who, row)]
    ]
    ends = {}
    for row, one in enumerate(transfers):
        band.send(one).callbacks.append(lambda _, row=row: ends.update({row: env.now}))
    env.run()
    rho = correlation(10.0)
    left = bits.copy()
    slots = 0
    h = who.start.copy()
    draws = [of.streams.sequence("fading_down", device, 0, 0) for device in ids]
    expected = {}
    while len(expected) < 2:
        active = [row for row in (0, 1) if row not in expected]
        share = 100e6 / len(active)
        for row in active:
            if fading == "block":  # of 3.63 ms
                h[row] = block_gain(of.streams, ids[row], slots, 7)
            else:
                e = complex(draws[row].standard_normal(), draws[row].standard_normal()) * math.sqrt(0.5)
                h[row] = rho * h[row] + math.sqrt(1 - rho**2) * e
            snr = snr_hz(SERVER_W, 100.0, who.drop.shadowing_db[row]) / share
            left[row] -= share * SLOT_S * math.log2(1 + snr * abs(h[row]) ** 2)
        slots += 1
        expected.update({row: slots for row in active if left[row] <= 0})
    assert {row: round(end / SLOT_S) for row, end in ends.items()} == expected
    if fading == "rayleigh":
        assert [one.gain for one in transfers] == pytest.approx(h.tolist(), rel=1e-9)
    assert [one.air_slots for one in transfers] == [expected[0], expected[1]]


@pytest.mark.oracle
@pytest.mark.parametrize("fading", ["rayleigh", "block"])
@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_result_does_not_depend_on_the_number_of_gains_drawn_together(monkeypatch, transfer, fading):
    def durations_s():
        of = link(fading=fading, transfer=transfer, sharing="processor")
        both_ways = transfers(of, np.arange(20), 3e6)
        return [(way.duration_s.tolist(), way.sent_bits.tolist()) for way in both_ways]

    usual = durations_s()
    for known, together in ((200, 1), (2_000, 100), (2**22, 2**22)):
        monkeypatch.setattr(band_rows, "KNOWN_VALUES", known)
        monkeypatch.setattr(band_rows, "DRAWN_TOGETHER", together)
        assert durations_s() == usual


@pytest.mark.parametrize("fading", ["rayleigh", "none"])
def test_no_gains_are_drawn_for_slots_beyond_a_limit(monkeypatch, fading):
    """A hopeless transfer ends after 0.25 s: the 20 million slots that it would need are never drawn."""
    drawn = []

    def noted(draws, before, slots, **more):
        drawn.append(len(before) * slots)
        return coming_gains(draws, before, slots, **more)

    monkeypatch.setattr(band_rows, "coming_gains", noted)
    faults = {"link_failure_s": 0.25}
    of = link(fading=fading, sharing="processor", server_tx_power_dbm=-120.0, faults=faults, shadowing_db=0.0)
    down, _ = transfers(of, np.arange(3), 1e6)
    assert not down.delivered.any()
    assert sum(drawn) <= 2 * 3 * 0.25 / SLOT_S  # downloads, and uploads perhaps


@pytest.mark.parametrize("correlations", [[1.0, -1.0], [1.0, -1.0, 0.5]])
def test_the_gains_of_a_constant_channel_are_powers_of_its_correlation(correlations):
    rho = np.array(correlations)
    before = np.array([1 + 2j, 3 - 1j, 0.5j])[: rho.size]
    found = coming_gains(
        [None] * rho.size,
        before,
        5,
        correlation=rho,
        hold_slots=np.ones(rho.size, dtype=np.int64),
        constant=np.full(rho.size, fill_value=True),
        first_slot=np.zeros(rho.size, dtype=np.int64),
    )
    expected = [[h * r**slot for slot in range(1, 6)] for h, r in zip(before, correlations, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.oracle
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(0, 80)), min_size=1, max_size=8),
    st.permutations(range(8)),
    st.sampled_from(["rayleigh", "none", "block"]),
    st.sampled_from(["equal", "min_makespan", "round_robin"]),
    st.sampled_from([{}, {"bandwidth_hz": 5e6, "subcarrier_spacing_hz": 30e3}]),  # 11 blocks
)
def test_result_does_not_depend_on_the_order_of_simultaneous_events(plan, order, fading, allocation, band_keys):
    """Transfers that begin, end and are withdrawn in the same slots, entered in another order; and no bit is lost."""

    def play(rows):
        env = simpy.Environment()
        of = link(fading=fading, allocation=allocation, sharing="processor", shadowing_db=0.0, **band_keys)
        who = participants(of, np.arange(8), distance_m=np.linspace(20, 200, 8))
        band = Band(env, of.pricing.engine, "up")
        found = {}

        def send(row, begin, size, patience):
            device = alone(who, row)
            draws = of.pricing.fading.innovations("up", device, 0)
            one = BandTransfer(
                participant=device,
                attempt=0,
                left_bits=size * 1e5,
                longest_slots=10**9,
                gain=who.start[row],
                draws=draws,
            )
            yield env.timeout(begin * SLOT_S)
            done = band.send(one)
            yield env.any_of([done, env.timeout(patience * SLOT_S)])
            if not done.triggered:
                band.withdraw(one)
            found[row] = (round(env.now / SLOT_S, 6), one.sent_bits, one.left_bits, one.slots, one.gain)

        for row in rows:
            env.process(send(row, *plan[row]))
        env.run()
        return found

    straight = play(range(len(plan)))
    shuffled = play([row for row in order if row < len(plan)])
    assert straight == shuffled
    for row, (begin, size, patience) in enumerate(plan):
        end, sent, left, slots, _ = straight[row]
        assert sent + left == pytest.approx(size * 1e5, rel=1e-12)
        assert slots == pytest.approx(end - begin, abs=1e-6) or left == 0
        assert left == 0 or end == begin + patience


def test_transfer_without_a_block_waits_with_its_radio_off():
    """Thirteen transfers on 11 blocks: two wait until others are through; all bits get there."""
    of = link(**FLAT, sharing="processor", bandwidth_hz=5e6, subcarrier_spacing_hz=30e3)
    down, _ = transfers(of, np.arange(13), 1e5)
    assert down.delivered.all()
    rate = math.log2(1 + snr_hz(SERVER_W) / (11 * 360e3))
    first = math.ceil(1e5 / (360e3 * SLOT_S * rate))
    assert down.air_s[:11] == pytest.approx(np.full(11, first * SLOT_S))
    assert (down.duration_s[:11] < down.duration_s[11]).all()
    assert down.duration_s[11:] == pytest.approx(first * SLOT_S + down.air_s[11:])
    assert (down.air_s[11:] < down.air_s[0] / 4).all()  # with 5 or 6 blocks each


@pytest.mark.parametrize("way", ["down", "up"])
def test_interference_comes_from_active_cells_only(way):
    """Two devices in two cells without fading: the rate is that of noise alone when the other cell is silent."""
    of = link(cells={"layout": "hexagonal"}, **FLAT, propagation={"kind": "umi_los", "out_of_range": "clamp"},
              interference={"load": 0.5}, sharing="processor")  # fmt: skip
    sites = of.channel.cells.sites_m
    positions = np.array([[60.0, 0.0], [sites[1, 0] + 60.0, sites[1, 1]]])
    at = of.drop(np.arange(2), positions, np.full(2, 1.5), 0)
    assert at.cell.tolist() == [0, 1]
    who = of.participants(at, np.zeros(2), np.full(2, DEVICE_W), 0)
    env = simpy.Environment()
    band = Band(env, of.pricing.engine, way)
    bits = np.array([6e6, 6e6])
    later = 3
    end = {}

    def send(row):
        yield env.timeout(later * SLOT_S * row)
        one = BandTransfer(
            participant=alone(who, row),
            attempt=0,
            left_bits=bits[row],
            longest_slots=10**9,
            gain=who.start[row],
            draws=None,
        )
        yield band.send(one)
        end[row] = round(env.now / SLOT_S)

    for row in (0, 1):
        env.process(send(row))
    env.run()
    power = SERVER_W if way == "down" else DEVICE_W
    gain = at.all_gains
    foreign = [gain[0, 1], gain[1, 0]] if way == "down" else [gain[1, 0], gain[0, 1]]

    def per_slot(row, other):
        noise = NOISE_W_HZ * 100e6 + 0.5 * power * foreign[row] * other
        return 100e6 * SLOT_S * math.log2(1 + power * gain[row, row] / noise)

    expected = {}
    left = bits.copy()
    for slot in itertools.count():
        active = [row for row in (0, 1) if row not in expected and slot >= later * row]
        for row in active:
            left[row] -= per_slot(row, other=len(active) - 1)
        expected.update({row: slot + 1 for row in active if left[row] <= 0})
        if len(expected) == 2:
            break
    assert end == expected
    assert per_slot(0, 1) < 0.95 * per_slot(0, 0)


def test_without_interference_an_event_costs_the_same_however_many_cells_there_are(monkeypatch):
    """A transfer that begins or ends in one cell affects no other cell's band or bits."""
    divided = []

    def counted(budget, way, **columns):
        divided.append(set(columns["cell"].tolist()))
        return divide_bands(budget, way, **columns)

    monkeypatch.setattr("edgefl.radio.bands.clock.divide_bands", counted)
    far = {"kind": "umi_los", "out_of_range": "clamp"}
    lengths = {}
    for load in (None, 0.5):
        divided.clear()
        interference = None if load is None else {"load": load}
        of = link(cells={"layout": "hexagonal"}, propagation=far, sharing="processor", interference=interference)
        at = of.drop(np.arange(7), of.channel.cells.sites_m + 60.0, np.full(7, 1.5), 0)
        who = of.participants(at, np.full(7, 10.0), np.full(7, DEVICE_W), 0)
        env = simpy.Environment()
        band = Band(env, of.pricing.engine, "up")
        for row in range(7):
            one = alone(who, row)
            draws = of.pricing.fading.innovations("up", one, 0)
            band.send(
                BandTransfer(
                    participant=one,
                    attempt=0,
                    left_bits=1e6 * (row + 1),
                    longest_slots=10**9,
                    gain=who.start[row],
                    draws=draws,
                )
            )
        env.run()
        lengths[load] = [len(cells) for cells in divided]
    assert set(lengths[None]) == {1}
    assert max(lengths[0.5]) == 7


@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_limit_shorter_than_a_slot_ends_a_transfer_immediately(transfer):
    down, _ = transfers(link(sharing="processor", transfer=transfer, faults={"max_transfer_s": 1e-4}), [1, 2])
    assert (down.duration_s == 0).all()
    assert not down.delivered.any()


@pytest.mark.oracle
def test_a_run_in_which_rounds_are_shared():
    """More bandwidth for the remaining transfers: never longer than fixed equal shares, with the same payloads."""
    cost = {"kind": "mlp", "cost": {"parameters": 50_000, "flops_per_parameter": 0.1}}
    base = {"rounds": 5, "devices": {"count": 20}, "server": {"participants": 6}, "model": cost}
    fixed = edgefl.run({**base, "radio": {**FLAT, "bandwidth_hz": 5e6, "sharing": "fixed"}}, train=False)
    shared = edgefl.run({**base, "radio": {**FLAT, "bandwidth_hz": 5e6, "sharing": "processor"}}, train=False)
    assert fixed.devices["bytes_up"].equals(shared.devices["bytes_up"])
    assert fixed.devices["device"].equals(shared.devices["device"])
    assert (shared.devices["download_s"] <= fixed.devices["download_s"] + 1e-9).all()
    assert (shared.rounds["duration_s"] < fixed.rounds["duration_s"] + SLOT_S).all()
    assert shared.rounds["duration_s"].sum() < 0.9 * fixed.rounds["duration_s"].sum()
