"""Base of the fading models: the strength of the line of sight over the scatter, and the scatter's change in time.

A new model is one file in this folder and one line in its `members.csv`. A model is either a process of
slots (`slot_correlation`), or a function of time: constant in blocks (`hold_slots`), or a sum of waves (`waves`).
"""

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from channel.fading import doppler_correlation
from channel.waves import Waves
from edgefl.core.arrays import Bools, Floats, Ints
from edgefl.core.catalogue import Member

LONGEST_SLOTS = 2**62
"""The length of an endless block, as of a device at rest, whose coherence time is infinite."""


class ScatteredPaths(NamedTuple):
    """The facts that determine the small-scale fading of devices [n]."""

    speed_mps: Floats
    los: Bools
    k_factor: Floats  # from the model's hook
    carrier_hz: float
    delay_spread_s: Floats | None  # the propagation model's medians [n]; None where it has none


DrawUniform = Callable[[int], Floats]
"""`draw(count)`: uniform numbers in (0, 1), [n, count], the same in every call."""


class Fading(Member):
    """Base of all fading models: no line of sight, and scatter that is a Gauss-Markov process of slots."""

    slots_only: ClassVar[bool] = False
    """True if `radio.transfer: fast` does not know the law of the time that a payload takes."""

    def k_statistics_db(self, mean_db: float | None, std_db: float | None) -> tuple[float, float] | None:
        """Return the mean and the standard deviation of drawn K [dB]; None: no K is drawn.

        Args:
            mean_db: the propagation model's mean; None where it has none.
            std_db: its standard deviation, in the same form.

        Raises:
            ValueError: a K is needed, but neither the propagation model nor a key of this model has one.
        """
        return None  # without a line of sight nothing is drawn

    def k_factor(self, los: Bools, k_db: Floats) -> Floats:
        """Return the linear K [n] of devices in line of sight or not [n]; 0 is Rayleigh.

        Args:
            los: [n] whether each is in line of sight.
            k_db: [n] draws of K from `k_statistics_db`.
        """
        return np.zeros(los.shape)  # only scatter

    def slot_correlation(self, speed_mps: Floats, carrier_hz: float, slot_s: float) -> Floats:
        """Return the correlation [n] of the scatter between neighbouring slots of devices at speeds [n]."""
        # Jakes' correlation at a lag of one slot; at longer lags a Gauss-Markov process has its powers.
        return doppler_correlation(speed_mps, carrier_hz, slot_s)

    def hold_slots(self, speed_mps: Floats, carrier_hz: float, slot_s: float) -> Ints | None:
        """Return how many slots of the clock [n] the gain of each device holds; None: it changes with every slot.

        Blocks are independent, and `slot_correlation` then has no effect on the gains.
        """
        return None

    @property
    def new_in_each_round(self) -> bool:
        """True if gains that hold in blocks are drawn for each round, not for each block of the clock."""
        return False

    def waves(self, paths: ScatteredPaths, draw: DrawUniform) -> Waves | None:
        """Return the gain of each device [n] as a sum of waves, a function of time; None: it is not one.

        With waves `slot_correlation` has no effect on the gains.
        """
        return None

    def check_delay_spread(self, *, known: bool) -> None:
        """Check that a delay spread is known if the model needs one.

        Args:
            known: whether the propagation model has one.

        Raises:
            ValueError: neither the propagation model nor a key of this model has one.
        """
        return
