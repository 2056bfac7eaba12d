"""UMi-Street Canyon."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar

from edgefl.core.arrays import Bools
from edgefl.radio.propagation.base import PathDraws
from edgefl.radio.propagation.outdoor import DeviceShare, Outdoor


class Umi(Outdoor):
    """UMi-Street Canyon, in line of sight or not, outdoors or in buildings (3GPP TR 38.901, clause 7.4)."""

    high_loss: DeviceShare = 0.0  # of the buildings

    label: ClassVar[str] = "umi"

    def physics(self) -> ModuleType:
        """Return `channel.umi`."""
        from channel import umi

        return umi

    def high_loss_building(self, draws: PathDraws) -> Bools:
        """Return whether [...] the draw is below the share of such buildings."""
        return draws.building < self.high_loss
