"""Drawn movement: stationary laws, staying in the cell, and positions that are functions of (device, time)."""

import json
import tracemalloc
from itertools import pairwise, takewhile

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.mobility import Area, legs
from edgefl.world.mobility.constant_velocity import ConstantVelocity
from edgefl.world.mobility.gauss_markov import GaussMarkov
from edgefl.world.mobility.group import GroupMobility
from edgefl.world.mobility.manhattan import Manhattan
from edgefl.world.mobility.random_waypoint import RandomWaypoint
from edgefl.world.mobility.static import Static
from edgefl.world.mobility.streets import Streets

AREA = Area(10.0, 250.0)
COUNT = 1_000
IDS = np.arange(COUNT)


def city(folder, *, directed=False):
    """Irregular streets: 30 crossings at random, each joined with its nearest ones."""
    rng = np.random.default_rng(3)
    points = rng.uniform(-170, 170, (30, 2))
    graph = nx.DiGraph() if directed else nx.Graph()
    for node, (x, y) in enumerate(points):
        graph.add_node(f"n{node}", x=x, y=y)
    for node in range(30):
        for other in [*np.argsort(np.hypot(*(points - points[node]).T))[1:4], (node + 1) % 30]:
            graph.add_edge(f"n{node}", f"n{other}")
    path = folder / "city.graphml"
    nx.write_graphml(graph, path)
    return path


@pytest.fixture(scope="session")
def streets(tmp_path_factory):
    return Streets(path=city(tmp_path_factory.mktemp("city")))


def track(model, seed=1, count=COUNT, area=AREA):
    return model.track(area, count, Streams(seed))


def distances(track, time_s, ids=IDS):
    return np.hypot(*track.positions_m(ids, time_s).T)


def assert_uniform(positions):
    """The paper's density of distances and uniform angles: KS at 1 %."""
    cdf = lambda d: (d**2 - 100) / (62_500 - 100)  # noqa: E731
    assert stats.kstest(np.hypot(*positions.T), cdf).pvalue > 0.01
    assert stats.kstest(np.arctan2(*positions.T), "uniform", (-np.pi, 2 * np.pi)).pvalue > 0.01


@pytest.mark.oracle
@pytest.mark.parametrize(
    "model",
    [
        ConstantVelocity(),
        ConstantVelocity(edge="wrap"),
        GaussMarkov(alpha=0.8, speed_mps=8.0, speed_std_mps=3.0),
        GaussMarkov(alpha=0.5, speed_mps=0.0, speed_std_mps=9.0),
    ],
    ids=["reflect", "wrap", "gauss_markov", "backwards_too"],
)
def test_positions_stay_uniform(model):
    """Reflection at edge and hole keeps areas of (position, heading): 1,000 devices at the start and long after."""
    moving = track(model)
    for time in (0.0, 60.0):
        assert_uniform(moving.positions_m(IDS, time))


def test_uniformity_test_detects_a_given_heading():
    """The power of the test above: a given heading is not stationary, devices gather along that way."""
    moving = track(ConstantVelocity(heading_deg=0.0, edge="leave"))
    assert stats.kstest(distances(moving, 10.0), lambda d: (d**2 - 100) / (62_500 - 100)).pvalue < 1e-6


def test_reflection_keeps_the_angular_momentum():
    """x v_y - y v_x around the middle of concentric walls, with its sign; the speed too."""
    moving = track(ConstantVelocity(), area=Area(80.0, 250.0))
    ids = IDS[:200]
    spin = [np.linalg.det(np.stack([moving.positions_m(ids, t), moving.velocities_mps(ids, t)], 1)) for t in (0, 99.9)]
    assert np.allclose(*spin, atol=1e-6)
    assert np.allclose(np.hypot(*moving.velocities_mps(ids, 99.9).T), 10.0)


