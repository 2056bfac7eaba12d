"""The checks of members of the radio's arithmetic: divisions, rates, fading, propagation, packet errors."""

from typing import Any

import numpy as np

from channel.link_adaptation import LinkAdaptation, grid_db
from channel.rate import SHANNON
from channel.tr38901 import LOS, O2I
from edgefl.core.arrays import Floats
from edgefl.radio.allocation import Allocation
from edgefl.radio.errors import PacketErrors
from edgefl.radio.fading import Fading, ScatteredPaths
from edgefl.radio.multiple_access import MultipleAccess
from edgefl.radio.propagation import Propagation
from edgefl.radio.propagation.base import LargeScale, PathDraws
from edgefl.radio.radio_section import Radio
from edgefl.radio.rates import RATES, Rate
from edgefl.testing.calls import RETURNS, Calls, Property, returns
from edgefl.testing.report import Report
from edgefl.testing.values import Numbers, kind

ROUNDING = 1e-9

# Allocations

BAND_HZ = 20e6
COUNTS = (1, 2, 7, 50)  # of transfers at a time
TURNS = 50  # for each transfer
TURN_S = 5e-3
PERMUTED = 1e-6  # by which shares of transfers in another order may differ: optima are found by iteration


def check_allocation(allocation: type[Allocation] | Allocation, **keys: Any) -> Report:
    """Check that an allocation divides a band as the radio expects of it, and return the report.

    It divides 20 MHz among up to 50 transfers, whose payloads and powers differ by orders of magnitude.
    """
    calls = Calls(allocation, keys, Allocation, "an allocation")
    cases = [(count, spread) for count in COUNTS for spread in (False, True)]
    calls.check(
        Property(RETURNS, _shares_are_possible, cases=cases),
        Property(RETURNS, _weights_are_their_own, cases=[(count,) for count in COUNTS if calls.subject.by_draws]),
        Property(RETURNS, _turns_come, cases=[(count,) for count in COUNTS if calls.subject.in_time]),
    )
    return calls.finished()


def _shares_are_possible(calls: Calls, count: int, spread: bool) -> None:  # noqa: FBT001 - a case of a property
    rng = np.random.default_rng(count)
    payload_bits = 10 ** rng.uniform(3, 8, count)
    snr_hz = 10 ** rng.uniform(5, 11, count)
    shares = calls.of("shares", BAND_HZ, payload_bits, snr_hz, SHANNON, spread=spread)
    calls.numbers("shares", getattr(shares, "bandwidth_hz", None), Numbers((count,), least=0), "bandwidth_hz")
    calls.numbers("shares", getattr(shares, "duty", None), Numbers((count,), least=0, most=1), "duty")
    given_hz = shares.bandwidth_hz * shares.duty
    used = float(given_hz.sum() / BAND_HZ)
    text = f"gave away {used:.6g} of the band: the sum of bandwidth_hz * duty is at most 1"
    calls.require("shares", used <= 1 + ROUNDING, text)
    text = "gave nothing to a transfer that has bits to send, which then never ends"
    calls.require("shares", (given_hz > 0).all(), text)
    order = rng.permutation(count)
    turned = calls.subject.shares(BAND_HZ, payload_bits[order], snr_hz[order], SHANNON, spread=spread)
    alike = np.allclose(turned.bandwidth_hz * turned.duty, given_hz[order], rtol=PERMUTED, atol=0)
    text = "gave a transfer another share when the same transfers came in another order"
    calls.require("shares", alike, f"{text}: a share may not depend on the order")


def _weights_are_their_own(calls: Calls, count: int) -> None:
    normal = np.random.default_rng(count).standard_normal(count)
    weights = calls.array("weights", Numbers((count,), positive=True), normal)
    text = "gave a device another weight when it was alone: a weight follows from the device's own draw"
    calls.require("weights", np.allclose(calls.subject.weights(normal[:1]), weights[:1], rtol=PERMUTED, atol=0), text)


