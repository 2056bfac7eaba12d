"""Presence of devices: laws of arrivals and stays, answers that are functions of (device, time), files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.churn.coverage import CoverageChurn
from edgefl.world.churn.poisson import PoissonChurn
from edgefl.world.churn.trace import TraceChurn
from edgefl.world.churn.within_coverage import ChurnWithinCoverage
from edgefl.world.world import World

DEVICES = 4_000
RATE = 10.0  # arrivals a second
STAYS = {
    "exponential": ({"exponential": 20.0}, stats.expon(scale=20)),
    "lognormal": ({"lognormal": [2.5, 1.0]}, stats.lognorm(1.0, scale=np.exp(2.5))),
    "weibull": ({"weibull": [10.0, 0.5]}, stats.weibull_min(0.5, scale=10)),
}
TRACE = "device,on_s,off_s\n0,0,inf\n1,2,5\n1,7,8\n2,0,3\n2,3,6\n"


def of(churn, count=DEVICES, seed=1):
    return churn.presence(count, np.zeros(count, dtype=np.int64), 1, Streams(seed))


def poisson(stay="exponential", count=DEVICES, seed=1):
    churn = PoissonChurn.model_validate({"arrivals_per_s": RATE * count / DEVICES, "stay_s": STAYS[stay][0]})
    return of(churn, count, seed)


def diurnal(count=DEVICES, **keys):
    return of(load({"churn": {"kind": "diurnal", "period_s": 100.0, **keys}}).churn, count)


def trace(tmp_path, text=TRACE):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    return TraceChurn(path=path)


def every_kind(tmp_path):
    churn = {"peak_s": {"uniform": [0, 300]}, "low": 0.3}
    both = ChurnWithinCoverage(poisson("weibull", 40))
    both.observe_coverage(now_and_then)
    return [poisson("weibull", 40), diurnal(40, **churn), of(trace(tmp_path), 3), coverage(40), both]


def now_and_then(ids, time_s):
    """Tell which devices are in coverage, in steps of half a second."""
    return (time_s + ids) % 9 < 4


def coverage(count):
    presence = of(CoverageChurn(check_s=0.5), count)
    presence.observe_coverage(now_and_then)
    return presence


# Laws


@pytest.mark.parametrize(("keys", "law"), STAYS.values(), ids=STAYS)
def test_stays_have_their_laws(keys, law):
    """Quantiles in closed form, from u or 1 - u; what is left has the density (1 - F) / mean, KS of 4,000 at 1 %."""
    stay = PoissonChurn.model_validate({"arrivals_per_s": 1.0, "stay_s": keys}).stay_s
    u = np.linspace(0.01, 0.99, 99)
    assert np.sort(stay.quantile_s(u)) == pytest.approx(law.ppf(u))
    assert stay.mean_s == pytest.approx(law.mean())
    left = np.sort(stay.residual_s(Streams(3).uniform("stay", np.arange(4_000), count=2)))
    grid = np.concatenate([[0.0], np.geomspace(1e-6, left[-1], 20_000)])
    cdf = np.concatenate([[0.0], np.cumsum(np.diff(grid) * (law.sf(grid[1:]) + law.sf(grid[:-1])) / 2)]) / law.mean()
    assert stats.kstest(left, lambda x: np.interp(x, grid, cdf)).pvalue > 0.01


@pytest.mark.oracle
@pytest.mark.parametrize("stay", STAYS)
def test_mean_number_of_present_devices_follows_littles_law(stay):
    """Mean present = rate x mean stay, at the start and at 50 times that are far apart; each is nearly Poisson."""
    presence = poisson(stay)
    mean = RATE * STAYS[stay][1].mean()
    there = np.array([len(presence.present(1_000.0 * step, 0)) for step in range(51)])
    assert abs(there[0] - mean) < 4.5 * np.sqrt(mean)
    assert abs(there.mean() - mean) < 4.5 * np.sqrt(mean / 51)
    assert presence.probabilities.sum() == pytest.approx(mean)


@pytest.mark.parametrize("stay", STAYS)
def test_arrivals_are_poisson_and_stays_follow_their_law(stay):
    """Gaps between arrivals and whole stays of all who come within 200 s: KS at 1 %; half the mean would be seen."""
    presence = poisson(stay)
    law = STAYS[stay][1]
    times, ids, came = presence.changes(0.0, 10_000.0)
    first = came & (times < 200)
    assert first.sum() > 1_500
    gaps = np.diff(times[first])
    assert stats.kstest(gaps, "expon", (0, 1 / RATE)).pvalue > 0.01
    assert stats.kstest(gaps, "expon", (0, 0.5 / RATE)).pvalue < 1e-6
    order = np.lexsort((times, ids))
    ids = ids[order]
    times = times[order]
    came = came[order]
    at = np.flatnonzero(came[:-1] & (times[:-1] < 200) & (ids[1:] == ids[:-1]))
    assert not came[at + 1].any()
    assert stats.kstest(times[at + 1] - times[at], law.cdf).pvalue > 0.01


def test_the_start_is_stationary():
    """The rest of stays is alike at time 0 and long after: two-sample KS at 1 %; fresh stays at 0 would be seen."""
    presence = poisson("weibull", 40_000)
    left = [presence.stays_until_s(presence.present(time, 0), time) - time for time in (0.0, 2_000.0)]
    assert stats.ks_2samp(*left).pvalue > 0.01
    assert stats.kstest(left[0], STAYS["weibull"][1].cdf).pvalue < 1e-6


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.9), (0.0, 1.0), (0.4, 0.4), (0.6, 0.8)])
def test_probability_of_presence_follows_the_day(low, high):
    """p(t) on four days, each time 4,000 devices; a frequency's standard error is below 0.008."""
    presence = diurnal(low=low, high=high, peak_s=130.0)
    for time in np.linspace(0.0, 400.0, 33):
        expected = low + (high - low) * (1 + np.cos(2 * np.pi * (time - 30) / 100)) / 2
        assert len(presence.present(time, 0)) / DEVICES == pytest.approx(expected, abs=4.5 * 0.008)


