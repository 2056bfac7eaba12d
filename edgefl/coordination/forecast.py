"""The server's forecast of the times and energies of candidates, as far as its CSI tells.

Selections, allocations and optimisers are arithmetic on these arrays. A forecast assumes that the known channel stays,
and knows neither interference nor failures to come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from edgefl.core.arrays import Floats, Ids, Rows
from edgefl.world.bit_energy import bits_j
from edgefl.world.compute import compute_j, compute_s, flops_per_s

SpectralEfficiency = Callable[[Floats], Floats]
"""Returns bits a second and hertz [n] from signal-to-noise ratios [n]."""

PowerShare = Callable[[Ids, Floats, Floats], Floats]
"""Returns shares [n] of full powers from ids [n], bandwidths [n] [Hz] and path gains [n]."""


def full_power(ids: Ids, bandwidth_hz: Floats, path_gain: Floats) -> Floats:
    """Return 1 [n]: no power control lowers the powers."""
    return np.ones(len(ids))


@dataclass(frozen=True)
class Direction:
    """One direction of the radio, as a forecast sees it."""

    band_hz: float  # of a cell
    time_share: float  # of the time that is this direction's
    payload_share: float  # of its resources that carry payload
    spread: bool  # the transmitter spreads its power over the whole band, whatever a device's share
    broadcast: bool  # all devices listen to the whole band
    in_turn: bool  # a share is one of the time, on the whole band
    bps_hz: SpectralEfficiency
    free_share: float = 1.0  # of the band (in turns: of the time) that these devices have for themselves
    mean_rates: bool = False  # whether `bps_hz` is a mean over Rayleigh fading, and ratios are such means

    def rate_bps(self, snr_hz: Floats, share: Floats | float) -> Floats:
        """Return the rates [n] of payload at SNRs [n] times hertz, on a share of the cell's free band, one or [n]."""
        used_share: Floats | float = 1.0
        if not self.broadcast:
            used_share = self.free_share * share
        # If there are turns, the average over them.
        used_hz = self.band_hz * np.broadcast_to(used_share, snr_hz.shape)
        powered_hz = self.served_hz(np.broadcast_to(share, snr_hz.shape))
        if self.spread:
            powered_hz = np.full(len(snr_hz), self.band_hz)
        known = np.flatnonzero(~np.isnan(snr_hz))
        bps_hz = np.full(len(snr_hz), np.nan)
        bps_hz[known] = self.bps_hz(snr_hz[known] / powered_hz[known])
        return np.asarray(used_hz * self.time_share * self.payload_share * bps_hz)

    def served_hz(self, share: Floats) -> Floats:
        """Return the bandwidths [n] that devices use while they are served."""
        if self.in_turn or self.broadcast:
            return np.full(len(share), self.band_hz)
        return self.band_hz * self.free_share * share

    def on_air(self, share: Floats | float) -> Floats | float:
        """Return the share of a transfer's time that a device is served."""
        if self.in_turn and not self.broadcast:
            return self.time_share * self.free_share * share
        return self.time_share