def _turns_come(calls: Calls, count: int) -> None:
    coming_bps = np.random.default_rng(count).uniform(1e5, 1e8, count)
    memory = np.zeros((count, calls.subject.memory_width))
    served = np.zeros(count)
    for _ in range(TURNS * count):
        turns = calls.array("turns", Numbers((count,), least=0), coming_bps, memory)
        calls.require("turns", turns.sum() <= 1 + ROUNDING, "returned more than the whole time: turns add up to 1")
        served += turns
        memory = calls.array("remember", Numbers(memory.shape), memory, turns * coming_bps, np.full(count, TURN_S))
    text = f"gave a transfer no turn among {TURNS * count}, as if it never ended: remember who waits"
    calls.require("turns", (served > 0).all(), text)


# Multiple access

UPLOADS = (1, 2, 3, 8, 50)  # at a time
SCALE = 1e3  # by which all powers are raised: interference must be raised as much


def check_multiple_access(uplink: type[MultipleAccess] | MultipleAccess, **keys: Any) -> Report:
    """Check the groups and the interference of up to 50 uploads, and return the report.

    Their received powers differ by orders of magnitude.
    """
    calls = Calls(uplink, keys, MultipleAccess, "a way to share the uplink")
    rng = np.random.default_rng(7)
    cases = [(-np.sort(-(10 ** rng.uniform(-16, -8, count))),) for count in UPLOADS]
    calls.check(
        Property(RETURNS, _groups_are_possible, cases=cases),
        Property(RETURNS, _interference_comes_from_the_group, cases=cases),
    )
    return calls.finished()


def _groups_are_possible(calls: Calls, received: Floats) -> None:
    count = len(received)
    groups = calls.array("groups", Numbers((count,), least=0, most=count - 1, whole=True), received)
    text = "puts uploads together, and is not asked where `orthogonal` is true: set it to False"
    calls.require("groups", not calls.subject.orthogonal or len(np.unique(groups)) == count, text)


def _interference_comes_from_the_group(calls: Calls, received: Floats) -> None:
    def require(condition: object, text: str) -> None:
        calls.require("interference", condition, text)

    alone = np.zeros_like(received)
    alone[0] = received[0]
    groups = np.stack([received, alone])
    heard = calls.array("interference", Numbers(groups.shape, least=0), groups)
    first_only = calls.subject.interference(groups[:1])
    is_apart = np.allclose(first_only, heard[:1], rtol=ROUNDING, atol=0)
    require(is_apart, "lets a group hear another one: each row is a group of its own")
    require(heard[1, 0] == 0, "lets an upload hear others that are not there: 0 stands for none")
    hears_too_much = (heard[0] > received.sum() * (1 + ROUNDING)).any()
    require(not hears_too_much, "lets an upload hear more than all of its group send")
    raised = calls.subject.interference(groups * SCALE)
    in_proportion = np.allclose(raised, heard * SCALE, rtol=ROUNDING, atol=0)
    require(in_proportion, "does not go with the powers: its result must have the unit of its argument")


# Rates

RATE_SNR = np.concatenate([[0.0], np.geomspace(1e-4, 1e6, 400)])
MEANS = np.geomspace(1e-2, 1e4, 13)
NODES = 200_000  # of the mean over fading
BOUND = 2e-3  # of that mean, in parts: a staircase is integrated in steps


def check_rate(rate: type[Rate] | Rate, **keys: Any) -> Report:
    """Check that a rate model is a spectral efficiency, and return the report."""
    calls = Calls(rate, keys, Rate, "a rate model")
    bound = "the rate never falls as the SNR grows, and never exceeds Shannon's log2(1 + SNR)"
    calls.check(
        Property("bound", _is_below_shannon, bound),
        Property("mean over fading", _mean_is_integral, f"is the integral over Rayleigh fading (to {BOUND:g})"),
    )
    return calls.finished()