@pytest.mark.parametrize("model", [ConstantVelocity(), ConstantVelocity(edge="wrap"), GaussMarkov()])
def test_no_flight_crosses_the_hole(model):
    moving = track(model, area=Area(100.0, 250.0))
    away = np.array([distances(moving, time, IDS[:40]) for time in np.arange(0, 60, 0.5)])
    assert away.min() >= 100 - 1e-9
    assert away.max() <= 250 + 1e-9
    assert away.min() < 101


@pytest.mark.oracle
def test_gauss_markov_has_normal_speeds_with_its_memory():
    """Speeds are N(mean, std) from the start; alpha^k between updates k apart, with a standard error of 0.03."""
    model = GaussMarkov(alpha=0.7, speed_mps=20.0, speed_std_mps=2.0, update_s=0.5)
    moving = track(model)
    first, later, last = (moving.speeds_mps(IDS, time) for time in (0.1, 1.1, 30.1))
    for speeds in (first, later, last):
        assert stats.kstest(speeds, "norm", (20.0, 2.0)).pvalue > 0.01
    assert np.corrcoef(first, later)[0, 1] == pytest.approx(0.7**2, abs=0.09)
    assert abs(np.corrcoef(first, last)[0, 1]) < 0.1


@pytest.mark.parametrize(
    "keys", [{}, {"speed_mps": 30.0, "alpha": 0.5}, {"speed_mps": 1.0, "speed_std_mps": 3.0, "update_s": 0.25}], ids=str
)
def test_gauss_markov_is_the_walk_of_single_updates(keys):
    """Bit for bit: one update after the other, with reflection at the circles of the area."""
    model = GaussMarkov.model_validate(keys)
    updates = 300
    for device in range(3):
        rng = Streams(1).generator("gauss_markov", device)
        point = AREA.points(rng.random(2))
        mean = 2 * np.pi * rng.random()
        mirror = 1.0
        state = rng.standard_normal(2)
        at = track(model, count=3)
        for update in range(updates):
            found = at.positions_m(np.array([device]), update * model.update_s)[0]
            np.testing.assert_array_equal(found, point)
            speed = model.speed_mps.value + model.speed_std_mps * state[0]
            heading = mean + mirror * np.radians(model.heading_std_deg) * state[1]
            direction = np.copysign(1.0, speed) * np.array([np.cos(heading), np.sin(heading)])
            length_m = abs(speed) * model.update_s
            moved_m = 0.0
            while moved_m + (gap_m := AREA.wall(point, direction).gap_m) < length_m:
                point = point + gap_m * direction
                moved_m = moved_m + gap_m
                direction = direction - 2 * (direction @ point) / (point @ point) * point
                mean = 2 * np.arctan2(point[1], point[0]) + np.pi - mean
                mirror = -mirror
            point = point + (length_m - moved_m) * direction
            state = model.alpha * state + np.sqrt(1 - model.alpha**2) * rng.standard_normal(2)


@pytest.mark.oracle
def test_gauss_markov_headings_spread_around_the_mean():
    """No wall within a second from the middle of a large cell: headings are N(mean, std)."""
    moving = track(GaussMarkov(heading_deg=90.0, heading_std_deg=10.0, speed_std_mps=0.0), area=Area(1e-3, 1e9))
    headings = np.degrees(np.arctan2(*moving.velocities_mps(IDS, 0.5).T[::-1]))
    assert stats.kstest(headings, "norm", (90.0, 10.0)).pvalue > 0.01


def test_gauss_markov_with_full_memory_is_constant_velocity():
    """The same way if it starts at the same place: between two walls its speed and direction never change."""
    moving = track(GaussMarkov(alpha=1.0), area=Area(1.0, 1e6))
    ids = IDS[:20]
    assert np.allclose(moving.velocities_mps(ids, 0.0), moving.velocities_mps(ids, 100.0), rtol=1e-6)


