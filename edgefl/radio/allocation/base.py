"""Base of the allocations, rules that divide the band among concurrent transfers.

A rule that needs more than the transfers, such as computing times, sets `by_forecast` and decides from the server's
forecast of a round's participants, cell by cell, when they are chosen: `decide` returns `Decisions` with the shares of
one direction or of both. It needs `server.csi` and `radio.sharing: fixed` (`scenario/rules/forecasts.py`);
`server/optimised_control.py` passes its shares to the radio. `shares` then divides the band for the other direction,
and for messages outside participations, such as polls.

A rule that divides the band again and again sets `in_time`, and keeps a memory of each device: `turns` says whose turn
the coming slots are, `remember` makes the next memory of the last one. The base station of each cell holds the memory
in each direction (`radio/bands/memory.py`). It needs `radio.sharing: processor` and `radio.transfer: slots`.

A rule with random shares sets `by_draws`, and its `weights` divide the band between devices instead of `shares`, which
then returns the shares expected before the draw.
"""

from typing import ClassVar

from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.core.arrays import Floats
from edgefl.records.added_columns import AddsColumns


class Allocation(AddsColumns):
    """Base of all OFDMA allocations: disjoint shares that add up to the whole band; they may add columns to results."""

    in_turn: ClassVar[bool] = False  # whether transfers take turns on the whole band
    by_snr: ClassVar[bool] = False  # whether shares depend on `snr_hz`, that of devices at full power
    by_forecast: ClassVar[bool] = False  # whether shares follow from the server's forecast of the participants
    by_draws: ClassVar[bool] = False  # whether shares are in proportion to `weights`, which are drawn
    in_time: ClassVar[bool] = False  # whether transfers take `turns` that follow from a memory; then also `in_turn`

    @property
    def memory_width(self) -> int:
        """Return how many numbers of each device it keeps, if `in_time`; they are 0 at first."""
        return 0

    @property
    def every_slots(self) -> int:
        """Return for how many slots a turn holds, if `in_time`; it ends earlier if a transfer begins or ends."""
        return 1

    def places(self) -> int | None:
        """Return the number of devices that a cell can serve at a time, one a block; None: no limit."""
        return None

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return the bandwidths [n] and duties [n] of n concurrent transfers.

        If a share is wider than useful, the radio narrows it, and calls again for the other transfers and the rest of
        the band (`channel.useful_width`).

        Args:
            band_hz: the band to divide.
            payload_bits: [n] the payloads, not negative.
            snr_hz: [n] received power over the noise density, P psi / N0.
            efficiency: the rate model.
            spread: whether one transmitter spreads its power over the whole band (downlink), or each concentrates its
                power on its share (uplink).
        """
        raise NotImplementedError

    def weights(self, normal: Floats) -> Floats:
        """Return the weights [n] > 0 that divide the band among n concurrent transfers, if `by_draws`.

        Args:
            normal: [n] standard normals, each a function of its device, the round and the direction.
        """
        raise NotImplementedError

    def turns(self, coming_bps: Floats, memory: Floats) -> Floats:
        """Return the fractions [n] of the coming slots that give n transfers of a cell the band, if `in_time`.

        Args:
            coming_bps: [n] rate of each on the whole band, averaged over the slots of the turn.
            memory: [n, k] of their devices.
        """
        raise NotImplementedError

    def remember(self, memory: Floats, served_bps: Floats, lasted_s: Floats) -> Floats:
        """Return the memory [n, k] after a time, if `in_time`.

        Args:
            memory: [n, k] before.
            served_bps: [n] rate of each device in that time; 0 while it has no transfer.
            lasted_s: [n] how long.
        """
        raise NotImplementedError

    def decide(self, forecast: Forecast) -> Decisions:
        """Return the shares of a cell's participants [n], if `by_forecast`; see `Decider` (coordination.decisions).

        Raises:
            Infeasible: no shares meet the requirements.
        """
        raise NotImplementedError
