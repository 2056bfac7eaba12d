"""The backhaul: the time of messages between the server and each base station."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.times import SAME_TIME_S
from edgefl.radio.backhaul_section import SERVER, Backhaul, BackhaulLink, Node


@dataclass(frozen=True)
class Routes:
    """The paths of least delay between the server and base stations, and of these the fastest.

    A message of b bits takes the sum of the delays and b over the lowest rate (cut-through). Messages do not slow
    each other down.
    """

    delay_s: Floats  # [cells]
    rate_bps: Floats  # [cells] lowest on the path

    def one_way_s(self, bits: Floats | float, cell: Ids | int | slice = slice(None)) -> Floats:
        """Return the seconds [n] of messages between the server and base stations.

        Args:
            bits: of the messages, for all or [n].
            cell: of the base stations, [n] or one; by default all of them.
        """
        return np.asarray(self.delay_s[cell] + bits / self.rate_bps[cell])

    def of_message_s(self, bits: float, cell: int) -> float:
        """Return the seconds of one message between the server and a base station."""
        delay_s, rate_bps = self._by_cell[cell]
        return delay_s + bits / rate_bps

    @cached_property
    def _by_cell(self) -> list[tuple[float, float]]:
        """The delay and the rate of each cell as plain numbers, which are faster to read one by one than NumPy's."""
        return list(zip(self.delay_s.tolist(), self.rate_bps.tolist(), strict=True))


def routes(backhaul: Backhaul | None, sites: int, sectors: int = 1) -> Routes:
    """Return the routes of a checked scenario; without a section messages take no time.

    Args:
        backhaul: the section.
        sites: the number of base stations.
        sectors: of each of them, whose cells use the same links.
    """
    if backhaul is None:
        return Routes(np.zeros(sites * sectors), np.full(sites * sectors, np.inf))
    links = backhaul.edges(sites)
    delay_s = _least_delays_s(links)
    rate_bps = _highest_rates_bps(links, delay_s)
    return Routes(
        delay_s=np.repeat([delay_s[site] for site in range(sites)], sectors),
        rate_bps=np.repeat([rate_bps[site] for site in range(sites)], sectors),
    )


def _least_delays_s(links: Sequence[BackhaulLink]) -> dict[Node, float]:
    import networkx as nx  # slow to load, and only needed with a backhaul

    graph = nx.Graph()
    for link in links:
        parallel = graph.get_edge_data(*link.between, {"delay_s": np.inf})  # a link listed before between the same two
        graph.add_edge(*link.between, delay_s=min(link.delay_s, parallel["delay_s"]))
    return dict(nx.single_source_dijkstra_path_length(graph, SERVER, weight="delay_s"))


def _highest_rates_bps(links: Sequence[BackhaulLink], delay_s: dict[Node, float]) -> dict[Node, float]:
    """Return the highest rate to each node over paths of least delay.

    Links join the graph by falling rate. The link that first connects a node to the server has the lowest rate on the
    node's path, and every other path has one at most as high.
    """
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_node(SERVER)
    rate_bps: dict[Node, float] = {SERVER: np.inf}
    for link in sorted(links, key=_falling_rate):
        for near, far in (link.between, link.between[::-1]):  # a link carries both ways
            if near in delay_s and abs(delay_s[near] + link.delay_s - delay_s[far]) < SAME_TIME_S:
                graph.add_edge(near, far)  # it lies on a path of least delay
        for node in nx.descendants(graph, SERVER):
            rate_bps.setdefault(node, link.rate_bps or np.inf)  # only nodes that this link connects
    return rate_bps


def _falling_rate(link: BackhaulLink) -> float:
    return -(link.rate_bps or np.inf)
