"""The backhaul: what a message takes between the server and each base station."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.radio.backhaul_section import SERVER, Backhaul, BackhaulLink

SAME = 1e-12  # of a delay: two times that near are one


@dataclass(frozen=True)
class Routes:
    """The paths between the server and base stations: of least delay, and of these the fastest.

    A message of b bits takes the sum of the delays and b over the lowest rate (cut-through). Messages do not slow
    each other down.
    """

    delay_s: Floats  # [sites]
    rate_bps: Floats  # [sites] lowest on the path

    def one_way_s(self, bits: Floats | float, cell: Ids | int | slice = slice(None)) -> Floats:
        """Seconds [n] of messages of `bits` [n] between the server and the base stations `cell` [n]; all of them."""
        return np.asarray(self.delay_s[cell] + bits / self.rate_bps[cell])


def routes(backhaul: Backhaul | None, sites: int) -> Routes:
    """Those of a scenario that has been checked; without a section nothing takes any time."""
    if backhaul is None:
        return Routes(np.zeros(sites), np.full(sites, np.inf))
    links = backhaul.edges(sites)
    delay_s = _delays_s(links)
    rate_bps = _rates_bps(links, delay_s)
    return Routes(*(np.array([table[site] for site in range(sites)]) for table in (delay_s, rate_bps)))


def _delays_s(links: Sequence[BackhaulLink]) -> dict[Any, float]:
    """The least delay from the server to each node that can be reached."""
    import networkx as nx

    graph = nx.Graph()
    for link in links:
        known = graph.get_edge_data(*link.between, {"delay_s": np.inf})
        graph.add_edge(*link.between, delay_s=min(link.delay_s, known["delay_s"]))
    return dict(nx.single_source_dijkstra_path_length(graph, SERVER, weight="delay_s"))


def _rates_bps(links: Sequence[BackhaulLink], delay_s: dict[Any, float]) -> dict[Any, float]:
    """The highest rate to each node over paths of least delay: links join by falling rate until it is reached."""
    import networkx as nx

    graph, found = nx.DiGraph(), {SERVER: np.inf}
    graph.add_node(SERVER)
    for link in sorted(links, key=lambda link: -(link.rate_bps or np.inf)):
        for one, other in (link.between, link.between[::-1]):
            if one in delay_s and np.isclose(delay_s[one] + link.delay_s, delay_s[other], rtol=SAME, atol=0):
                graph.add_edge(one, other)
        for node in nx.descendants(graph, SERVER):
            found.setdefault(node, link.rate_bps or np.inf)
    return found
