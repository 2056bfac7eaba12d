"""The tape of the replay, and its texts on the page."""

import gzip
import json
from base64 import b64decode

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from replay_tapes import MOVING, Tape
from report_folders import change_devices, in_sessions, with_rounds, with_tracks
from result_folders import read_csv, rewrite

import edgefl
from edgefl.core.errors import InputError
from edgefl.results.report import page
from edgefl.results.report.run import replay, replay_tape
from edgefl.results.report.run.replay_tape import AWAY, CAME, HANDED_OVER, LEFT, RAN_EMPTY, STAYS, WALKS
from edgefl.results.report.shared.read import load
from edgefl.runs.assembly import build
from edgefl.runs.emulation import silent
from edgefl.scenario import load as load_scenario


def tape_of(folder, **options):
    return Tape(load(folder), **options)


def with_events(folder, *events):
    """Events (time_s, kind, device, cell)."""
    columns = dict(zip(("time_s", "kind", "device", "cell"), map(list, zip(*events, strict=True)), strict=True))
    pq.write_table(pa.table(columns | {"detail": [""] * len(events)}), folder / "events.parquet")
    return folder


def test_phases_begin_and_last_as_in_the_table(result):
    folder = result(rounds=5)
    tape = tape_of(folder)
    rows = sorted(read_csv(folder / "devices.csv"), key=lambda row: (int(row["device"]), float(row["start_s"])))
    assert tape.works["device"] == [int(row["device"]) for row in rows]
    for name in ("start_s", "download_s", "compute_s", "upload_s", "wait_s"):
        expected = [float(row[name]) for row in rows]
        assert tape.works[name] == pytest.approx(expected, abs=2 * tape.tick_s), name
    assert {outcome["lost"] for outcome in tape.outcomes} == {False}


def test_overlapping_rounds_play_when_devices_began(result):
    folder = change_devices(result(rounds=3, server__policy="asynchronous"), lambda row: {"start_s": row["device"]})
    works = tape_of(folder).works
    assert works["start_s"] == pytest.approx(works["device"], abs=1e-3)
    assert len(set(works["row"])) == 3


def test_a_folder_of_an_earlier_version_ends_with_its_rounds(result):
    folder = change_devices(result(rounds=2), lambda _: {"start_s": "", "wait_s": 0})
    tape = tape_of(folder)
    ends_s = tape.works["start_s"] + sum(tape.works[f"{name}_s"] for name in ("download", "compute", "upload"))
    assert ends_s == pytest.approx(load(folder).rounds["time_s"][tape.works["row"]], abs=1e-3)


def test_untracked_device_stands_at_last_start(result):
    folder = change_devices(result(rounds=3, devices__count=1), lambda row: {"x_m": 10 * int(row["round"]), "y_m": 0})
    tape = tape_of(folder)
    starts_s = load(folder).devices["start_s"]
    assert tape.stops_of(0) == [
        pytest.approx((time_s, x_m, 0, STAYS), abs=2 * max(tape.tick_s, tape.step_m))
        for time_s, x_m in zip(starts_s, (10, 20, 30), strict=True)
    ]


def test_tracked_device_walks_through_samples_and_starts(result):
    folder = change_devices(result(rounds=1, devices__count=1), lambda _: {"start_s": 0.25, "x_m": 7, "y_m": 0})
    folder = rewrite(folder, "rounds.csv", lambda _: {"time_s": 2, "duration_s": 2})
    stops = tape_of(with_tracks(folder, [(0, t, 10 * t, 5) for t in range(3)])).stops_of(0)
    expected = [(0, 0, 5, WALKS), (0.25, 7, 0, WALKS), (1, 10, 5, WALKS), (2, 20, 5, WALKS)]
    assert stops == [pytest.approx(stop, abs=0.01) for stop in expected]


def test_absent_or_moved_device_does_not_walk(result):
    folder = rewrite(result(rounds=1), "rounds.csv", lambda _: {"time_s": 10, "duration_s": 10})
    away = [(200, t, t, 0) for t in (2, 3, 6, 7)]  # no row before 2 s, between 3 s and 6 s, and after 7 s
    jumps = [(300, t, t + 90 * (t > 4), 0) for t in range(11)]
    tape = tape_of(with_tracks(folder, away + jumps))
    ways = [(round(time_s), then) for time_s, _, _, then in tape.stops_of(200)]
    assert ways == [(0, AWAY), (2, WALKS), (3, AWAY), (6, WALKS), (7, AWAY)]
    assert [then for *_, then in tape.stops_of(300)] == [WALKS] * 4 + [STAYS] + [WALKS] * 6


def test_positions_of_a_real_run_are_the_worlds():
    result = edgefl.run(MOVING, train=False)
    tape = Tape(result.as_run())
    world = build(load_scenario(MOVING), "cpu", train=False, progress=silent).world
    assert len(tape.stops) > 12 * 200  # all devices are tracked, and more is known where they began to take part
    for device, time_s, x_m, y_m, _ in tape.stops[::7]:
        position_m = world.positions_m(np.array([device]), time_s)[0]
        assert (x_m, y_m) == pytest.approx(tuple(position_m), abs=0.05)


