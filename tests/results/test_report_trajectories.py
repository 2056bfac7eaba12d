"""Trajectories of devices on the map."""

import numpy as np
from report_folders import named, with_tracks
from result_folders import read_csv

from edgefl.results.report.run import cell_map, trajectories
from edgefl.results.report.shared.read import load


def line_of(tracks):
    """The parts of the line: lists of points."""
    table = dict(zip(("device", "time_s", "x_m", "y_m"), np.array(tracks, dtype=float).T, strict=True))
    figure = trajectories.figure(table, 100.0)
    parts = [[]]
    for x, y in zip(figure["x"], figure["y"], strict=True) if figure else ():
        if x is None:
            parts.append([])
        else:
            parts[-1].append((x, y))
    return parts[:-1]


def test_each_device_has_its_line():
    tracks = [(device, t, 10 * t, 20 * device) for device in (3, 8) for t in range(5)]
    assert line_of(tracks) == [[(10 * t, 20 * device) for t in range(5)] for device in (3, 8)]


def test_a_line_is_broken_where_a_device_was_away_or_put_elsewhere():
    away = [(1, t, 10 * t, 0) for t in (0, 1, 2, 6, 7)] + [(2, t, t, 50) for t in range(8)]
    assert [len(part) for part in line_of(away)] == [3, 2, 8]
    again = [(1, t, 10 * (t % 5), 0) for t in range(8)]
    assert [len(part) for part in line_of([(1, t, 90 * (t == 4) + t, 0) for t in range(8)])] == [4, 1, 3]
    assert [len(part) for part in line_of(again)] == [8]  # back by four usual steps may be a turn


def test_static_device_has_no_trajectory():
    assert line_of([(1, t, 5, 5) for t in range(5)]) == []


def test_long_trajectories_are_fewer():
    long = [(device, t, 80 * (-1) ** t, device) for device in range(20) for t in range(50)]
    assert len(line_of(long)) == trajectories.FEWEST_LINES


def test_only_last_part_of_very_long_trajectory_is_drawn(result):
    back_and_forth = [(1, t, 80 * (-1) ** t, 0) for t in range(50)]  # 160 m each second, on a map of half width 100 m
    (part,) = line_of(back_and_forth)
    longest_m = trajectories.LEGIBLE_LENGTH * 100 / trajectories.FEWEST_LINES
    assert 160 * (len(part) - 1) <= longest_m < 160 * len(part)
    assert part[-1] == (80 * (-1) ** 49, 0)
    run = load(with_tracks(result(), [(1, t, 800 * (-1) ** t, 0) for t in range(50)]))
    assert cell_map.card(run, [run]).extra.label == "Trajectory of one device, last part only"


def test_on_the_map(result):
    run = load(with_tracks(result(), [(1, t, 20 * t, 0) for t in range(5)]))
    assert named(cell_map.figure(run), "trajectories")["x"] == [0, 20, 40, 60, 80, None]
    assert cell_map.card(run, [run]).extra == ("trajectories", "Trajectory of one device")


def test_the_folder_may_have_no_tracks(result):
    folder = result()
    assert load(folder).tracks is None
    assert len(read_csv(with_tracks(folder, [(1, 0, 0, 0)]) / "tracks.csv")) == len(load(folder).tracks["device"])
