"""Over-the-air computation."""

from typing import Annotated, Literal

from pydantic import Field

from edgefl.radio.multiple_access.base import ChannelInversion, MultipleAccess


class AirComp(MultipleAccess):
    """Over-the-air computation: analog updates add up in the air, channels are inverted (Zhu et al., TWC 2020)."""

    # Only updates overlap; all other messages are orthogonal, so the flag `orthogonal` stays true.
    threshold: Annotated[float, Field(gt=0, le=100)] = 0.1  # Least |h|^2 over its mean; a device is silent below it.
    # Whether each coefficient has its own gain, or a device has one for the round.
    truncation: Literal["coefficient", "device"] = "coefficient"
    coefficients_per_symbol: Literal[1, 2] = 2  # Coefficients of a complex symbol, in phase, or in quadrature, too.

    def inversion(self) -> ChannelInversion:
        """Return the keys in the form for the carrier."""
        return ChannelInversion(self.threshold, self.truncation == "coefficient", self.coefficients_per_symbol)
