"""The radio resources of a cell: its band, resource blocks, frame and overhead, and how transfers divide them."""

import numpy as np

import channel
from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.core.arrays import Floats, Ints, Rows
from edgefl.core.returns import Array, Contract, Instance, Where, called
from edgefl.core.streams import Streams
from edgefl.radio.radio_section import Radio
from edgefl.radio.transfers import Way
from edgefl.world.control import BY_SCENARIO, Control


class Resources:
    """The band of each cell, after reuse; whole resource blocks where the scenario sets a subcarrier spacing.

    Args:
        radio: the section `radio`.
        control: may divide the band instead of `radio.allocation`.
        streams: keyed randomness, for an allocation by draws; None: shares are as expected.
    """

    def __init__(self, radio: Radio, control: Control = BY_SCENARIO, streams: Streams | None = None) -> None:
        self._radio = radio
        self._control = control
        self._streams = streams
        self.blocks: int | None = None  # resource blocks of a cell; None: the band is divided freely
        self.band_hz = radio.bandwidth_hz / radio.reuse
        if radio.subcarrier_spacing_hz is not None:
            self.blocks = radio.blocks // radio.reuse
            # Guard bands and the blocks that reuse leaves over carry nothing (3GPP TS 38.101-1, Table 5.3.2-1).
            self.band_hz = self.blocks * channel.numerology.block_hz(radio.subcarrier_spacing_hz, radio.carrier_hz)

    def time_share(self, way: Way) -> float:
        """Return the share of the time that the TDD frame gives a direction."""
        frame = self._radio.tdd
        return 1.0 if frame is None else frame.time_share(way, self._radio.slot_s)

    def slot_shares(self, way: Way) -> Floats | None:
        """Return the share [slots] of each slot of the frame that belongs to a direction; None: slots are alike."""
        frame = self._radio.tdd
        return None if frame is None else frame.slot_shares(way, self._radio.slot_s)

    def on_air_slots(self, way: Way, begin: int, count: int) -> float:
        """Return the number of slots of a direction among `count` slots from number `begin` on, parts included."""
        shares = self.slot_shares(way)
        if shares is None:
            return count * self.time_share(way)
        periods, rest = divmod(count, shares.size)
        places = (begin + np.arange(rest)) % shares.size
        return periods * float(shares.sum()) + float(shares[places].sum())

    def payload_share(self, way: Way) -> float:
        """Return the share of a direction's resources that control and reference signals leave to payload."""
        overhead = self._radio.overhead
        control = overhead.downlink if way == "down" else overhead.uplink
        return 1.0 - control

    def capacity_hz(self, way: Way) -> float:
        """Return the part of a cell's band that carries a direction's payload, averaged over time."""
        return self.band_hz * self.time_share(way) * self.payload_share(way)

    def occupancy(self, way: Way, bandwidth_hz: Floats, air: Floats) -> Floats:
        """Return the part [n] of a direction's band that transfers occupy on average over time.

        Args:
            way: the direction.
            bandwidth_hz: [n] of each in its turns.
            air: [n] share of the time that each is served: its turns, in the frame's direction.
        """
        return np.asarray(air / self.time_share(way) * bandwidth_hz / self.band_hz)

    def block_interference_w_hz(self, way: Way, devices: Ints) -> Floats | float:
        """Return the density [n] of interference on devices' parts of the band that control sets."""
        interference_w_hz = None
        if way == "up":
            interference_w_hz = self._control.uplink_interference_w_hz(devices)
        if interference_w_hz is None:
            return 0.0
        return interference_w_hz

    def divide(
        self,
        payload_bits: Floats,
        snr_hz: Floats,
        efficiency: Efficiency,
        *,
        way: Way,
        spread: bool,
        devices: Ints | None = None,
        index: Ints | None = None,
        widest_hz: Floats | None = None,
        free_share: float = 1.0,
        others: float = 0.0,
        group: Ints | None = None,
    ) -> Shares:
        """Return the shares [n] of one cell's concurrent transfers.

        Args:
            payload_bits: [n] payload of each.
            snr_hz: [n] received power over the density of noise and interference.
            efficiency: the rate model.
            way: the direction of the transfers.
            spread: whether the transmitter spreads its power over the whole band.
            devices: [n] their devices, for a control; None: `radio.allocation` always divides.
            index: [n] of the selections that chose them, for an allocation by draws; None: its shares are as expected.
            widest_hz: [n] the widest shares that `radio.allocation` may give, in whole resource blocks; None: no limit.
            free_share: of the band, or of the turns, that other users leave.
            others: number of other users, who have the rest.
            group: [n] numbers from 0 of groups whose members share one part of the band; None: no groups.
        """
        weights = None
        if devices is not None:
            weights = self._control.bandwidth_weight(devices, uplink=way == "up")
        if weights is not None:  # a control may choose shares that are too wide
            widest_hz = None
        elif devices is not None and index is not None:
            weights = self._drawn_weights(devices, index, way)
        if group is None:
            return self._divided(
                payload_bits, snr_hz, weights, widest_hz, efficiency, free_share, others, spread=spread
            )
        # A group counts as one transfer with all its bits, all its power and all its weight.
        if weights is not None:
            weights = _sums(group, weights)
        if widest_hz is not None:
            widest_hz = _sums(group, widest_hz)
        of_groups = self._divided(
            _sums(group, payload_bits),
            _sums(group, snr_hz),
            weights,
            widest_hz,
            efficiency,
            free_share,
            others,
            spread=spread,
        )
        return Shares(of_groups.bandwidth_hz[group], of_groups.duty[group])

    def _drawn_weights(self, devices: Ints, index: Ints, way: Way) -> Floats | None:
        """Return the weights [n] that `radio.allocation` draws; None if it draws none."""
        allocation = self._radio.allocation
        if not allocation.by_draws or self._streams is None:
            return None
        normal = self._streams.normal_at("share", devices, index, 0 if way == "down" else 1)
        return called(allocation.weights, Array(devices.shape, "weights [n] above 0", least=LEAST_WEIGHT), normal)

    def _divided(
        self,
        payload_bits: Floats,
        snr_hz: Floats,
        weights: Floats | None,
        widest_hz: Floats | None,
        efficiency: Efficiency,
        free_share: float,
        others: float,
        *,
        spread: bool,
    ) -> Shares:
        """Return the shares [n] of transfers, or groups of them, by weights [n], or by `radio.allocation` if None."""
        # Transfers that take turns also do so with the other users, each on the whole band.
        in_turn = self._radio.allocation.in_turn
        band_hz = self.band_hz if in_turn else self.band_hz * free_share
        # The allocation knows real-valued shares; whole blocks come afterwards, by largest remainders.
        if weights is None:
            shares = self._allocated(band_hz, payload_bits, snr_hz, widest_hz, efficiency, spread=spread)
        elif not self._control.fills_band:
            shares = Shares(band_hz * weights, np.ones(len(weights)))
        elif in_turn:
            shares = channel.allocation.turns(band_hz, weights)
        elif widest_hz is None:
            shares = _by_weights(band_hz, weights)
        else:
            shares = channel.useful_width.fill(
                band_hz, widest_hz, lambda left_hz, rows: _by_weights(left_hz, weights[rows])
            )
        takes_turns = (shares.duty < 1).any()
        if in_turn and free_share < 1:
            return Shares(shares.bandwidth_hz, shares.duty * free_share)
        if self.blocks is None or takes_turns:  # in its turn a transfer has all blocks
            return shares
        block_hz = self.band_hz / self.blocks
        bandwidth_hz = shares.bandwidth_hz
        if free_share < 1:  # other users get whole blocks by the same rule, each an equal share of the rest
            users = max(round(others), 1)
            rest_hz = self.band_hz * (1.0 - free_share)
            bandwidth_hz = np.concatenate([bandwidth_hz, np.full(users, rest_hz / users)])
        blocks = channel.numerology.whole_blocks(bandwidth_hz, self.blocks)[: len(payload_bits)]
        whole_hz = np.asarray(blocks * block_hz)
        if widest_hz is not None:  # blocks that no transfer can use stay empty
            whole_hz = np.minimum(whole_hz, widest_hz)
        return Shares(whole_hz, shares.duty)

    def _allocated(
        self,
        band_hz: float,
        payload_bits: Floats,
        snr_hz: Floats,
        widest_hz: Floats | None,
        efficiency: Efficiency,
        *,
        spread: bool,
    ) -> Shares:
        """Return the real-valued shares [n] of `radio.allocation`, none wider than `widest_hz` [n]."""
        allocation = self._radio.allocation

        def of_rows(left_hz: float, rows: Rows) -> Shares:
            must = _shares_of(len(rows), left_hz)
            return called(allocation.shares, must, left_hz, payload_bits[rows], snr_hz[rows], efficiency, spread=spread)

        if widest_hz is None:
            return of_rows(band_hz, np.arange(len(payload_bits)))
        return channel.useful_width.fill(band_hz, widest_hz, of_rows)


