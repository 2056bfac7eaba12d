"""Makes the server's forecasts of its devices, from their hardware, their work and its channel state information."""

from dataclasses import dataclass

import numpy as np
import simpy

from edgefl.coordination.csi.base import ReportedCsi, RequestedCsi
from edgefl.coordination.forecast import Direction, Forecast, SpectralEfficiency
from edgefl.coordination.server_section import ServerSection
from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams
from edgefl.radio.backhaul import Routes
from edgefl.radio.link import Link
from edgefl.radio.transfers import Way
from edgefl.server.channel_knowledge import ArrivedKnowledge, ChannelKnowledge, RequestedKnowledge
from edgefl.server.channel_state import ChannelState
from edgefl.server.dispatcher import Dispatcher
from edgefl.world.world import World


@dataclass(kw_only=True, eq=False)
class Forecaster:
    """Makes forecasts of candidates at the present time."""

    env: simpy.Environment
    csi: ReportedCsi
    section: ServerSection
    participants: int  # number of devices that a round asks for
    world: World
    link: Link
    dispatcher: Dispatcher  # knows what participants send and compute
    routes: Routes  # of participants' messages on the backhaul
    streams: Streams

    def __post_init__(self) -> None:
        state = ChannelState(self.env, self.world)
        count = self.world.count
        self.knowledge: ChannelKnowledge = ArrivedKnowledge(self.env, self.csi, state, self.streams, count)
        if isinstance(self.csi, RequestedCsi):
            self.knowledge = RequestedKnowledge(self.csi, self.link, state, self.streams, count)
        self._down = self._direction("down")
        self._up = self._direction("up")

    def forecast(self, ids: Ids, index: int, busy: int = 0) -> Forecast:
        """Return the forecast of devices [n] if they took part from now on.

        Args:
            ids: the devices, ascending.
            index: of the selection that may choose them; it keys the draws of the channel that they will begin with.
            busy: how many other devices are taking part.
        """
        world = self.world
        drop = self.link.drop(ids, world.positions_m(ids, self.env.now), world.height_m[ids], index)
        gains, age_s = self.knowledge.known(drop, index)
        known_gain = gains.path_gain * gains.fading
        budget = self.link.pricing.budget
        exchange = self.dispatcher.expected(ids)
        down_bits = np.broadcast_to(exchange.down_bits, ids.shape)
        up_bits = np.broadcast_to(exchange.up_bits, ids.shape)
        full_power_w = world.scenario_tx_power_w(ids)
        powers_w = world.powers_w(ids, tx_power_w=full_power_w)
        backhaul_s = self.routes.one_way_s(down_bits, drop.cell) + self.routes.one_way_s(up_bits, drop.cell)
        access_s = self.link.access_s("down", down_bits) + self.link.access_s("up", up_bits)
        return Forecast(
            ids=ids,
            cell=drop.cell,
            path_gain=gains.path_gain,
            fading=gains.fading,
            age_s=age_s,
            down_bits=down_bits,
            up_bits=up_bits,
            flops=exchange.flops,
            samples=self.dispatcher.samples(ids),
            cpu_hz=world.cpu_hz[ids],
            flops_per_cycle=world.flops_per_cycle[ids],
            capacitance=world.capacitance[ids],
            cpu_static_w=world.cpu_static_w[ids],
            tx_power_w=full_power_w,
            amplifier_w=powers_w["tx"],
            circuit_w=powers_w["circuit"],
            rx_power_w=powers_w["rx"],
            backhaul_s=backhaul_s,
            access_s=access_s,
            setup_s=world.setup_s[ids],
            setup_j=world.setup_j[ids],
            rx_j_per_mbit=world.rx_j_per_mbit[ids],
            tx_j_per_mbit=world.tx_j_per_mbit[ids],
            down_snr_hz=budget.snr_hz("down", known_gain, full_power_w, 0.0),
            up_snr_hz=budget.snr_hz("up", known_gain, full_power_w, 0.0),
            down=self._down,
            up=self._up,
            share=self._shares(drop.cell, busy),
            deadline_s=self.section.deadline_s or float("inf"),
            model_parameters=self.dispatcher.model_parameters,
            power_control=budget.power_control.power_share,
            slot_s=self.link.radio.slot_s,
        )

    def _shares(self, cell: Ids, busy: int) -> Floats:
        """Return the shares [n] of its cell's band that each candidate gets of equal parts.

        A cell is expected to have its share of the participants.
        """
        if not len(cell):
            return np.ones(0)
        together = self._together(len(cell) + busy)
        candidates = np.bincount(cell)[cell]
        in_cell = together * candidates / len(cell)
        return np.minimum(1.0, 1.0 / in_cell)

    def _together(self, present: int) -> float:
        """Return how many devices are expected to take part at the same time, of those present."""
        policy = self.section.policy
        if not policy.averages:
            return 1.0  # one after another
        return self.section.selection.expected(min(policy.asked(self.participants), present), present)

    def _direction(self, way: Way) -> Direction:
        budget = self.link.pricing.budget
        bps_hz: SpectralEfficiency = budget.mean_bps_hz
        if self.csi.instantaneous:
            bps_hz = budget.efficiency.bps_hz
        return Direction(
            band_hz=budget.resources.band_hz,
            time_share=budget.resources.time_share(way),
            payload_share=budget.resources.payload_share(way),
            spread=budget.spreads_power(way),
            broadcast=way == "down" and self.link.radio.downlink == "broadcast",
            in_turn=self.link.radio.allocation.in_turn,
            bps_hz=bps_hz,
            mean_rates=not self.csi.instantaneous,
        )
