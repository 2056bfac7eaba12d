"""Ricean fading."""

from typing import Annotated

import numpy as np
from pydantic import Field

from channel.units import db_to_linear
from edgefl.core.arrays import Bools, Floats
from edgefl.core.section import fault
from edgefl.radio.fading.base import Fading


class Ricean(Fading):
    """Ricean in line of sight, K log-normal by the propagation model, else Rayleigh (3GPP TR 38.901 Table 7.5-6)."""

    # Mean of the K-factor; by default the propagation model's.
    k_mean_db: Annotated[float, Field(ge=-300, le=300)] | None = None
    # Standard deviation of the K-factor; by default the propagation model's.
    k_std_db: Annotated[float, Field(ge=0, le=100)] | None = None

    def k_statistics_db(self, mean_db: float | None, std_db: float | None) -> tuple[float, float] | None:
        """Return the keys of the section, by default the numbers of the propagation model."""
        # The keys are independent: a scenario may keep the model's mean and change the spread.
        if self.k_mean_db is not None:
            mean_db = self.k_mean_db
        if self.k_std_db is not None:
            std_db = self.k_std_db
        if mean_db is None or std_db is None:
            kind = type(self).__name__.lower()
            raise fault(f"{kind} needs k_mean_db and k_std_db, because the propagation model names no K")
        return mean_db, std_db

    def k_factor(self, los: Bools, k_db: Floats) -> Floats:
        """Return the drawn K [n] in line of sight; elsewhere 0, which is pure scatter."""
        return np.where(los, db_to_linear(k_db), 0.0)
