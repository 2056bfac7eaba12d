"""Sessions on the page: their table, their marks, their groups of devices."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from report_folders import TURNS, in_sessions, named, with_summary

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.units import TIME
from edgefl.results.report.comparison import learning_curves
from edgefl.results.report.page import render
from edgefl.results.report.run import cell_map, device_groups
from edgefl.results.report.run.sessions_table import sessions_table
from edgefl.results.report.shared import views
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import styled_run
from edgefl.scenario import load as load_scenario
from edgefl.server.session_groups import SessionGroups


@pytest.mark.oracle
def test_sessions_have_their_table(result):
    reached = {"accuracy": 0.8, "round": 3, "time_s": 5.0, "energy_j": 2.0}
    missed = {"accuracy": 0.8, "round": None, "time_s": None, "energy_j": None}
    both = [
        {"session": n, "rounds": 6, "time_s": 9.0, "energy_j": 4.0, "final_accuracy": 0.9, "targets": [target]}
        for n, target in ((1, reached), (2, missed))
    ]
    page = render([load(with_summary(result("two"), sessions=both))])
    assert "<h2>Sessions</h2>" in page
    assert "round 3 · 5 s · 2 J" in page
    assert sessions_table(load(with_summary(result("one"), sessions=both[:1]))) == ""


def test_sessions_have_targets_of_their_own_relative_to_a_reference(result):
    origin = {"relative": 0.97, "reference": "results/other"}
    targets = [{"accuracy": 0.8, "round": 3, "time_s": 5.0, "energy_j": 2.0}, {"accuracy": None, "round": None}]
    both = [
        {"session": n, "initial_accuracy": 0.51, "best_accuracy": 0.93, "targets": [target | origin]}
        for n, target in enumerate(targets, 1)
    ]
    table = sessions_table(load(with_summary(result("two"), sessions=both)))
    assert table.count("to 97 % of the reference&#39;s best") == 1
    for text in ("first 10 rounds", "51.0 %", "93.0 %", "80.0 %: round 3 · 5 s · 2 J"):
        assert text in table
    assert table.count("not reached") == 0


def test_extra_rounds_are_bands_and_break_the_curve(result):
    """Bands from the last session's end to the last extra round; no line across them; all tested rounds drawn."""
    run = load(in_sessions(result(rounds=8, sessions=TURNS)))
    [one] = [styled_run(run, "", 0)]
    figure = learning_curves.accuracy([one])
    drawn = figure["views"]["round"]["data"][0]["x"]
    assert drawn == [1, 2, None, 4, 5, None, 7, 8]
    assert [y is None for y in figure["data"][0]["y"]] == [x is None for x in drawn]
    shapes = figure["views"]["round"]["layout"]["shapes"]
    bands = [(shape["x0"], shape["x1"]) for shape in shapes if shape["type"] == "rect"]
    lines = [shape["x0"] for shape in shapes if shape["type"] == "line" and shape.get("layer") == "below"]
    assert bands == [(2, 3), (5, 6)]
    assert {2, 5} <= set(lines)
    times = [shape for shape in views.session_marks(run, "time_s", TIME[0]) if shape["type"] == "rect"]
    assert [times[1]["x0"], times[1]["x1"]] == pytest.approx(run.rounds["time_s"][[4, 5]] / TIME[0].size, rel=1e-4)


@pytest.mark.oracle
def test_their_marks_have_a_legend(result):
    page = render([load(in_sessions(result("some", rounds=8, sessions=TURNS)))])
    assert "Grey lines, in all charts, show where a session begins; yellow bands show its extra rounds" in page
    assert "2 of them extra, " in page
    assert "where a session begins" not in render([load(result("none"))])


