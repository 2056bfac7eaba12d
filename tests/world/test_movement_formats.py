"""Movements in the formats of BonnMotion and ns-2: positions from the law of each format."""

import gzip
import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.mobility import Area
from edgefl.world.mobility.formats.bonnmotion import CHUNK_BYTES, read_bonnmotion
from edgefl.world.mobility.formats.ns2 import read_ns2

AREA = Area(10.0, 250.0)


def track(path, count, **keys):
    """Return the track of a file's devices."""
    wide = {"radio": {"propagation": {"kind": "umi", "out_of_range": "clamp"}}}
    mobility = load({**wide, "mobility": {"kind": "trace", "path": str(path), **keys}}).mobility
    return mobility.track(AREA, count, Streams(1))


def positions(path, count, times_s, **keys):
    """Return positions [devices, times, 2] by a file."""
    of_file = track(path, count, **keys)
    return np.array([of_file.path_m(device, np.array(times_s)) for device in range(count)])


def fault(path, content, **keys):
    """Return the single fault of a file."""
    path.write_text(content)
    with pytest.raises(InputError) as refused:
        track(path, 1, **keys)
    (line,) = refused.value.faults
    return line.partition(path.name)[2]


# Node 0 waits, walks 50 m, waits, walks 60 m; node 1 walks 100 m at 1 m/s.
WAYS_2D = "0.0 10.0 20.0 10.0 10.0 20.0 20.0 60.0 20.0 50.0 60.0 20.0 80 60 80\n0 -30 5 100.0 70 5\n"
WAYS_3D = "#3D\n0 10 20 1 10 10 20 1 20 60 20 2 50 60 20 2 80 60 80 9\n0 -30 5 0 100 70 5 0\n"


@pytest.mark.parametrize("content", [WAYS_2D, WAYS_3D, WAYS_2D.replace(" ", "\t"), f"# by hand\r\n{WAYS_2D}\n\n"])
def test_bonnmotion_nodes_are_at_their_waypoints_and_straight_between_them(tmp_path, content):
    (tmp_path / "walk.movements").write_text(content)
    found = positions(tmp_path / "walk.movements", 2, [0.0, 5.0, 15.0, 30.0, 65.0, 90.0])
    assert found[0] == pytest.approx(np.array([[10, 20], [10, 20], [35, 20], [60, 20], [60, 50], [60, 80]]))
    assert found[1] == pytest.approx(np.array([[-30 + t, 5] for t in (0, 5, 15, 30, 65, 90)]))


def test_bonnmotion_writes_packed_files(tmp_path):
    (tmp_path / "walk.movements").write_text(WAYS_2D)
    (tmp_path / "walk.movements.gz").write_bytes(gzip.compress(WAYS_2D.encode(), mtime=0))
    times_s = [1.0, 17.0, 99.0]
    packed = positions(tmp_path / "walk.movements.gz", 2, times_s)
    assert packed.tolist() == positions(tmp_path / "walk.movements", 2, times_s).tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("dimensions", [2, 3])
def test_lines_of_bonnmotion_may_be_longer_than_any_other_line_of_data(tmp_path, dimensions):
    """Pieces of a line end anywhere, also within a number."""
    draw = random.Random(dimensions)  # noqa: S311 - positions of a test
    nodes = [[(float(t), draw.random(), draw.random()) for t in range(count)] for count in (40_000, 1, 7)]
    height = [" 5.5"] * (dimensions - 2)
    lines = [" ".join("".join([f"{t} {x} {y}", *height]) for t, x, y in node) for node in nodes]
    path = tmp_path / "long.movements"
    path.write_text("\n".join([*["#3D"] * (dimensions - 2), *lines]))
    assert len(lines[0]) > 20 * CHUNK_BYTES
    found = [(sample.device, sample.time_s, sample.x, sample.y) for sample in read_bonnmotion(path)]
    assert found == [(str(number), *point) for number, node in enumerate(nodes) for point in node]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("#3D\n0 1 2\n", ":2: holds 3 numbers, not a multiple of 4, as time x y z"),
        ("0.0\n1.5\n2.5\n0.0\n", ":1: holds a single number, as a line of BonnMotion's model DisasterArea: convert it"),
        ("0 1 2 5 3 4 4 1 1\n", ":1: device 0: times must"),
    ],
)
def test_faults_of_bonnmotion_files(tmp_path, content, expected):
    assert fault(tmp_path / "a.movements", content).startswith(expected)


