"""Types for the statistics and the valid ranges of the scenarios of 3GPP TR 38.901 (clauses 7.4 to 7.6).

Each scenario (`umi`, `uma`, `rma`, `inh`) and simple model (`free_space`, `log_distance`) has one `Statistics` and one
`Validity`.
"""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import BORDER, positive, within

# States of a path, and the positions of their values in the tuples of `Statistics`.
LOS = 0  # line of sight
NLOS = 1  # none
O2I = 2  # outdoor to indoor

RELEASES = (16, 19)  # of 3GPP whose tables are here: V16 to V18 agree


def check_release(release: int) -> None:
    """Raise ValueError for a release without tables."""
    if release not in RELEASES:
        raise ValueError(f"release = {release}: it must be one of {', '.join(map(str, RELEASES))}")


@dataclass(frozen=True)
class Statistics:
    """Variation of the channel around the median path loss, and the distances over which it varies.

    Tuples are by state: line of sight, none, outdoor to indoor; models with fewer states have shorter tuples. None
    where a model gives no number.

    Attributes:
        shadowing_db: standard deviations of the log-normal shadowing [dB].
        decorrelation_m: distances [m] at which the shadowing's correlation has fallen to 1/e.
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
    """The ranges where a model holds: (lowest, highest), ends included.

    Attributes:
        distance_m: ground distance [m]; distance between the antennas for InH, free space and log-distance.
        carrier_hz: carrier frequency [Hz].
        bs_height_m: antenna height of the base station [m].
        ut_height_m: antenna height of the terminal [m].
    """

    distance_m: tuple[float, float]
    carrier_hz: tuple[float, float]
    bs_height_m: tuple[float, float]
    ut_height_m: tuple[float, float]

    def distances(self, distance_2d_m: ArrayLike) -> Floats:
        """Return ground distances [m] as floats, all in range."""
        return within("distance_2d_m", distance_2d_m, *self.distance_m, BORDER)

    def link(
        self, carrier_hz: ArrayLike, bs_height_m: ArrayLike, ut_height_m: ArrayLike
    ) -> tuple[Floats, Floats, Floats]:
        """Return the carrier [Hz] and both heights [m] as floats, all finite and in range."""
        # Ranges may begin at 0 or be unbounded, but antenna heights must be positive and finite.
        carrier = within("carrier_hz", carrier_hz, *self.carrier_hz, BORDER)
        bs_height = within("bs_height_m", positive("bs_height_m", bs_height_m), *self.bs_height_m, BORDER)
        ut_height = positive("ut_height_m", within("ut_height_m", ut_height_m, *self.ut_height_m, BORDER))
        return carrier, bs_height, ut_height
