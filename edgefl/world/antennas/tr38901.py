"""The sector antenna of 3GPP TR 38.901."""

from typing import Annotated

from pydantic import Field

from channel import antenna
from edgefl.core.arrays import Floats
from edgefl.world.antennas.base import Antenna, GainDbi


class Tr38901(Antenna):
    """A column of elements with electrical tilt, one polarisation (3GPP TR 38.901, Table 7.3-1 and clause 7.3)."""

    gain_dbi: GainDbi = 8.0  # Gain of one element.
    beamwidth_deg: Annotated[float, Field(gt=0, le=360)] = 65.0  # Beamwidth of half power of an element, both ways.
    front_to_back_db: Annotated[float, Field(ge=0, le=100)] = 30.0  # Front-to-back ratio of an element.
    elements: Annotated[int, Field(ge=1, le=1024)] = 10  # Number of elements, one above the other.
    spacing_wavelengths: Annotated[float, Field(gt=0, le=10)] = 0.5  # Distance between two elements in wavelengths.
    tilt_deg: Annotated[float, Field(ge=0, le=180)] = 102.0  # Zenith angle of the main lobe; 90 is the horizon.

    def pattern_dbi(self, zenith_deg: Floats, azimuth_deg: Floats) -> Floats:
        """Return the gain of an element and of the column [...]."""
        element_dbi = antenna.element_gain_dbi(
            zenith_deg, azimuth_deg, self.gain_dbi, self.beamwidth_deg, self.front_to_back_db
        )
        return element_dbi + antenna.column_gain_db(zenith_deg, self.elements, self.spacing_wavelengths, self.tilt_deg)
