"""Urban macro cell."""

from types import ModuleType
from typing import ClassVar

from channel import uma
from edgefl.core.arrays import Floats
from edgefl.radio.propagation.base import PathDraws
from edgefl.radio.propagation.urban import Urban


class Uma(Urban):
    """UMa (urban macro), in line of sight or not, outdoors or in buildings (3GPP TR 38.901, clause 7.4)."""

    label: ClassVar[str] = "uma"
    delay_scenario: ClassVar[str | None] = "uma"

    def physics(self) -> ModuleType:
        """Return `channel.uma`."""
        return uma

    def los_probability(self, outdoor_m: Floats, ut_height_m: Floats) -> Floats:
        """Return the probability [...], which is higher for high terminals."""
        return uma.los_probability(outdoor_m, ut_height_m)  # the term C' of Table 7.4.2-1, for those above 13 m

    def surroundings(self, draws: PathDraws) -> tuple[Floats | float, ...]:
        """Return the draw of the environment's height, on which the break point depends (Table 7.4.1-1, note 1)."""
        return (draws.environment,)
