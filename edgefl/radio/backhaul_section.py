"""The section `backhaul`: the links between the server and the base stations."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    NonNegativeInt,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from edgefl.core.section import BitRate, Delay, Section, fault, fault_at, shown

SERVER = "server"

KEYS = {
    "graph": {"links"},
    "star": {"rate_bps", "delay_s"},
    "chain": {"rate_bps", "delay_s"},
    "tree": {"rate_bps", "delay_s", "children"},
}
"""The keys that belong to each kind."""

Node = str | int  # the server, a router by its name, or a base station by its number


def _node(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Report a fault in one sentence, where pydantic would report one for each alternative."""
    try:
        return handler(value)
    except ValidationError:
        raise fault(f"must be server, the number of a base station or a router's name, got {shown(value)}") from None


AnyNode = Annotated[NonNegativeInt | Annotated[str, Field(pattern=r"^\w[\w .-]*$")], WrapValidator(_node)]


class BackhaulLink(Section):
    """A link, which carries both directions at the same time."""

    between: Annotated[tuple[AnyNode, AnyNode], Field(strict=False)]  # The two ends of the link, in either order.
    rate_bps: BitRate | None = None  # Rate of the link; by default bits take no time.
    delay_s: Delay = 0.0  # Delay of the link, one way.


class Backhaul(Section):
    """Links between the server, routers and base stations; one of three shapes with equal links, or a graph."""

    kind: Literal["star", "chain", "tree", "graph"] = "graph"  # Shape of the links; a graph has them in links.
    links: Annotated[tuple[BackhaulLink, ...], Field(strict=False)] = ()  # Links of a graph.
    rate_bps: BitRate | None = None  # Rate of each link of a star, chain or tree; by default bits take no time.
    delay_s: Delay = 0.0  # Delay of each link of a star, chain or tree, one way.
    # Children of each base station in a tree, whose root is number 0.
    children: Annotated[int, Field(ge=1, le=10**6)] = 2

    @model_validator(mode="after")
    def _one_way(self) -> Backhaul:
        if self.kind == "graph" and not self.links:
            raise fault_at(("links",), "a graph needs them: [{between: [server, 0], rate_bps: 1e9, delay_s: 0.002}]")
        for name, field in type(self).model_fields.items():
            belongs = name == "kind" or name in KEYS[self.kind]
            if not belongs and getattr(self, name) != field.default:
                raise fault_at((name,), f"does not belong to the kind {self.kind}: leave it out")
        return self

    def edges(self, sites: int) -> list[BackhaulLink]:
        """Return all links, for so many base stations."""
        if self.kind == "graph":
            return list(self.links)
        pairs = self._pairs(sites)
        return [BackhaulLink(between=pair, rate_bps=self.rate_bps, delay_s=self.delay_s) for pair in pairs]

    def _pairs(self, sites: int) -> list[tuple[Node, Node]]:
        if self.kind == "star":
            return [(SERVER, site) for site in range(sites)]
        if self.kind == "chain":
            return list(pairwise([SERVER, *range(sites)]))
        # Trees are numbered level by level, so the parent's number follows from the child's.
        parents = [(site - 1) // self.children for site in range(1, sites)]
        return [(SERVER, 0), *zip(parents, range(1, sites), strict=True)]

    def check(self, sites: int) -> str | None:
        """Return why it does not connect so many base stations; None if it does."""
        import networkx as nx

        graph = nx.Graph([link.between for link in self.edges(sites)])
        beyond = [node for node in graph if isinstance(node, int) and node >= sites]
        if beyond:
            return f"names base station {min(beyond)}, but they are numbered 0 to {sites - 1}"
        reached = nx.node_connected_component(graph, SERVER) if SERVER in graph else set()
        for site in range(sites):
            if site not in reached:
                return f"no path leads from the server to base station {site}"
        return None