def test_changes_of_the_data_are_dashed_lines_between_the_rounds(result):
    """A change in the middle of a round is drawn between its ends, in every view."""
    run = load(result(data__drift={"kind": "labels", "at_s": [1.0]}))
    ends_s = run.rounds["time_s"]
    times_s = np.array([ends_s[1], (ends_s[1] + ends_s[2]) / 2])
    changed = replace(run, times_of_events={"data_change": times_s}.get)
    [one] = [styled_run(changed, "", 0)]
    drawn = learning_curves.accuracy([one])["views"]
    for view, values in (("round", run.rounds["number"]), ("energy", run.rounds["energy_j"])):
        dashed = [shape["x0"] for shape in drawn[view]["layout"]["shapes"] if shape["line"].get("dash") == "dash"]
        first, second = dashed[-2:]
        assert second / first == pytest.approx((values[1] + values[2]) / 2 / values[1], rel=1e-3)
    assert views.legend(changed) == "Dashed lines show where data of devices change."
    assert views.legend(load(result("none"))) == ""


@pytest.mark.oracle
def test_changes_of_the_data_are_read_from_the_event_log(result, tmp_path):
    drift = {"kind": "labels", "swap": [[0, 1]], "at_round": [2, 3]}
    scenario = {"rounds": 3, "data": {"dataset": "digits", "drift": drift}, "model": "logistic"}
    kept = edgefl.run(scenario, device="cpu").as_run()
    edgefl.run(scenario, device="cpu", out=tmp_path / "run")
    assert kept.data_changes_s.tolist() == kept.rounds["time_s"][:2].tolist()
    assert load(tmp_path / "run").data_changes_s.tolist() == pytest.approx(kept.data_changes_s.tolist())
    folder = result("made", data__drift=drift)
    assert load(folder).data_changes_s.tolist() == []  # no log
    (folder / "events.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"events\.parquet: cannot be read"):
        render([load(folder)])


def test_sessions_name_groups_that_take_turns(result):
    """Two groups by the partition; the first one is group 2."""
    partition = {"kind": "label_overlap", "overlap": 0.2, "alpha": 0.3}
    folder = in_sessions(result(rounds=8, sessions=TURNS, data__partition=partition), history_bytes=lambda n: 1000 * n)
    run = load(folder)
    assert [device_groups.group_of_session(run, session).name for session in (1, 2, 3)] == [
        "group 2",
        "group 1",
        "group 2",
    ]
    every = [{"session": n, "rounds": 3} for n in (1, 2, 3)]
    rows = sessions_table(load(with_summary(folder, sessions=every)))
    assert all(cell in rows for cell in ("<td>group 2</td>", "<td>1</td>", "<td>5 kB</td>"))


@pytest.mark.parametrize(
    ("sessions", "kind"), [({}, "two_shard"), ({}, "iid"), ({"count": 1, "trigger": {"share": 0.5}}, "label_overlap")]
)
def test_without_turns_there_are_no_groups(result, sessions, kind):
    folder = in_sessions(result(rounds=8, sessions=TURNS | sessions, data__partition={"kind": kind}))
    assert device_groups.session_groups(load(folder)) == []


def test_groups_match_the_servers():
    """The same borders as SessionGroups, also where they do not divide."""
    scenario = load_scenario({
        "sessions": {"count": 3, "rounds": 1, "groups": 3}, "devices": {"count": 20}, "data": {"dataset": "digits"},
    })  # fmt: skip
    labels = np.arange(20) % 10
    parts = [np.array([device]) for device in range(20)]
    of = SessionGroups.divide(scenario.groups, 0, labels, labels, parts, 10)
    run = SimpleNamespace(scenario=scenario.model_dump(mode="json"))
    for session in (1, 2, 3, 4):
        group = device_groups.group_of_session(run, session)
        assert np.flatnonzero(of.members(session)).tolist() == list(range(group.first, group.end))


def test_map_marks_groups_apart(result):
    partition = {"kind": "label_overlap", "overlap": 0.2, "alpha": 0.3}
    run = load(in_sessions(result(rounds=8, sessions=TURNS, data__partition=partition)))
    devices = named(cell_map.figure(run), "devices")
    first = [data[0] < 50 for data in devices["customdata"]]
    assert devices["marker"]["line"]["color"] == [device_groups.GROUP_COLOURS[0 if each else 1] for each in first]
    assert "Rims tell groups apart." in cell_map.caption(run)
