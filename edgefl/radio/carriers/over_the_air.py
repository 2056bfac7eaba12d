"""Updates over the air: all participants of a cell send together, and the base station receives the sum.

A participant has four messages: the model down, the statistics of its update up, those of all updates down, and the
update. The first three are ordinary ones on fixed shares. The update is analog, on the whole band.

Source: Zhu, Wang, Huang, IEEE TWC 19(1), 2020; the formulas are those of `channel.aircomp`.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
import simpy

import channel
from edgefl.core.arrays import Complex, Floats, Rows
from edgefl.core.times import SAME_STEP, steps_begun
from edgefl.radio.carriers.barrier import Barrier
from edgefl.radio.carriers.fixed_shares import FixedCarrier
from edgefl.radio.messages import DOWNLOAD, UPLOAD, MessageGroup, Messages, Pauses
from edgefl.radio.multiple_access import ChannelInversion
from edgefl.radio.participants import Participants
from edgefl.radio.prices.pricing import Pricing
from edgefl.radio.transfers import OnAir, TransferResult

STATISTICS_UP = 1  # turns after the download of the model
STATISTICS_DOWN = 2
UPDATE = 3


class AnalogUpdates(NamedTuple):
    """The updates of a round's participants [n], of which base stations receive sums."""

    coefficients: float  # of each update
    weights: Floats  # [n] in the sum
    statistics_bits: float  # of a device's statistics, and of those of all devices


class ReceivedSum(NamedTuple):
    """The sum that a base station has received."""

    aligned_w: float  # power with which a signal of weight 1 has arrived
    noise_w: float
    error: float  # mean squared error of a sum of weight 1, see `channel.aircomp.mean_squared_error`


