"""What the charts show, against the columns they are made of."""

import numpy as np
import pytest
from result_folders import read_csv, rewrite

from edgefl.core.units import ENERGY, TIME
from edgefl.results.report import cell_map, learning_curves, phase_bars, timeline
from edgefl.results.report.read import load
from edgefl.results.report.style import ENERGY_PHASES, TIME_PHASES, styled_run


def one(folder, place=0):
    run = load(folder)
    return styled_run(run, f"label {place}", place)


def named(figure, name):
    """The trace of a figure by its name."""
    return next(trace for trace in figure["data"] if trace.get("name") == name)


def change_devices(folder, change):
    return rewrite(folder, "devices.csv", change)


class TestCurves:
    def test_three_views_of_the_accuracy(self, result):
        it = one(result())
        figure = learning_curves.figures([it])["accuracy"]
        rounds = it.run.rounds
        assert figure["data"][0]["y"] == pytest.approx(100 * rounds["test_accuracy"], rel=1e-3)
        for view, column in (("round", "round"), ("time", "time_s"), ("energy", "energy_j")):
            assert figure["views"][view]["data"][0]["x"] == pytest.approx(rounds[column], rel=1e-4)
        titles = [view["layout"]["xaxis"]["title"]["text"] for view in figure["views"].values()]
        assert titles == ["round", "virtual time [s]", "energy of all devices [J]"]

    def test_targets_are_lines_and_their_crossings_marked(self, result):
        it = one(result())
        figure = learning_curves.accuracy([it])
        targets = it.run.summary["targets"]
        marks = figure["views"]["time"]["data"][1]
        assert marks["x"] == pytest.approx([target["time_s"] for target in targets], rel=1e-4)
        texts = [note["text"] for note in figure["views"]["round"]["layout"]["annotations"]]
        assert texts == ["80 %", "90 %", f"90 %: round {targets[1]['round']}", f"80 %: round {targets[0]['round']}"]
        assert len(figure["views"]["time"]["layout"]["shapes"]) == 4  # two targets, two lines down to the axis

    def test_close_targets_have_their_names_apart(self, result):
        figure = learning_curves.accuracy([one(result(targets=[0.8, 0.81, 0.82, 0.9]))])
        heights = [name["y"] for name in figure["views"]["round"]["layout"]["annotations"][:4]]
        assert heights[0] == 80
        assert min(np.diff(heights)) > 5

    def test_high_targets_keep_their_names_on_the_chart(self, result):
        figure = learning_curves.accuracy([one(result(targets=[0.9, 0.97, 0.98, 0.99], rounds=9))])
        heights = [name["y"] for name in figure["views"]["round"]["layout"]["annotations"]]
        assert min(np.diff(heights)) > 5
        assert max(heights) <= figure["layout"]["yaxis"]["range"][1]

    def test_a_target_reached_late_is_written_on_the_left_of_its_line(self, result):
        notes = learning_curves.accuracy([one(result(rounds=18))])["views"]["time"]["layout"]["annotations"]
        assert notes[-1]["text"].startswith("80 %")
        assert notes[-1]["xanchor"] == "right"

    def test_a_target_not_reached_is_a_line_without_a_mark(self, result):
        figure = learning_curves.accuracy([one(result(rounds=3))])
        assert len(figure["data"]) == 1
        assert len(figure["views"]["round"]["layout"]["shapes"]) == 2

    def test_a_long_run_is_thinned_and_keeps_its_ends(self, result):
        it = one(result(rounds=1500, server__participants=1))
        across = learning_curves.accuracy([it])["views"]["round"]["data"][0]["x"]
        assert len(across) == learning_curves.MOST_CURVE_POINTS
        assert (across[0], across[-1]) == (1, 1500)

    def test_rounds_without_a_test_are_left_out(self, result):
        it = one(result(rounds=6))
        it.run.rounds["test_accuracy"][[0, 2, 4]] = np.nan
        assert learning_curves.accuracy([it])["views"]["round"]["data"][0]["x"] == [2, 4, 6]

    def test_the_toy_problem_shows_its_distance_on_a_log_axis(self, result):
        figures = learning_curves.figures([one(result(kind="quadratic"))])
        assert list(figures) == ["distance", "loss"]
        axis = figures["distance"]["layout"]["yaxis"]
        assert axis["type"] == "log"
        assert axis["ticktext"] == ["10⁻²", "10⁻¹", "1", "10"]

    def test_a_short_way_to_the_optimum_has_ticks_between(self, result):
        figure = learning_curves.distance([one(result(kind="quadratic", rounds=30))])
        assert {"0.5", "1", "2", "5", "10"} < set(figure["layout"]["yaxis"]["ticktext"])

    def test_a_long_way_to_the_optimum_has_few_ticks(self, result):
        figure = learning_curves.distance([one(result(kind="quadratic", pace=8))])
        assert 4 <= len(figure["layout"]["yaxis"]["tickvals"]) <= 10

    def test_a_distance_of_zero_has_no_place_on_a_log_axis(self, result):
        it = one(result(kind="quadratic", rounds=5))
        it.run.rounds["distance_to_optimum"][3:] = 0
        assert len(learning_curves.distance([it])["data"][0]["y"]) == 3

    def test_nothing_learned_nothing_drawn(self, result):
        assert learning_curves.figures([one(result(kind="none"))]) == {}

    def test_equal_curves_do_not_hide_each_other(self, result):
        pair = [one(result("a")), one(result("b", radio__bandwidth_hz=50e6), 1)]
        views = learning_curves.loss(pair)["views"]
        assert views["round"]["data"][0]["line"]["width"] > 2.2  # the same losses round by round
        assert "line" not in views["time"]["data"][0]  # but not at the same times

    def test_many_equal_curves_do_not_swell(self, result):
        many = [one(result(f"run-{n}", rounds=4), n) for n in range(9)]
        widths = [patch["line"]["width"] for patch in learning_curves.loss(many)["views"]["time"]["data"][:-1]]
        assert max(widths) < 10

    def test_labels_cannot_bring_markup(self, result):
        it = one(result())._replace(label='<a href="http://x">')
        assert learning_curves.accuracy([it])["data"][0]["name"] == "&lt;a href=&quot;http://x&quot;&gt;"

    def test_a_new_session_is_marked(self, result):
        it = one(result(rounds=4))
        it.run.rounds["session"][2:] = 2
        shapes = learning_curves.loss([it])["views"]["round"]["layout"]["shapes"]
        assert [shape["x0"] for shape in shapes] == [2]


