"""Servers at the base stations, and a cloud behind them."""

from collections.abc import Generator
from typing import Annotated, Any, ClassVar

import simpy
from pydantic import Field

from edgefl.coordination.policies.base import Coordinator, Policy, StarBackhaul
from edgefl.core.section import BitRate, Delay


class Hierarchical(Policy):
    """Each base station averages its own cell, a cloud all cells now and then (HierFAVG, Liu et al., ICC 2020)."""

    edge_models: ClassVar[bool] = True

    cloud_every: Annotated[int, Field(ge=1, le=10**9)] = 5  # Rounds of the cells to one of the cloud, kappa_2.
    # Rate of a star backhaul, instead of the section backhaul; by default bits take no time.
    backhaul_bps: BitRate | None = None
    backhaul_delay_s: Delay = 0.0  # Delay of a message over the backhaul, one way.

    @property
    def star_backhaul(self) -> StarBackhaul:
        """Return the star that the policy's keys describe."""
        return StarBackhaul(self.backhaul_bps, self.backhaul_delay_s)

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run synchronous rounds in all cells; every few rounds, send all models to the cloud and back."""
        number = 0
        while (yield from server.ready()):
            yield server.env.all_of(server.dispatch(server.select()))
            number += 1
            merge = number % self.cloud_every == 0
            if merge:
                yield server.env.timeout(2 * server.backhaul_s)
            server.aggregate(merge=merge)
