"""The channel of devices when their participation begins, and some time before."""

from dataclasses import dataclass

import numpy as np
import simpy

import channel
from channel.waves import Waves
from edgefl.coordination.csi.base import Gains
from edgefl.core.arrays import Complex, Floats
from edgefl.core.returns import Array, called
from edgefl.core.times import steps_begun
from edgefl.radio.block_gains import BlockGains
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.radio.participants import Participants
from edgefl.world.world import World


@dataclass(eq=False)
class ChannelState:
    """Returns the channel of devices that begin to take part now."""

    env: simpy.Environment
    world: World

    def gains(self, link: Link, drop: Drop, index: int, age_s: float = 0.0) -> Gains:
        """Return the channel of devices [n] to their cells, as it was `age_s` before they begin.

        Args:
            link: the radio over which they take part.
            drop: their large-scale channel now [n].
            index: of the selection that may choose them; it keys the draws of the channel that they begin with.
            age_s: how long before [s].
        """
        speeds_mps = self.world.speeds_mps(drop.ids, self.env.now)
        participants = link.participants(drop, speeds_mps, self.world.scenario_tx_power_w(drop.ids), index)
        if participants.waves is not None:
            waves = channel.waves.earlier(participants.waves, age_s)
            fading = self._of_waves(link, waves)
        elif participants.blocks is not None:
            fading = self._of_blocks(link, participants.blocks, age_s)
        else:
            scatter = self._scatter(link, participants, age_s)
            fading = np.asarray(np.abs(channel.fading.ricean(scatter, drop.k_factor)) ** 2)
        return Gains(drop.ids, self._path_gain(link, drop, index, age_s), fading)

    def _path_gain(self, link: Link, drop: Drop, index: int, age_s: float) -> Floats:
        """Return the path gains [n] to the cells that serve devices now, from where the devices were `age_s` before."""
        if age_s == 0.0:
            return drop.path_gain
        world = self.world
        then_s = max(self.env.now - age_s, 0.0)  # nothing moves before the run begins
        return link.drop(
            drop.ids, world.positions_m(drop.ids, then_s), world.height_m[drop.ids], index, drop.cell
        ).path_gain

    def _scatter(self, link: Link, participants: Participants, age_s: float) -> Complex:
        """Return the scattered gains [n] `age_s` before participants begin."""
        draws = link.pricing.fading
        begins = participants.start
        if age_s == 0.0:
            return begins
        # A stationary Gaussian process is the same forward and backward in time.
        innovation = draws.complex_normals("csi_age", participants.drop.ids, participants.index)[:, 0]
        correlation = _correlation(link, participants, age_s)
        return channel.fading.advance(begins, correlation, 1, innovation)

    def _of_blocks(self, link: Link, blocks: BlockGains, age_s: float) -> Floats:
        """Return |h|^2 [n] of blocks in the slot where a message of `age_s` before would begin."""
        slot = np.full(len(blocks), steps_begun(self.env.now - age_s, link.radio.slot_s))
        return np.asarray(blocks.power(slot, 1)[:, 0])

    def _of_waves(self, link: Link, waves: Waves) -> Floats:
        """Return |h|^2 [n] of waves now, averaged over the band."""
        slot_s = link.radio.slot_s
        band_hz = np.full(len(waves), link.pricing.budget.resources.band_hz)
        now = np.full(len(waves), int(self.env.now // slot_s))
        # Over a wide band each part of it fades on its own.
        parts = channel.waves.subbands(waves, band_hz)
        power = np.empty(len(waves))
        for number in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == number)
            some = waves.only(rows)
            of_rows = channel.waves.subband_power(some, slot_s, band_hz[rows], number, now[rows], 1)
            power[rows] = of_rows.reshape(rows.size, -1).mean(axis=1)
        return power


def _correlation(link: Link, participants: Participants, age_s: float) -> Floats:
    """Return the correlations [n] of the scatter with the scatter `age_s` before."""
    fading = link.radio.fading
    must = Array(participants.speed_mps.shape, "correlations [n] from -1 to 1", least=-1.0, most=1.0)
    return called(fading.slot_correlation, must, participants.speed_mps, link.radio.carrier_hz, age_s)
