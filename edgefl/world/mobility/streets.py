"""A map of streets."""

import json
import math
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.data_files import NotReadable
from edgefl.core.packed_files import unpacked
from edgefl.core.streams import Streams
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.base import Track, WithSpeed
from edgefl.world.mobility.formats.xml import elements
from edgefl.world.mobility.legs import Corners, Legs, timed
from edgefl.world.mobility.placed import LEAST_EXTENT_M, Placed

Graph = Any  # networkx has no types


class Streets(Placed, WithSpeed):
    """Shortest ways between uniform crossings of any street graph, from the stationary law (as random waypoint's).

    The file is GraphML (`.graphml`) or networkx's node-link JSON (`.json`), perhaps with `.gz`; nodes have x and y in
    metres, streets are straight, and those of a directed graph lead one way.
    """

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return a track on which each device keeps its speed."""
        graph, points = self.streets()
        edges = np.array([edge[:2] for edge in graph.edges])
        starts = points[edges[:, 0]]
        ends = points[edges[:, 1]]
        self.check_reach(starts, ends, area)
        can_leave = not _all_covered(starts, ends, area)
        return _StreetTrack(graph, points, self.speeds(count, streams), streams, can_leave=can_leave)

    def streets(self) -> tuple[Graph, Floats]:
        """Return the graph, with nodes numbered from 0 and edges with `length_m`, and its points [n, 2] in the cell.

        Raises:
            InputError: the file holds no graph whose crossings can all be reached from each other.
        """
        import networkx as nx

        with self.reading():
            raw = _graph(self.path)
            points = self.placed_m(_points(raw))
        # Names of nodes may be anything; numbers can be drawn, and index the points.
        number = {node: row for row, node in enumerate(raw)}
        graph = nx.DiGraph() if raw.is_directed() else nx.Graph()
        graph.add_nodes_from(number.values())
        for a, b in raw.edges():
            offset_m = points[number[a]] - points[number[b]]
            graph.add_edge(number[a], number[b], length_m=float(np.hypot(*offset_m)))
        if graph.is_directed():
            connected = nx.is_strongly_connected(graph)
        else:
            connected = nx.is_connected(graph)
        if not connected or not np.ptp(points, axis=0).any():
            raise self.fault("must be one piece of streets: every crossing within reach of every other")
        extent_m = float(np.ptp(points, axis=0).max())
        if extent_m < LEAST_EXTENT_M:
            text = f"lies within {extent_m:.3g} m in all: must be in metres"
            raise self.fault(f"{text}: project a map in degrees first, or write scale")
        return graph, points


def _graph(path: Path) -> Graph:
    import networkx as nx

    is_graphml = path.name.removesuffix(".gz").endswith(".graphml")
    if is_graphml:
        deque(elements(path), maxlen=0)  # reads the file once to refuse what is not well-formed, or declares entities
    with unpacked(path) as stream:
        text = stream.read().decode()
    try:
        if is_graphml:
            return nx.parse_graphml(text)
        return _node_link(json.loads(text))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, nx.NetworkXException):
        raise NotReadable("must be a graph in GraphML (.graphml) or node-link JSON (.json)") from None


def _node_link(data: dict[str, Any]) -> Graph:
    """Return a graph from JSON, whose streets are called edges or, in older files, links."""
    import networkx as nx

    key = "links" if "links" in data else "edges"
    return nx.node_link_graph(data, edges=key)


def _points(graph: Graph) -> Floats:
    """Return x and y [n, 2] of the nodes.

    Raises:
        NotReadable: a node has no position, or there are fewer than two nodes.
    """
    points = []
    for node, attributes in graph.nodes(data=True):
        x = attributes.get("x")
        y = attributes.get("y")
        if not (_is_finite(x) and _is_finite(y)):
            raise NotReadable(f"node {node}: needs x and y in metres")
        points.append((x, y))
    if len(points) < 2:
        raise NotReadable(f"needs at least two nodes, has {len(points)}")
    return np.array(points, dtype=np.float64)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _all_covered(starts: Floats, ends: Floats, area: Area) -> bool:
    """Return whether each street between points [n, 2] lies within the disc of one base station.

    A disc is convex, so it contains a straight street as soon as it contains both ends.
    """
    sites_m = np.array(area.sites_m)
    start_inside = np.linalg.norm(starts[:, None] - sites_m, axis=-1) <= area.disc_m  # [n, sites]
    end_inside = np.linalg.norm(ends[:, None] - sites_m, axis=-1) <= area.disc_m
    return bool((start_inside & end_inside).any(axis=1).all())


class _StreetTrack(Legs):
    def __init__(
        self, graph: Graph, points: Floats, speeds_mps: Floats, streams: Streams, *, can_leave: bool = False
    ) -> None:
        import networkx as nx

        super().__init__(speeds_mps)
        self._can_leave = can_leave
        self.graph = graph
        self.points = points
        self.streams = streams
        # No shortest way is longer than one by node 0.
        from_first = nx.single_source_dijkstra_path_length(graph, 0, weight="length_m")
        # Ways to node 0 are ways from it in the reversed graph.
        back = graph.reverse() if graph.is_directed() else graph
        to_first = nx.single_source_dijkstra_path_length(back, 0, weight="length_m")
        self.longest_m = max(from_first.values()) + max(to_first.values())

    @property
    def can_leave(self) -> bool:
        return self._can_leave

    def corners(self, device: int) -> Corners:
        return timed(self._crossings(device), float(self._speeds_mps[device]))

    def route(self, start: int, end: int) -> tuple[list[int], Floats]:
        """Return the crossings of the shortest way, and their distances along it [m]."""
        import networkx as nx

        nodes: list[int] = nx.shortest_path(self.graph, start, end, weight="length_m")
        steps = np.diff(self.points[nodes], axis=0)
        lengths_m = np.hypot(steps[:, 0], steps[:, 1])
        return nodes, np.concatenate([[0.0], np.cumsum(lengths_m)])

    def _crossings(self, device: int) -> Corners:
        rng = self.streams.generator("street", device)
        # A trip met at a random time: trips are weighted by their length, and the device is anywhere on it.
        while True:
            start = int(rng.integers(len(self.points)))
            nodes, along_m = self.route(start, self._draw_destination(rng, start))
            # By rejection: a trip is kept with a chance in proportion to its length.
            if rng.random() * self.longest_m < along_m[-1]:
                break
        distance_m = -rng.random() * along_m[-1]  # of the start, which lies behind the device
        yield distance_m, self.points[nodes[0]]
        while True:
            for node, node_m in zip(nodes[1:], along_m[1:], strict=True):
                yield distance_m + node_m, self.points[node]
            distance_m += along_m[-1]
            nodes, along_m = self.route(nodes[-1], self._draw_destination(rng, nodes[-1]))

    def _draw_destination(self, rng: np.random.Generator, start: int) -> int:
        """Return any crossing but the start, each equally likely."""
        end = int(rng.integers(len(self.points) - 1))
        if end >= start:  # passes over the start, and leaves the others equally likely
            end += 1
        return end
