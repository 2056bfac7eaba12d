"""What the page says of the world: who was there, where devices went, batteries, energy in vain, the story."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from result_folders import read_csv, rewrite, write_csv

from channel import free_space, umi
from edgefl.core.units import TIME
from edgefl.radio.radio_section import Radio
from edgefl.results.report import (
    battery,
    cell_map,
    coverage,
    device_energy,
    device_groups,
    handovers,
    learning_curves,
    narrative,
    population,
    time_charts,
    trajectories,
    views,
    wasted_energy,
)
from edgefl.results.report.page import render
from edgefl.results.report.read import load
from edgefl.results.report.sessions_table import sessions_table
from edgefl.results.report.style import ENERGY_PHASES, styled_run
from edgefl.scenario import load as load_scenario
from edgefl.server.session_groups import SessionGroups
from edgefl.world.cells_section import Cells

POPULATION = {"present": lambda n: 50 + n % 7, "arrivals": lambda n: n % 3, "departures": lambda n: n % 2}


def with_rounds(folder, **columns):
    """New columns of rounds.csv as functions of the round."""
    return rewrite(
        folder, "rounds.csv", lambda row: {name: value(int(row["round"])) for name, value in columns.items()}
    )


def with_tracks(folder, tracks):
    rows = [dict(zip(("device", "time_s", "x_m", "y_m"), row, strict=True)) for row in tracks]
    write_csv(folder / "tracks.csv", ["device", "time_s", "x_m", "y_m"], rows)
    return folder


def with_summary(folder, **changes):
    path = folder / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


def of(figure, name):
    return next(trace for trace in figure["data"] if trace.get("name") == name)


class TestPopulation:
    def test_counts_at_their_times(self, result):
        run = load(with_rounds(result(), **POPULATION))
        figure = population.figure(run)
        there = of(figure, "devices present")
        assert there["y"] == run.rounds["present"].tolist()
        assert there["x"] == pytest.approx(run.rounds["time_s"] - run.rounds["duration_s"], abs=1e-3)
        assert of(figure, "arrivals")["y"] == run.rounds["arrivals"].tolist()
        assert of(figure, "departures")["y"] == (-run.rounds["departures"]).tolist()

    def test_bars_are_as_wide_as_rounds(self, result):
        run = load(with_rounds(result(), **POPULATION))
        bar = of(population.figure(run), "arrivals")
        begins = np.array(bar["x"]) - np.array(bar["width"]) / 2
        assert begins == pytest.approx(run.rounds["time_s"] - run.rounds["duration_s"], abs=1e-2)

    def test_a_long_run_loses_nobody(self, result):
        run = load(with_rounds(result(rounds=1000, server__participants=1), **POPULATION))
        bar = of(population.figure(run), "arrivals")
        assert len(bar["y"]) <= time_charts.MOST_TIME_BARS
        assert sum(bar["y"]) == run.rounds["arrivals"].sum()
        assert 60 * sum(bar["width"]) == pytest.approx(run.rounds["time_s"][-1], rel=1e-2)  # in minutes

    def test_a_population_that_never_changes_is_no_figure(self, result):
        constant = {"present": lambda _: 100, "arrivals": lambda _: 0, "departures": lambda _: 0}
        assert population.figure(load(with_rounds(result(), **constant))) is None
        assert population.figure(load(result("earlier"))) is None

    def test_handovers(self, result):
        run = load(with_rounds(result("some"), handovers=lambda n: n % 4))
        assert of(handovers.figure(run), "handovers")["y"] == run.rounds["handovers"].tolist()
        assert handovers.figure(load(with_rounds(result("none"), handovers=lambda _: 0))) is None
        assert handovers.figure(load(result("off"))) is None

    def test_sessions_are_marked(self, result):
        run = load(with_rounds(result(rounds=9), session=lambda n: 1 + n // 4, **POPULATION))
        marks = [shape["x0"] for shape in population.figure(run)["layout"]["shapes"]]
        assert marks == pytest.approx(run.rounds["time_s"][[2, 6]], rel=1e-4)


class TestBattery:
    def test_mean_level_empty_devices_and_each_one(self, result):
        folder = with_rounds(result(rounds=9), battery=lambda n: 1 - n / 20, depleted=lambda n: n // 4)
        folder = rewrite(folder, "devices.csv", lambda row: {"battery_j": 100 - int(row["round"])})
        run = load(folder)
        mean, empty, own = battery.figure(run)["data"]
        assert mean["y"] == pytest.approx(100 * run.rounds["battery"])
        assert empty["y"] == run.rounds["depleted"].tolist()
        devices = np.unique(run.devices["device"])
        some = min(len(devices), battery.MOST_BATTERIES)
        assert own["y"].count(None) == some  # a gap behind each
        first = own["y"][: own["y"].index(None)]
        mine = run.devices["device"] == devices[0]
        levels_j = run.devices["battery_j"][mine]
        assert first == pytest.approx(100 * levels_j / levels_j.max(), rel=1e-3)
        ends = run.rounds["time_s"][run.devices["row"][mine]] - run.devices["wait_s"][mine]
        assert own["x"][: len(first)] == pytest.approx(ends, rel=1e-4)

    def test_levels_are_parts_of_the_capacity(self, result):
        """A device that is never seen full is not drawn as if it were."""
        folder = with_rounds(result(rounds=9), battery=lambda _: 0.5)
        run = load(rewrite(folder, "devices.csv", lambda _: {"battery_j": 60, "battery_capacity_j": 240}))
        own = battery.figure(run)["data"][-1]
        assert {value for value in own["y"] if value is not None} == {25.0}
        assert "in % of the capacity" in battery.caption(run)

    def test_groups_have_their_colours_and_charging_breaks_lines(self, result):
        """Phones are charged after every third round: a gap there, and one behind each device."""
        kinds = [{"name": "phones", "share": 0.9}, {"name": "sensors", "share": 0.1}]
        devices = {"count": 10, "battery": {"capacity_j": 100.0}, "groups": kinds}
        folder = with_rounds(result(rounds=9, devices=devices), battery=lambda _: 0.5, depleted=lambda _: 0)
        levels = {"battery_j": lambda number: 80 - 10 * (number % 3), "battery_capacity_j": lambda _: 100}
        run = load(
            rewrite(folder, "devices.csv", lambda row: {key: of(int(row["round"])) for key, of in levels.items()})
        )
        _, phones, sensors = battery.figure(run)["data"]
        assert (
            phones["line"]["color"]
            == device_groups.GROUP_COLOURS[0]
            != sensors["line"]["color"]
            == device_groups.GROUP_COLOURS[1]
        )
        assert sensors["y"] == [70, 60, None, 80, 70, 60, None, 80, 70, 60, None, 80, None]
        assert len(phones["y"]) == 9 * len(sensors["y"])
        assert "10 devices (9 phones, 1 sensors) went" in narrative.sentences(run)[0]
        assert {kind for _, _, kind in device_energy.figure(run)["data"][0]["customdata"]} == {
            " (phones)",
            " (sensors)",
        }
        assert "<span>sensors</span>" in render([run]).replace('<i class="dot" style="background:#009e73"></i>', "")

    def test_what_batteries_lose_beside_learning_has_a_name(self, result):
        """Sums of the rounds; the energy in the books is that of learning, and is all there is without batteries."""
        columns = {
            "battery": lambda _: 0.5,
            "depleted": lambda _: 0,
            "drained_j": lambda n: 100 * n,
            "charged_j": lambda _: 1000,
        }
        page = render([load(with_rounds(result("low", rounds=4), **columns))])
        assert ">Energy of learning<" in page
        assert ">Batteries idled away<" in page
        assert '<strong>1<small>kJ</small></strong></span><span class="note">4 kJ charged' in page
        mains = render([load(result("mains"))])
        assert ">Energy of all devices<" in mains
        assert "idled away" not in mains

    def test_without_batteries_there_is_no_figure(self, result):
        assert battery.figure(load(result())) is None


class TestEnergy:
    def test_all_energy_by_device_largest_first(self, result):
        run = load(result(devices__count=30))
        figure = device_energy.figure(run)
        heights = np.sum([trace["y"] for trace in figure["data"]], axis=0)
        spent = sum(run.devices[phase.column] for phase in ENERGY_PHASES)
        assert heights.sum() == pytest.approx(spent.sum(), rel=1e-3)
        assert (np.diff(heights) <= 1e-3).all()
        dearest, rank, _ = figure["data"][0]["customdata"][0]
        assert rank == 1
        assert heights[0] == pytest.approx(spent[run.devices["device"] == dearest].sum(), rel=1e-3)

    def test_bars_of_many_devices_stand_side_by_side(self, result):
        """An even pick without gaps; the ranks among all are below and in what the pointer shows."""
        run = load(result(rounds=4, devices__count=400, server__participants=400))
        figure = device_energy.figure(run)
        drawn = figure["data"][0]
        assert drawn["x"] == list(range(1, device_energy.MOST_BARS + 1))
        ranks = [rank for _, rank, _ in drawn["customdata"]]
        assert (ranks[0], ranks[-1]) == (1, 400)
        axis = figure["layout"]["xaxis"]
        assert [ranks[place - 1] for place in axis["tickvals"]] == [int(text) for text in axis["ticktext"]]
        assert "400 devices took part (150 of them drawn)" in device_energy.caption(run)

    def test_an_empty_battery_is_no_departure(self, result):
        """Without churn nobody leaves for another reason; with churn who is at the reserve has run out."""
        ends = {"3": 50.0, "4": 20.0}  # J of 100; the reserve is a fifth
        devices = {"count": 100, "battery": {"capacity_j": 100.0, "reserve": 0.2, "resume": 0.5}}

        def low(folder):
            columns = {"battery": lambda _: 0.5, "depleted": lambda n: n // 4, "departed": lambda n: 10 * (n in {3, 4})}
            return rewrite(with_rounds(folder, **columns), "devices.csv", lambda row: {
                "status": "departed" if row["round"] in ends else "received",
                "battery_j": ends.get(row["round"], 90.0), "battery_capacity_j": 100.0})  # fmt: skip

        stay = load(low(result("stay", rounds=6, devices=devices)))
        assert set(wasted_energy.energy_by_outcome(stay)) == {"battery_empty"}
        assert "not used: 20 battery empty" in " ".join(narrative.sentences(stay))
        page = render([stay])
        assert '<th scope="row">battery empty</th><td>20</td>' in page
        assert '<th scope="row">departed</th><td>0</td>' in page
        leave = load(low(result("leave", rounds=6, devices=devices, churn={"kind": "poisson"})))
        lost = wasted_energy.energy_by_outcome(leave)
        assert [np.flatnonzero(lost[end]).tolist() for end in ("departed", "battery_empty")] == [[2], [3]]
        mains = rewrite(result("mains", rounds=6), "devices.csv", lambda _: {"status": "departed"})
        assert set(wasted_energy.energy_by_outcome(load(mains))) == {"departed"}

    def test_every_joule_in_vain_has_its_cause(self, result):
        ends = {"3": "late", "4": "departed", "5": "upload_failed"}
        folder = rewrite(result(rounds=8), "devices.csv", lambda row: {"status": ends.get(row["round"], "received")})
        run = load(folder)
        spent = sum(run.devices[phase.column] for phase in ENERGY_PHASES)
        lost = wasted_energy.energy_by_outcome(run)
        assert set(lost) == set(ends.values())
        for number, end in ends.items():
            assert np.flatnonzero(lost[end]).tolist() == [int(number) - 1]
            assert lost[end].sum() == pytest.approx(spent[run.devices["round"] == int(number)].sum())
        slices, sums = wasted_energy.shares_by_outcome(run)
        assert sums.sum() == pytest.approx(spent.sum())
        assert slices[0].name == "used"
        drawn = sum(sum(trace["y"]) for trace in wasted_energy.figure(run)["data"])
        assert drawn == pytest.approx(sums[1:].sum(), rel=1e-2)

    def test_nothing_in_vain_is_no_figure(self, result):
        assert wasted_energy.figure(load(result())) is None


def inside(polygon, points):
    """Whether points [n, 2] are in a convex polygon that turns left."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    offsets = points[:, None] - polygon
    return (edges[:, 0] * offsets[..., 1] - edges[:, 1] * offsets[..., 0] >= 0).all(axis=1)


