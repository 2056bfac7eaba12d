"""Learning curves, against the columns that they draw."""

import numpy as np
import pytest
from report_folders import loaded, named, with_rounds

from edgefl.results.report.comparison import learning_curves


def test_three_views_of_the_accuracy(result):
    it = loaded(result())
    figure = learning_curves.figures([it])["accuracy"]
    rounds = it.data.rounds
    assert figure["data"][0]["y"] == pytest.approx(100 * rounds["test_accuracy"], rel=1e-3)
    for view, column in (("round", "round"), ("time", "time_s"), ("energy", "energy_j")):
        assert figure["views"][view]["data"][0]["x"] == pytest.approx(rounds[column], rel=1e-4)
    titles = [view["layout"]["xaxis"]["title"]["text"] for view in figure["views"].values()]
    assert titles == ["round", "virtual time [s]", "energy of all devices [J]"]


def test_curves_of_the_validation_set_stand_beside_those_of_the_test_set(result):
    plain = loaded(result())
    folder = with_rounds(result("other"), validation_accuracy=lambda n: n / 100, validation_loss=lambda n: 2.5 / n)
    it = loaded(folder)
    numbers = it.data.rounds["round"]
    assert named(learning_curves.accuracy([it]), "validation accuracy")["y"] == pytest.approx(numbers, rel=1e-2)
    assert named(learning_curves.loss([it]), "validation loss")["y"] == pytest.approx(2.5 / numbers, rel=1e-2)
    for runs, names in (([it], ["test accuracy", "validation accuracy"]), ([plain, it], ["label 0", "label 0"])):
        traces = learning_curves.accuracy(runs)["data"]
        assert [trace["name"] for trace in traces if trace["mode"] == "lines"] == names


def test_targets_are_lines_and_their_crossings_marked(result):
    it = loaded(result())
    figure = learning_curves.accuracy([it])
    targets = it.data.summary["targets"]
    marks = figure["views"]["time"]["data"][1]
    assert marks["x"] == pytest.approx([target["time_s"] for target in targets], rel=1e-4)
    texts = [note["text"] for note in figure["views"]["round"]["layout"]["annotations"]]
    assert texts == ["80 %", "90 %", f"90 %: round {targets[1]['round']}", f"80 %: round {targets[0]['round']}"]
    assert len(figure["views"]["time"]["layout"]["shapes"]) == 4  # two targets, two lines down to the axis


def test_close_targets_have_their_names_apart(result):
    figure = learning_curves.accuracy([loaded(result(targets=[0.8, 0.81, 0.82, 0.9]))])
    heights = [name["y"] for name in figure["views"]["round"]["layout"]["annotations"][:4]]
    assert heights[0] == 80
    assert min(np.diff(heights)) > 5


def test_high_targets_keep_their_names_on_the_chart(result):
    figure = learning_curves.accuracy([loaded(result(targets=[0.9, 0.97, 0.98, 0.99], rounds=9))])
    heights = [name["y"] for name in figure["views"]["round"]["layout"]["annotations"]]
    assert min(np.diff(heights)) > 5
    assert max(heights) <= figure["layout"]["yaxis"]["range"][1]


def test_a_target_reached_late_is_written_on_the_left_of_its_line(result):
    notes = learning_curves.accuracy([loaded(result(rounds=18))])["views"]["time"]["layout"]["annotations"]
    assert notes[-1]["text"].startswith("80 %")
    assert notes[-1]["xanchor"] == "right"


def test_a_target_not_reached_is_a_line_without_a_mark(result):
    figure = learning_curves.accuracy([loaded(result(rounds=3))])
    assert len(figure["data"]) == 1
    assert len(figure["views"]["round"]["layout"]["shapes"]) == 2


@pytest.mark.oracle
def test_a_long_run_is_thinned_and_keeps_its_ends(result):
    it = loaded(result(rounds=1500, server__participants=1))
    across = learning_curves.accuracy([it])["views"]["round"]["data"][0]["x"]
    assert len(across) == learning_curves.MOST_CURVE_POINTS
    assert (across[0], across[-1]) == (1, 1500)


def test_rounds_without_a_test_are_left_out(result):
    it = loaded(result(rounds=6))
    it.data.rounds["test_accuracy"][[0, 2, 4]] = np.nan
    assert learning_curves.accuracy([it])["views"]["round"]["data"][0]["x"] == [2, 4, 6]


def test_the_toy_problem_shows_its_distance_on_a_log_axis(result):
    figures = learning_curves.figures([loaded(result(kind="quadratic"))])
    assert list(figures) == ["distance", "loss"]
    axis = figures["distance"]["layout"]["yaxis"]
    assert axis["type"] == "log"
    assert axis["ticktext"] == ["10⁻²", "10⁻¹", "1", "10"]


def test_log_axis_over_few_decades_has_ticks_between_powers(result):
    figure = learning_curves.distance([loaded(result(kind="quadratic", rounds=30))])
    assert {"0.5", "1", "2", "5", "10"} < set(figure["layout"]["yaxis"]["ticktext"])


def test_log_axis_over_many_decades_has_few_ticks(result):
    figure = learning_curves.distance([loaded(result(kind="quadratic", pace=8))])
    assert 4 <= len(figure["layout"]["yaxis"]["tickvals"]) <= 10


def test_zero_distance_is_left_off_log_axis(result):
    it = loaded(result(kind="quadratic", rounds=5))
    it.data.rounds["distance_to_optimum"][3:] = 0
    assert len(learning_curves.distance([it])["data"][0]["y"]) == 3


def test_sweep_without_learning_has_no_curves(result):
    assert learning_curves.figures([loaded(result(kind="none"))]) == {}


def test_equal_curves_do_not_hide_each_other(result):
    pair = [loaded(result("a")), loaded(result("b", radio__bandwidth_hz=50e6), 1)]
    views = learning_curves.loss(pair)["views"]
    assert views["round"]["data"][0]["line"]["width"] > 2.2  # the same losses round by round
    assert "line" not in views["time"]["data"][0]  # but not at the same times


def test_widening_of_equal_curves_is_bounded(result):
    many = [loaded(result(f"run-{n}", rounds=4), n) for n in range(9)]
    widths = [patch["line"]["width"] for patch in learning_curves.loss(many)["views"]["time"]["data"][:-1]]
    assert max(widths) < 10


def test_labels_cannot_bring_markup(result):
    it = loaded(result())._replace(label='<a href="http://x">')
    assert learning_curves.accuracy([it])["data"][0]["name"] == "&lt;a href=&quot;http://x&quot;&gt;"


def test_a_new_session_is_marked(result):
    it = loaded(result(rounds=4))
    it.data.rounds["session"][2:] = 2
    shapes = learning_curves.loss([it])["views"]["round"]["layout"]["shapes"]
    assert [shape["x0"] for shape in shapes] == [2]