@dataclass(frozen=True)
class Forecast:
    """The server's prediction for candidates [n], from their hardware and from its CSI.

    Numbers about unknown channels are nan. There is noise, but no interference; each upload has a separate part of the
    band.
    """

    ids: Ids  # ascending
    cell: Ids  # the cells that would serve them
    path_gain: Floats  # received over sent power, averaged over the fading
    fading: Floats  # |h|^2 when it was measured; 1 where only the mean is known
    down_bits: Floats
    up_bits: Floats
    flops: Floats  # of local training
    cpu_hz: Floats  # highest clocks
    flops_per_cycle: Floats
    capacitance: Floats
    tx_power_w: Floats  # full powers
    amplifier_w: Floats  # drawn from the battery for that power
    circuit_w: Floats  # drawn besides while a device sends
    rx_power_w: Floats
    backhaul_s: Floats  # both ways
    down_snr_hz: Floats  # received power over the density of the noise
    up_snr_hz: Floats  # the same at full power
    down: Direction
    up: Direction
    share: Floats | float  # of its cell's band that each expected participant gets if it is divided equally
    deadline_s: float  # of a round; inf if there is none
    model_parameters: int  # of the model that a device trains
    samples: Floats | float = 1.0  # that each has to train on
    cpu_static_w: Floats | float = 0.0  # drawn by a processor at work, at any clock
    age_s: Floats | float = 0.0  # how long before the decision the channel was measured
    power_control: PowerShare = full_power  # of uploads
    slot_s: float = 0.0  # a transfer ends with a slot, so that it may take one longer than forecast
    access_s: Floats | float = 0.0  # to the radio, before the first bits of both messages
    setup_s: Floats | float = 0.0  # before the download: the app, its libraries, its data
    setup_j: Floats | float = 0.0  # drawn meanwhile
    rx_j_per_mbit: Floats | float = 0.0  # drawn for each megabit received, besides `rx_power_w`
    tx_j_per_mbit: Floats | float = 0.0  # the same of those sent

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, rows: Rows) -> Forecast:
        """Return the forecast of the candidates in `rows` [r]."""
        chosen: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                chosen[field.name] = value[rows]
        return replace(self, **chosen)

    def of(self, ids: Ids) -> Forecast:
        """Return the forecast of the candidates `ids` [m], in their order.

        Raises:
            KeyError: one of them is not a candidate.
        """
        rows = np.searchsorted(self.ids, ids)
        inside = np.minimum(rows, len(self) - 1)
        if len(ids) and (len(self) == 0 or (self.ids[inside] != ids).any()):
            raise KeyError("a forecast has candidates only, and one of these devices is not a candidate")
        return self.only(rows)

    # Times

    def download_s(self, share: Floats | float | None = None) -> Floats:
        """Return how long downloads [n] take on a share of the band, by default an equal one [s]."""
        return _duration_s(self.down_bits, self.down.rate_bps(self.down_snr_hz, self._share(share)))

    def upload_s(self, share: Floats | float | None = None, power_share: Floats | float = 1.0) -> Floats:
        """Return how long uploads [n] take on shares of the band and of controlled power, one for all or [n] [s]."""
        sent = power_share * self.controlled(share)
        rate_bps = self.up.rate_bps(self.up_snr_hz * sent, self._share(share))
        return _duration_s(self.up_bits, rate_bps)

    def compute_s(self, clock_share: Floats | float = 1.0) -> Floats:
        """Return how long local training takes [n] at a share of the highest clocks [s]."""
        return compute_s(self.flops, flops_per_s(self.cpu_hz * clock_share, self.flops_per_cycle))

    def on_the_way_s(self) -> Floats:
        """Return how long devices [n] set up, and wait for access and the backhaul [s]."""
        return self.backhaul_s + self.access_s + self.setup_s

    def round_trip_s(self, share: Floats | float | None = None) -> Floats:
        """Return the time [n] from sending the model to receiving the update, at full power and clock [s]."""
        return self.download_s(share) + self.compute_s() + self.upload_s(share) + self.on_the_way_s()

    # Closed forms

    def steady_up_snr_hz(self) -> Floats:
        """Return the `up_snr_hz` [n] that Shannon's formula predicts uploads from.

        Where only the mean channel is known, mean rates over Rayleigh fading belong to no steady channel. They are
        never below those of one that is weaker by e^-gamma, 2.5 dB, the geometric mean of |h|^2 (by Jensen's
        inequality, as ln(1 + e^u) is convex in u).
        """
        if self.up.mean_rates:
            return np.asarray(self.up_snr_hz * np.exp(-np.euler_gamma))
        return self.up_snr_hz

    # Powers and energies

    def controlled(self, share: Floats | float | None = None) -> Floats:
        """Return the shares [n] of full power that power control allows on a share of the band."""
        sent = np.ones(len(self))
        known = np.flatnonzero(~np.isnan(self.path_gain))
        bandwidth_hz = self.up.served_hz(np.broadcast_to(self._share(share), sent.shape))
        sent[known] = self.power_control(self.ids[known], bandwidth_hz[known], self.path_gain[known])
        return sent

    def compute_j(self, clock_share: Floats | float = 1.0) -> Floats:
        """Return the energy of local training [n] at a share of the highest clocks [J]."""
        clock_hz = self.cpu_hz * clock_share
        return compute_j(self.flops, clock_hz, self.flops_per_cycle, self.capacitance, self.cpu_static_w)

    def upload_j(self, share: Floats | float | None = None, power_share: Floats | float = 1.0) -> Floats:
        """Return the energy of uploads [n], with arguments as in `upload_s` [J]."""
        on_air_s = self.upload_s(share, power_share) * self.up.on_air(self._share(share))
        amplifier_w = self.amplifier_w * power_share * self.controlled(share)
        return np.asarray((amplifier_w + self.circuit_w) * on_air_s + bits_j(self.up_bits, self.tx_j_per_mbit))

    def download_j(self, share: Floats | float | None = None) -> Floats:
        """Return the energy of downloads [n] [J]."""
        on_air_s = self.download_s(share) * self.down.on_air(self._share(share))
        return np.asarray(self.rx_power_w * on_air_s + bits_j(self.down_bits, self.rx_j_per_mbit))

    def energy_j(self, share: Floats | float | None = None) -> Floats:
        """Return the energy of participations [n], at full power and clock [J]."""
        return self.download_j(share) + self.compute_j() + self.upload_j(share) + self.setup_j

    def _share(self, share: Floats | float | None) -> Floats | float:
        return self.share if share is None else share


def _duration_s(bits: Floats, rate_bps: Floats) -> Floats:
    """Return the seconds [n] that some bits take; inf at no rate, 0 without bits, nan at an unknown rate."""
    endless = np.where(bits > 0, np.inf, 0.0)
    seconds = np.divide(bits, rate_bps, out=endless, where=rate_bps > 0)
    return np.where(np.isnan(rate_bps), np.nan, seconds)