@pytest.mark.oracle
def test_a_device_comes_once_a_day():
    times, ids, came = diurnal(low=0.0, high=0.9).changes(0.0, 10_000.0)
    days = np.floor(times[came] / 100 + 0.5)
    assert np.unique(np.stack([ids[came], days]), axis=1).shape[1] == came.sum() > 100_000


# Functions of device and time


@pytest.mark.oracle
def test_answers_do_not_depend_on_earlier_questions(tmp_path):
    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.floats(0, 500), min_size=2, max_size=6), st.integers(0, 3))
    def same(times, kind):
        asked = every_kind(tmp_path)[kind]
        for time in times:
            fresh = every_kind(tmp_path)[kind]
            ids = asked.present(time, 0)
            assert np.array_equal(ids, fresh.present(time, 7))
            assert np.array_equal(asked.stays_until_s(ids, time), every_kind(tmp_path)[kind].stays_until_s(ids, time))

    same()


def test_present_devices_stay_until_their_departure(tmp_path):
    for presence in every_kind(tmp_path):
        for time in (0.0, 3.7, 50.25):
            ids = presence.present(time, 0)
            until = presence.stays_until_s(ids, time)
            assert (until > time).all()
            for device, end in zip(ids[:12], until[:12], strict=True):
                if np.isfinite(end):
                    assert device in presence.present(np.nextafter(end, 0) if end % 0.5 else end - 0.01, 0)
                    assert (
                        device not in presence.present(end, 0)
                        or presence.stays_until_s(np.array([device]), end)[0] > end
                    )


def test_no_device_arrives_before_the_next_arrival_and_changes_are_complete(tmp_path):
    for presence in every_kind(tmp_path):
        everybody = np.arange(len(presence.probabilities))
        there = np.isin(everybody, presence.present(0.0, 0))
        first = presence.next_arrival_s(0.0)
        times, ids, came = presence.changes(0.0, 30.0)
        assert first == times[came][0]
        assert (np.diff(times) >= 0).all()
        for device, now in zip(ids, came, strict=True):
            assert there[device] != now
            there[device] = now
        assert np.array_equal(np.flatnonzero(there), presence.present(30.0, 0))
        assert not len(presence.changes(30.0, 30.0).ids)


def test_devices_at_rest_in_a_cell_stay_for_ever():
    """Asking again every minute would never end a round that takes a month."""
    scenario = load({"churn": "coverage", "devices": {"count": 4}})
    presence = of(scenario.churn, 4)
    parts = {part: getattr(scenario, part) for part in ("devices", "cells", "mobility")}
    World(**parts, presence=presence, streams=Streams(1))
    assert (presence.stays_until_s(np.arange(4), 7.0) == np.inf).all()


def test_absent_device_stays_until_now(tmp_path):
    for presence in every_kind(tmp_path):
        away = np.setdiff1d(np.arange(len(presence.probabilities)), presence.present(6.5, 0))
        assert away.size
        assert (presence.stays_until_s(away, 6.5) == 6.5).all()


def test_a_population_of_ten_is_inside_a_population_of_ten_thousand():
    """At the same arrivals a device."""
    for make in (poisson_of, diurnal):
        few = make(count=10)
        many = make(count=10_000)
        for time in (0.0, 40.0, 700.0):
            ids = many.present(time, 0)
            assert np.array_equal(few.present(time, 0), ids[ids < 10])


def poisson_of(count):
    return poisson("lognormal", count)


# Files


def test_trace_is_followed_exactly(tmp_path):
    presence = of(trace(tmp_path), 4)
    there = {0.0: [0, 2], 2.0: [0, 1, 2], 3.0: [0, 1, 2], 5.0: [0, 2], 6.0: [0], 7.5: [0, 1], 8.0: [0], 1e6: [0]}
    for time, ids in there.items():
        assert presence.present(time, 0).tolist() == ids
    assert presence.next_arrival_s(5.0) == 7.0
    assert presence.next_arrival_s(9.0) == np.inf
    assert presence.probabilities == pytest.approx([1.0, 0.5, 0.75, 1e-4])


