"""Base of the ways in which the uploads of a cell share its uplink.

To add one:

1. A file with a class derived from `MultipleAccess`; its fields are the keys under `radio.uplink`. Rules between
   sections (`edgefl/scenario/rules/`) read its flags, never the class.
2. If uploads overlap (`orthogonal` is false): `groups` returns which do, and `interference` the power of the others.
   Both are called at every division of the band (`edgefl/radio/budget/superposition.py`).
3. If the base station receives a sum: `inversion` returns how devices send it
   (`edgefl/radio/carriers/over_the_air.py`).
4. One line in the table of contents (`__init__.py`), one test in `tests/radio/`, one row in
   `docs/channel/multiple-access.md`.
"""

from typing import ClassVar, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ints
from edgefl.core.catalogue import Member


class ChannelInversion(NamedTuple):
    """The settings by which devices send updates as analog signals, whose sum the base station receives."""

    threshold: float  # of |h|^2 over its mean, above 0: a device is silent below it
    by_coefficient: bool  # whether each coefficient meets its own gain; otherwise all of a round meet one
    coefficients_per_symbol: int  # 1 or 2


class MultipleAccess(Member):
    """Base class of all ways to share the uplink, with the behaviour of `orthogonal`."""

    # Whether no two uploads of a cell overlap in time and band, except updates sent as one sum
    orthogonal: ClassVar[bool] = True

    def groups(self, received: Floats) -> Ints:
        """Return the numbers [n], from 0, of the groups in which the n uploads of a cell are on the air together.

        The members of a group overlap on its part of the band; `radio.allocation` divides the band among the groups.

        Args:
            received: [n] powers that the base station receives of devices at full power, in descending order; equal
                ones in the order of the devices' numbers.
        """
        return np.arange(len(received))

    def interference(self, received: Floats) -> Floats:
        """Return the interference power [groups, n] of the others of its group for each upload.

        Args:
            received: [groups, n] powers that the base station receives of them over the density of noise, in
                descending order; 0 where a group has fewer than n. The result has the same unit.
        """
        return np.zeros_like(received)

    def inversion(self) -> ChannelInversion | None:
        """Return how devices invert their channels to send a sum of updates; None: each is received separately."""
        return None

    @property
    def receives_sum(self) -> bool:
        """True if the base station receives only the sum of the updates."""
        return self.inversion() is not None