class TestCoverage:
    @pytest.mark.parametrize(
        "cells",
        [
            {"layout": "hexagonal", "sites": 7, "radius_m": 100},
            {"layout": "listed", "positions_m": [[0, 0], [150, 20], [40, 400]], "radius_m": 120},
        ],
    )
    def test_a_point_is_in_the_cell_of_the_nearest_site(self, cells):
        section = Cells.model_validate(cells)
        points = np.random.default_rng(1).uniform(-500, 500, (4000, 2))
        away = section.distances_m(points)
        clear = np.abs(away.min(axis=1) - section.radius_m) > 0.5  # corners cut a little off the disc
        for site, border in enumerate(coverage.outlines(section.sites_m, section.radius_m)):
            mine = (away.argmin(axis=1) == site) & (away.min(axis=1) <= section.radius_m)
            assert inside(border, points)[clear].tolist() == mine[clear].tolist()

    def test_the_middle_of_a_layout_is_a_hexagon(self):
        section = Cells.model_validate({"layout": "hexagonal", "sites": 7, "radius_m": 100})
        x, y = coverage.outlines(section.sites_m, 100.0)[0].T
        area = abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
        assert area == pytest.approx(1.5 * np.sqrt(3) * 100**2, rel=5e-3)

    def test_free_space_is_what_its_formula_says(self):
        radio, cells = Radio.model_validate({"propagation": "free_space"}), Cells()
        found = coverage.path_loss_db(radio, cells, np.array([50.0, 200.0]), 1.5)
        exact = free_space.path_loss_db(np.hypot([50.0, 200.0], 8.5), radio.carrier_hz)
        assert found == pytest.approx(exact)

    def test_the_mean_over_lines_of_sight(self):
        radio, distance = Radio.model_validate({"propagation": "umi"}), np.array([30.0, 80.0, 200.0])
        found = coverage.path_loss_db(radio, Cells(), distance, 1.5)
        clear, blocked = (umi.path_loss_db(distance, 3.5e9, np.full(3, los), 10.0, 1.5) for los in (True, False))
        chance = umi.los_probability(distance)
        exact = chance * clear + (1 - chance) * blocked
        assert np.abs(found - exact).max() < 1 / 32 * np.abs(blocked - clear).max() + 1e-9  # of 16 even chances

    def test_a_scenario_of_another_version_has_its_devices_on_the_map(self, result):
        figure = cell_map.figure(load(result(cells={"radius_m": 250, "colour": "blue"})))
        assert [trace["name"] for trace in figure["data"]] == ["devices"]

    def test_devices_that_keep_together_are_shown_from_nearer(self, result):
        folder = rewrite(result(), "devices.csv", lambda row: {"x_m": 20 + int(row["device"]) / 2, "y_m": 5})
        left, right = cell_map.figure(load(folder))["layout"]["xaxis"]["range"]
        assert left < 0
        assert 70 < right < 100 + left

    @pytest.mark.parametrize(
        ("x_m", "y_m", "whither"),
        [(60, 0, "60 m to the west"), (-60, -60, "85 m to the north-east"), (0, 80, "80 m to the south")],
    )
    def test_a_crowd_beside_the_base_station_fills_the_picture(self, result, x_m, y_m, whither):
        """Half of 14 m and a margin around it; where the base station is stands in words."""
        places = {"x_m": lambda device: x_m + device / 99 - 0.5, "y_m": lambda device: y_m + 14 * device / 99 - 7}
        folder = rewrite(
            result(), "devices.csv", lambda row: {name: at(int(row["device"])) for name, at in places.items()}
        )
        run = load(folder)
        across, up = (cell_map.figure(run)["layout"][axis]["range"] for axis in ("xaxis", "yaxis"))
        half = 1.3 * 7
        assert across == pytest.approx([x_m - half, x_m + half], abs=0.3)
        assert up == pytest.approx([y_m - half, y_m + half], abs=0.3)
        assert f"The base station is not in the picture: it is {whither}." in cell_map.caption(run)


