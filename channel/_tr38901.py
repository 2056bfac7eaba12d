"""What the scenarios of 3GPP TR 38.901 have in common: the states of a path, their statistics, the ranges."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel._checks import Floats, positive, within

LOS, NLOS, O2I = 0, 1, 2  # places in the tuples of `Statistics`
BORDER = 1e-9  # a placement at exactly 10 m, computed by a root, must not fall out by rounding


@dataclass(frozen=True)
class Statistics:
    """What varies around the median path loss, and over which distance.

    Tuples are by state: line of sight, none, outdoor to indoor; a state that a model does not know has no entry. None
    where a model gives no number.

    Attributes:
        shadowing_db: standard deviations of the log-normal shadowing [dB].
        decorrelation_m: distances [m] at which the shadowing's correlation is down to 1/e.
        los_decorrelation_m: the same of the LoS state [m].
        k_mean_db: mean of the Ricean factor K in line of sight [dB], normal in dB.
        k_std_db: its standard deviation [dB].
        k_decorrelation_m: its decorrelation distance [m].
    """

    shadowing_db: tuple[float, ...]
    decorrelation_m: tuple[float, ...]
    los_decorrelation_m: float | None = None
    k_mean_db: float | None = None
    k_std_db: float | None = None
    k_decorrelation_m: float | None = None


@dataclass(frozen=True)
class Validity:
    """Where a model holds: (lowest, highest), ends included.

    Attributes:
        distance_m: ground distance [m]; that between the antennas for InH, free space and log-distance.
        carrier_hz: carrier frequency [Hz].
        bs_height_m: antenna height of the base station [m].
        ut_height_m: antenna height of the terminal [m].
    """

    distance_m: tuple[float, float]
    carrier_hz: tuple[float, float]
    bs_height_m: tuple[float, float]
    ut_height_m: tuple[float, float]

    def distances(self, distance_2d_m: ArrayLike) -> Floats:
        """Ground distances as floats, all in range."""
        return within("distance_2d_m", distance_2d_m, *self.distance_m, BORDER)

    def link(
        self, carrier_hz: ArrayLike, bs_height_m: ArrayLike, ut_height_m: ArrayLike
    ) -> tuple[Floats, Floats, Floats]:
        """Carrier and heights as floats, all finite and in range."""
        return (
            within("carrier_hz", carrier_hz, *self.carrier_hz, BORDER),
            within("bs_height_m", positive("bs_height_m", bs_height_m), *self.bs_height_m, BORDER),
            positive("ut_height_m", within("ut_height_m", ut_height_m, *self.ut_height_m, BORDER)),
        )


def boolean(quantity: str, values: ArrayLike) -> NDArray[np.bool_]:
    """`values` as they are, all booleans; a probability or a share would count as true, so it is refused."""
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise ValueError(f"{quantity} must be boolean, not {array.dtype}")
    return array
