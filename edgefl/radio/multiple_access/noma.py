"""Superposed uplinks with successive interference cancellation."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from channel import noma
from edgefl.core.arrays import Floats, Ints
from edgefl.radio.multiple_access.base import MultipleAccess


class Noma(MultipleAccess):
    """Uploads of a cell overlap and are decoded one by one, the strongest first (Saito et al., VTC Spring 2013)."""

    orthogonal: ClassVar[bool] = False

    users_per_group: Annotated[int, Field(ge=2, le=1_000_000)] | None = None  # Most users that overlap; by default all.
    residual: Annotated[float, Field(ge=0, le=1)] = 0.0  # Share of a decoded signal's power that cancellation leaves.

    def groups(self, received: Floats) -> Ints:
        """Return one group for all, or those of `channel.noma.strong_with_weak`."""
        if self.users_per_group is None:
            return np.zeros(len(received), dtype=np.int64)

        return noma.strong_with_weak(received, self.users_per_group)

    def interference(self, received: Floats) -> Floats:
        """Return `channel.noma.interference_w`."""
        return noma.interference_w(received, self.residual)