STREET = """
# nodes: 2, as CMU's setdest writes them
$node_(0) set X_ 10.0
$node_(0) set Y_ 20.0
$node_(0) set Z_ 0.000000000000
$god_ set-dist 0 1 1
$ns_ at 10.0 "$node_(0) setdest 60.0 20.0 5.0"
$ns_ at 15.0 "$node_(0) setdest 35.0 60.0 4.0"
$ns_ at 18.0 "$node_(0) setdest 35.0 60.0 0.0"; # SUMO-ID: a#1
$ns_ at 20.0 "$node_(1) setdest 3.0 4.0 1.0 "
$ns_ at 20.0 "$god_ set-dist 0 1 2"
$node_(1) set X_ 0.0
$node_(1) set Y_ 0.0
"""


def test_an_order_of_ns2_begins_at_the_place_that_was_reached(tmp_path):
    """Node 0 has gone 25 m to (35, 20) when the next order comes, goes 12 m of 40 m, and stops at (35, 32)."""
    (tmp_path / "street.tcl").write_text(STREET)
    found = positions(tmp_path / "street.tcl", 2, [0.0, 10.0, 12.0, 15.0, 16.5, 18.0, 30.0])
    assert found[0] == pytest.approx(np.array([[10, 20], [10, 20], [20, 20], [35, 20], [35, 26], [35, 32], [35, 32]]))
    later = positions(tmp_path / "street.tcl", 2, [20.0, 22.5, 25.0, 40.0])
    assert later[1] == pytest.approx(np.array([[0, 0], [1.5, 2], [3, 4], [3, 4]]))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("$node_(", "$node("),
        lambda text: text.replace("$node_(0)", "$n0").replace("$node_(1)", "$n1"),
        lambda text: text.replace("$node_(0)", "$node_(car#0)").replace("$node_(1)", "$node_(car#1)"),
        lambda text: text.replace("$ns_", "$ns").replace("\n", "\r\n"),
        lambda text: "\n".join(reversed(text.splitlines())),
        lambda text: "set val(nn) 2\nfor {set i 0} {$i < 2} {incr i} {\n  set node_($i) [$ns_ node]\n}\n" + text,
        lambda text: text.replace('"$node_(0) setdest 60.0 20.0 5.0"', '"$node_(0) setdest 60 20 5; $node_(0) foo"'),
        lambda text: text.replace("$ns_ at 10.0", '$ns_ at 10.0 "$node_(0) setdest 1 1 9"\n$ns_ at 10.0', 1),
    ],
)
def test_ways_of_writing_ns2_orders_change_nothing(tmp_path, change):
    (tmp_path / "plain.tcl").write_text(STREET)
    (tmp_path / "other.ns_movements").write_text(change(STREET))
    times_s = [0.0, 11.0, 16.0, 19.0, 23.0, 50.0]
    found = positions(tmp_path / "other.ns_movements", 2, times_s)
    assert found == pytest.approx(positions(tmp_path / "plain.tcl", 2, times_s))


def test_speeds_of_ns2_in_3d_are_along_the_slope(tmp_path):
    """5 m/s over 3 m and 4 m of height take a second, and 3 m of the map."""
    text = '$n0 set X_ 0\n$n0 set Y_ 50\n$n0 set Z_ 0\n$ns_ at 1 "$n0 setdest 6.0 50.0 8.0 5.0"\n'
    (tmp_path / "hill.tcl").write_text(text)
    assert positions(tmp_path / "hill.tcl", 1, [2.0, 3.0, 9.0])[0] == pytest.approx(
        np.array([[3, 50], [6, 50], [6, 50]])
    )


