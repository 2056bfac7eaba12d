"""Energy of the base stations: fixed, and for the power that they send."""

from dataclasses import dataclass

import numpy as np

from edgefl.server.observer import EndedRound, Observer, RoundColumns
from edgefl.server.participation import sent_by_cells
from edgefl.world.cells_section import BaseStationEnergySection, Cells


@dataclass(frozen=True, kw_only=True)
class BaseStationEnergy(Observer):
    """The linear model P = P_0 + Delta_p P_out of the EARTH project (deliverable D2.3; Auer et al., IEEE WCM 2011)."""

    section: BaseStationEnergySection
    cells: Cells  # where base stations stand, and how many cells each has
    tx_power_w: float  # full power of a cell
    broadcast: bool  # whether a cell sends a download once, to all devices that begin together

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the columns of what base stations have drawn since the round before."""
        lasted_s = ended.until_s - ended.since_s
        static_j = self.cells.sites * self.section.static_w * lasted_s
        return self._terms({"bs_static_energy_j": static_j, "bs_load_energy_j": self._load_j(ended)}, ended)

    def run_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the columns of what sending to participants has cost."""
        return self._terms({"bs_load_energy_j": self._load_j(ended)}, ended)

    def _load_j(self, ended: EndedRound) -> float:
        sent = sent_by_cells(ended.parts, lambda down: down.full_power_s, broadcast=self.broadcast)
        return self.section.slope * self.tx_power_w * sum(full_power_s for _, full_power_s in sent)

    def _terms(self, terms_j: RoundColumns, ended: EndedRound) -> RoundColumns:
        """Return the terms of the energy, and the grams of their sum by the mean intensity during the round."""
        intensity = self.section.carbon_g_kwh
        if intensity is None:
            return terms_j
        spent = (np.array([each]) for each in (sum(terms_j.values()), ended.since_s, ended.until_s))
        return {**terms_j, "bs_carbon_g": float(intensity.grams(*spent)[0])}
