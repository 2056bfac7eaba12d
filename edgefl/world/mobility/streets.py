"""A map of streets."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.streams import Streams
from edgefl.world.mobility.base import Area, Track, WithSpeed
from edgefl.world.mobility.files import NotReadable, elements, opened, read
from edgefl.world.mobility.legs import Corners, Legs, timed
from edgefl.world.mobility.placed import Placed, nearest_m

Graph = Any  # networkx has no types


class Streets(Placed, WithSpeed):
    """Shortest ways between uniform crossings of any street graph, from the stationary law (as random waypoint's).

    The file is GraphML (`.graphml`) or networkx's node-link JSON (`.json`), perhaps with `.gz`; nodes have x and y in
    metres, streets are straight, and those of a directed graph lead one way.
    """

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Each device moves at its own constant speed."""
        graph, points = self.streets()
        ends = np.array([edge[:2] for edge in graph.edges])
        starts, ends = points[ends[:, 0]], points[ends[:, 1]]
        self.check_reach([nearest_m(starts - site, ends - site) for site in np.array(area.sites_m)], area)
        return _Trips(graph, points, self.speeds(count, streams), streams, can_leave=not _covered(starts, ends, area))

    def streets(self) -> tuple[Graph, Floats]:
        """The graph, its nodes numbered from 0, edges with `length_m`; and the nodes' points [n, 2] in the cell.

        Raises:
            InputError: the file holds no graph in which every crossing can be reached from every other.
        """
        import networkx as nx

        try:
            (raw,) = read(self.path, _graph)
            points = self.placed_m(_points(raw))
        except NotReadable as error:
            raise self.fault(str(error), error.line) from None
        number = {node: row for row, node in enumerate(raw)}
        graph = nx.DiGraph() if raw.is_directed() else nx.Graph()
        graph.add_nodes_from(number.values())
        for a, b in raw.edges():
            length_m = float(np.hypot(*(points[number[a]] - points[number[b]])))
            graph.add_edge(number[a], number[b], length_m=length_m)
        connected = nx.is_strongly_connected(graph) if graph.is_directed() else nx.is_connected(graph)
        if not connected or not np.ptp(points, axis=0).any():
            raise self.fault("must be one piece of streets: every crossing within reach of every other")
        return graph, points


def _graph(path: Path) -> Iterator[Graph]:
    """The one graph of a file, as networkx reads it."""
    import networkx as nx

    graphml = path.name.removesuffix(".gz").endswith(".graphml")
    if graphml:
        deque(elements(path), maxlen=0)  # well-formed, and without entities
    with opened(path) as stream:
        text = stream.read().decode()
    try:
        yield nx.parse_graphml(text) if graphml else _node_link(json.loads(text))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, nx.NetworkXException):
        raise NotReadable("is no graph in GraphML (.graphml) or node-link JSON (.json)") from None


def _node_link(data: dict[str, Any]) -> Graph:
    """A graph from JSON, whether its streets are called edges or, as they used to be, links."""
    import networkx as nx

    return nx.node_link_graph(data, edges="links" if "links" in data else "edges")


def _points(graph: Graph) -> Floats:
    """X and y [n, 2] of the nodes."""
    places = [(attributes.get("x"), attributes.get("y")) for _, attributes in graph.nodes(data=True)]
    for node, place in zip(graph, places, strict=True):
        try:
            finite = all(math.isfinite(float(axis)) for axis in place)
        except (TypeError, ValueError):
            finite = False
        if not finite:
            raise NotReadable(f"node {node}: needs x and y in metres")
    if len(places) < 2:
        raise NotReadable(f"needs at least two nodes, has {len(places)}")
    return np.array(places, dtype=np.float64)


def _covered(starts: Floats, ends: Floats, area: Area) -> bool:
    """Whether each street between points [n, 2] is covered by one base station."""
    sites = np.array(area.sites_m)
    inside = [np.linalg.norm(points[:, None] - sites, axis=-1) <= area.disc_m for points in (starts, ends)]
    return bool((inside[0] & inside[1]).any(axis=1).all())


class _Trips(Legs):
    def __init__(
        self, graph: Graph, points: Floats, speeds_mps: Floats, streams: Streams, *, can_leave: bool = False
    ) -> None:
        import networkx as nx

        super().__init__(speeds_mps)
        self._can_leave = can_leave
        self.graph, self.points, self.streams = graph, points, streams
        from_first = nx.single_source_dijkstra_path_length(graph, 0, weight="length_m")
        back = graph.reverse() if graph.is_directed() else graph
        to_first = nx.single_source_dijkstra_path_length(back, 0, weight="length_m")
        self.longest_m = max(from_first.values()) + max(to_first.values())  # no shortest way is longer

    @property
    def can_leave(self) -> bool:
        """Whether a street leads where no base station reaches."""
        return self._can_leave

    def corners(self, device: int) -> Corners:
        """Crossings."""
        return timed(self._crossings(device), float(self._speeds_mps[device]))

    def route(self, start: int, end: int) -> tuple[list[int], Floats]:
        """The crossings of the shortest way, and their distances along it."""
        import networkx as nx

        nodes: list[int] = nx.shortest_path(self.graph, start, end, weight="length_m")
        steps = np.hypot(*np.diff(self.points[nodes], axis=0).T)
        return nodes, np.concatenate([[0.0], np.cumsum(steps)])

    def _crossings(self, device: int) -> Corners:
        rng = self.streams.generator("street", device)
        while True:  # a trip met at a random time: trips weighted by their length, the device anywhere on it
            start = int(rng.integers(len(self.points)))
            nodes, along_m = self.route(start, self._next(rng, start))
            if rng.random() * self.longest_m < along_m[-1]:
                break
        distance = -rng.random() * along_m[-1]
        yield distance, self.points[nodes[0]]
        while True:
            for node, along in zip(nodes[1:], along_m[1:], strict=True):
                yield distance + along, self.points[node]
            distance += along_m[-1]
            nodes, along_m = self.route(nodes[-1], self._next(rng, nodes[-1]))

    def _next(self, rng: np.random.Generator, start: int) -> int:
        """Any other crossing."""
        end = int(rng.integers(len(self.points) - 1))
        return end + (end >= start)