def _by_weights(band_hz: float, weights: Floats) -> Shares:
    """Return the shares [n] of a band in proportion to weights [n]."""
    if (weights == weights[0]).all():  # exactly the bits of equal shares
        return channel.allocation.equal(band_hz, len(weights))
    return channel.allocation.proportional(band_hz, weights)


def _sums(group: Ints, values: Floats) -> Floats:
    """Return the sums [groups] of values [n] over the members of each group."""
    return np.asarray(np.bincount(group, values), dtype=np.float64)


LEAST_WEIGHT = 1e-300  # stands for any positive number
ROUNDING = 1e-9  # relative excess of shares over the band that counts as rounding


def _shares_of(count: int, band_hz: float) -> Contract:
    """Return the contract of shares [count] of a band."""
    bandwidths = Array((count,), "bandwidths [n] in hertz, from 0", least=0.0)
    duties = Array((count,), "duties [n] from 0 to 1", least=0.0, most=1.0)
    shares = Instance(Shares, "channel.allocation.Shares", {"bandwidth_hz": bandwidths, "duty": duties})

    def used_hz(found: Shares) -> float:
        return float((found.bandwidth_hz * found.duty).sum())

    return Where(
        shares,
        lambda found: used_hz(found) <= band_hz * (1 + ROUNDING),
        f"bandwidths that, times their duties, add up to at most the band of {band_hz:g} Hz",
        lambda found: f"{used_hz(found):g} Hz in all",
    )