def line_of(tracks):
    """The parts of the line: lists of points."""
    table = dict(zip(("device", "time_s", "x_m", "y_m"), np.array(tracks, dtype=float).T, strict=True))
    figure, parts = trajectories.figure(table, 100.0), [[]]
    for x, y in zip(figure["x"], figure["y"], strict=True) if figure else ():
        if x is None:
            parts.append([])
        else:
            parts[-1].append((x, y))
    return parts[:-1]


class TestTrajectories:
    def test_each_device_has_its_line(self):
        tracks = [(device, t, 10 * t, 20 * device) for device in (3, 8) for t in range(5)]
        assert line_of(tracks) == [[(10 * t, 20 * device) for t in range(5)] for device in (3, 8)]

    def test_a_line_is_broken_where_a_device_was_away_or_put_elsewhere(self):
        away = [(1, t, 10 * t, 0) for t in (0, 1, 2, 6, 7)] + [(2, t, t, 50) for t in range(8)]
        assert [len(part) for part in line_of(away)] == [3, 2, 8]
        again = [(1, t, 10 * (t % 5), 0) for t in range(8)]
        assert [len(part) for part in line_of([(1, t, 90 * (t == 4) + t, 0) for t in range(8)])] == [4, 1, 3]
        assert [len(part) for part in line_of(again)] == [8]  # back by four usual steps may be a turn

    def test_who_stands_still_has_none(self):
        assert line_of([(1, t, 5, 5) for t in range(5)]) == []

    def test_long_ways_are_fewer(self):
        long = [(device, t, 80 * (-1) ** t, device) for device in range(20) for t in range(50)]
        assert len(line_of(long)) == trajectories.FEWEST_LINES

    def test_on_the_map(self, result):
        run = load(with_tracks(result(), [(1, t, 20 * t, 0) for t in range(5)]))
        assert of(cell_map.figure(run), "trajectories")["x"] == [0, 20, 40, 60, 80, None]
        assert "Line: the trajectory of one device." in cell_map.caption(run)


