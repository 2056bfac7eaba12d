"""The checks of members that coordinate: selections, optimisers, channel state information."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from edgefl.coordination.csi.base import Csi, Gains, ReportedCsi, RequestedCsi
from edgefl.coordination.decisions import Decisions, Infeasible
from edgefl.coordination.forecast import Direction, Forecast
from edgefl.coordination.optimisers import Optimiser
from edgefl.coordination.selection import Selection
from edgefl.coordination.server_view import DeviceReports, DeviceTracker
from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams
from edgefl.testing.calls import RETURNS, Calls, Property, accepts
from edgefl.testing.report import Report
from edgefl.testing.values import Numbers, kind

# A made-up cell
BAND_HZ = 10e6
CLOCK_HZ = 1e9
TX_POWER_W = 0.2


def _forecast(ids: Ids, rng: np.random.Generator, deadline_s: float) -> Forecast:
    """Return a forecast of devices [n], ascending, in one cell; `rng` draws their channels and work."""
    count = len(ids)
    path_gain = 10 ** rng.uniform(-12, -9, count)
    fading = rng.exponential(1.0, count)
    snr_hz = TX_POWER_W * path_gain * fading / 4e-21
    direction = Direction(
        band_hz=BAND_HZ,
        time_share=1.0,
        payload_share=1.0,
        spread=False,
        broadcast=False,
        in_turn=False,
        bps_hz=lambda snr: np.log2(1 + snr),
    )
    return Forecast(
        ids=ids,
        cell=np.zeros(count, dtype=np.int64),
        path_gain=path_gain,
        fading=fading,
        down_bits=np.full(count, 1e6),
        up_bits=np.full(count, 1e6),
        flops=rng.uniform(1e8, 1e9, count),
        cpu_hz=np.full(count, CLOCK_HZ),
        flops_per_cycle=np.ones(count),
        capacitance=np.full(count, 1e-28),
        tx_power_w=np.full(count, TX_POWER_W),
        amplifier_w=np.full(count, TX_POWER_W),
        circuit_w=np.zeros(count),
        rx_power_w=np.zeros(count),
        backhaul_s=np.zeros(count),
        down_snr_hz=snr_hz,
        up_snr_hz=snr_hz,
        down=direction,
        up=direction,
        share=0.2,
        deadline_s=deadline_s,
        model_parameters=31_250,
    )


# Selections

DEVICES = 20
ROUNDS = 40
SEED = 5
CLASSES = 4
ROUND_S = 60.0  # the deadline in forecasts
STANDARD_ERRORS = 5  # how far a mean may differ from what is expected


def check_selection(selection: type[Selection] | Selection, *, participants: int = 5, **keys: Any) -> Report:
    """Check that a selection chooses as a server expects of it, and return the report.

    It chooses in 40 rounds among 20 devices, some of them away; they report times, energies, batteries and losses.
    If it `needs_csi`, it sees forecasts of their channels; if it has a `memory_width`, it remembers.

    Args:
        selection: the class, or an instance.
        participants: how many devices a round wants.
        keys: the keys for the check of the class.
    """
    calls = Calls(selection, keys, Selection, "a selection")
    calls.check(accepts(f"{participants} of {DEVICES} devices", DEVICES, participants))
    calls.check(Property("number of participants", _chooses, "is `expected`, on average", [(participants,)]))
    return calls.finished()


def _chooses(calls: Calls, participants: int) -> None:
    """Play rounds, and compare how many devices are chosen with how many the selection expects."""
    selection = calls.subject
    rng = np.random.default_rng(SEED)
    samples = rng.integers(5, 50, DEVICES)
    labels = rng.multinomial(samples, np.full(CLASSES, 1 / CLASSES))
    tracker = DeviceTracker(samples, selection.memory_width, labels)
    excess = np.array([_play_round(calls, participants, index, tracker, rng) for index in range(ROUNDS)])
    if selection.count_varies:
        text = f"is exceeded by {excess.max():.3g}: with `count_varies` it is the most that `choose` may return"
        calls.require("expected", (excess <= 0).all(), text)
        return
    allowed = STANDARD_ERRORS * excess.std() / np.sqrt(ROUNDS) + 1e-9
    text = f"is {-excess.mean():+.2g} away from the mean number that `choose` returns (over {ROUNDS} rounds)"
    calls.require("expected", abs(excess.mean()) <= allowed, f"{text}: algorithms divide by it, so make both the same")


def _play_round(calls: Calls, participants: int, index: int, tracker: DeviceTracker, rng: np.random.Generator) -> float:
    selection = calls.subject
    streams = Streams(SEED)
    away = rng.choice(DEVICES, 4, replace=False)
    asked = np.setdiff1d(np.arange(DEVICES), away)
    if index == 0:
        asked = np.arange(DEVICES)  # all are new: the server knows nothing of them
    if index == 1:
        asked = asked[:1]
    wanted = min(participants, len(asked))

    def choice(method: str) -> Ids:
        view = tracker.view
        if selection.needs_csi:
            view = replace(view, forecast=_forecast(asked, rng, ROUND_S))
        ids: Ids = calls.array(method, Numbers((None,), whole=True), asked, wanted, index, streams, view)
        strangers = np.setdiff1d(ids, asked)
        text = f"devices {strangers}, which are not among those that it was given"
        calls.returned(method, not len(strangers), text)
        calls.returned(method, len(np.unique(ids)) == len(ids), f"a device twice: {ids}")
        return ids

    if selection.polls:
        asked = np.sort(choice("candidates"))
        polled = calls.array("polled_samples", Numbers(asked.shape, least=1), tracker.view.samples[asked])
        calls.returned("polled_samples", (polled <= tracker.view.samples[asked]).all(), "more samples than there are")
        tracker.note_poll(asked, rng.uniform(0.1, 3.0, len(asked)))
        wanted = min(wanted, len(asked))
    ids = choice("choose")
    tracker.note_sent(ids)
    heard = tracker.close_round(_reports(np.sort(ids), rng))
    if selection.memory_width:
        view = tracker.view
        memory = calls.array("remember", Numbers(view.memory.shape, infinite=True), view.memory, heard, view)
        tracker.keep(memory)
    presence = np.isin(np.arange(DEVICES), asked).astype(float)
    return len(ids) - float(selection.expected(participants, float(selection.asked(presence).sum())))


def _reports(ids: Ids, rng: np.random.Generator) -> DeviceReports:
    count = len(ids)
    return DeviceReports(
        ids=ids,
        received=rng.random(count) < 0.8,
        round_trip_s=rng.uniform(1.0, 20.0, count),
        energy_j=rng.uniform(0.1, 5.0, count),
        battery_j=rng.uniform(10.0, 100.0, count),
        loss=rng.uniform(0.1, 3.0, count),
    )


# Optimisers

COUNTS = (1, 2, 7, 50)  # of participants
DEADLINE_S = 600.0
ROUNDING = 1e-9


def check_optimiser(optimiser: type[Optimiser] | Optimiser, **keys: Any) -> Report:
    """Check that an optimiser decides on participants as the server expects of it, and return the report.

    It decides on up to 50 participants whose channels and work differ by orders of magnitude, with 600 s for a round,
    on the whole of a band and on half of it.
    """
    calls = Calls(optimiser, keys, Optimiser, "an optimiser")
    cases = [(count, free_share) for count in COUNTS for free_share in (1.0, 0.5)]
    calls.check(Property(RETURNS, _decides, cases=cases))
    return calls.finished()


def _decides(calls: Calls, count: int, free_share: float) -> None:
    forecast = _forecast(np.arange(count, dtype=np.int64), np.random.default_rng(count), DEADLINE_S)
    in_turn = calls.subject.allocation == "round_robin"
    both_ways = replace(forecast.up, free_share=free_share, in_turn=in_turn)
    forecast = replace(forecast, down=both_ways, up=both_ways, share=1.0 / count)
    try:
        calls.subject.decide(forecast)
    except Infeasible:
        return  # a run would end with that line
    decisions = calls.of("decide", forecast)
    text = f"{kind(decisions)}, expected Decisions of coordination.decisions"
    calls.returned("decide", isinstance(decisions, Decisions), text)
    for name in ("up_share", "down_share", "power_share", "clock_share"):
        values = getattr(decisions, name)
        if values is None:
            continue
        calls.numbers("decide", values, Numbers((count,), most=1, positive=True), name)
        if name in {"up_share", "down_share"}:
            total = values.sum()
            calls.returned("decide", abs(total - 1) <= ROUNDING, f"{name} that add up to {total:g}, expected 1")


# Channel state information

REPORTING = 40


def check_csi(csi: type[Csi] | Csi, **keys: Any) -> Report:
    """Check that devices report channels as a server expects of them, and return the report."""
    calls = Calls(csi, keys, Csi, "a kind of channel state information")
    calls.check(
        Property("one of many", _if_reported(_reports_are_apart), "a device's report does not depend on the others"),
        Property(
            "mean", _if_reported(_says_nothing_of_fading), "without `instantaneous`, reports say nothing of the fading"
        ),
        Property(
            "error", _if_reported(_error_is_normal), "reports are off by `noise_db` times a standard normal number"
        ),
        Property(RETURNS, _bits_are_counts, cases=[("update_bits",), ("request_bits",)]),
    )
    return calls.finished()


def _if_reported(holds: Callable[..., None]) -> Callable[..., None]:
    """Return a property of kinds that report, of some devices over channels of very different strength."""

    def reported(calls: Calls) -> None:
        if isinstance(calls.subject, ReportedCsi):
            rng = np.random.default_rng(SEED)
            ids = np.sort(rng.choice(1000, REPORTING, replace=False))
            holds(calls, Gains(ids, 10 ** rng.uniform(-16, -5, REPORTING), rng.exponential(1.0, REPORTING)), rng)

    return reported


def _report(calls: Calls, method: str, gains: Gains, *args: Any) -> Gains:
    seen = calls.of(method, gains, *args)
    text = f"{kind(seen)}, expected the Gains that it was given, with what is reported"
    calls.returned(method, isinstance(seen, Gains), text)
    for name in ("path_gain", "fading"):
        calls.numbers(method, getattr(seen, name), Numbers(gains.ids.shape, least=0), name)
    found: Gains = seen
    return found


def _strength(gains: Gains) -> Floats:
    return np.stack([gains.path_gain, gains.fading])


def _reports_are_apart(calls: Calls, true: Gains, _: np.random.Generator) -> None:
    some = np.sort(np.argsort(true.path_gain)[: REPORTING // 2])  # without the strongest: a rank must show
    of_all = _report(calls, "observe", true)
    of_some = _report(calls, "observe", Gains(true.ids[some], true.path_gain[some], true.fading[some]))
    alike = np.allclose(_strength(of_some), _strength(of_all)[:, some], rtol=1e-12, atol=0.0)
    calls.require("observe", alike, f"returns others for {some.size} of {REPORTING} devices than for all")


def _says_nothing_of_fading(calls: Calls, true: Gains, rng: np.random.Generator) -> None:
    if calls.subject.instantaneous:
        return
    seen = _report(calls, "observe", true)
    other = _report(calls, "observe", true._replace(fading=rng.exponential(1.0, REPORTING)))
    alike = (other.path_gain == seen.path_gain).all()
    calls.require("observe", alike, "returns another path_gain while only the fading is another")
    text = "returns a fading besides 1, and forecasts would multiply by it: set `instantaneous` to True"
    calls.require("observe", (seen.fading == 1.0).all(), text)


def _error_is_normal(calls: Calls, true: Gains, rng: np.random.Generator) -> None:
    normal = rng.standard_normal(REPORTING)
    noise_db = calls.subject.noise_db
    seen = _report(calls, "observe", true)
    off = _report(calls, "disturbed", seen, normal)
    expected = seen.path_gain * seen.fading * 10 ** (noise_db * normal / 10)
    text = f"returns strengths that are not off by 10^(noise_db n / 10), here with noise_db = {noise_db:g}"
    calls.require("disturbed", np.allclose(off.path_gain * off.fading, expected, rtol=1e-9, atol=0.0), text)


def _bits_are_counts(calls: Calls, name: str) -> None:
    value = getattr(calls.subject, name)
    is_count = isinstance(value, int) and value >= 0
    calls.returned(name, is_count, f"{value!r}, expected a whole number of bits from 0")
    asks_for_nothing = name == "request_bits" and value and not isinstance(calls.subject, RequestedCsi)
    text = "is above 0, but the server requests no reports: derive it from RequestedCsi"
    calls.require(name, not asks_for_nothing, text)
