"""The link, which opens the carriers of a round's messages."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import simpy

import channel
from edgefl.core.arrays import Floats, Ids, Ints
from edgefl.core.errors import RunError
from edgefl.core.returns import Array, called
from edgefl.core.streams import Purpose, Streams
from edgefl.radio.bands.band import Band
from edgefl.radio.bands.fixed import FixedBand
from edgefl.radio.bands.recorded import RecordedBand
from edgefl.radio.carriers.access import AccessCarrier
from edgefl.radio.carriers.carrier import Carrier
from edgefl.radio.carriers.fixed_shares import FixedCarrier
from edgefl.radio.carriers.framed_shares import FramedCarrier
from edgefl.radio.carriers.processor_sharing import SharedCarrier
from edgefl.radio.carriers.recorded import RecordedCarrier
from edgefl.radio.carriers.roaming import RoamingCarrier
from edgefl.radio.drop import Drop
from edgefl.radio.gains.large_scale import LargeScaleChannel
from edgefl.radio.gains.moving import MovingChannel, Whereabouts
from edgefl.radio.messages import Messages
from edgefl.radio.participants import Participants
from edgefl.radio.prices.pricing import Pricing
from edgefl.radio.radio_section import Radio
from edgefl.radio.reciprocity import Reciprocity
from edgefl.radio.recorded_links import RecordedLinks
from edgefl.radio.transfers import WAYS, OnAir, Way, ignore_on_air
from edgefl.world.cells_section import Cells, Handover
from edgefl.world.control import BY_SCENARIO, Control
from edgefl.world.uplink_power_control import ALWAYS_FULL, UplinkPowerControl


class Link:
    """The radio between the base stations and the devices.

    Args:
        radio: the section `radio`.
        cells: where the base stations stand.
        streams: keyed randomness.
        on_air: called when a device's radio is switched, with its new shares of time and power.
        control: may divide the bands instead of `radio.allocation`.
        power_control: lowers the devices' transmit powers.
        recorded: the devices' recorded links; None: the radio is a model.
        large_scale: the large-scale channel of another link between the same places; None: a new one.
        where: positions of the devices; None if the large-scale channel holds for the round.
        ends_s: time at which every transfer is cut short; None: unknown.
    """

    def __init__(
        self,
        *,
        radio: Radio,
        cells: Cells,
        streams: Streams,
        on_air: OnAir = ignore_on_air,
        control: Control = BY_SCENARIO,
        power_control: UplinkPowerControl = ALWAYS_FULL,
        recorded: RecordedLinks | None = None,
        large_scale: LargeScaleChannel | None = None,
        where: Whereabouts | None = None,
        ends_s: float | None = None,
    ) -> None:
        self.radio = radio
        self.streams = streams
        self.channel = large_scale or LargeScaleChannel(radio, cells, streams)
        self.pricing = Pricing(
            radio=radio, cells=cells, streams=streams, control=control, power_control=power_control, ends_s=ends_s
        )
        self._on_air = on_air
        self._recorded = recorded
        self._moving: MovingChannel | None = None
        if where is not None and radio.large_scale.kind == "time":
            self._moving = MovingChannel(radio.large_scale, self._drops_along, where)
        self._bands: dict[Way, Band] = {}  # of processor sharing; rounds that overlap send on the same ones
        self._recorded_bands: dict[Way, RecordedBand] = {}  # the same over recorded SNRs

    def drop(self, ids: Ids, positions_m: Floats, height_m: Floats, index: int, cell: Ids | None = None) -> Drop:
        """Return the large-scale channel of a round's participants; see LargeScaleChannel."""
        if self._recorded is not None:
            return self.channel.without_paths(ids, positions_m)
        with _in_range(index):
            return self.channel.drop(ids, positions_m, height_m, index, cell)

    def received_db(self, device: int, path_m: Floats, height_m: float, index: int) -> Floats:
        """Return the powers [t, cells] that a device receives from each cell along a path [t, 2].

        They are relative to the transmitted powers, and without fading, which a measurement averages out.
        """
        ids = np.array([device])
        with _in_range(index):
            paths = self.channel.paths(ids, path_m, np.array([height_m]), index, along_path=True)
        return channel.units.linear_to_db(paths.gains)

    def sinr_db(self, powers_db: Floats, cell: Ints | int) -> Floats:
        """Return the signal-to-interference-and-noise ratios [t] of a cell's downlink over the whole band, in dB.

        With `radio.interference` all base stations send for its share of the time; without it only noise counts.

        Args:
            powers_db: [t, cells] received over sent power.
            cell: [t] the cells, or one.
        """
        budget = self.pricing.budget
        gains = channel.units.db_to_linear(powers_db)
        cells = np.broadcast_to(cell, len(gains))
        sending = np.ones(gains.shape[1], dtype=np.int64)
        devices_w = np.zeros(len(gains))  # devices' powers do not matter in the downlink
        interference_w_hz = budget.interference_w_hz("down", gains, cells, devices_w, sending)
        snr_hz = budget.snr_hz("down", gains[np.arange(len(gains)), cells], devices_w, interference_w_hz)
        return channel.units.linear_to_db(snr_hz / budget.resources.band_hz)

    def measurement_errors(self, device: int, numbers: Ints) -> Floats:
        """Return standard normal errors [t, cells] of a device's measurements, by their numbers [t]."""
        return self.streams.normal("measurement_error", numbers, device, count=self.channel.cells.count)

    def participants(
        self,
        drop: Drop,
        speed_mps: Floats,
        tx_power_w: Floats,
        index: int,
        start: Purpose = "fading_start",
        waves: Purpose = "fading_waves",
        blocks: Purpose = "fading_blocks",
    ) -> Participants:
        """Return the participants [n] of a round as the radio sees them.

        Args:
            drop: their large-scale channel.
            speed_mps: [n] their speeds.
            tx_power_w: [n] their full transmit powers.
            index: of the selection that chose them.
            start: purpose of the draw that starts their fading.
            waves: purpose of the draws of fading that is a sum of waves.
            blocks: purpose of the draws of fading in blocks.
        """
        radio = self.radio
        fading = radio.fading
        # Speed matters only here and in waves and blocks: it sets the Doppler spread, the pace of the fading.
        speed_mps = np.maximum(speed_mps, radio.least_speed_mps)
        must = Array(speed_mps.shape, "correlations [n] from -1 to 1", least=-1.0, most=1.0)
        correlation = called(fading.slot_correlation, must, speed_mps, radio.carrier_hz, radio.slot_s)
        return Participants(
            index=index,
            drop=drop,
            correlation=correlation,
            tx_power_w=tx_power_w,
            start=self.pricing.fading.complex_normals(start, drop.ids, index)[:, 0],
            speed_mps=speed_mps,
            first_slot=np.zeros(len(drop.ids), dtype=np.int64),
            waves=self.pricing.fading.waves(radio, drop, speed_mps, index, waves),
            blocks=self.pricing.fading.blocks(radio, drop, speed_mps, index, blocks),
        )

    def open(self, env: simpy.Environment, participants: Participants, messages: Messages) -> Carrier:
        """Return the carrier of the messages of a round's participants."""
        if not self._has_access_times:
            return self._open(env, participants, messages)
        messages = messages.after_access(self.access_s)
        return self.after_access(env, self._open(env, participants, messages), participants, messages)

    def access_s(self, way: Way, bits: Floats) -> Floats:
        """Return the times [n] before the first bit of messages of `bits` [n]; empty ones are not sent [s]."""
        return np.where(bits > 0, self.radio.access_of(way), 0.0)

    def after_access(
        self, env: simpy.Environment, carrier: Carrier, participants: Participants, messages: Messages
    ) -> Carrier:
        """Return a carrier that sends each message of participants [n] after its access to the radio."""
        if not self._has_access_times:
            return carrier
        return AccessCarrier(
            env=env,
            carrier=carrier,
            messages=messages,
            ids=participants.drop.ids,
            access_s=lambda way, bits: float(self.access_s(way, np.asarray(bits))),
            on_air=self._on_air,
        )

    @property
    def _has_access_times(self) -> bool:
        return any(self.radio.access_of(way) > 0 for way in WAYS)

    def _open(self, env: simpy.Environment, participants: Participants, messages: Messages) -> Carrier:
        if self._recorded is not None:
            return self._open_recorded(env, self._recorded, participants, messages)
        # Fixed shares are priced now, all together. On a shared band overlaps are known only as time passes.
        if self.radio.sharing == "fixed":
            if self._moving is None and self.pricing.budget.resources.slot_shares("up") is not None:
                return FramedCarrier(env, self.pricing, participants, messages, self._on_air)
            if self._moving is None:
                return FixedCarrier(env, self.pricing, participants, messages, self._on_air)
            bands = self._fixed_bands(env, participants, messages)
        else:
            bands = self._shared_bands(env)
        return SharedCarrier(
            env=env,
            pricing=self.pricing,
            participants=participants,
            messages=messages,
            bands=bands,
            moving=self._moving,
        )

    def roam(
        self, env: simpy.Environment, participants: Participants, messages: Messages, handover: Handover
    ) -> RoamingCarrier:
        """Return the carrier of participants that may be handed over to other base stations."""
        return RoamingCarrier(
            env=env,
            pricing=self.pricing,
            participants=participants,
            messages=messages,
            bands=self._shared_bands(env),
            handover=handover,
            moving=self._moving,
        )

    def reciprocity(self, drop: Drop, tx_power_w: Floats, down_bits: Floats, up_bits: Floats) -> Reciprocity:
        """Return the estimates that the participants [n] of a round can make of their uploads from their downloads."""
        down = self.pricing.shares("down", drop, tx_power_w, down_bits)
        up = self.pricing.shares("up", drop, tx_power_w, up_bits)
        # A downlink without a signal says nothing about the uplink: 0, not a division by 0.
        snr_ratio = np.divide(up.mean_snr, down.mean_snr, out=np.zeros(len(drop.ids)), where=down.mean_snr > 0)
        return Reciprocity(
            down_bits,
            up_bits,
            down_hz=down.bandwidth_hz * down.payload_share,
            up_hz=up.bandwidth_hz * up.payload_share,
            snr_ratio=snr_ratio,
        )

    @property
    def knows_occupancy(self) -> bool:
        """Whether it is known how much of the band transfers occupy: not of uploads that overlap or recorded rates."""
        if self._recorded is not None and not self._recorded.are_snrs:
            return False
        return self.radio.uplink.orthogonal

    @property
    def needless_s(self) -> float:
        """Wall-clock that `radio.transfer: fast` would have saved so far."""
        return self.pricing.engine.needless_s

    def _open_recorded(
        self, env: simpy.Environment, recorded: RecordedLinks, participants: Participants, messages: Messages
    ) -> RecordedCarrier:
        bands = None
        # Recorded rates belong to one device each: no band is shared.
        if recorded.are_snrs and self.radio.sharing == "processor":
            if not self._recorded_bands:
                budget = self.pricing.budget
                cells = range(len(budget.group))
                for way in WAYS:
                    users = self.pricing.traffic.users(way, cells)
                    self._recorded_bands[way] = RecordedBand(
                        env=env, links=recorded, budget=budget, way=way, on_air=self._on_air, users=users
                    )
            bands = self._recorded_bands
        return RecordedCarrier(
            env=env,
            pricing=self.pricing,
            links=recorded,
            participants=participants,
            messages=messages,
            on_air=self._on_air,
            bands=bands,
        )

    def _drops_along(self, device: int, path_m: Floats, height_m: float, index: int, cell: int) -> Drop:
        """Return the channel [t] between a device and a cell along a path [t, 2]."""
        ids = np.full(len(path_m), device)
        heights_m = np.full(len(path_m), height_m)
        with _in_range(index):
            return self.channel.drop(ids, path_m, heights_m, index, np.full(len(path_m), cell), along_path=True)

    def _fixed_bands(self, env: simpy.Environment, participants: Participants, messages: Messages) -> dict[Way, Band]:
        bands: dict[Way, Band] = {}
        for way in WAYS:
            offer = self.pricing.offer(way, participants, messages.total_bits(way))
            bands[way] = FixedBand(
                env=env, engine=self.pricing.engine, way=way, on_air=self._on_air, offer=offer, drop=participants.drop
            )
        return bands

    def _shared_bands(self, env: simpy.Environment) -> dict[Way, Band]:
        if not self._bands:  # made with the first round, as fixed shares need none
            self._bands = {way: Band(env, self.pricing.engine, way, self._on_air, self.pricing.traffic) for way in WAYS}
        return self._bands


@contextmanager
def _in_range(index: int) -> Iterator[None]:
    """Add the round `index` and a remedy to errors of the propagation model."""
    try:
        yield
    except ValueError as error:
        raise RunError(f"round {index + 1}: {error}; another radio.propagation may hold there") from None