def _is_below_shannon(calls: Calls) -> None:
    of_efficiency = calls.on(calls.subject.efficiency())
    hash(of_efficiency.subject)  # tables are kept by it
    bps_hz = of_efficiency.array("bps_hz", Numbers(RATE_SNR.shape, least=0), RATE_SNR)
    of_efficiency.require("bps_hz", (np.diff(bps_hz) >= 0).all(), "falls as the SNR grows")
    shannon = np.log2(1 + RATE_SNR)
    worst = int((bps_hz - shannon * (1 + 1e-12)).argmax())
    text = f"returned {bps_hz[worst]:.4g} bit/s/Hz at an SNR of {RATE_SNR[worst]:.4g}, more than Shannon's"
    of_efficiency.require("bps_hz", bps_hz[worst] <= shannon[worst] * (1 + 1e-12), f"{text} {shannon[worst]:.4g}")


def _mean_is_integral(calls: Calls) -> None:
    """The mean over fading is that over an exponential gain, by its quantiles."""
    of_efficiency = calls.on(calls.subject.efficiency())
    found = of_efficiency.array("rayleigh_bps_hz", Numbers(MEANS.shape), MEANS)
    gains = -np.log1p(-(np.arange(NODES) + 0.5) / NODES)
    for mean_snr, rate in zip(MEANS.tolist(), found.tolist(), strict=True):
        expected = float(np.mean(of_efficiency.subject.bps_hz(mean_snr * gains)))
        text = (
            f"returned {rate:.5g} bit/s/Hz at a mean SNR of {mean_snr:.4g}, where the mean of bps_hz is {expected:.5g}"
        )
        of_efficiency.require("rayleigh_bps_hz", abs(rate - expected) <= BOUND * max(expected, BOUND), text)


# Fading

SPEEDS_MPS = np.array([0.0, 0.5, 1.5, 10.0, 40.0, 140.0])
MOVING = len(SPEEDS_MPS)
IN_SIGHT = np.arange(MOVING) % 2 == 0
K_DB = np.linspace(-5.0, 15.0, MOVING)
CARRIER_HZ = 3.5e9
SLOT_S = 5e-4
SPREAD_S = 1e-7
POWER_BOUND = 0.01  # by which the mean power of waves may differ from 1


def check_fading(fading: type[Fading] | Fading, **keys: Any) -> Report:
    """Check that a fading model gives possible factors, correlations and waves, and return the report."""
    calls = Calls(fading, keys, Fading, "a fading model")
    slots = (SPEEDS_MPS, CARRIER_HZ, SLOT_S)
    calls.check(
        Property(RETURNS, _k_statistics_are_possible),
        # An infinite K is a channel that does not fade.
        returns("k_factor", Numbers((MOVING,), least=0, infinite=True), IN_SIGHT, K_DB),
        returns("slot_correlation", Numbers((MOVING,), least=-1, most=1), *slots),
        Property(RETURNS, _hold_is_slots, cases=[slots]),
        Property(RETURNS, _waves_have_power_one),
    )
    return calls.finished()


def _k_statistics_are_possible(calls: Calls) -> None:
    found = calls.of("k_statistics_db", 9.0, 5.0)
    is_possible = found is None or (len(found) == 2 and found[1] >= 0)
    text = f"returned {found}, expected the mean and a deviation >= 0 [dB], or None"
    calls.require("k_statistics_db", is_possible, text)


def _hold_is_slots(calls: Calls, *slots: Any) -> None:
    hold = calls.of("hold_slots", *slots)
    if hold is not None:
        calls.numbers("hold_slots", hold, Numbers((MOVING,), least=1, whole=True))