def test_stays_may_be_in_any_order_and_touch(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("device,on_s,off_s\n1,7,8\n0,5,inf\n1.0,2,4\n0,0,5\n")
    found = of(load({"churn": {"kind": "trace", "path": str(path)}, "devices": {"count": 2}}).churn, 2)
    there = {0.0: [0], 3.0: [0, 1], 4.0: [0], 5.0: [0], 7.5: [0, 1], 9.0: [0]}
    assert {time: found.present(time, 0).tolist() for time in there} == there


def test_a_stay_that_is_written_twice_counts_once_with_one_warning(tmp_path, caplog):
    path = tmp_path / "trace.csv"
    path.write_text("device,on_s,off_s\n0,1,2\n0,4,8\n0,1,2\n0,1.0,2.0\n")
    found = of(load({"churn": {"kind": "trace", "path": str(path)}, "devices": {"count": 1}}).churn, 1)
    assert [found.present(time, 0).size for time in (0.0, 1.5, 2.0, 4.0, 8.0)] == [0, 1, 0, 1, 0]
    assert caplog.messages == [f"warning: churn.path: {path}:4: 2 rows repeat an earlier stay: it counts once"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("device,on_s,off_s\n0,5,4\n", r"trace.csv:2: must have a device from 0 and 0 <= on_s < off_s, got .0,5,4."),
        (
            "device,on_s,off_s\n0,0,4\n1,0,9\n0,3,6\n",
            r"csv:4: device 0: the stay overlaps that of line 2: if both are right, write one row from 0 to 6 s",
        ),
        ("device,on_s,off_s\n0,0,4\n7,0,9\n", r"trace.csv:3: names device 7, but devices are numbered 0 to 4"),
    ],
)
def test_impossible_traces_are_refused(tmp_path, text, message):
    (tmp_path / "trace.csv").write_text(text)
    churn = {"kind": "trace", "path": str(tmp_path / "trace.csv")}
    with pytest.raises(InputError, match=message):
        load({"churn": churn, "devices": {"count": 5}})


@pytest.mark.parametrize(
    ("churn", "message"),
    [
        ({"kind": "poisson", "arrivals_per_s": 5.0, "stay_s": {"exponential": 20}}, r"is 100 devices present on"),
        ({"kind": "diurnal", "low": 0.5, "high": 0.4}, r"churn.low: must be <= high = 0.4, got 0.5"),
    ],
)
def test_impossible_churn_is_refused(churn, message):
    with pytest.raises(InputError, match=message):
        load({"churn": churn, "devices": {"count": 100}})


def test_law_of_stays_is_dumped_as_given():
    churn = {"kind": "poisson", "arrivals_per_s": 1.0, "stay_s": {"weibull": [3.0, 0.5]}}
    dumped = load({"churn": churn}).model_dump(mode="json")["churn"]
    assert dumped == churn | {"stay_s": {"weibull": [3.0, 0.5]}}
    assert load({"churn": dumped}).model_dump() == load({"churn": churn}).model_dump()


# Coverage


def test_devices_that_cannot_leave_the_cell_are_always_present():
    base = {"rounds": 2, "devices": {"count": 10}, "mobility": "random_waypoint"}
    one, other = (edgefl.run({**base, "churn": churn}, train=False) for churn in ("none", "coverage"))
    assert one.rounds.equals(other.rounds)
    assert one.devices.equals(other.devices)


def test_devices_beyond_the_radius_are_absent():
    """Seven hexagonal cells: the disc in which devices are reaches farther than the seven small discs."""
    result = edgefl.run(
        {
            "rounds": 1,
            "devices": {"count": 200},
            "churn": "coverage",
            "cells": {"layout": "hexagonal"},
            "radio": {"propagation": {"kind": "umi", "out_of_range": "clamp"}},
        },
        train=False,
    )
    present = result.rounds["present"].item()
    assert present == len(result.devices) < 200
    assert present > 100


def test_devices_that_fly_out_of_the_cell_never_return():
    """Straight lines through a cell of 250 m at 10 m/s: all gone after 50 s, and none will come."""
    mobility = {"kind": "constant_velocity", "edge": "leave"}
    scenario = load({"mobility": mobility, "churn": "coverage", "devices": {"count": 40}})
    presence = of(scenario.churn, 40)
    World(
        devices=scenario.devices,
        cells=scenario.cells,
        mobility=scenario.mobility,
        presence=presence,
        streams=Streams(1),
    )
    times, ids, came = presence.changes(0.0, 60.0)
    assert not came.any()
    assert sorted(ids) == list(range(40))
    for time, device in zip(times, ids, strict=True):
        if time < 60 and time > 1:
            assert presence.stays_until_s(np.array([device]), time - 1.0)[0] == time
    assert not len(presence.present(60.0, 0))
