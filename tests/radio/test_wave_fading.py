"""Fading as sums of waves: durations from the waves themselves, replay, pauses, bands that are shared, handovers."""

import math

import numpy as np
import pytest
import simpy
from radio_cases import DEVICE_W, SERVER_W, SLOT_S, drop, link, participants, snr_hz, transfers
from scipy import stats

from channel import tdl, waves
from edgefl.core.errors import InputError, RunError
from edgefl.radio.bands.band import Band
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.fading import Fading, ScatteredPaths
from edgefl.radio.messages import round_trip
from edgefl.scenario import load
from edgefl.world.cells_section import Handover

IDS = np.array([2, 6, 9])
JAKES = {"kind": "jakes", "sinusoids": 16}
RICEAN = {"kind": "jakes", "sinusoids": 16, "line_of_sight": True, "k_mean_db": 6.0, "k_std_db": 1.0}
TDL = {"kind": "tdl", "profile": "A", "delay_spread_ns": 100.0, "sinusoids": 8}
SIGHT = {"kind": "tdl", "profile": "B", "los_profile": "D", "sinusoids": 8, "subband_hz": 2e6}
FADINGS = [JAKES, RICEAN, TDL, SIGHT]


def power(waves, row, slot, frequency_hz):
    """One gain, wave by wave."""
    turns = waves.amplitude[row] * np.exp(2j * np.pi * waves.shift_hz[row] * slot * SLOT_S)
    return abs((np.exp(-2j * np.pi * frequency_hz * waves.delay_s[row])[:, None] * turns).sum()) ** 2


def slot_bits(waves, row, slot, band_hz, snr, subbands):
    """Return the mean over sub-bands of the rates at their gains."""
    middle_hz = ((np.arange(subbands) + 0.5) / subbands - 0.5) * band_hz
    powers = np.array([power(waves, row, slot, frequency_hz) for frequency_hz in middle_hz])
    return band_hz * SLOT_S * np.log2(1 + snr * powers).mean()


def subbands_of(fading, band_hz, delay_s=100e-9):
    if fading["kind"] == "jakes":
        return 1
    if "subband_hz" in fading:
        return math.ceil(band_hz / fading["subband_hz"])
    return math.ceil(band_hz * delay_s * 10 * 1.0000579)  # as printed, profile A is that much too wide


def test_devices_in_buildings_have_taps_of_their_own():
    """TR 38.901 Table 7.5-6: a median delay spread of 10^-6.62 s, no line of sight, whatever the way outdoors."""
    fading = {"kind": "tdl", "profile": "B", "los_profile": "D", "sinusoids": 8}
    ids = np.arange(40)  # in one place, but with different surroundings
    indoors, outdoors = (
        participants(
            link(fading=fading, propagation={"kind": "umi", "indoor": share}, spatial_consistency=False),
            ids,
            distance_m=40.0,
        )
        for share in (1.0, 0.0)
    )
    assert 5 < indoors.drop.los.sum() < 40
    taps_s = tdl.taps("B", 10**-6.62).delay_s
    for row in range(40):
        np.testing.assert_allclose(np.unique(indoors.waves.delay_s[row]), np.unique(taps_s), rtol=1e-9)
    spread_s = 10 ** (-7.14 - 0.24 * math.log10(4.5))
    seen = np.flatnonzero(outdoors.drop.los)[0]
    np.testing.assert_allclose(outdoors.waves.delay_s[seen].max(), tdl.taps("D", spread_s).delay_s.max(), rtol=1e-9)


@pytest.mark.parametrize("fading", FADINGS, ids=str)
def test_durations_from_the_waves_themselves(fading):
    """The upload begins in the slot after the download and the pause: time continues."""
    bits = 1.5e6
    of = link(fading=fading, shadowing_db=0.0, bandwidth_hz=30e6)
    who = participants(of, IDS)
    down, up = transfers(of, IDS, bits, compute_s=0.01)
    for row in range(3):
        slot = 0
        for found, watts, pause in ((down, SERVER_W, 0), (up, DEVICE_W, 20)):
            slot += pause
            left = bits
            begin = slot
            while left > 0:
                subbands = subbands_of(fading, 10e6)
                left -= slot_bits(who.waves, row, slot, 10e6, snr_hz(watts) / 10e6, subbands)
                slot += 1
            assert found.duration_s[row] == pytest.approx((slot - begin) * SLOT_S, abs=1e-9)