class TestNarrative:
    def test_who_moved_and_what_it_brought(self, result):
        run = load(result())
        text = " ".join(narrative.sentences(run))
        assert "100 devices went from one random point to the next at 10 m/s around one base station" in text
        assert "60 rounds in" in text
        assert "trained mlp on digits by fedavg; the accuracy went from" in text
        assert "every update was used" in text
        assert "came and went" not in text

    def test_who_came_and_what_was_lost(self, result):
        folder = with_rounds(result(churn={"kind": "poisson"}), **POPULATION, handovers=lambda _: 2)
        folder = with_rounds(folder, battery=lambda n: 1 - n / 100, depleted=lambda n: n // 30)
        folder = rewrite(folder, "devices.csv", lambda row: {"status": "late" if row["round"] == "7" else "received"})
        run = load(folder)
        text = " ".join(narrative.sentences(run))
        came, left = (int(run.rounds[name].sum()) for name in ("arrivals", "departures"))
        assert (
            f"(poisson): 50 to 56 of them were present when a round began; {came} arrivals, {left} departures" in text
        )
        assert "handed devices over 120 times" in text
        assert "at 99 % after the first round and at 40 % at the end, when 2 devices had no charge left" in text
        spent = sum(run.devices[phase.column] for phase in ENERGY_PHASES)
        share = 100 * spent[run.devices["round"] == 7].sum() / spent.sum()
        assert f"{share:.1f} % of it for the 10 participations whose update was not used: 10 late." in text

    def test_who_could_take_part(self, result):
        some = load(with_rounds(result("some"), present=lambda n: 40 + n))
        assert "41 to 100 of them could take part when a round began." in narrative.sentences(some)
        every = load(with_rounds(result("every"), present=lambda _: 100))
        assert "could take part" not in " ".join(narrative.sentences(every))

    def test_numbers_keep_their_units(self, result):
        page = render([load(result(rounds=20))])
        assert "20\N{NO-BREAK SPACE}rounds in" in page

    def test_polling_is_no_lost_update(self, result):
        ends = {"2": "polled", "3": "late"}
        folder = rewrite(result(rounds=4), "devices.csv", lambda row: {"status": ends.get(row["round"], "received")})
        text = " ".join(narrative.sentences(load(folder)))
        assert "to report losses without being chosen" in text
        assert "whose update was not used: 10 late." in text

    def test_targets(self, result):
        text = " ".join(narrative.sentences(load(result(rounds=20, targets=[0.8, 0.99]))))
        assert "80 % took" in text
        assert "not reached: 99 %" in text

    def test_a_priced_run(self, result):
        assert "priced, without any learning" in " ".join(narrative.sentences(load(result(kind="none"))))

    def test_no_round_no_story(self, result):
        assert narrative.sentences(load(result(rounds=0, status="interrupted"))) == []

    def test_what_a_scenario_says_stays_text(self, result):
        page = render([load(result(mobility={"kind": "<b>fly</b>"}))])
        assert "moved (&lt;b&gt;fly&lt;/b&gt;)" in page


def test_sessions_have_their_table(result):
    reached = {"accuracy": 0.8, "round": 3, "time_s": 5.0, "energy_j": 2.0}
    missed = {"accuracy": 0.8, "round": None, "time_s": None, "energy_j": None}
    both = [
        {"session": n, "rounds": 6, "time_s": 9.0, "energy_j": 4.0, "final_accuracy": 0.9, "targets": [target]}
        for n, target in ((1, reached), (2, missed))
    ]
    page = render([load(with_summary(result("two"), sessions=both))])
    assert "<h3>Sessions</h3>" in page
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
    assert table.count("to 97 % of the reference&#x27;s best") == 1
    for text in ("first 10 rounds", "51.0 %", "93.0 %", "80.0 %: round 3 · 5 s · 2 J"):
        assert text in table
    assert table.count("not reached") == 0


TURNS = {"count": 3, "rounds": 2, "first_group": 2, "initialisation": {"kind": "proposed"}}


def in_sessions(folder, **columns):
    """Three sessions of two rounds, an extra one before the second and the third, which is not tested."""
    places = [(1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2)]

    def place(row):
        session, number = places[int(row["round"]) - 1]
        untested = {"test_accuracy": "", "test_loss": ""} if number < 1 and "test_loss" in row else {}
        return {"session": session, "round": number, **untested}

    with_rounds(folder, **columns)
    return rewrite(rewrite(folder, "rounds.csv", place), "devices.csv", place)


class TestSessions:
    def test_extra_rounds_are_bands_and_break_the_curve(self, result):
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

    def test_their_marks_have_a_legend(self, result):
        page = render([load(in_sessions(result("some", rounds=8, sessions=TURNS)))])
        assert "Grey lines, in all charts, show where a session begins; yellow bands show its extra rounds" in page
        assert "2 of them extra, " in page
        assert "where a session begins" not in render([load(result("none"))])

    def test_who_took_turns_is_told(self, result):
        """Two groups by the partition, with the labels that they hold; the first one is group 2."""
        partition = {"kind": "label_overlap", "overlap": 0.2, "alpha": 0.3}
        folder = in_sessions(
            result(rounds=8, sessions=TURNS, data__partition=partition), history_bytes=lambda n: 1000 * n
        )
        held = [
            {"device": device, "label": label, "samples": 1} for device, label in ((0, 1), (49, 2), (50, 2), (99, 7))
        ]
        write_csv(folder / "labels.csv", ["device", "label", "samples"], held)
        text = " ".join(narrative.sentences(load(folder)))
        assert "In 3 sessions two groups of 50 devices with different labels (1, 2; 2, 7) took turns" in text
        assert "2 extra rounds found out where to start, and the server kept at most 8 kB of earlier models" in text
        run = load(folder)
        assert [device_groups.group_of_session(run, session).name for session in (1, 2, 3)] == [
            "group 2",
            "group 1",
            "group 2",
        ]
        every = [{"session": n, "rounds": 3} for n in (1, 2, 3)]
        rows = sessions_table(load(with_summary(folder, sessions=every)))
        assert all(cell in rows for cell in ("<td>group 2</td>", "<td>1</td>", "<td>5 kB</td>"))

    @pytest.mark.parametrize("kind", ["two_shard", "distinct", "iid"])
    def test_devices_that_stay_have_not_changed(self, result, kind):
        folder = in_sessions(result(rounds=8, sessions=TURNS, data__partition={"kind": kind}))
        text = " ".join(narrative.sentences(load(folder)))
        assert "The same devices were present in all 3 sessions" in text
        assert "changed" not in text
        assert device_groups.session_groups(load(folder)) == []

    def test_sessions_that_arrivals_begin_are_told_so(self, result):
        sessions = TURNS | {"count": 1, "trigger": {"share": 0.5}}
        folder = in_sessions(result(rounds=8, sessions=sessions, data__partition={"kind": "label_overlap"}))
        text = " ".join(narrative.sentences(load(folder)))
        assert "3 sessions: one began whenever enough devices had arrived" in text
        assert device_groups.session_groups(load(folder)) == []

    def test_groups_are_those_that_the_server_has(self):
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

    def test_the_map_tells_them_apart(self, result):
        partition = {"kind": "label_overlap", "overlap": 0.2, "alpha": 0.3}
        run = load(in_sessions(result(rounds=8, sessions=TURNS, data__partition=partition)))
        devices = of(cell_map.figure(run), "devices")
        first = [data[0] < 50 for data in devices["customdata"]]
        assert devices["marker"]["line"]["color"] == [device_groups.GROUP_COLOURS[0 if each else 1] for each in first]
        assert "Rims tell groups apart." in cell_map.caption(run)


def test_the_folder_may_have_no_tracks(result):
    folder = result()
    assert load(folder).tracks is None
    assert len(read_csv(with_tracks(folder, [(1, 0, 0, 0)]) / "tracks.csv")) == len(load(folder).tracks["device"])