class OverTheAirCarrier:
    """Carries the messages of a round whose updates add up in the air.

    Args:
        env: the clock.
        pricing: prices the ordinary messages.
        participants: of the round [n].
        messages: their two messages of an ordinary round: the model, and the update as bits.
        updates: the analog updates that they send instead of these bits.
        inversion: of their channels.
        on_air: called when a device's radio is switched.
    """

    def __init__(
        self,
        *,
        env: simpy.Environment,
        pricing: Pricing,
        participants: Participants,
        messages: Messages,
        updates: AnalogUpdates,
        inversion: ChannelInversion,
        on_air: OnAir,
    ) -> None:
        self._env = env
        self._pricing = pricing
        self._participants = participants
        self._update_bits = messages.most_bits("up")
        self._updates = updates
        self._inversion = inversion
        self._on_air = on_air
        self._digital = FixedCarrier(
            env, pricing, participants, _with_statistics(messages, updates.statistics_bits), on_air
        )
        self._began_s = env.now
        k_factor = participants.drop.k_factor
        self._mean_inverse = channel.aircomp.mean_inverse_gain(inversion.threshold, k_factor)
        rows = np.arange(len(participants))
        # The common statistics need the participants of all cells, the sum of a cell only its own.
        self._statistics = Barrier(env, rows.tolist())
        self._cells: dict[int, Barrier] = {}
        for cell in np.unique(participants.drop.cell).tolist():
            self._cells[cell] = Barrier(env, rows[participants.drop.cell == cell].tolist())
        self._sums: dict[int, ReceivedSum] = {}  # by cell, once its participants send
        self._power_share = np.zeros(len(participants))  # of full powers; set once a cell's participants send

    # Calls from the process of a participant, in this order

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """See Carrier."""
        if turn == UPDATE:
            return self._send_update(row)
        return self._digital.send(row, turn)

    def statistics_are_in(self, row: int) -> simpy.Event:
        """Note that a participant has sent its statistics; return the event that fires when all have."""
        return self._statistics.arrive(row)

    def cell_is_ready(self, row: int) -> simpy.Event:
        """Note that a participant is ready to send; return the event that fires when all of its cell are."""
        return self._barrier_of(row).arrive(row)

    def leave(self, row: int) -> None:
        """Wait for a participant no longer: its participation has ended."""
        self._statistics.leave(row)
        self._barrier_of(row).leave(row)

    # Calls from the server when the round has ended

    def weights(self, rows: list[int]) -> Floats:
        """Return the weights [r] of participants in the sum."""
        return np.asarray(self._updates.weights[rows], dtype=np.float64)

    def received_sum(self, cell: int) -> ReceivedSum:
        """Return the sum that a cell's base station has received."""
        return self._sums[cell]

    def silence(self, rows: list[int]) -> Floats:
        """Return the probabilities [r] with which participants that sent have not sent a coefficient."""
        if not self._inversion.by_coefficient:
            return np.zeros(len(rows))
        k_factor = self._participants.drop.k_factor[rows]
        return np.asarray(1.0 - channel.aircomp.sending_probability(self._inversion.threshold, k_factor))

    # The sum

    def _barrier_of(self, row: int) -> Barrier:
        return self._cells[int(self._participants.drop.cell[row])]

    def _send_update(self, row: int) -> Generator[simpy.Event, Any, TransferResult]:
        """Send an update from now on, at the same time as all others of the cell."""
        cell = int(self._participants.drop.cell[row])
        if cell not in self._sums:
            self._set_powers(cell)
        began_s = self._env.now
        duration_s = self._duration_s
        air = self._pricing.budget.resources.time_share("up")
        power_share = float(self._power_share[row])
        silent = power_share == 0.0
        if silent:
            air = 0.0
        else:
            self._on_air(int(self._participants.drop.ids[row]), "up", air, power_share)
        cut = ""
        try:
            yield self._env.timeout(duration_s)
            elapsed_s = duration_s
        except simpy.Interrupt as interrupt:
            cut = str(interrupt.cause)
            elapsed_s = self._env.now - began_s
        air_s = elapsed_s * air
        sent_bits = 0.0
        if not silent:
            sent_bits = float(self._update_bits[row]) * elapsed_s / duration_s
        delivered = not silent and not cut
        # A sum has a signal-to-noise ratio, its summands have none.
        return TransferResult(elapsed_s, air_s, air_s * power_share, sent_bits, delivered, cut=cut, sinr_s=np.nan)

    @property
    def _duration_s(self) -> float:
        """Return the duration of an update [s] in whole slots, for any number of senders."""
        resources = self._pricing.budget.resources
        slot_s = self._pricing.radio.slot_s
        per_symbol = self._inversion.coefficients_per_symbol
        symbols = channel.aircomp.symbols(self._updates.coefficients, per_symbol)
        # A band carries one complex symbol a second for each of its hertz.
        return float(np.ceil(symbols / (resources.capacity_hz("up") * slot_s) - SAME_STEP)) * slot_s

    def _set_powers(self, cell: int) -> None:
        budget = self._pricing.budget
        noise_w = budget.noise_w_hz["up"] * budget.resources.band_hz
        present = np.array(self._cells[cell].present, dtype=np.intp)
        rows = present[self._mean_inverse[present] > 0]  # the others' gains never reach the threshold
        if not rows.size:
            self._sums[cell] = ReceivedSum(0.0, noise_w, np.inf)
            return
        path_gain = self._participants.drop.path_gain[rows]
        full_w = self._participants.tx_power_w[rows]
        weight = self._updates.weights[rows]
        aligned_w = channel.aircomp.aligned_power_w(full_w, path_gain, weight, self._mean_inverse[rows])
        sent_w = channel.aircomp.sent_power_w(aligned_w, path_gain, weight, self._inverse_gain(rows))
        self._power_share[rows] = sent_w / full_w
        per_symbol = self._inversion.coefficients_per_symbol
        error = float(channel.aircomp.mean_squared_error(noise_w, aligned_w, coefficients_per_symbol=per_symbol))
        self._sums[cell] = ReceivedSum(float(aligned_w), noise_w, error)

    def _inverse_gain(self, rows: Rows) -> Floats:
        """Return the inverse gains of participants [r]: the mean over their fading, or that of now; 0: silent."""
        if self._inversion.by_coefficient:
            return np.asarray(self._mean_inverse[rows])
        gain = np.abs(self._gain(rows)) ** 2
        sends = gain >= self._inversion.threshold
        return np.asarray(np.divide(1.0, gain, out=np.zeros(rows.size), where=sends))

    def _gain(self, rows: Rows) -> Complex:
        """Return the present complex gains of participants [r], flat over the band and the upload."""
        chosen = self._participants.only(rows)
        slot_s = self._pricing.radio.slot_s
        if chosen.waves is not None:
            now_s = steps_begun(self._env.now, slot_s) * slot_s
            turned = chosen.waves.amplitude * np.exp(2j * np.pi * chosen.waves.shift_hz * now_s)
            return np.asarray(turned.sum(axis=(1, 2)))
        if chosen.blocks is not None:
            now_slot = np.full(rows.size, steps_begun(self._env.now, slot_s))
            return np.asarray(chosen.blocks.gain(now_slot, 1)[:, 0])
        # From the slot before the round's first one to the slot that begins now.
        slots = 1 + steps_begun(self._env.now - self._began_s, slot_s)
        drawn = self._pricing.fading.complex_normals("aircomp_fading", chosen.drop.ids, chosen.index)[:, 0]
        scatter = channel.fading.advance(chosen.start, chosen.correlation, slots, drawn)
        return channel.fading.ricean(scatter, chosen.drop.k_factor)


def _with_statistics(messages: Messages, statistics_bits: float) -> Messages:
    """Return the messages with those of the statistics instead of the update."""
    groups = []
    for group in messages.groups:
        bits = np.full((len(group.rows), UPDATE), statistics_bits)
        bits[:, DOWNLOAD] = group.bits[:, DOWNLOAD]
        groups.append(MessageGroup(group.rows, bits, _only_before_upload(group)))
    return Messages(groups)


def _only_before_upload(group: MessageGroup) -> Pauses:
    def pause_s(turn: int, duration_s: Floats) -> Floats:
        if turn == UPLOAD:
            return group.pause_s(turn, duration_s)
        return np.zeros_like(duration_s)

    return pause_s
