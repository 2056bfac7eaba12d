"""Ricean fading."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Bools, Floats
from edgefl.core.section import fault
from edgefl.radio.fading.base import Fading


class Ricean(Fading):
    """Ricean in line of sight, K log-normal by the propagation model, else Rayleigh (3GPP TR 38.901 Table 7.5-6)."""

    k_mean_db: Annotated[float, Field(ge=-300, le=300)] | None = None  # the propagation model's where not given
    k_std_db: Annotated[float, Field(ge=0, le=100)] | None = None

    def k_statistics_db(self, mean_db: float | None, std_db: float | None) -> tuple[float, float] | None:
        """Its own keys before the propagation model's numbers."""
        mean = mean_db if self.k_mean_db is None else self.k_mean_db
        std = std_db if self.k_std_db is None else self.k_std_db
        if mean is None or std is None:
            raise fault("ricean needs k_mean_db and k_std_db, because the propagation model names no K")
        return mean, std

    def k_factor(self, los: Bools, k_db: Floats) -> Floats:
        """The drawn K in line of sight; nothing but scatter elsewhere."""
        from channel.units import db_to_linear

        return np.where(los, db_to_linear(k_db), 0.0)
