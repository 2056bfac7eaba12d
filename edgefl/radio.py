"""The radio link of one cell: what a round's participants get from `channel`, with keyed randomness filled in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import channel
from edgefl.errors import RunError
from edgefl.scenario import Cells, Radio
from edgefl.streams import Purpose, Streams

Floats = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drop:
    """The large-scale channel of a round's participants, constant during the round (dynamic-devices paper, eq. 34)."""

    distance_m: Floats  # 2D
    los: npt.NDArray[np.bool_]
    pathloss_db: Floats
    shadowing_db: Floats

    @property
    def path_gain(self) -> Floats:
        """The factor psi = 10^(-(PL + X) / 10)."""
        return channel.units.db_to_linear(-(self.pathloss_db + self.shadowing_db))


class Link:
    """Prices the transfers between the base station and the participants of a round."""

    def __init__(self, radio: Radio, cells: Cells, streams: Streams) -> None:
        self.radio, self.cells, self.streams = radio, cells, streams
        self.noise_w_hz = float(channel.units.dbm_to_w(radio.noise_dbm_hz))
        self.server_tx_power_w = float(channel.units.dbm_to_w(radio.server_tx_power_dbm))

    def drop(self, ids: Ids, positions_m: Floats, height_m: Floats, index: int) -> Drop:
        """Path loss and shadowing of participants `ids` [n] at `positions_m` [n, 2] in round `index`."""
        distance = np.hypot(positions_m[:, 0], positions_m[:, 1])
        bs_height = self.cells.bs_height_m
        loss, los = self.radio.propagation.path_loss_db(distance, self.radio.carrier_hz, bs_height, height_m)
        shadowing = self.radio.shadowing_db * self.streams.normal("shadowing", ids, index)
        return Drop(distance, los, loss, shadowing)

    def fading(self, ids: Ids, speed_mps: Floats, index: int) -> Fading:
        """The small-scale fading of participants `ids` [n] in round `index`."""
        correlation = channel.fading.doppler_correlation(speed_mps, self.radio.carrier_hz, self.radio.slot_s)
        return Fading(ids, correlation, index, self.streams)

    def download_s(self, bits: Floats, drop: Drop, fading: Fading) -> Floats:
        """Durations [n] from the base station to each participant, all starting at once (eq. 25, 26)."""
        if self.radio.downlink == "broadcast":  # every device listens to the whole band, and stops when it has it all
            bandwidth = np.full(len(bits), self.radio.bandwidth_hz)
        else:
            bandwidth = self.radio.allocation.shares_hz(self.radio.bandwidth_hz, bits)
        return self._transfer_s(
            bits, self._snr(self.server_tx_power_w, drop, bandwidth), bandwidth, fading, "fading_down"
        )

    def upload_s(self, bits: Floats, tx_power_w: Floats, drop: Drop, fading: Fading, gap_s: Floats) -> Floats:
        """Durations [n] from each participant to the base station, `gap_s` [n] after its download (eq. 24, 26)."""
        fading.advance(np.ceil(gap_s / self.radio.slot_s))
        bandwidth = self.radio.allocation.shares_hz(self.radio.bandwidth_hz, bits)
        return self._transfer_s(bits, self._snr(tx_power_w, drop, bandwidth), bandwidth, fading, "fading_up")

    def _snr(self, tx_power_w: float | Floats, drop: Drop, bandwidth_hz: Floats) -> Floats:
        return channel.rate.mean_snr(tx_power_w, drop.path_gain, self.noise_w_hz, bandwidth_hz)

    def _transfer_s(
        self, bits: Floats, mean_snr: Floats, bandwidth_hz: Floats, fading: Fading, purpose: Purpose
    ) -> Floats:
        draws = fading.innovations(purpose)
        try:
            durations, fading.gain = channel.transfer.walk(
                bits, mean_snr, bandwidth_hz, self.radio.slot_s, fading.correlation, draws, fading.gain
            )
        except channel.transfer.TransferTooLong as error:
            raise RunError(
                f"round {fading.index + 1}: {error}; check the radio section's powers and bandwidth"
            ) from None
        return durations


class Fading:
    """Rayleigh fading of each participant in one round: one Gauss-Markov process that both directions share (TDD).

    Each stretch of the process (download, the gap of computing, upload) has streams of its own, because a transfer may
    draw more innovations than it uses.
    """

    def __init__(self, ids: Ids, correlation: Floats, index: int, streams: Streams) -> None:
        self.ids, self.correlation, self.index, self.streams = ids, correlation, index, streams
        self.gain: Complex = self._draw("fading_start")

    def advance(self, slots: Floats) -> None:
        """Jump over the slots [n] in which nothing is sent."""
        self.gain = channel.fading.advance(self.gain, self.correlation, slots, self._draw("fading_gap"))

    def _draw(self, purpose: Purpose) -> Complex:
        """One CN(0, 1) number [n] a participant."""
        parts = self.streams.normal(purpose, self.ids, self.index, count=2)
        return np.asarray((parts[:, 0] + 1j * parts[:, 1]) * np.sqrt(0.5))

    def innovations(self, purpose: Purpose) -> channel.transfer.Innovations:
        """The draws of one transfer: a callable that gives the next CN(0, 1) numbers [rows, count] of given rows."""
        generators = [self.streams.generator(purpose, int(device), self.index) for device in self.ids]

        def draw(rows: npt.NDArray[np.intp], count: int) -> Complex:
            draws = np.empty((len(rows), count), dtype=np.complex128)
            for place, row in enumerate(rows):
                generators[row].standard_normal(out=draws[place].view(np.float64))
            draws *= np.sqrt(0.5)
            return draws

        return draw