def test_events_change_state_of_device(result):
    devices = [int(row["device"]) for row in read_csv(result("first", rounds=3) / "devices.csv")]
    one, other = devices[:2]
    folder = with_rounds(result(rounds=3), handovers=lambda _: 1, arrivals=lambda _: 1)
    log = ((0.5, "handover", one, 4), (0.7, "arrival", other, 0), (0.9, "departure", other, 0), (1, "round_end", -1, 0))
    tape = tape_of(with_events(folder, *log))
    before, came, left = [event for event in tape.events if event[0] == other]
    assert before[1] < 0  # who comes had been absent
    assert (before[2], came[2], left[2]) == (LEFT, CAME, LEFT)
    assert (came[1], left[1]) == pytest.approx((0.7, 0.9), abs=1e-3)
    assert [event[2:] for event in tape.events if event[0] == one] == [(HANDED_OVER, 4)]


def test_an_empty_battery_is_an_event(result):
    folder = with_rounds(result(rounds=3), battery=lambda _: 0.5)
    device = int(read_csv(folder / "devices.csv")[0]["device"])
    tape = tape_of(with_events(folder, (0.4, "battery_empty", device, 0)))
    assert [event[2] for event in tape.events] == [RAN_EMPTY]


def test_a_run_in_memory_has_its_events():
    result = edgefl.run(
        MOVING | {"churn": {"kind": "poisson", "arrivals_per_s": 3, "stay_s": {"exponential": 3}}}, train=False
    )
    kinds = result.events["kind"]
    assert sum(event[1] >= 0 for event in Tape(result.as_run()).events) == kinds.isin(["arrival", "departure"]).sum()


def test_a_damaged_event_log_is_named_in_one_line(result):
    folder = with_rounds(result(rounds=2), handovers=lambda _: 1)
    (folder / "events.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"events\.parquet: cannot be read"):
        tape_of(folder)


def test_unreceived_update_is_marked_lost(result):
    folder = change_devices(result(rounds=2), lambda row: {"status": "late"} if row["round"] == "2" else {})
    tape = tape_of(folder)
    assert [outcome["lost"] for outcome in tape.outcomes] == (tape.works["row"] == 1).tolist()
    assert 'data-count="lost"' in replay.card(load(folder), [load(folder)]).below


def test_direct_links_lead_to_the_device_before_and_after(result):
    policy = {"kind": "sequential", "links": "device_to_device"}
    tape = tape_of(result(rounds=1, server__policy=policy, server__participants=3))
    order = np.argsort(tape.works["start_s"], kind="stable")
    assert tape.works["before"][order].tolist() == [-1, 0, 1]
    assert tape.works["after"][order].tolist() == [1, 2, -1]


def test_long_runs_are_thinned_and_say_so(result):
    folder = result(rounds=40, server__participants=20, devices__count=100)
    run = load(folder)
    thinned = replay_tape.chosen(run, 500)
    assert len(thinned.rows) <= 500 * replay_tape.SLACK
    known = len(np.unique(run.devices["device"]))
    assert len(thinned.devices) == known * 500 // 800  # as many as have 500 of the 800 participations
    assert f"Shows {len(thinned.devices)} of {known} devices." in replay.note(run, thinned)
    cut = replay_tape.chosen(run, 100)
    assert len(cut.rows) <= 100
    assert cut.until_s == run.rounds["time_s"][cut.rounds - 1]
    assert f"Ends after round {cut.rounds} of 40." in replay.note(run, cut)
    assert "Shows" not in replay.note(run, replay_tape.chosen(run, 800))


def test_counters_come_from_the_rounds(result):
    folder = in_sessions(result(rounds=8))
    rounds = tape_of(folder).rounds
    run = load(folder)
    assert np.cumsum(rounds["session"]).tolist() == run.rounds["session"].tolist()
    assert np.cumsum(rounds["received"]).tolist() == np.cumsum(run.rounds["received"]).tolist()
    tested = [value is not None for value in rounds["accuracy"]]
    assert tested == np.isfinite(run.rounds["test_accuracy"]).tolist()
    assert tape_of(result("priced", kind="none")).rounds["accuracy"] == []


def test_first_speed_plays_run_within_bounds(result):
    run = load(result(rounds=5))
    choice = replay_tape.chosen(run, 1000)
    options = replay.player(run, choice).split("<option ")[1:]
    (first,) = [option for option in options if "selected" in option]
    length_s = choice.until_s / float(first.split('"')[1])
    assert replay.SHORTEST_S / 2 < length_s < replay.LONGEST_S * 2


def test_one_page_has_a_packed_tape_for_each_run(result):
    runs = [load(result("a", rounds=3)), load(result("b", rounds=3, seed=2))]
    tapes = replay.tapes(runs)
    assert list(tapes) == ["map-0", "map-1"]
    choice = replay_tape.chosen(runs[1], replay_tape.MOST_PARTICIPATIONS // 2)
    assert json.loads(gzip.decompress(b64decode(tapes["map-1"]))) == replay_tape.tape(runs[1], choice)
    assert tapes == replay.tapes(runs)  # the same bytes each time


def test_without_positions_or_time_there_is_nothing_to_play(result):
    nowhere = change_devices(result("nowhere", rounds=2), lambda _: {"x_m": "", "y_m": ""})
    timeless = rewrite(result("timeless", rounds=1), "rounds.csv", lambda _: {"time_s": 0})
    for folder in (nowhere, timeless, result("no round", rounds=0, status="interrupted")):
        html = page.render([load(folder)])
        assert '"replays":{}' in html
        assert 'class="player"' not in html
