"""The proportional-fair scheduler: turns that follow the fading and what each device has had."""

from typing import ClassVar

from pydantic import PositiveFloat

from channel import allocation, sharing
from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.core.arrays import Floats
from edgefl.core.section import Count
from edgefl.radio.allocation.base import Allocation


class ProportionalFairInTime(Allocation):
    """Each turn to the highest rate over the mean rate so far (Viswanath, Tse, Laroia, IEEE Trans. Inf. Theory 2002).

    With the rate r_k of the coming slots and the mean rate T_k over an exponential window, the whole band goes to the
    largest r_k / T_k (`channel.sharing`). T_k goes on from round to round, in each cell and direction of its own. The
    base station knows the fading of the coming slots.
    """

    in_turn: ClassVar[bool] = True
    in_time: ClassVar[bool] = True

    window_s: PositiveFloat = 1.0  # Time constant of the exponential window of the mean rate.
    slots: Count = 10  # Slots of a turn.

    @property
    def memory_width(self) -> int:
        """Return 1: the mean rate."""
        return 1

    @property
    def every_slots(self) -> int:
        """Return the slots of a turn."""
        return self.slots

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return turns of equal length, which are those expected of devices that nothing is known of."""
        return allocation.round_robin(band_hz, len(payload_bits))

    def turns(self, coming_bps: Floats, memory: Floats) -> Floats:
        """Return the turn of `channel.sharing.proportional_fair_turn`."""
        return sharing.proportional_fair_turn(coming_bps, memory[:, 0])

    def remember(self, memory: Floats, served_bps: Floats, lasted_s: Floats) -> Floats:
        """Return the mean rates of `channel.sharing.mean_rate`."""
        return sharing.mean_rate(memory[:, 0], served_bps, lasted_s, self.window_s)[:, None]
