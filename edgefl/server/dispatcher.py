"""What devices do that begin together: what they download, compute and upload, over which links."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import simpy

import channel
from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.payload import Payload, SplitPayload
from edgefl.learning.workload import Workload
from edgefl.radio import Chain, Drop, Link, OnAir, Peer
from edgefl.radio.backhaul import routes
from edgefl.scenario import Scenario
from edgefl.server.handover import Roaming
from edgefl.server.ledger import Ledger
from edgefl.server.participation import POLLED, ProcessFactory
from edgefl.server.round_trip import RoundTrip
from edgefl.server.split_trip import SplitTrip, course
from edgefl.world.compute import LocalComputation
from edgefl.world.world import World


class Dispatcher:
    """Makes the parts of devices; holds who has got what lasts for the session.

    Args:
        env: the clock.
        scenario: the whole scenario.
        world: the devices.
        link: the radio.
        payload: what a participant sends and computes.
        split: the same where the model is cut in two; None where it is not.
        ledger: for events.
        streams: keyed randomness.
        on_air: told whose radio is on, and for which share of the time.
    """

    def __init__(
        self,
        env: simpy.Environment,
        scenario: Scenario,
        world: World,
        link: Link,
        payload: Payload,
        split: SplitPayload | None,
        ledger: Ledger,
        streams: Streams,
        on_air: OnAir,
    ) -> None:
        self.env, self.world, self.link, self.ledger = env, world, link, ledger
        self.payload, self.split, self.section = payload, split, scenario.server
        self.chain, self.routes = Chain(link), routes(scenario.effective_backhaul, scenario.cells.sites)
        self._ways = routes(None, scenario.cells.sites) if scenario.server.policy.edge_models else self.routes
        self.polling = Link(scenario.radio, scenario.cells, streams.apart("poll"), on_air)  # its draws are others
        handover = scenario.cells.handover
        self.workload = Workload(scenario.training, payload.samples, streams)
        self.roaming = Roaming(env, ledger, world, link, handover) if handover else None
        self.equipped: set[int] = set()  # devices that have got what lasts for the session

    @property
    def backhaul_s(self) -> float:
        """Time of a model between the server and all base stations, side by side."""
        return float(self.routes.one_way_s(self.payload.model_bits).max())

    def trips(self, drop: Drop, index: int, successor: int | None) -> ProcessFactory:
        """What devices that begin together do: a model goes down, is trained and goes up, or is trained in halves."""
        world, payload, ids, radio = self.world, self.payload, drop.ids, self._radio(drop)
        number = len(self.ledger.rounds)
        if self.split is not None:
            rates = world.flops_per_s(ids).tolist()
            server = self.section.flops_per_s or float("inf")
            steps = map(int, self.workload.steps(ids, number))
            each = zip(ids.tolist(), rates, repeat(server), steps, strict=False)
            courses = [course(self.split, *one) for one in each]
            exchange = self.link.exchange(*radio, [each.turns for each in courses], index)
            return SplitTrip(self.env, self.ledger, exchange, courses)
        bits, peer = (self._down_bits(ids), payload.up_bits), None if successor is None else self._peer(ids, successor)
        computing = self._computing(drop, payload.flops_in(ids, number, self.workload), bits)
        if self.roaming:
            roamer = self.link.roam(self.roaming.section, *radio, bits, index)
            return self.roaming.during(RoundTrip(self.env, self.ledger, roamer, computing, self._ways, bits), roamer)
        carrier = self.chain.open(*radio, computing.durations_s, bits, index, peer)
        return RoundTrip(self.env, self.ledger, carrier, computing, self._ways, bits)

    def polls(self, drop: Drop, index: int, samples: Ids) -> ProcessFactory:
        """What candidates do: the model goes down, its loss is computed on `samples` [n] of each, and goes up."""
        ids, radio = drop.ids, self._radio(drop)
        flops = np.asarray(self.payload.loss_flops * samples, dtype=np.float64)
        bits = self._down_bits(ids), float(BITS_PER_FLOAT)
        computing = self._computing(drop, flops, bits)
        carrier = self.polling.open(*radio, computing.durations_s, bits, index)
        return RoundTrip(self.env, self.ledger, carrier, computing, self._ways, bits, POLLED)

    def _computing(self, drop: Drop, flops: Floats, bits: tuple[Floats | float, float]) -> LocalComputation:
        """What devices [n] compute between their downloads and uploads."""
        down, up = np.broadcast_to(bits[0], flops.shape), np.broadcast_to(bits[1], flops.shape)
        travel_s = self._ways.one_way_s(down, drop.cell) + self._ways.one_way_s(up, drop.cell)
        left_s = (self.section.deadline_s or float("inf")) - travel_s
        if not self.world.dvfs.needs_deadline:
            return self.world.computing(drop.ids, flops, left_s)
        reciprocity = self.link.reciprocity(drop, self.world.tx_power_w(drop.ids), down, up)
        return self.world.computing(drop.ids, flops, left_s, reciprocity.upload_s)

    def _radio(self, drop: Drop) -> tuple[simpy.Environment, Drop, Floats, Floats]:
        """What every opening of the link asks for."""
        speeds_mps = self.world.speeds_mps(drop.ids, self.env.now)
        return self.env, drop, speeds_mps, self.world.tx_power_w(drop.ids)

    def _down_bits(self, ids: Ids) -> Floats | float:
        """What devices [n] download: more where one has still to get what lasts for the session."""
        payload = self.payload
        if not payload.once_bits:
            return payload.down_bits
        return np.where(np.isin(ids, list(self.equipped)), 0.0, payload.once_bits) + payload.down_bits

    def _peer(self, ids: Ids, successor: int) -> Peer:
        """The device that gets the model after these."""
        world, now_s, peer = self.world, self.env.now, np.array([successor])
        away_m = np.linalg.norm(world.positions_m(ids, now_s) - world.positions_m(peer, now_s), axis=1)
        distance_m = channel.geometry.distance_3d_m(away_m, world.height_m[ids], world.height_m[peer])
        return Peer(distance_m, world.speeds_mps(peer, self.env.now))
