"""Carbon of the devices' energy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgefl.records.columns import ENERGY_COLUMNS
from edgefl.server.observer import DeviceColumns, EndedRound, Observer, RoundColumns
from edgefl.world.carbon import CarbonIntensity

LASTS = ("setup_s", "download_s", "compute_s", "upload_s", "wait_s")  # columns that add up to a participation


@dataclass(frozen=True)
class DeviceCarbon(Observer):
    """Adds the grams of each participation: its joules by the mean intensity from its beginning to its end."""

    intensities: Sequence[CarbonIntensity]  # of each group of devices
    first_after: Sequence[int]  # the first device after each group

    def added_device_columns(self, devices: DeviceColumns) -> DeviceColumns:
        """Return the column of participations [n]."""
        since_s = devices["start_s"]
        until_s = since_s + sum(devices[name] for name in LASTS if name in devices)
        energy_j = np.asarray(sum(devices[name] for name in ENERGY_COLUMNS if name in devices))
        group = np.searchsorted(self.first_after, devices["device"], side="right")
        grams = np.zeros(len(group))
        for number, intensity in enumerate(self.intensities):
            rows = group == number
            grams[rows] = intensity.grams(energy_j[rows], since_s[rows], until_s[rows])
        return {"carbon_g": grams}

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the column of the round's participations."""
        return {"carbon_g": float(ended.devices["carbon_g"].sum())}

    def run_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the grams of participations that the end of the run cut off."""
        return self.round_ends(ended)
