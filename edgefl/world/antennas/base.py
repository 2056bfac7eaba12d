"""An antenna gives a base station's gain, over an isotropic one, in each direction.

To write an antenna:

1. One file in this folder with a subclass of `Antenna`. Its fields are its keys under `cells.antenna`, and the first
   line of its docstring, which names the source, is what `edgefl list antenna` prints.
2. `pattern_dbi`, from the angles, and the flag `directional` if it differs. The formula itself belongs into
   `channel/antenna.py`.
3. One line in the table of contents (`members.csv`), one test in `tests/channel/test_channel_antenna.py`, one row in
   `docs/channel/antennas.md`.
"""

from typing import Annotated, ClassVar

from pydantic import Field

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member

GainDbi = Annotated[float, Field(ge=-60, le=60)]


class Antenna(Member):
    """Base class of the antennas of a sector."""

    directional: ClassVar[bool] = True
    """The gain depends on the azimuth, so that a site can have several sectors."""

    def pattern_dbi(self, zenith_deg: Floats, azimuth_deg: Floats) -> Floats:
        """Return the gains [...] in dBi toward directions that broadcast with each other.

        Args:
            zenith_deg: [...] 0 is straight up, 90 the horizon, above 90 is down.
            azimuth_deg: [...] from the sector's boresight, -180 to 180, counter-clockwise.
        """
        raise NotImplementedError
