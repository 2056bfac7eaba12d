"""Decisions on a cell's participants, made from a forecast: shares of the band, powers and clocks."""

from dataclasses import dataclass
from typing import Protocol

from edgefl.coordination.forecast import Forecast
from edgefl.core.arrays import Bools, Floats


class Infeasible(Exception):  # noqa: N818 - the name says what happened
    """No decision meets the limits; its text is the rest of a line that begins with the round."""


@dataclass(frozen=True)
class Decisions:
    """Decisions about the participants [n] of a cell; None where the scenario decides."""

    up_share: Floats | None = None  # of the uplink's band (in turns: of the time), above 0; 1 in all
    down_share: Floats | None = None  # of the downlink's band, in the same form
    power_share: Floats | None = None  # of the transmit powers that the scenario gives, in (0, 1]
    clock_share: Floats | None = None  # of the highest clocks, in (0, 1]
    up_interference_w_hz: Floats | None = None  # density of interference with each one's part of the uplink
    takes_part: Bools | None = None  # False leaves a device out of the round, as if it had not been chosen
    fills_band: bool = True  # whether the shares of the band are 1 in all; False: they may be less


class Decider(Protocol):
    """Decides from forecasts: an optimiser, or an allocation with `by_forecast`."""

    def decide(self, forecast: Forecast) -> Decisions:
        """Return the decisions about the participants [n] of a cell; see `Optimiser.decide`."""