class TestPhases:
    @pytest.mark.parametrize("parts", [TIME_PHASES, ENERGY_PHASES])
    def test_means_over_the_participants(self, result, parts):
        run = load(result(rounds=3))
        means = phase_bars.per_round(run, parts)
        for place, phase in enumerate(parts):
            expected = [run.devices[phase.column][run.devices["row"] == row].mean() for row in range(3)]
            assert means[place] == pytest.approx(expected)
        assert phase_bars.totals(run, parts) == pytest.approx([run.devices[phase.column].sum() for phase in parts])

    def test_the_stack_is_as_high_as_the_round_is_long(self, result):
        run = load(result(rounds=7))
        figure = phase_bars.figure(run, TIME_PHASES, TIME, phase_bars.highest([run], TIME_PHASES))
        heights = np.sum([trace["y"] for trace in figure["data"]], axis=0)
        assert heights == pytest.approx(run.rounds["duration_s"], rel=2e-3)

    def test_a_long_run_shares_bars(self, result):
        run = load(result(rounds=301, server__participants=2))
        ceiling = phase_bars.highest([run], ENERGY_PHASES)
        trace = phase_bars.figure(run, ENERGY_PHASES, ENERGY, ceiling)["data"][1]
        assert len(trace["y"]) == 101
        assert (trace["hovertext"][0], trace["hovertext"][-1]) == ("rounds 1–3", "round 301")
        first = run.devices["cpu_energy_j"][run.devices["round"] <= 3].mean()
        assert trace["y"][0] == pytest.approx(1e3 * first, rel=1e-3)  # in mJ

    def test_runs_side_by_side_share_their_scale(self, result):
        near, far = load(result("near")), load(result("far", radio__bandwidth_hz=20e6))
        ceiling = phase_bars.highest([near, far], TIME_PHASES)
        ranges = {
            tuple(phase_bars.figure(run, TIME_PHASES, TIME, ceiling)["layout"]["yaxis"]["range"]) for run in (near, far)
        }
        assert len(ranges) == 1
        assert ranges.pop()[1] >= far.rounds["duration_s"].max()

    def test_a_phase_that_was_never_reached_counts_nothing(self, result):
        folder = change_devices(result(rounds=2), lambda _: {"upload_s": "", "wait_s": ""})
        assert phase_bars.totals(load(folder), TIME_PHASES)[2:].tolist() == [0, 0]