def _waves_have_power_one(calls: Calls) -> None:
    k_factor = calls.subject.k_factor(IN_SIGHT, K_DB)
    paths = ScatteredPaths(SPEEDS_MPS, IN_SIGHT, k_factor, CARRIER_HZ, np.full(MOVING, SPREAD_S))
    waves = calls.of("waves", paths, lambda numbers: np.random.default_rng(1).random((MOVING, numbers)))
    if waves is None:
        return
    shape = (MOVING, *np.shape(waves.amplitude)[1:])
    fit = len(shape) == 3 and np.isfinite(waves.amplitude).all()
    calls.require("waves", fit, "returned amplitudes other than finite numbers [n, taps, waves]")
    calls.numbers("waves", waves.shift_hz, Numbers(shape), "shift_hz")
    calls.numbers("waves", waves.delay_s, Numbers(shape[:2], least=0), "delay_s")
    power = (np.abs(waves.amplitude) ** 2).sum(axis=(1, 2))
    worst = power[np.argmax(np.abs(power - 1.0))]
    text = f"returned waves of a mean power of {worst:.3g}, expected 1"
    calls.require("waves", abs(worst - 1.0) <= POWER_BOUND, text)


# Propagation

PATHS = 60
NEAR_M = 12.0
FAR_M = 900.0


def check_propagation(propagation: type[Propagation] | Propagation, **keys: Any) -> Report:
    """Check that a propagation model gives possible channels, and return the report."""
    calls = Calls(propagation, keys, Propagation, "a propagation model")
    rng = np.random.default_rng(8)
    grows = "path loss never falls with distance, on paths that are all in line of sight"
    in_sight = np.full(PATHS, 1e-9)
    calls.check(
        Property(RETURNS, _channel, cases=[(in_sight,), (rng.random(PATHS),)]),
        Property("distance", _loss_grows, grows, cases=[(in_sight,)]),
    )
    return calls.finished()


def _channel(calls: Calls, los: Floats) -> LargeScale:
    """Return the channels of paths of growing length, whose draws of the line of sight are given."""
    validity = calls.subject.validity()
    carrier_hz = float(np.clip(CARRIER_HZ, *validity.carrier_hz))
    bs_height_m = float(np.clip(10.0, *validity.bs_height_m))
    ut_height_m = np.full(PATHS, float(np.clip(1.5, *validity.ut_height_m)))
    shortest, longest = calls.subject.ground_range_m(carrier_hz, bs_height_m, ut_height_m)
    distance_m = np.geomspace(max(NEAR_M, shortest.max()), min(FAR_M, longest.min()), PATHS)
    rng = np.random.default_rng(8)
    draws = PathDraws(
        los=los,
        indoor=np.full(PATHS, 1 - 1e-9),
        indoor_distance=rng.random((PATHS, 2)),
        building=rng.random(PATHS),
        penetration=rng.normal(size=PATHS),
        environment=np.full(PATHS, 0.5),
        path_depth=rng.random(PATHS),
        floor=rng.random((PATHS, 2)),
        device=np.zeros(PATHS, dtype=np.int64),
    )
    found: LargeScale = calls.of("large_scale", distance_m, carrier_hz, bs_height_m, ut_height_m, draws)
    is_large_scale = isinstance(found, LargeScale)
    calls.returned("large_scale", is_large_scale, f"{kind(found)}, expected a LargeScale: see `by_state`")
    for name, wanted in {
        "state": Numbers((PATHS,), least=LOS, most=O2I),
        "los": Numbers((PATHS,), least=0, most=1),
        "path_loss_db": Numbers((PATHS,)),
        "shadowing_std_db": Numbers((PATHS,), least=0),
        "decorrelation_m": Numbers((PATHS,), positive=True),
    }.items():
        value = np.asarray(getattr(found, name), dtype=np.float64)
        calls.numbers("large_scale", value, wanted, name)
    return found


def _loss_grows(calls: Calls, los: Floats) -> None:
    found = _channel(calls, los)
    grows = not found.los.all() or (np.diff(found.path_loss_db) >= -ROUNDING).all()
    calls.require("large_scale", grows, "returned a path loss that falls with distance")


# Packet errors

