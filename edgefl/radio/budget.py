"""The link budget: how a band is divided, and the signal-to-noise ratios on its parts."""

from __future__ import annotations

import numpy as np

import channel
from edgefl.core.arrays import Floats, Ints
from edgefl.radio.carrier import Way
from edgefl.radio.radio_section import Radio
from edgefl.world.cells_section import Cells


class Budget:
    """Powers, noise, interference and the band of a cell."""

    def __init__(self, radio: Radio, cells: Cells) -> None:
        self.radio = radio
        self.efficiency = radio.rate.efficiency()
        self.noise_w_hz = float(channel.rate.noise_w_hz(radio.noise_dbm_hz, radio.noise_figure_db))
        self.server_tx_power_w = float(channel.units.dbm_to_w(radio.server_tx_power_dbm))
        self.group = np.zeros(cells.sites, dtype=np.int64)
        if radio.reuse > 1:
            self.group = channel.geometry.reuse_group(cells.sites, radio.reuse)
        self.blocks: int | None = None
        self.band_hz = radio.bandwidth_hz / radio.reuse
        if radio.subcarrier_spacing_hz is not None:
            self.blocks = radio.blocks // radio.reuse
            self.band_hz = self.blocks * channel.numerology.block_hz(radio.subcarrier_spacing_hz)

    def mean_bps_hz(self, mean_snr: Floats) -> Floats:
        """Mean spectral efficiency [n] over Rayleigh fading."""
        return channel.rate.mean_rayleigh_bps_hz(self.efficiency, mean_snr)

    def snr_hz(self, way: Way, path_gain: Floats, tx_power_w: Floats, interference_w_hz: Floats | float) -> Floats:
        """Received power over the density of noise and interference [n], P psi / (N0 + I0)."""
        power_w = self.server_tx_power_w if way == "down" else tx_power_w
        return np.asarray(power_w * path_gain / (self.noise_w_hz + interference_w_hz))

    def divide(self, way: Way, payload_bits: Floats, snr_hz: Floats) -> channel.allocation.Shares:
        """Shares [n] of one cell's concurrent transfers."""
        shares = self.radio.allocation.shares(
            self.band_hz, payload_bits, snr_hz, self.efficiency, spread=self.spread(way)
        )
        if self.blocks is None or (shares.duty < 1).any():  # who has turns has them with all blocks
            return shares
        block_hz = self.band_hz / self.blocks
        return channel.allocation.Shares(
            np.asarray(channel.numerology.whole_blocks(shares.bandwidth_hz, self.blocks) * block_hz), shares.duty
        )

    def spread(self, way: Way) -> bool:
        """Whether the transmitter's power is spread over the whole band, whatever a transfer's share."""
        return way == "down" and self.radio.server_power == "total"

    def on_air(self, way: Way) -> float:
        """Part of the time that the frame gives a direction."""
        tdd = self.radio.tdd
        if tdd is None:
            return 1.0
        return tdd.downlink if way == "down" else tdd.uplink

    def payload_part(self, way: Way) -> float:
        """Part of a direction's resources that control leaves to payload."""
        overhead = self.radio.overhead
        return 1.0 - (overhead.downlink if way == "down" else overhead.uplink)

    def interference_w_hz(
        self, way: Way, all_gains: Floats, cell: Ints, tx_power_w: Floats, transfers: Ints
    ) -> Floats | float:
        """Interference density at the receivers of transfers [n], while `transfers` [cells] are under way."""
        section = self.radio.interference
        if section is None or len(self.group) == 1:
            return 0.0
        turns = self.radio.allocation.in_turn  # then a cell's transfers are on air one at a time
        if way == "up":
            mean_w = section.load * tx_power_w / (transfers[cell] if turns else 1)
            return channel.interference.uplink_w_hz(all_gains, cell, self.group, mean_w, self.band_hz)[cell]
        each = self.radio.downlink == "unicast" and self.radio.server_power == "per_device" and not turns
        sending = transfers if each else np.minimum(transfers, 1)
        server_w = section.load * self.server_tx_power_w * sending
        return channel.interference.downlink_w_hz(all_gains, cell, self.group, server_w, self.band_hz)