@pytest.mark.parametrize("fading", [JAKES, TDL], ids=str)
def test_a_transfer_can_be_replayed_up_to_any_slot(fading):
    of = link(fading=fading, shadowing_db=0.0)
    who = participants(of, IDS)
    pricing = of.pricing
    offer = pricing.offer("up", who, 3e7)
    rows = np.arange(3)
    whole = pricing.price(offer, who, rows)
    assert whole.delivered.all()
    before = np.zeros(3)
    for part in (0.1, 0.5, 0.9):
        until = (whole.slots * part).astype(np.int64)
        cut = pricing.price(offer, who, rows, until)
        assert (cut.slots == until).all()
        assert not cut.delivered.any()
        assert (cut.sent_bits > before).all()
        before = cut.sent_bits
    # One at a time: nothing depends on the others.
    for row in range(3):
        alone = pricing.price(offer, who, np.array([row]), until[[row]])
        assert alone.sent_bits[0] == cut.sent_bits[row]


def test_two_transfers_that_meet_on_a_band():
    """Half the band each until the first is through, then all of it: sub-bands follow the share."""
    of = link(fading=TDL, sharing="processor", shadowing_db=0.0, bandwidth_hz=20e6)
    who = participants(of, [2, 6])
    env = simpy.Environment()
    band = Band(env, of.pricing.engine, "down")
    bits = np.array([1e6, 3e6])
    ends = {}
    for row in (0, 1):
        one = who.only(np.array([row]))
        transfer = BandTransfer(
            participant=one, attempt=0, left_bits=bits[row], longest_slots=10**9, gain=one.start[0], draws=None
        )
        band.send(transfer).callbacks.append(lambda _, row=row: ends.update({row: env.now}))
    env.run()
    left = bits.copy()
    slots = 0
    expected = {}
    while len(expected) < 2:
        active = [row for row in (0, 1) if row not in expected]
        share = 20e6 / len(active)
        for row in active:
            subbands = subbands_of(TDL, share)
            left[row] -= slot_bits(who.waves, row, slots, share, snr_hz(SERVER_W) / share, subbands)
        slots += 1
        expected.update({row: slots for row in active if left[row] <= 0})
    assert {row: round(end / SLOT_S) for row, end in ends.items()} == expected


@pytest.mark.parametrize("fading", [JAKES, TDL], ids=str)
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_at_rest_the_closed_form(fading, sharing):
    """A channel that never changes: one slot tells all, also for millions of slots."""
    bits = 1e12
    of = link(fading=fading, shadowing_db=0.0, bandwidth_hz=20e6)
    who = participants(of, [4], speed_mps=0.0)
    assert who.constant.all()
    bits_a_slot = slot_bits(who.waves, 0, 0, 20e6, snr_hz(SERVER_W) / 20e6, subbands_of(fading, 20e6))
    expected = bits / bits_a_slot
    if sharing == "processor":
        return
    found, _ = transfers(of, [4], bits, speed_mps=0.0)
    assert found.duration_s[0] / SLOT_S == pytest.approx(expected, abs=1.5, rel=1e-9)


@pytest.mark.oracle
def test_without_a_delay_spread_tdl_is_jakes_in_law():
    """Durations of 300 devices: Kolmogorov-Smirnov at 1 %; a wide spread is distinguished from it."""
    ids = np.arange(300)

    def slots(fading):
        of = link(fading=fading, shadowing_db=0.0, downlink="broadcast", bandwidth_hz=5e6)
        who = participants(of, ids, distance_m=240.0, speed_mps=3.0)
        return of.pricing.price(of.pricing.offer("down", who, 1.2e6), who, ids).slots

    flat = slots({"kind": "jakes", "sinusoids": 64})
    same = slots({"kind": "tdl", "profile": "C", "delay_spread_ns": 0.0})
    wide = slots({"kind": "tdl", "profile": "C", "delay_spread_ns": 3000.0, "subband_hz": 250e3})
    assert stats.ks_2samp(flat, same).pvalue > 0.01
    assert stats.ks_2samp(flat, wide).pvalue < 1e-3
    assert wide.std() < 0.6 * flat.std()


def test_the_delay_spread_of_the_scenario():
    of = link(fading={"kind": "tdl", "profile": "A"}, propagation="umi_los", carrier_hz=6e9)
    who = participants(of, IDS)
    assert who.waves.delay_s.max() == pytest.approx(9.6586 * 45e-9, rel=0.01)  # UMi in line of sight: 45 ns