K_FACTORS = (0.0, 1.0, 8.0, 1e6)
SNR = np.geomspace(1e-6, 1e8, 281)


def check_errors(errors: type[PacketErrors] | PacketErrors, **keys: Any) -> Report:
    """Check that a model of packet errors gives probabilities that fall with the SNR, and return the report."""
    calls = Calls(errors, keys, PacketErrors, "a model of packet errors")
    k_factors = [(k_factor,) for k_factor in K_FACTORS]
    rates = [(RATES.load(name)(),) for name in ("shannon", "mcs")]
    alone = "an attempt's probability does not depend on the others"
    calls.check(
        Property("falls", _errors_fall, "no more is lost at a higher SNR", k_factors),
        Property("one of many", _attempts_are_apart, alone, k_factors),
        Property(RETURNS, _refusal_names_a_key, cases=rates),
        Property("falls", _adaptation_falls, cases=rates),
    )
    return calls.finished()


def _probability(calls: Calls, snr: Floats, k_factor: float) -> Floats:
    wanted = Numbers(snr.shape, least=0, most=1)
    probability: Floats = calls.array("failure_probability", wanted, snr, np.full(snr.size, k_factor))
    return probability


def _errors_fall(calls: Calls, k_factor: float) -> None:
    probability = _probability(calls, SNR, k_factor)
    rises = np.diff(probability)
    at = int(rises.argmax())
    text = f"rises from {probability[at]:.4g} to {probability[at + 1]:.4g} at a mean SNR of {SNR[at + 1]:.4g}"
    calls.require("failure_probability", rises[at] <= ROUNDING, f"{text}, K = {k_factor:g}")


def _attempts_are_apart(calls: Calls, k_factor: float) -> None:
    some = np.arange(0, SNR.size // 2, 20)  # not from the middle: a rank among the others must show
    of_all = _probability(calls, SNR, k_factor)
    difference = _probability(calls, SNR[some], k_factor) - of_all[some]
    text = f"returns others for {some.size} of {SNR.size} attempts than for all"
    calls.require("failure_probability", np.abs(difference).max() <= ROUNDING, text)


def _refusal_names_a_key(calls: Calls, rate: Rate) -> None:
    found = calls.of("refusal", rate, "slots")
    is_pair = isinstance(found, tuple) and len(found) == 2 and all(isinstance(part, str) for part in found)
    text = f"returned {found!r}, expected a key of radio and what to write instead"
    calls.require("refusal", found is None or (is_pair and found[0] in Radio.model_fields), text)


def _adaptation_falls(calls: Calls, rate: Rate) -> None:
    """The link adaptation that goes with a rate model is a possible one."""
    method = "link_adaptation"
    if calls.subject.refusal(rate, "slots") is not None:
        return
    found = calls.of(method, rate)
    if found is None:
        return
    text = f"returned {kind(found)}, expected None or a channel.link_adaptation.LinkAdaptation"
    calls.require(method, isinstance(found, LinkAdaptation), text)
    schemes = np.size(found.efficiencies_bps_hz)
    calls.numbers(method, found.efficiencies_bps_hz, Numbers((schemes,), positive=True), "efficiencies_bps_hz")
    ascend = (np.diff(found.efficiencies_bps_hz) >= 0).all()
    calls.require(method, ascend, "returned efficiencies that do not ascend")
    calls.numbers(method, found.error_rates, Numbers((schemes, grid_db().size), least=0, most=1), "error_rates")
    rises = np.diff(found.error_rates, axis=1).max(axis=1)
    text = f"returned error rates of scheme {int(rises.argmax())} that rise with the SNR"
    calls.require(method, rises.max() <= ROUNDING, text)
    possible = 0 < found.target < 1 and found.step_db > 0 and found.transmissions >= 1 and found.report_delay_slots >= 0
    text = "returned an impossible target, step, delay or number of transmissions: see LinkAdaptation"
    calls.require(method, possible, text)
