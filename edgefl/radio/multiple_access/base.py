"""Base of the ways to share a cell's uplink among its uploads.

To add one:

1. A file with a class derived from `MultipleAccess`; its fields are the keys under `radio.uplink`. Rules between
   sections (`edgefl/scenario/rules/`) read its flags, never the class.
2. If uploads overlap (`orthogonal` is false): `groups` returns which do, and `interference` the power of the others.
   Both are called at every division of the band (`edgefl/radio/budget/superposition.py`).
3. One line in the table of contents (`members.csv`), one test in `tests/radio/`, one row in
   `docs/channel/multiple-access.md`.
"""

from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Floats, Ints
from edgefl.core.catalogue import Member


class MultipleAccess(Member):
    """Base class of all ways to share the uplink, with the behaviour of `orthogonal`."""

    orthogonal: ClassVar[bool] = True  # whether no two uploads of a cell overlap in time and band

    def groups(self, received: Floats) -> Ints:
        """Return the group numbers [n], from 0, of the n uploads of a cell: a group is on the air together.

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
