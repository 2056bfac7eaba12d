"""UMi-Street Canyon."""

from types import ModuleType
from typing import ClassVar

from channel import umi
from edgefl.radio.propagation.urban import Urban


class Umi(Urban):
    """UMi-Street Canyon, in line of sight or not, outdoors or in buildings (3GPP TR 38.901, clause 7.4)."""

    label: ClassVar[str] = "umi"
    delay_scenario: ClassVar[str | None] = "umi"

    def physics(self) -> ModuleType:
        """Return `channel.umi`."""
        return umi
