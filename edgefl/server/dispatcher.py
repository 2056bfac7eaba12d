"""What devices do that begin together: what they download, compute and upload, over which links."""

from __future__ import annotations

import numpy as np
import simpy

import channel
from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.payload import Payload, SplitPayload
from edgefl.learning.workload import Workload
from edgefl.radio.backhaul import routes
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.radio.messages import round_trip
from edgefl.radio.participants import Participants
from edgefl.radio.sidelink import DirectLinks, Peer
from edgefl.radio.transfers import OnAir
from edgefl.scenario import Scenario
from edgefl.server.handover import Roaming
from edgefl.server.ledger import Ledger
from edgefl.server.participation import POLLED, ProcessFactory
from edgefl.server.round_trip import RoundTrip
from edgefl.server.split_trip import SplitTrip, split_messages, split_turns
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
        self.routes = routes(scenario.effective_backhaul, scenario.cells.sites)
        self.direct_links = DirectLinks(link) if scenario.server.policy.direct_links else None
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
        if self.split is not None:
            return self._split_trips(self.split, drop, index)
        payload = self.payload
        flops = payload.flops_in(drop.ids, len(self.ledger.rounds), self.workload)
        down_bits = self._down_bits(drop.ids)
        up_bits = payload.up_bits
        computing = self._computing(drop, flops, down_bits, up_bits)
        if self.direct_links is not None:
            carrier = self.direct_links.open(
                self.env,
                drop,
                self.world.speeds_mps(drop.ids, self.env.now),
                self.world.tx_power_w(drop.ids),
                computing.durations_s,
                down_bits,
                up_bits,
                index,
                None if successor is None else self._peer(drop.ids, successor),
            )
            return RoundTrip(self.env, self.ledger, carrier, computing, self._ways, down_bits, up_bits)
        who = self._participants(self.link, drop, index)
        messages = round_trip(len(who), down_bits, up_bits, computing.durations_s)
        if self.roaming is not None:
            roamer = self.link.roam(self.env, who, messages, self.roaming.section)
            processes = RoundTrip(self.env, self.ledger, roamer, computing, self._ways, down_bits, up_bits)
            return self.roaming.during(processes, roamer)
        carrier = self.link.open(self.env, who, messages)
        return RoundTrip(self.env, self.ledger, carrier, computing, self._ways, down_bits, up_bits)

    def _split_trips(self, split: SplitPayload, drop: Drop, index: int) -> ProcessFactory:
        """Devices' processes in split learning."""
        ids = drop.ids
        flops_per_s = self.world.flops_per_s(ids)
        server_flops_per_s = self.section.flops_per_s or float("inf")
        steps = self.workload.steps(ids, len(self.ledger.rounds))
        turns = [
            split_turns(split, int(device), float(flops_per_s[row]), server_flops_per_s, int(steps[row]))
            for row, device in enumerate(ids)
        ]
        carrier = self.link.open(self.env, self._participants(self.link, drop, index), split_messages(turns))
        return SplitTrip(self.env, self.ledger, carrier, turns)

    def polls(self, drop: Drop, index: int, samples: Ids) -> ProcessFactory:
        """What candidates do: the model goes down, its loss is computed on `samples` [n] of each, and goes up."""
        flops = np.asarray(self.payload.loss_flops * samples, dtype=np.float64)
        down_bits = self._down_bits(drop.ids)
        up_bits = float(BITS_PER_FLOAT)
        computing = self._computing(drop, flops, down_bits, up_bits)
        who = self._participants(self.polling, drop, index)
        carrier = self.polling.open(self.env, who, round_trip(len(who), down_bits, up_bits, computing.durations_s))
        return RoundTrip(self.env, self.ledger, carrier, computing, self._ways, down_bits, up_bits, POLLED)

    def _computing(self, drop: Drop, flops: Floats, down_bits: Floats | float, up_bits: float) -> LocalComputation:
        """What devices [n] compute between their downloads and uploads."""
        down = np.broadcast_to(down_bits, flops.shape)
        up = np.broadcast_to(up_bits, flops.shape)
        travel_s = self._ways.one_way_s(down, drop.cell) + self._ways.one_way_s(up, drop.cell)
        left_s = (self.section.deadline_s or float("inf")) - travel_s
        if not self.world.dvfs.needs_deadline:
            return self.world.computing(drop.ids, flops, left_s)
        reciprocity = self.link.reciprocity(drop, self.world.tx_power_w(drop.ids), down, up)
        return self.world.computing(drop.ids, flops, left_s, reciprocity.upload_s)

    def _participants(self, link: Link, drop: Drop, index: int) -> Participants:
        """The devices as a link sees them."""
        speeds_mps = self.world.speeds_mps(drop.ids, self.env.now)
        return link.participants(drop, speeds_mps, self.world.tx_power_w(drop.ids), index)

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