class TestMap:
    def test_every_device_where_it_was_last_seen(self, result):
        run = load(result(rounds=30, devices__count=20))
        trace = named(cell_map.figure(run), "devices")
        last = {device: row for row, device in enumerate(run.devices["device"])}
        assert [told[0] for told in trace["customdata"]] == sorted(last)
        rows = [last[told[0]] for told in trace["customdata"]]
        assert trace["x"] == pytest.approx(run.devices["x_m"][rows], rel=1e-3)
        assert trace["marker"]["color"] == pytest.approx(run.devices["pathloss_db"][rows], rel=1e-3)
        assert [told[2] for told in trace["customdata"]] == [
            int((run.devices["device"] == told[0]).sum()) for told in trace["customdata"]
        ]

    def test_mean_phases_of_a_device(self, result):
        run = load(result(rounds=30, devices__count=12))
        told = named(cell_map.figure(run), "devices")["customdata"][0]
        mine = run.devices["device"] == told[0]
        expected = [1e3 * run.devices[phase.column][mine].mean() for phase in TIME_PHASES]
        assert told[3:7] == pytest.approx(expected, rel=1e-3)  # in ms

    def test_equal_scales_rim_and_hole(self, result):
        layout = cell_map.figure(load(result(rounds=20)))["layout"]
        assert layout["yaxis"]["scaleanchor"] == "x"
        rim, hole = layout["shapes"]
        corners = np.array([corner.split(",") for corner in rim["path"][1:-1].split("L")], dtype=float)
        assert np.hypot(*corners.T) == pytest.approx(250, rel=1e-3)
        assert (hole["x0"], hole["y1"]) == (-10, 10)

    @pytest.mark.parametrize("clear", ["1", "True", "true", "1.0"])
    def test_line_of_sight_however_it_is_written(self, result, clear):
        folder = change_devices(result(rounds=2), lambda row: {"los": clear if row["device"] < "5" else "0"})
        marker = named(cell_map.figure(load(folder)), "devices")["marker"]
        assert set(marker["symbol"]) == {"circle", "diamond"}
        assert "Diamonds" in cell_map.caption(load(folder))

    def test_a_place_that_is_not_known_is_null(self, result):
        folder = change_devices(
            result(rounds=1), lambda row: {"x_m": "", "pathloss_db": ""} if row["device"] < "5" else {}
        )
        trace = named(cell_map.figure(load(folder)), "devices")
        assert trace["x"].count(None) == trace["marker"]["color"].count(None) > 0

    def test_a_crowd_is_thinned_and_said_so(self, result):
        run = load(result(rounds=3, devices__count=100_000, server__participants=1000))
        assert len(named(cell_map.figure(run), "devices")["x"]) == cell_map.MOST_MARKS
        assert cell_map.caption(run).startswith("2,000 of 2,9")


class TestTimeline:
    def test_phases_follow_each_other_and_fill_the_round(self, result):
        run = load(result(rounds=5))
        bars = timeline.figure(run)["data"]
        starts, lengths = np.array([bar["base"] for bar in bars]), np.array([bar["x"] for bar in bars])
        assert starts[1:] == pytest.approx((starts + lengths)[:-1], abs=2e-3)
        ends = np.repeat(run.rounds["time_s"][:3], 10)
        assert (starts + lengths)[-1] == pytest.approx(ends, abs=2e-3)
        assert starts[0] == pytest.approx(ends - np.repeat(run.rounds["duration_s"][:3], 10), abs=2e-3)

    def test_three_rounds_with_their_borders(self, result):
        run = load(result(rounds=5))
        layout = timeline.figure(run)["layout"]
        assert [note["text"] for note in layout["annotations"]] == ["round 1", "round 2", "round 3"]
        assert [shape["x0"] for shape in layout["shapes"]] == pytest.approx([0, *run.rounds["time_s"][:3]], abs=1e-3)
        assert timeline.caption(run) == "The first 3 rounds."

    def test_a_large_round_is_picked_from_evenly(self, result):
        run = load(result(rounds=2, devices__count=500, server__participants=200))
        rows = timeline.chosen(run)
        assert len(rows) == timeline.MOST_PARTICIPATIONS
        wait = run.devices["wait_s"][rows]
        assert (wait[0], wait[-1]) == (run.devices["wait_s"][:200].max(), 0)
        assert timeline.caption(run) == "The first round, 60 of 200 participations."

    def test_whole_rounds_only(self, result):
        run = load(result(rounds=5, server__participants=25))
        assert len(timeline.chosen(run)) == 50

    def test_what_was_not_received_is_crossed_out(self, result):
        folder = change_devices(result(rounds=3), lambda row: {"status": "late"} if row["round"] == "2" else {})
        run = load(folder)
        crosses = timeline.figure(run)["data"][-1]
        assert crosses["name"] == "not received"
        assert len(crosses["x"]) == 10
        assert "Crosses" in timeline.caption(run)

    @pytest.mark.parametrize("policy", ["asynchronous", {"kind": "buffered"}])
    def test_asynchronous_work_ends_with_its_round(self, result, policy):
        folder = result(rounds=3, server__policy=policy)
        change_devices(folder, lambda _: {"compute_s": "3", "wait_s": 0, "start_s": ""})  # of an earlier version
        bars = timeline.figure(load(folder))["data"]
        ends = np.array(bars[-1]["base"]) + bars[-1]["x"]
        assert ends[:10] == pytest.approx([load(folder).rounds["time_s"][0]] * 10, abs=1e-3)

    @pytest.mark.parametrize("policy", ["sequential", {"kind": "split", "mode": "sequential"}])
    def test_one_after_another(self, result, policy):
        begin = {row["device"]: place for place, row in enumerate(timeline_rows(result("plain", rounds=1)))}
        change = {"download_s": 1, "compute_s": 2, "upload_s": 1, "start_s": ""}  # of an earlier version
        folder = rewrite(
            result(rounds=1, server__policy=policy),
            "devices.csv",
            lambda row: change | {"wait_s": 4 * (9 - begin[row["device"]])},
        )
        rewrite(folder, "rounds.csv", lambda _: {"time_s": 40, "duration_s": 40})
        figure = timeline.figure(load(folder))
        assert figure["data"][0]["base"] == pytest.approx(np.arange(0, 40, 4))
        assert ("alternate" in timeline.caption(load(folder))) == (policy != "sequential")


def timeline_rows(folder):
    return read_csv(folder / "devices.csv")
