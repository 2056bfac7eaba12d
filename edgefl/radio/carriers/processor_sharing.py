"""Processor sharing: the band is divided again whenever a transfer begins or ends."""

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import simpy

from channel.transfer import MAX_SLOTS
from edgefl.radio.bands.band import Band
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.carriers.turns import Turns
from edgefl.radio.gains.moving import ChannelAhead, MovingChannel
from edgefl.radio.messages import Messages, way_of
from edgefl.radio.participants import Participants
from edgefl.radio.prices.pricing import Pricing
from edgefl.radio.transfers import NOT_BEGUN, TransferResult, Way


class SharedCarrier:
    """A round's transfers on bands that other transfers use at the same time."""

    def __init__(
        self,
        *,
        env: simpy.Environment,
        pricing: Pricing,
        participants: Participants,
        messages: Messages,
        bands: Mapping[Way, Band],
        moving: MovingChannel | None = None,
    ) -> None:
        self._env = env
        self._pricing = pricing
        self._messages = messages
        self._bands = bands
        self._moving = moving  # None: the large-scale channel holds for the round
        self._channels: dict[int, ChannelAhead] = {}  # by row, to the cell that serves each
        self.turns = Turns(env, pricing, participants, messages)

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """See Carrier."""
        self.turns.begin(row, turn)
        result = yield from self._attempts(row, turn)
        self.turns.end(row)
        return result

    def serving(self, row: int) -> Participants:
        """Return a participant [1] with its serving base station and its present channel."""
        return self._moved(row, self.turns.participant(row))

    def carry(self, way: Way, row: int, transfer: BandTransfer) -> Generator[simpy.Event, Any, str]:
        """Carry one attempt to its end or limit; return the cause of the interrupt that cut it short, if any."""
        band = self._bands[way]
        try:
            yield self.put_on(way, row, transfer)
        except simpy.Interrupt as cut:
            band.withdraw(transfer)
            return str(cut.cause)
        return ""

    def put_on(self, way: Way, row: int, transfer: BandTransfer) -> simpy.Event:
        """Begin a transfer on a band, whose channel follows its device; the event fires at its end."""
        done = self._bands[way].send(transfer)
        if self._moving is not None:
            self._env.process(self._keep_up(self._moving, way, row, transfer, done))
        return done

    def _keep_up(
        self, moving: MovingChannel, way: Way, row: int, transfer: BandTransfer, done: simpy.Event
    ) -> Generator[simpy.Event, Any, None]:
        band = self._bands[way]
        interval = moving.interval(self._env.now)
        while True:
            interval += 1
            yield self._env.timeout(max(moving.begins_s(interval) - self._env.now, 0.0)) | done
            if done.triggered or transfer.done is not done:
                return
            drop = self._channel(row, transfer.participant).at(interval)
            # A division costs time and is not needed while a device stands still.
            if not np.array_equal(drop.all_gains, transfer.participant.drop.all_gains):
                participant = replace(transfer.participant, drop=drop)
                failing_slots = self._pricing.hopeless_links.fails_after(way, participant, transfer.left_bits)
                band.move(transfer, drop, failing_slots)

    def _moved(self, row: int, participant: Participants) -> Participants:
        """Return a participant [1] with its present channel."""
        if self._moving is None:
            return participant
        drop = self._channel(row, participant).at(self._moving.interval(self._env.now))
        return replace(participant, drop=drop)

    def _channel(self, row: int, participant: Participants) -> ChannelAhead:
        """Return the channel in time between a participant [1] and the cell that serves it."""
        cell = int(participant.drop.cell[0])
        if self._moving is not None and (row not in self._channels or self._channels[row].cell != cell):
            self._channels[row] = self._moving.of(int(participant.drop.ids[0]), participant.index, cell)
        return self._channels[row]

    def _attempts(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """Carry a message in as many attempts as needed and allowed."""
        pricing = self._pricing
        way = way_of(turn)
        bits = self._messages.bits(row, turn)
        began_s = self._env.now  # the wait for the slot boundary counts, too
        spent = NOT_BEGUN  # on all attempts so far
        # Failures of attempts do not depend on handovers: keys count the participant's attempts, not the pieces.
        draws_of_failure = pricing.failure_draws(way, self.turns.participant(row))[0]
        left_slots = pricing.longest_slots
        for attempt in range(pricing.radio.faults.attempts):
            participant = self.serving(row)
            draws = pricing.fading.innovations(way, participant, attempt)
            # A guard against links that never get through.
            longest_slots = MAX_SLOTS if left_slots is None else left_slots
            transfer = BandTransfer(
                participant=participant,
                attempt=attempt,
                left_bits=bits,
                longest_slots=longest_slots,
                gain=self.turns.gain[row],
                draws=draws,
            )
            transfer.expect_failure(pricing.hopeless_links.fails_after(way, participant, bits))
            cut = yield from self.carry(way, row, transfer)
            spent = _spent_on(transfer, pricing.radio.slot_s).after(spent)
            if cut:
                return spent._replace(duration_s=self._env.now - began_s, cut=cut)
            complete = transfer.left_bits == 0
            probability = pricing.failure_probability(way, transfer.sent_snr, self.serving(row).drop.k_factor)[0]
            delivered = complete and draws_of_failure[attempt] >= probability
            if not delivered or turn < self._messages.last_turn(row):
                self.turns.begin_with(row, transfer.gain)
            if delivered:
                return spent._replace(duration_s=self._env.now - began_s, delivered=True)
            if not complete:  # the link has failed, or the time is up
                break
            if left_slots is not None:
                left_slots -= transfer.slots  # `max_transfer_s` is for all attempts together
                if left_slots <= 0:
                    break
        return spent._replace(duration_s=self._env.now - began_s)


def _spent_on(transfer: BandTransfer, slot_s: float) -> TransferResult:
    """Return what one attempt has taken besides its duration, to which waiting for its first slot belongs."""
    return TransferResult(
        duration_s=0.0,
        air_s=transfer.air_slots * slot_s,
        full_power_s=transfer.full_power_slots * slot_s,
        sent_bits=transfer.sent_bits,
        delivered=False,
        band_s=transfer.band_slots * slot_s,
        sinr_s=transfer.sinr_slots * slot_s,
        first_sent=transfer.first_sent,
        first_lost=transfer.first_lost,
    )
