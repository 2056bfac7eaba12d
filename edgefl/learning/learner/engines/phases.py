"""The two phases of a round's local steps: first one part of the model trains, then the rest (`training.parts.first`).

In FedRep (Collins et al., ICML 2021) the first part is the head that devices keep.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Indices, Ints
from edgefl.learning.learner.networks.flat_vectors import Layout


class Phase(NamedTuple):
    """The steps that leave a part of the parameters as it is."""

    frozen: Sequence[slice]  # where that part lies in the flat vector
    before: int  # steps of the round before this phase


class Phases:
    """Tells the phase of a step; the parameters named `first` train first.

    Steps are `counted` if they depend on how many came before them in their phase, as those of Adam do.
    """

    def __init__(self, layout: Layout, first: Collection[str], *, counted: bool) -> None:
        self._counted = counted
        numbers = range(len(layout.names))
        self._first = layout.places([number for number in numbers if layout.names[number] in first])
        self._rest = layout.places([number for number in numbers if layout.names[number] not in first])

    def of_step(self, number: int, first_steps: int) -> Phase:
        """Return the phase of a device's `number`th step, from 1; the `first_steps` train the first part."""
        if number <= first_steps:
            return Phase(self._rest, 0)
        return Phase(self._first, first_steps)

    def of_devices(self, number: int, first_steps: Ints) -> Iterator[tuple[Phase, Indices | None]]:
        """Yield each phase of devices [C] in their `number`th step, and which they are; None: all of them."""
        if not self._first:
            yield self.of_step(number, 0), None
            return
        kinds = np.where(first_steps < number, first_steps, -1)
        if not self._counted:
            kinds = np.minimum(kinds, 0)
        different = np.unique(kinds).tolist()
        for kind in different:
            rows = np.flatnonzero(kinds == kind)
            phase = self.of_step(number, int(first_steps[rows[0]]))
            yield phase, rows if len(different) > 1 else None