@pytest.mark.oracle
def test_a_heading_is_kept_to_the_edge_and_beyond():
    """`leave`: the straight line continues outside of the disc; for devices that the hole does not meet."""
    moving = track(ConstantVelocity(heading_deg=90.0, edge="leave"))
    start = moving.positions_m(IDS, 0.0).T
    free = np.abs(start[0]) > 10
    for time in (3.0, 20.0, 1000.0):
        positions = moving.positions_m(IDS[free], time)
        assert np.allclose(positions, (start + np.array([[0.0], [10.0 * time]]))[:, free].T)


def test_wrapping_comes_in_at_the_opposite_point():
    moving = track(ConstantVelocity(heading_deg=0.0, edge="wrap"), count=50)
    x, y = moving.positions_m(IDS[:50], 0.0).T
    free = np.abs(y) > 10
    edge = np.sqrt(250**2 - y**2)
    later = moving.positions_m(IDS[:50], 30.0)  # 300 m on
    wrapped = np.where(x + 300 < edge, x + 300, -edge + (x + 300 - edge))
    flipped = np.where(x + 300 < edge, y, -y)
    once = free & (wrapped < edge)
    assert once.sum() > 20
    assert np.allclose(later[once], np.stack([wrapped, flipped], axis=-1)[once])


def across(positions):
    """Tell which coordinates [n, 2] are those of a street that runs across their axis, 100 m apart from 50 m on."""
    return np.isclose(np.abs((positions / 100.0) % 1.0 - 0.5), 0.0, atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("turn", [0.5, 0.2])
def test_manhattan_is_uniform_on_its_streets(turn):
    """Each piece of street has the same share of devices, at the start and later: chi-squared at 1 %."""
    area = Area(10.0, 160.0)
    ids = np.arange(2_000)
    moving = track(Manhattan(block_m=100.0, turn_probability=turn), count=2_000, area=area)
    for time in (0.0, 95.0):
        positions = moving.positions_m(ids, time)
        assert np.all(across(positions).sum(axis=1) == 1)
        middles = np.where(across(positions), np.round(positions / 50.0) * 50.0, np.round(positions / 100.0) * 100.0)
        pieces, counts = np.unique(middles, axis=0, return_counts=True)
        assert len(pieces) == 16  # between the 12 crossings at 71 m and 158 m
        assert stats.chisquare(counts).pvalue > 0.01


def test_manhattan_turns_as_often_as_it_should():
    """In a large map 0.5 go on, 0.25 turn left, 0.25 right: chi-squared at 1 % over 2,000 crossings."""
    moving = track(Manhattan(block_m=100.0, speed_mps=10.0), count=200, area=Area(10.0, 1e5))
    kinds = np.zeros(3)
    for step in range(10):
        a, b, c = (moving.positions_m(IDS[:200], 10.0 * (step + offset)) for offset in (0, 1, 2))
        before = moving.velocities_mps(IDS[:200], 10.0 * step)
        after = moving.velocities_mps(IDS[:200], 10.0 * (step + 1))
        assert np.allclose(np.hypot(*before.T), 10.0)
        cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
        kinds += [np.isclose(cross, 0).sum(), (cross > 50).sum(), (cross < -50).sum()]
        assert np.all(np.abs(c - b) <= 100 + 1e-6)
        assert np.all(np.hypot(*(b - a).T) > 1e-6)
    assert kinds.sum() == 2_000
    assert stats.chisquare(kinds, [1_000, 500, 500]).pvalue > 0.01


def test_streets_are_walked_by_shortest_ways(streets):
    """Between any two crossings where a device passes, its route is as long as networkx's shortest one."""
    moving = track(streets, count=5)
    rng = np.random.default_rng(1)
    for start, end in rng.integers(30, size=(40, 2)):
        nodes, along_m = moving.route(start, end)
        assert nodes == nx.dijkstra_path(moving.graph, start, end, weight="length_m")
        assert along_m[-1] == pytest.approx(nx.dijkstra_path_length(moving.graph, start, end, weight="length_m"))
    times, points = zip(*takewhile(lambda corner: corner[0] <= 500.0, moving.corners(0)), strict=True)
    nodes = [int(np.argmin(np.hypot(*(moving.points - point).T))) for point in points]
    assert all(moving.graph.has_edge(a, b) for a, b in pairwise(nodes))
    lengths = [moving.graph.edges[a, b]["length_m"] for a, b in pairwise(nodes)]
    assert np.allclose(np.diff(times), np.array(lengths) / 10.0)


@pytest.mark.oracle
@pytest.mark.parametrize("directed", [False, True])
def test_streets_start_in_their_stationary_law(tmp_path, directed):
    """Distances at the start and much later, two-sample KS at 1 %; a start at crossings would be seen."""
    moving = track(Streets(path=city(tmp_path, directed=directed)), count=600)
    ids = IDS[:600]
    start = distances(moving, 0.0, ids)
    later = distances(moving, 100.0, ids)
    assert stats.ks_2samp(start, later).pvalue > 0.01
    crossings = np.random.default_rng(0).choice(np.hypot(*moving.points.T), 600)
    assert stats.ks_2samp(crossings, later).pvalue < 0.01


@pytest.mark.oracle
def test_streets_are_used_in_proportion_to_the_lengths_of_trips(tmp_path):
    """Crossings at 20, 30 and 230 m: of trips of 10, 200 and 210 m, 400 / 420 are on the long piece, and uniform there.

    Standard error 0.007; trips that are not weighted by their length would start with 0.65.
    """
    line = {"nodes": [{"id": x, "x": x, "y": 0} for x in (20, 30, 230)], "edges": []}
    line["edges"] = [{"source": 20, "target": 30}, {"source": 30, "target": 230}]
    path = tmp_path / "line.json"
    path.write_text(json.dumps(line))
    moving = track(Streets(path=path))
    for time in (0.0, 77.7):
        x = moving.positions_m(IDS, time)[:, 0]
        assert np.mean(x > 30) == pytest.approx(400 / 420, abs=0.028)
        assert stats.kstest(x[x > 30], "uniform", (30, 200)).pvalue > 0.01


def test_one_way_streets_lead_one_way(tmp_path):
    ring = {"directed": True, "nodes": [], "edges": []}
    for node, (x, y) in enumerate([(100, 0), (0, 100), (-100, 0), (0, -100)]):
        ring["nodes"].append({"id": node, "x": x, "y": y})
        ring["edges"].append({"source": node, "target": (node + 1) % 4})
    path = tmp_path / "ring.json"
    path.write_text(json.dumps(ring))
    moving = track(Streets(path=path), count=40)
    for time in (0.0, 33.3, 400.0):
        p = moving.positions_m(IDS[:40], time)
        v = moving.velocities_mps(IDS[:40], time)
        assert np.all(p[:, 0] * v[:, 1] - p[:, 1] * v[:, 0] > 0)  # counter-clockwise


def test_groups_stay_together():
    model = GroupMobility(size=7, spread_m=15.0, member_speed_mps=2.0, speed_mps=5.0)
    moving = track(model, count=70)
    ids = IDS[:70]
    for time in (0.0, 12.3, 400.0):
        positions = moving.positions_m(ids, time)
        centres = moving.centres.positions_m(np.arange(10), time)
        assert np.all(np.hypot(*(positions - centres[ids // 7]).T) <= 15.0 + 1e-9)
        spread = positions.reshape(10, 7, 2).std(axis=1)
        assert spread.max() < 15.0 < positions.std(axis=0).min()
        step = np.hypot(*(moving.positions_m(ids, time + 1e-6) - positions).T) / 1e-6
        assert np.allclose(step, moving.speeds_mps(ids, time), rtol=1e-4)


MODELS = {
    "reflect": (ConstantVelocity(), 10.0),
    "gauss_markov": (GaussMarkov(speed_std_mps=0.5, update_s=2.0), 10.0 + 8 * 0.5),
    "manhattan": (Manhattan(), 10.0),
    "group": (GroupMobility(), 11.0),
    "random_waypoint": (RandomWaypoint(), 10.0),
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*MODELS, "streets"])
@settings(max_examples=8, deadline=None)
@given(device=st.integers(0, 999), times=st.lists(st.floats(0, 300), min_size=2, max_size=5))
def test_positions_are_functions_of_device_and_time(streets, name, device, times):
    """In any order of asking, the same answers; never outside the annulus (streets: the disc); never too fast."""
    model, fastest = MODELS.get(name, (streets, 10.0))
    moving = track(model)
    ids = np.array([device])
    asked = [moving.positions_m(ids, time)[0] for time in times]
    assert np.array_equal(asked, [moving.positions_m(ids, time)[0] for time in reversed(times)][::-1])
    assert np.array_equal(asked, [track(model, count=device + 1).positions_m(ids, time)[0] for time in times])
    nearest = 0.0 if name == "streets" else 10 - 1e-9
    assert all(nearest <= np.hypot(*place) <= 250 + 1e-9 for place in asked)
    for i, j in pairwise(np.argsort(times)):
        assert np.hypot(*(asked[j] - asked[i])) <= fastest * (times[j] - times[i]) + 1e-6
    for time in times:
        assert moving.on_map(ids, time).all()


@pytest.mark.parametrize("name", ["reflect", "gauss_markov", "manhattan", "random_waypoint", "streets"])
def test_interrupt_does_not_change_positions(streets, name, monkeypatch):
    """Ctrl-C may hit a device's way, and what has been run is written with positions afterwards."""
    model, _ = MODELS.get(name, (streets, 10.0))
    moving = track(model)
    whole = moving.corners
    hits = []

    def hit_once(device):
        for number, corner in enumerate(whole(device)):
            if number == 3 and not hits:
                hits.append(device)
                raise KeyboardInterrupt
            yield corner

    monkeypatch.setattr(moving, "corners", hit_once)
    with pytest.raises(KeyboardInterrupt):
        moving.positions_m(IDS[:1], 1e4)
    assert np.array_equal(moving.positions_m(IDS[:1], 1e4), track(model).positions_m(IDS[:1], 1e4))
    assert hits == [0]


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*MODELS, "streets"])
def test_forgotten_corners_change_no_answer(streets, name, monkeypatch):
    """Positions at times in any order, and paths over more corners than are kept."""
    model, _ = MODELS.get(name, (streets, 10.0))
    times_s = np.random.default_rng(4).uniform(0, 2e3, 40)
    remembering = track(model)
    expected = [remembering.positions_m(IDS[:3], time_s) for time_s in times_s.tolist()]
    path_m = remembering.path_m(1, np.sort(times_s))
    monkeypatch.setattr(legs, "MOST_CORNERS", 8)
    monkeypatch.setattr(legs, "KEPT_CORNERS", 4)
    forgetting = track(model)
    np.testing.assert_array_equal([forgetting.positions_m(IDS[:3], time_s) for time_s in times_s.tolist()], expected)
    np.testing.assert_array_equal(forgetting.path_m(1, np.sort(times_s)), path_m)


@pytest.mark.oracle
def test_memory_does_not_grow_with_virtual_time(monkeypatch):
    """A device that turns each second has 20,000 corners after 20,000 s, which would take 480 kB."""
    monkeypatch.setattr(legs, "MOST_CORNERS", 1_024)
    monkeypatch.setattr(legs, "KEPT_CORNERS", 512)
    moving = track(GaussMarkov(update_s=1.0), count=1)
    moving.positions_m(IDS[:1], 1.0)
    tracemalloc.start()
    moving.positions_m(IDS[:1], 2e4)
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < 2 * 24 * 1_024


@pytest.mark.parametrize("model", [Static(), *(model for model, _ in MODELS.values())], ids=lambda m: type(m).__name__)
def test_ten_devices_are_inside_ten_thousand(model):
    few = track(model, count=10)
    many = track(model, count=10_000)
    assert np.array_equal(few.positions_m(IDS[:10], 40.0), many.positions_m(IDS[:10], 40.0))
    assert np.array_equal(few.speeds_mps(IDS[:10], 40.0), many.speeds_mps(IDS[:10], 40.0))


@pytest.mark.parametrize("name", [*MODELS, "static", "streets"])
def test_a_path_leads_through_the_positions_at_its_times(streets, name):
    """Bit for bit, over many corners, from a fresh track that has not been asked for a position before."""
    model = Static() if name == "static" else MODELS.get(name, (streets, 10.0))[0]
    times_s = np.sort(np.random.default_rng(3).uniform(0, 200, 50))
    for device in (0, COUNT - 1):
        path = track(model).path_m(device, times_s)
        asked = track(model)
        expected = [asked.positions_m(np.array([device]), time_s)[0] for time_s in times_s.tolist()]
        np.testing.assert_array_equal(path, expected)
    assert track(model).path_m(0, np.empty(0)).shape == (0, 2)


@pytest.mark.parametrize("model", [ConstantVelocity, Manhattan, RandomWaypoint, GroupMobility])
def test_a_device_without_speed_stays(model):
    still = {"speed_mps": 0.0} | ({"member_speed_mps": 0.0} if model is GroupMobility else {})
    standing = track(model(**still))
    assert np.array_equal(standing.positions_m(IDS[:5], 0.0), standing.positions_m(IDS[:5], 1e5))
    assert np.allclose(standing.positions_m(IDS[:5], 0.0), track(model()).positions_m(IDS[:5], 0.0))


@pytest.mark.parametrize(
    ("mobility", "text"),
    [
        ({"kind": "manhattan", "block_m": 15}, "mobility: block_m must be from 20 .* got 15"),
        ({"kind": "manhattan", "block_m": 400}, "mobility: block_m must be .* to 353.553 .* got 400"),
        ({"kind": "group", "spread_m": 100}, "mobility: spread_m must be <= 60"),
    ],
)
def test_contradictory_keys_are_refused(mobility, text):
    with pytest.raises(InputError, match=text):
        load({"mobility": mobility})


BAD_GRAPHS = {
    "absent": (None, "not found there"),
    "no_graph": ("[1, 2]", "must be a graph"),
    "one_node": ('{"nodes": [{"id": 0, "x": 0, "y": 0}], "edges": []}', "at least two nodes"),
    "no_place": ('{"nodes": [{"id": 0, "x": 0}, {"id": 1, "x": 0, "y": 1}], "edges": []}', "node 0: needs x and y"),
    "apart": ('{"nodes": [{"id": 0, "x": 0, "y": 0}, {"id": 1, "x": 0, "y": 1}], "edges": []}', "one piece of streets"),
    "degrees": (
        '{"nodes": [{"id": 0, "x": 9.1, "y": 4}, {"id": 1, "x": 9.12, "y": 4}], "edges": [{"source": 0, "target": 1}]}',
        "lies within 0.02 m in all: must be in metres",
    ),
    "far": (
        '{"nodes": [{"id": 0, "x": 900, "y": 0}, {"id": 1, "x": 900, "y": 9}], "edges": [{"source": 0, "target": 1}]}',
        "no nearer .* than 900 m.*250 m.*centre",
    ),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_invalid_map_file_is_refused(tmp_path, name):
    text, message = BAD_GRAPHS[name]
    path = tmp_path / "map.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=rf"mobility.path: .*map.json: .*{message}"):
        track(Streets(path=path))


def test_graphml_with_a_document_type_is_refused(tmp_path):
    path = tmp_path / "map.graphml"
    path.write_text('<?xml version="1.0"?>\n<!DOCTYPE g [<!ENTITY a "b">]>\n<graphml/>')
    with pytest.raises(InputError, match=r"map.graphml:2: has a document type"):
        track(Streets(path=path))