def stepped(place, orders, time_s):
    """Return where a node is by ns-2's own steps: advance along each axis until the next order, and never overshoot."""
    x, y = goal_x, goal_y = place
    speed = now = 0.0
    for at, *order in [*sorted(orders, key=lambda order: order[0]), (math.inf, *place, 0.0)]:
        until = min(at, time_s)
        away = math.hypot(goal_x - x, goal_y - y)
        if away > 0:
            step = speed * (until - now)
            new_x = x + (goal_x - x) / away * step
            new_y = y + (goal_y - y) / away * step
            x = min(new_x, goal_x) if goal_x > x else max(new_x, goal_x)
            y = min(new_y, goal_y) if goal_y > y else max(new_y, goal_y)
        if at >= time_s:
            return x, y
        now = at
        goal_x, goal_y, speed = order
    raise AssertionError


coordinates = st.integers(-200, 200).map(float)
orders = st.lists(
    st.tuples(
        st.integers(0, 100).map(lambda n: n / 4), coordinates, coordinates, st.sampled_from([0.0, 0.5, 3.0, 40.0])
    ),
    max_size=8,
)


@pytest.mark.oracle
@settings(max_examples=200, deadline=None)
@given(place=st.tuples(coordinates, coordinates), orders=orders)
def test_corners_of_ns2_movements_follow_its_steps(tmp_path_factory, place, orders):
    path = tmp_path_factory.mktemp("ns2") / "walk.tcl"
    lines = [f"$node_(0) set X_ {place[0]}", f"$node_(0) set Y_ {place[1]}"]
    lines += [f'$ns_ at {at} "$node_(0) setdest {x} {y} {speed}"' for at, x, y, speed in orders]
    path.write_text("\n".join(lines))
    corners = list(read_ns2(path))
    times_s = [corner.time_s for corner in corners]
    assert all(before < after for before, after in pairwise(times_s))
    for time_s in np.linspace(0.0, 60.0, 31):
        expected = stepped(place, orders, time_s)
        found = [np.interp(time_s, times_s, [getattr(corner, axis) for corner in corners]) for axis in "xy"]
        assert found == pytest.approx(expected, abs=1e-9)


def test_movements_of_sumos_exporter_are_one_step_late(tmp_path):
    """At each step the vehicle is ordered to its place of that step; it stands at the first one until it departs."""
    lines = ["$node_(0) set X_ 10", "$node_(0) set Y_ 50", "$node_(0) set Z_ 0"]
    lines += [f'$ns_ at {30 + step} "$node_(0) setdest {10 + 5 * step} 50 5"' for step in range(4)]
    (tmp_path / "mobility.tcl").write_text("\n".join(lines))
    found = positions(tmp_path / "mobility.tcl", 1, [0.0, 30.0, 31.0, 32.0, 32.5, 33.0, 34.0, 99.0])
    assert found[0, :, 0] == pytest.approx(np.array([10, 10, 10, 15, 17.5, 20, 25, 25]))


PLACED = "$node_(0) set X_ 1\n$node_(0) set Y_ 2\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("set a 1\n", ": holds no lines such as $node_(0) set X_ 150.0, nor"),
        (
            f'{PLACED}$ns_ at $t "$node_(0) setdest 1 2 3"\n',
            ':3: must be a number, got "$t": variables and loops of Tcl',
        ),
        (f'{PLACED}$ns_ at 9.5 "$node_(0) set X_ 7"\n', ":3: node 0 jumps at 9.5 s: only setdest may change its place"),
        (
            f'{PLACED}$ns_ at 1 "$node_(0) setdest 1 2 3 2.0"\n',
            ":3: node 0 has no Z_, so setdest needs x, y and a speed",
        ),
    ],
)
def test_faults_of_ns2_files(tmp_path, content, expected):
    assert fault(tmp_path / "a.tcl", content).startswith(expected)


def test_formats_without_a_name_of_their_own_need_the_key(tmp_path):
    (tmp_path / "scen-20-test").write_text(STREET)
    assert positions(tmp_path / "scen-20-test", 2, [15.0], format="ns2")[0] == pytest.approx(np.array([[35, 20]]))
    with pytest.raises(InputError, match=r"mobility\.format: is required where the file's name does not end in \.csv"):
        track(tmp_path / "scen-20-test", 2)
