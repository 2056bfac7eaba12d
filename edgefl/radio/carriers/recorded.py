"""Transfers over recorded links, whose durations follow from the recordings without slots.

Recorded rates belong to one device each, and no band is shared. With recorded SNRs the band is divided as
`radio.sharing` says.
"""

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import simpy

from edgefl.core.arrays import Floats
from edgefl.core.errors import RunError
from edgefl.core.times import SAME_TIME_S
from edgefl.radio.bands.recorded import FULL_POWER, RecordedBand, RecordedTransfer
from edgefl.radio.messages import Messages, way_of
from edgefl.radio.participants import Participants
from edgefl.radio.prices.pricing import Pricing
from edgefl.radio.recorded_links import RecordedLinks
from edgefl.radio.transfers import WAYS, OnAir, TransferResult, Way


class OwnShare(NamedTuple):
    """The shares of a direction that participants [n] have for the whole round."""

    hz: Floats  # that carry payload, averaged over time; 1 if rates were recorded
    air: Floats  # share of the time that each is served


class Leg(NamedTuple):
    """One attempt of a transfer."""

    duration_s: float
    air_s: float
    band_s: float
    sent_bits: float
    complete: bool
    cut: str = ""


class RecordedCarrier:
    """Carries a round's messages over the recorded links of its participants.

    Args:
        env: the clock.
        pricing: failures of attempts, and how bands are divided.
        links: the recorded links.
        participants: the round's.
        messages: theirs.
        on_air: follows which radios are on.
        bands: where transfers divide the bands as they come and go; None: shares hold for the round.
    """

    def __init__(
        self,
        *,
        env: simpy.Environment,
        pricing: Pricing,
        links: RecordedLinks,
        participants: Participants,
        messages: Messages,
        on_air: OnAir,
        bands: Mapping[Way, RecordedBand] | None,
    ) -> None:
        self._env = env
        self._pricing = pricing
        self._links = links
        self._participants = participants
        self._messages = messages
        self._on_air = on_air
        self._bands = bands
        self._shares: dict[Way, OwnShare] = {}
        if bands is None:
            self._shares = {way: self._own_shares(way) for way in WAYS}

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """See Carrier."""
        way = way_of(turn)
        bits = self._messages.bits(row, turn)
        if bits == 0:
            return TransferResult(0.0, 0.0, 0.0, 0.0, delivered=True)
        faults = self._pricing.radio.faults
        # Keys of failures count the attempts of earlier turns in the same direction.
        who = replace(self._participants.only(np.array([row])), attempts_before=turn // 2 * faults.attempts)
        fails = self._pricing.fails_by_fault(way, who)[0]
        left_s = faults.max_transfer_s or np.inf
        # A link that never carries all of it fails after a time, like a hopeless link of a model.
        amount = bits
        if self._links.are_snrs:
            amount = bits / self._pricing.budget.resources.band_hz
        if not self._links.can_carry(way, int(who.drop.ids[0]), amount):
            left_s = min(left_s, faults.hopeless_s or np.inf)
        duration_s = 0.0
        air_s = 0.0
        band_s = 0.0
        sent_bits = 0.0
        delivered = False
        cut = ""
        for attempt in range(faults.attempts):
            leg = yield from self._leg(way, row, bits, left_s)
            duration_s += leg.duration_s
            air_s += leg.air_s
            band_s += leg.band_s
            sent_bits += leg.sent_bits
            left_s -= leg.duration_s  # `max_transfer_s` is for all attempts together
            cut = leg.cut
            delivered = leg.complete and not cut and not fails[attempt]
            if delivered or cut or left_s <= SAME_TIME_S:
                break
            if not leg.complete:
                raise self._ended(way, row)
        # At full power
        return TransferResult(duration_s, air_s, air_s, sent_bits, delivered=delivered, cut=cut, band_s=band_s)

    def _leg(self, way: Way, row: int, bits: float, left_s: float) -> Generator[simpy.Event, Any, Leg]:
        if self._bands is None:
            return (yield from self._with_own_share(way, row, bits, left_s))
        return (yield from self._on_band(self._bands[way], row, bits, left_s))

    def _with_own_share(self, way: Way, row: int, bits: float, left_s: float) -> Generator[simpy.Event, Any, Leg]:
        """Carry one attempt on the participant's own share in one timeout, as its end is known."""
        device = int(self._participants.drop.ids[row])
        hz = float(self._shares[way].hz[row])
        air = float(self._shares[way].air[row])
        link = self._links.link(way, device)
        began_s = self._env.now
        begin_s = self._links.time_s(device, began_s)
        repeats = self._links.repeats
        needed_s = link.takes_s(begin_s, bits / hz, repeats=repeats)
        lasts_s = min(needed_s, left_s, self._links.ends_s(way, device) - began_s)
        cause = ""
        self._on_air(device, way, air, FULL_POWER)
        try:
            yield self._env.timeout(max(lasts_s, 0.0))
        except simpy.Interrupt as cut:
            cause = str(cut.cause)
            lasts_s = self._env.now - began_s
        complete = not cause and needed_s <= lasts_s + SAME_TIME_S
        sent_bits = bits
        if not complete:
            sent_bits = min(hz * link.carried(begin_s, begin_s + lasts_s, repeats=repeats), bits)
        band_s = 0.0
        if self._links.are_snrs:
            band_s = lasts_s * hz / self._pricing.budget.resources.capacity_hz(way)
        return Leg(lasts_s, lasts_s * air, band_s, sent_bits, complete, cause)

    def _on_band(self, band: RecordedBand, row: int, bits: float, left_s: float) -> Generator[simpy.Event, Any, Leg]:
        drop = self._participants.drop
        began_s = self._env.now
        index = self._participants.index
        transfer = RecordedTransfer(int(drop.ids[row]), index, int(drop.cell[row]), bits, began_s + left_s)
        cause = ""
        try:
            yield band.send(transfer)
        except simpy.Interrupt as cut:
            band.withdraw(transfer)
            cause = str(cut.cause)
        sent_bits = bits - transfer.left_bits
        lasted_s = self._env.now - began_s
        return Leg(lasted_s, transfer.air_s, transfer.band_s, sent_bits, transfer.left_bits == 0, cause)

    def _own_shares(self, way: Way) -> OwnShare:
        """Return the shares of all participants [n], which hold for the round."""
        count = len(self._participants)
        if not self._links.are_snrs:
            return OwnShare(np.ones(count), np.ones(count))
        drop = self._participants.drop
        budget = self._pricing.budget
        resources = budget.resources
        bits = self._messages.total_bits(way)
        snr_hz = self._links.snr(way, drop.ids, self._env.now) * resources.band_hz
        bandwidth_hz = np.full(count, resources.band_hz)
        air = np.full(count, resources.time_share(way))
        others = self._pricing.traffic.mean_others(way)
        free_share = 1.0
        if others is not None:
            free_share = float(others.free_shares[0])  # the same in all cells
        if way == "down" and self._pricing.radio.downlink == "broadcast":
            bandwidth_hz *= free_share
        else:
            for cell in np.unique(drop.cell):
                rows = np.flatnonzero(drop.cell == cell)
                shares = resources.divide(
                    bits[rows],
                    snr_hz[rows],
                    budget.efficiency,
                    way=way,
                    spread=True,
                    devices=drop.ids[rows],
                    index=np.full(rows.size, self._participants.index),
                    free_share=free_share,
                )
                bandwidth_hz[rows] = shares.bandwidth_hz
                air[rows] *= shares.duty
        if not bandwidth_hz.all():
            text = f"round {self._participants.index + 1}: {count} participants, but {resources.blocks} resource blocks"
            raise RunError(f"{text} a cell: choose fewer, or write radio.allocation: round_robin")
        return OwnShare(bandwidth_hz * air * resources.payload_share(way), air)

    def _ended(self, way: Way, row: int) -> RunError:
        device = int(self._participants.drop.ids[row])
        transfer = "download" if way == "down" else "upload"
        ends_s = self._links.ends_s(way, device)
        text = f"device {device}'s {transfer} goes on past the end of its recording, {ends_s:.10g} s into the run"
        remedy = "set radio.trace.at_end to repeat, or cut it before with server.deadline_s or faults.max_transfer_s"
        return RunError(f"round {self._participants.index + 1}: {text}: {remedy}")
