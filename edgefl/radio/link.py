"""The link: how the band is divided, and how long transfers take on what they get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import simpy

import channel
from edgefl.core.arrays import Bools, Complex, Floats, Ints, Rows
from edgefl.core.errors import RunError
from edgefl.core.streams import Purpose, Streams
from edgefl.radio.band import Band
from edgefl.radio.budget import Budget
from edgefl.radio.carrier import FAULT, Bits, Carrier, Computing, OnAir, Participants, Way, ignore_on_air, slots_over
from edgefl.radio.engine import Attempt, Engine
from edgefl.radio.exchange import WAYS, Exchange, FixedExchange, SharedExchange, Turns
from edgefl.radio.fixed import FixedCarrier
from edgefl.radio.large_scale import Drop, LargeScaleChannel
from edgefl.radio.radio_section import Radio
from edgefl.radio.reciprocity import Reciprocity
from edgefl.radio.roaming import RoamingCarrier
from edgefl.radio.shared import SharedCarrier
from edgefl.world.cells_section import Cells, Handover


@dataclass(frozen=True)
class Offer:
    """What one direction of a round has for its participants [n], and what they want."""

    way: Way
    payload_bits: Floats
    bandwidth_hz: Floats
    mean_snr: Floats
    air: Floats  # part of the time in which it is served: its turns, in the frame's direction
    part: Floats  # of time and resources that carries its payload: what control leaves of that

    def only(self, rows: Rows, payload_bits: Floats) -> Offer:
        """What some of them are offered, for something else [r] that they want."""
        shares = {name: getattr(self, name)[rows] for name in ("bandwidth_hz", "mean_snr", "air", "part")}
        return replace(self, payload_bits=payload_bits, **shares)

    def attempt(self, who: Participants, rows: Rows, number: int, start: Complex, limit_slots: Ints | None) -> Attempt:
        """One attempt of the transfers of `rows` [r]."""
        payload = self.payload_bits[rows] / self.part[rows]
        return Attempt(
            self.way, who, rows, number, payload, self.mean_snr[rows], self.bandwidth_hz[rows], start, limit_slots
        )


class Priced(NamedTuple):
    """Transfers [r], all attempts together."""

    slots: Ints
    sent_bits: Floats
    delivered: Bools
    gain: Complex  # of the fading in the last slot


class Link:
    """Divides the band and prices transfers."""

    def __init__(self, radio: Radio, cells: Cells, streams: Streams, on_air: OnAir = ignore_on_air) -> None:
        self.radio, self.streams = radio, streams
        self.channel = LargeScaleChannel(radio, cells, streams)
        self.budget = Budget(radio, cells)
        self.engine = Engine(self.budget, streams)
        self.on_air = on_air
        self._bands: dict[Way, Band] = {}

    def drop(self, ids: Ints, positions_m: Floats, height_m: Floats, index: int, cell: Ints | None = None) -> Drop:
        """The large-scale channel of a round's participants; see LargeScaleChannel."""
        with _in_range(index):
            return self.channel.drop(ids, positions_m, height_m, index, cell)

    def received_db(self, ids: Ints, positions_m: Floats, height_m: Floats, index: int) -> Floats:
        """What devices [n] receive from each base station, over what these send [n, sites]."""
        with _in_range(index):
            return channel.units.linear_to_db(self.channel.paths(ids, positions_m, height_m, index).gains)

    def open(
        self,
        env: simpy.Environment,
        drop: Drop,
        speed_mps: Floats,
        tx_power_w: Floats,
        computing: Computing,
        bits: Bits,
        index: int,
        start: Purpose = "fading_start",
    ) -> Carrier:
        """A carrier for round `index`: participants [n] get `bits[0]` (also [n]), compute and send `bits[1]`.

        `start` is the purpose of the draw that their fading begins with.
        """
        who = self._participants(drop, speed_mps, tx_power_w, index, start)
        if self.radio.sharing == "fixed":
            return FixedCarrier(env, self, who, bits, computing)
        return SharedCarrier(env, self, who, bits, self._shared(env))

    def roam(
        self,
        handover: Handover,
        env: simpy.Environment,
        drop: Drop,
        speed_mps: Floats,
        tx_power_w: Floats,
        bits: Bits,
        index: int,
    ) -> RoamingCarrier:
        """As `open`, for participants that may be handed over to other base stations."""
        who = self._participants(drop, speed_mps, tx_power_w, index)
        return RoamingCarrier(env, self, who, bits, self._shared(env), handover)

    def exchange(
        self,
        env: simpy.Environment,
        drop: Drop,
        speed_mps: Floats,
        tx_power_w: Floats,
        turns: Sequence[Turns],
        index: int,
    ) -> Exchange:
        """For round `index`: the transfers of participants [n], many each, by turns."""
        who = self._participants(drop, speed_mps, tx_power_w, index)
        if self.radio.sharing == "fixed":
            return FixedExchange(env, self, who, turns)
        return SharedExchange(env, self, who, turns, self._shared(env))

    def _shared(self, env: simpy.Environment) -> dict[Way, Band]:
        """The bands of processor sharing."""
        if not self._bands:
            self._bands = {way: Band(env, self.engine, way, self.on_air) for way in WAYS}
        return self._bands

    def _participants(
        self, drop: Drop, speed_mps: Floats, tx_power_w: Floats, index: int, start: Purpose = "fading_start"
    ) -> Participants:
        radio = self.radio
        hold = radio.fading.hold_slots(speed_mps, radio.carrier_hz, radio.slot_s)
        correlation = channel.fading.doppler_correlation(speed_mps, radio.carrier_hz, radio.slot_s)
        return Participants(
            index=index,
            drop=drop,
            correlation=correlation if hold is None else np.zeros(len(drop.ids)),  # blocks are independent
            hold_slots=np.ones(len(drop.ids), dtype=np.int64) if hold is None else hold,
            tx_power_w=tx_power_w,
            start=self.complex_normals(start, drop.ids, index)[:, 0],
            gap=self.complex_normals("fading_gap", drop.ids, index)[:, 0],
        )

    def complex_normals(self, purpose: Purpose, ids: Ints, index: int, count: int = 1) -> Complex:
        """Draws of CN(0, 1) [n, count], by device."""
        parts = self.streams.normal(purpose, ids, index, count=2 * count)
        return np.asarray((parts[:, ::2] + 1j * parts[:, 1::2]) * np.sqrt(0.5))

    def reciprocity(self, drop: Drop, tx_power_w: Floats, down_bits: Floats, up_bits: Floats) -> Reciprocity:
        """What participants [n] of a round can tell of their uploads from their downloads."""
        down, up = self._shares("down", drop, tx_power_w, down_bits), self._shares("up", drop, tx_power_w, up_bits)
        served_hz = down.bandwidth_hz * down.part, up.bandwidth_hz * up.part
        snr_ratio = np.divide(up.mean_snr, down.mean_snr, out=np.zeros(len(drop.ids)), where=down.mean_snr > 0)
        return Reciprocity(down_bits, up_bits, *served_hz, snr_ratio)

    def offer(self, way: Way, who: Participants, payload_bits: Floats | float) -> Offer:
        """Shares that hold for the round.

        Raises:
            RunError: there are fewer resource blocks than participants.
        """
        offer = self._shares(way, who.drop, who.tx_power_w, payload_bits)
        if not offer.bandwidth_hz.all():
            text = f"{len(who)} participants, but {self.budget.blocks} resource blocks a cell"
            raise RunError(f"round {who.index + 1}: {text}: choose fewer, or round_robin")
        return offer

    def _shares(self, way: Way, drop: Drop, tx_power_w: Floats, payload_bits: Floats | float) -> Offer:
        """Of participants [n] that all send at once."""
        count = len(drop.ids)
        transfers = np.bincount(drop.cell, minlength=len(self.budget.group))
        interference = self.budget.interference_w_hz(way, drop.all_gains, drop.cell, tx_power_w, transfers)
        snr_hz = self.budget.snr_hz(way, drop.path_gain, tx_power_w, interference)
        payload, air = np.full(count, payload_bits), np.full(count, self.budget.on_air(way))
        bandwidth: Floats = np.full(count, self.budget.band_hz)
        if way == "up" or self.radio.downlink == "unicast":  # to a broadcast all listen, each until it has it all
            for cell in np.unique(drop.cell):
                rows = np.flatnonzero(drop.cell == cell)
                shares = self.budget.divide(way, payload[rows], snr_hz[rows])
                bandwidth[rows] = shares.bandwidth_hz
                air[rows] *= shares.duty
        occupied_hz = np.full(count, self.budget.band_hz) if self.budget.spread(way) else bandwidth
        mean_snr = np.divide(snr_hz, occupied_hz, out=np.zeros(count), where=occupied_hz > 0)
        return Offer(way, payload, bandwidth, mean_snr, air, air * self.budget.payload_part(way))

    def price(
        self, offer: Offer, who: Participants, start: Complex, rows: Rows, until_slots: Ints | None = None
    ) -> Priced:
        """Price transfers of `rows` [r] that begin with fading gains `start` [r]; repeated until they are through.

        Args:
            offer: what the direction offers.
            who: the participants.
            start: fading gains.
            rows: which participants.
            until_slots: [r] where each is cut short; None is nowhere but at the scenario's longest time.

        Raises:
            RunError: a link is too weak for its payload, and nothing limits its time.
        """
        faults, limit = self.radio.faults, until_slots
        if limit is None and faults.max_transfer_s is not None:
            limit = np.full(rows.size, slots_over(faults.max_transfer_s, self.radio.slot_s))
        fails = self.fails(offer.way, who)[rows]
        slots, sent = np.zeros(rows.size, dtype=np.int64), np.zeros(rows.size)
        delivered, gain = np.zeros(rows.size, dtype=bool), start.copy()
        for number in range(faults.attempts):
            at = np.flatnonzero(~delivered) if limit is None else np.flatnonzero(~delivered & (slots < limit))
            if not at.size:
                break
            left = None if limit is None else (limit - slots)[at]
            walk = self.engine.carry(offer.attempt(who, rows[at], number, gain[at], left))
            slots[at] += walk.slots
            sent[at] += walk.sent_bits * offer.part[rows[at]]
            gain[at] = walk.gain
            complete = walk.sent_bits >= offer.payload_bits[rows[at]] / offer.part[rows[at]]
            delivered[at] = complete & ~fails[at, number]
        return Priced(slots, sent, delivered, gain)

    def fails(self, way: Way, who: Participants) -> Bools:
        """Which attempts [n, attempts] fail at their end."""
        faults = self.radio.faults
        if not faults.failure_probability:
            return np.zeros((len(who), faults.attempts), dtype=bool)
        count = who.attempts_before + faults.attempts
        uniform = self.streams.uniform(FAULT[way], who.drop.ids, who.index, count=count)
        return uniform[:, who.attempts_before :] < faults.failure_probability

    def hopeless(self, way: Way, who: Participants, row: int, payload_bits: float) -> bool:
        """Whether a transfer would take more than `MAX_SLOTS` in the mean, were it alone on the band."""
        budget, drop, at = self.budget, who.drop, slice(row, row + 1)
        if drop.k_factor[row] > 0 or abs(who.correlation[row]) == 1.0:
            return False  # the mean over Rayleigh fading says nothing about it
        snr = budget.snr_hz(way, drop.path_gain[at], who.tx_power_w[at], 0.0) / budget.band_hz
        part = budget.on_air(way) * budget.payload_part(way)
        slot_bits = budget.band_hz * part * self.radio.slot_s * float(budget.mean_bps_hz(snr)[0])
        return payload_bits > slot_bits * channel.transfer.MAX_SLOTS


@contextmanager
def _in_range(index: int) -> Iterator[None]:
    """Errors of the propagation model, told with the round `index`."""
    try:
        yield
    except ValueError as error:
        raise RunError(f"round {index + 1}: {error}; radio.propagation.out_of_range: clamp allows it") from None
