"""Movements as ns-2 reads them: places and orders to go elsewhere, as setdest, BonnMotion and SUMO write them."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from edgefl.core.data_files import NotReadable, utf8_lines
from edgefl.core.packed_files import unpacked
from edgefl.core.sample_times import warn_once
from edgefl.core.section import shown
from edgefl.world.mobility.formats.sample import Sample

AXES = "XYZ"
NUMBERS_2D = 3  # of an order: x, y, speed
NUMBERS_3D = 4  # with z
PLACE_EXAMPLE = "$node_(0) set X_ 150.0"
ORDER_EXAMPLE = '$ns_ at 10.0 "$node_(0) setdest 20 30 5.0"'
NOT_EVALUATED = "variables and loops of Tcl are not evaluated"
_AT = re.compile(r"\$\S+\s+at\s+(?P<time>\S+)\s+[\"{](?P<commands>[^\"}]*)")
_NODE = r"\$(?:[^\s()]*\((?P<name>[^\s)]*)\)|(?P<variable>[^\s()]+))"
_PLACE = re.compile(_NODE + r"\s+set\s+(?P<axis>[XYZ])_\s+(?P<value>\S+)")
_OFF = re.compile(_NODE + r"\s+off\b")
_ORDER = re.compile(_NODE + r"\s+setdest\s+(?P<numbers>.+)")


class _Point(NamedTuple):
    """A place [m]."""

    x: float
    y: float
    z: float = 0.0

    def towards(self, goal: "_Point", share: float) -> "_Point":
        """Return the point after a share of the straight way to another one."""
        return _Point(*(here + share * (there - here) for here, there in zip(self, goal, strict=True)))


class _Order(NamedTuple):
    """An order to a node: where it goes from a time on, and how fast."""

    time_s: float
    line: int
    goal: tuple[float, ...]  # x, y and perhaps z
    speed_mps: float


@dataclass
class _Node:
    """A node of a file, with its first place and its orders."""

    line: int  # where it is named first
    place: dict[str, float] = field(default_factory=dict)  # by axis, before the first order
    orders: list[_Order] = field(default_factory=list)


def read_ns2(path: Path) -> Iterator[Sample]:
    """Yield where each node of a movement file of ns-2 begins, and where it turns or stops.

    A node stands at its X_, Y_ from 0 s on. An order `setdest x y speed` lets it go straight to (x, y) from where it is
    at that time, where it stops; the next order replaces it. Other lines are ignored; those that switch a node off
    with a warning.
    """
    nodes: dict[str, _Node] = {}
    first_off: int | None = None  # line that switches a node off
    with unpacked(path) as stream:
        for line, text in enumerate(utf8_lines(stream), 1):
            _take(text.strip(), line, nodes)
            if first_off is None and _OFF.search(text) and not text.lstrip().startswith("#"):
                first_off = line
    if not nodes:
        raise NotReadable(f"holds no lines such as {PLACE_EXAMPLE}, nor {ORDER_EXAMPLE}")
    if first_off is not None:
        reason = "switches a node off, which is left out: nodes are present throughout"
        warn_once(f"mobility.path: {path}:{first_off}: {reason}; write their stays as a trace of churn")
    for name, node in nodes.items():
        yield from _way(name, node)


def _take(text: str, line: int, nodes: dict[str, _Node]) -> None:
    if text.startswith("#"):
        return
    time_s = 0.0
    scheduled = _AT.match(text)
    if scheduled is not None:
        text = scheduled["commands"]
    for command in text.split(";"):
        words = command.strip()
        if words.startswith("#"):
            return
        is_order = "setdest" in words
        form = _ORDER if is_order else _PLACE
        found = form.match(words)
        if found is None:
            if is_order:
                raise NotReadable(f"must be such as {ORDER_EXAMPLE}, got {shown(words)}", line)
            continue
        if scheduled is not None:
            time_s = _number(scheduled["time"], line)
        if not is_order:
            _place(found, time_s, line, nodes)
            continue
        if scheduled is None:
            raise NotReadable(f"names no time: must be such as {ORDER_EXAMPLE}", line)
        _add_order(found, time_s, line, nodes)


def _place(command: re.Match[str], time_s: float, line: int, nodes: dict[str, _Node]) -> None:
    name = _name(command, line)
    if time_s != 0:
        raise NotReadable(f"node {name} jumps at {time_s:g} s: only setdest may change its place after 0 s", line)
    _node(name, line, nodes).place[command["axis"]] = _number(command["value"], line)


def _add_order(command: re.Match[str], time_s: float, line: int, nodes: dict[str, _Node]) -> None:
    name = _name(command, line)
    words = command["numbers"].split()
    if not NUMBERS_2D <= len(words) <= NUMBERS_3D:
        raise NotReadable(f"setdest needs x, y and a speed, such as {ORDER_EXAMPLE}", line)
    *goal, speed_mps = (_number(word, line) for word in words)
    if time_s < 0 or speed_mps < 0:
        raise NotReadable("time and speed must be >= 0", line)
    _node(name, line, nodes).orders.append(_Order(time_s, line, tuple(goal), speed_mps))


def _node(name: str, line: int, nodes: dict[str, _Node]) -> _Node:
    if name not in nodes:
        nodes[name] = _Node(line)
    return nodes[name]


def _way(name: str, node: _Node) -> Iterator[Sample]:
    for axis in "XY":
        if axis not in node.place:
            raise NotReadable(f"node {name} has no {axis}_: write a line such as {PLACE_EXAMPLE}", node.line)
    here = _Point(*(node.place.get(axis, 0.0) for axis in AXES))
    since_s = 0.0
    yield Sample(node.line, since_s, name, here.x, here.y)
    orders = sorted(node.orders, key=lambda order: order.time_s)  # stable: of several at one time the last counts
    for order, following in zip_longest(orders, orders[1:]):
        end_s = math.inf
        if following is not None:
            end_s = following.time_s
        if order.time_s > since_s:  # it has stood since the last corner
            since_s = order.time_s
            yield Sample(order.line, since_s, name, here.x, here.y)
        goal = _goal(order, node, here, name)
        distance_m = math.dist(here, goal)
        if order.speed_mps == 0 or distance_m == 0:
            continue
        arrival_s = since_s + distance_m / order.speed_mps
        if arrival_s <= end_s:
            here = goal
        else:
            here = here.towards(goal, (end_s - since_s) * order.speed_mps / distance_m)
        if min(arrival_s, end_s) > since_s:
            since_s = min(arrival_s, end_s)
            yield Sample(order.line, since_s, name, here.x, here.y)


def _goal(order: _Order, node: _Node, here: _Point, name: str) -> _Point:
    x, y, *z = order.goal
    if not z:
        return _Point(x, y, here.z)
    if "Z" not in node.place:
        text = (
            f"node {name} has no Z_, so setdest needs x, y and a speed; BonnMotion's model DisasterArea adds a status"
        )
        raise NotReadable(f"{text}: convert it by bm NSFile -d", order.line)
    return _Point(x, y, z[0])


def _name(command: re.Match[str], line: int) -> str:
    name = command["name"] or command["variable"]
    if "$" in name:
        raise NotReadable(f"node {name}: {NOT_EVALUATED}", line)
    return name


def _number(text: str, line: int) -> float:
    try:
        value = float(text.strip("\"'"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        text = f"must be a number, got {shown(text)}: {NOT_EVALUATED}"
        raise NotReadable(text, line)
    return value
