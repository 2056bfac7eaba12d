"""The backhaul: the time of messages between the server and each base station."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.times import SAME_TIME_S
from edgefl.radio.backhaul_section import SERVER, Backhaul, BackhaulLink, Node


class Hop(NamedTuple):
    """One direction of a link of limited rate."""

    near: Node
    far: Node
    rate_bps: float


@dataclass(frozen=True)
class Routes:
    """The paths of least delay between the server and base stations, and of these the fastest.

    A message of b bits with no other on its path takes the sum of the delays and b over the lowest rate (cut-through).
    """

    delay_s: Floats  # [cells]
    rate_bps: Floats  # [cells] lowest on the path
    hops: Sequence[tuple[Hop, ...]]  # [cells] away from the server, where the rate is limited

    def one_way_s(self, bits: Floats | float, cell: Ids | int | slice = slice(None)) -> Floats:
        """Return the seconds [n] of messages between the server and base stations, each as if it were the only one.

        Args:
            bits: of the messages, for all or [n].
            cell: of the base stations, [n] or one; by default all of them.
        """
        return np.asarray(self.delay_s[cell] + bits / self.rate_bps[cell])


def routes(backhaul: Backhaul | None, sites: int, sectors: int = 1) -> Routes:
    """Return the routes of a checked scenario; without a section messages take no time.

    Args:
        backhaul: the section.
        sites: the number of base stations.
        sectors: of each of them, whose cells use the same links.
    """
    if backhaul is None:
        return Routes(np.zeros(sites * sectors), np.full(sites * sectors, np.inf), [()] * sites * sectors)
    links = backhaul.edges(sites)
    delay_s = _least_delays_s(links)
    last = _fastest_hops(links, delay_s)
    hops = [_limited(last, site) for site in range(sites) for _ in range(sectors)]
    return Routes(
        delay_s=np.repeat([delay_s[site] for site in range(sites)], sectors),
        rate_bps=np.array([min((hop.rate_bps for hop in path), default=np.inf) for path in hops]),
        hops=hops,
    )


def _least_delays_s(links: Sequence[BackhaulLink]) -> dict[Node, float]:
    import networkx as nx  # slow to load, and only needed with a backhaul

    graph = nx.Graph()
    for link in links:
        parallel = graph.get_edge_data(*link.between, {"delay_s": np.inf})  # a link listed before between the same two
        graph.add_edge(*link.between, delay_s=min(link.delay_s, parallel["delay_s"]))
    return dict(nx.single_source_dijkstra_path_length(graph, SERVER, weight="delay_s"))


def _fastest_hops(links: Sequence[BackhaulLink], delay_s: dict[Node, float]) -> dict[Node, Hop]:
    """Return the last hop to each node on the fastest path of least delay.

    Links join the graph by falling rate. The link that first connects a node to the server has the lowest rate on the
    node's path, and every other path has one at most as high.
    """
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_node(SERVER)
    last: dict[Node, Hop] = {}
    rate_bps: dict[tuple[Node, Node], float] = {}
    for link in sorted(links, key=_falling_rate):
        for near, far in (link.between, link.between[::-1]):  # a link carries both ways
            if near in delay_s and abs(delay_s[near] + link.delay_s - delay_s[far]) < SAME_TIME_S:
                graph.add_edge(near, far)  # it lies on a path of least delay
                rate_bps.setdefault((near, far), link.rate_bps or np.inf)
        for near, far in nx.bfs_edges(graph, SERVER):
            last.setdefault(far, Hop(near, far, rate_bps[near, far]))  # only nodes that this link connects
    return last


def _limited(last: dict[Node, Hop], node: Node) -> tuple[Hop, ...]:
    """Return the hops of limited rate from the server to a node, given the last hop to each."""
    hops = []
    while node != SERVER:
        hops.append(last[node])
        node = last[node].near
    return tuple(hop for hop in reversed(hops) if hop.rate_bps < np.inf)


def _falling_rate(link: BackhaulLink) -> float:
    return -(link.rate_bps or np.inf)