@pytest.mark.parametrize(("release", "spreads_ns"), [(16, (93.3, 364.1)), (19, (74.3, 266.5))])
def test_the_delay_spreads_of_the_release_that_the_scenario_names(release, spreads_ns):
    """UMa at 3.5 GHz, which counts as 6 GHz; in line of sight and not, by hand."""
    propagation = {"kind": "uma", "release": release}
    of = link(
        {"bs_height_m": 25.0},
        fading={"kind": "tdl", "profile": "A"},
        propagation=propagation,
        spatial_consistency=False,
    )
    ids = np.arange(200)
    at = drop(of, ids, distance_m=60.0)
    assert 20 < at.los.sum() < 180
    who = of.participants(at, np.full(200, 10.0), np.full(200, DEVICE_W), 0)
    for los, spread_ns in zip((True, False), spreads_ns, strict=True):
        longest_s = who.waves.delay_s[at.los == los].max(axis=1)
        np.testing.assert_allclose(longest_s, 9.6586 * spread_ns * 1e-9, rtol=1e-3)


def test_a_line_of_sight_has_the_profile_of_one():
    of = link(fading=SIGHT, propagation="umi", spatial_consistency=False, shadowing_db=0.0)
    ids = np.arange(200)
    at = drop(of, ids, distance_m=60.0)
    assert 20 < at.los.sum() < 180
    who = of.participants(at, np.full(200, 10.0), np.full(200, DEVICE_W), 0)
    taps = (np.abs(who.waves.amplitude) ** 2).sum(axis=2)
    assert taps.sum(axis=1) == pytest.approx(np.ones(200))
    assert (taps[at.los, 0] > 0.9).all()  # D: 13.3 dB in the first tap
    assert (taps[~at.los, 0] < 0.2).all()
    assert (at.k_factor > 0).tolist() == at.los.tolist()


def test_a_handover_changes_the_waves():
    cells = {"layout": "hexagonal", "sites": 7, "handover": {}, "min_distance_m": 10.0}
    of = link(
        cells,
        fading=JAKES,
        sharing="processor",
        propagation={"kind": "umi_los", "out_of_range": "clamp"},
        spatial_consistency=True,
    )
    who = participants(of, IDS)
    carrier = of.roam(simpy.Environment(), who, round_trip(3, 1e6, 1e6, lambda _: np.zeros(3)), Handover())
    seen = [carrier.serving(1).waves.amplitude]
    for _ in range(2):
        carrier.hand_over(1, who.drop.only(np.array([1])))
        seen.append(carrier.serving(1).waves.amplitude)
    assert not np.isclose(seen[0], seen[1]).any()
    assert not np.isclose(seen[1], seen[2]).any()
    assert carrier.serving(0).waves.amplitude == pytest.approx(who.waves.amplitude[:1])


class Foreign(Fading):
    """Waves from outside, of which `fast` is not warned."""

    def waves(self, paths: ScatteredPaths, draw):
        count = len(paths.speed_mps)
        return waves.scatter(draw(8).reshape(count, 1, 4, 2), 10.0, np.zeros(1), np.ones(1))


def test_fast_is_refused_where_its_law_is_not_known():
    with pytest.raises(InputError, match="fast does not know how long payloads take"):
        load({"radio": {"fading": "jakes", "transfer": "fast"}})
    of = link()
    scenario = of.radio.model_copy(update={"fading": Foreign(), "transfer": "fast"})
    at = drop(of, IDS)
    with pytest.raises(RunError, match="fast does not know"):
        of.pricing.fading.waves(scenario, at, np.ones(3), 0, "fading_waves")


@pytest.mark.parametrize(
    ("radio", "message"),
    [
        ({"fading": {"kind": "tdl"}, "propagation": "free_space"}, "radio.fading: tdl needs delay_spread_ns"),
        ({"fading": {"kind": "tdl", "k_db": 9}}, "radio.fading.k_db: profile C has no line of sight"),
        ({"fading": {"kind": "tdl", "profile": "D", "los_profile": "E"}}, "radio.fading.profile: must be A, B or C"),
        ({"fading": {"kind": "jakes", "k_mean_db": 9}}, "k_mean_db and k_std_db need line_of_sight: true"),
        ({"fading": {"kind": "tdl"}, "transfer": "fast"}, "radio.transfer: fast does not know"),
    ],
)
def test_wave_fading_refuses(radio, message):
    with pytest.raises(InputError, match=message):
        load({"radio": radio})
