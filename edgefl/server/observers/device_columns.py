"""Columns of devices.csv that only some runs have."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from channel.units import linear_to_db
from edgefl.core.arrays import Floats
from edgefl.radio.budget.link_budget import LinkBudget
from edgefl.radio.transfers import TransferResult
from edgefl.server.observer import DeviceColumns, Observer
from edgefl.server.participation import Participation


class SettingUp(Observer):
    """Tells how long participants have set up, and what they have drawn meanwhile."""

    def device_columns(self, parts: Sequence[Participation]) -> DeviceColumns:
        """Return the columns of participations [n]."""
        spent = [part.setup_spent for part in parts]
        return {
            "setup_s": np.array([of.seconds for of in spent], dtype=np.float64),
            "setup_energy_j": np.array([of.joules for of in spent], dtype=np.float64),
        }


class SignalToInterference(Observer):
    """Tells the signal over interference and noise that participants had while they received and sent."""

    def device_columns(self, parts: Sequence[Participation]) -> DeviceColumns:
        """Return the columns of participations [n]."""
        return {
            "sinr_down_db": _mean_sinr_db([part.down for part in parts]),
            "sinr_up_db": _mean_sinr_db([part.up for part in parts]),
        }


class LostBlocks(Observer):
    """Tells which share of their transport blocks participants lost at the first transmission."""

    def device_columns(self, parts: Sequence[Participation]) -> DeviceColumns:
        """Return the columns of participations [n]."""
        return {
            "first_lost_share_down": _first_lost([part.down for part in parts]),
            "first_lost_share_up": _first_lost([part.up for part in parts]),
        }


def _mean_sinr_db(transfers: Sequence[TransferResult]) -> Floats:
    """Return the mean [n] over the time on air, in decibels; nan where nothing was on air or it is unknown."""
    sinr_s = np.array([transfer.sinr_s for transfer in transfers], dtype=np.float64)
    air_s = np.array([transfer.air_s for transfer in transfers], dtype=np.float64)
    unknown = np.full(len(transfers), np.nan)
    mean = np.divide(sinr_s, air_s, out=unknown, where=(sinr_s > 0) & (air_s > 0))
    return np.asarray(10.0 * np.log10(mean))  # `linear_to_db` refuses nan


def _first_lost(transfers: Sequence[TransferResult]) -> Floats:
    """Return the shares [n] of blocks that were lost at the first transmission; nan where none was sent."""
    sent = np.array([transfer.first_sent for transfer in transfers], dtype=np.float64)
    lost = np.array([transfer.first_lost for transfer in transfers], dtype=np.float64)
    return np.asarray(np.divide(lost, sent, out=np.full(len(transfers), np.nan), where=sent > 0))


@dataclass(eq=False)
class Geometry(Observer):
    """Tells how well participants hear their base station if all others send, too."""

    budget: LinkBudget  # powers, noise and interference

    def device_columns(self, parts: Sequence[Participation]) -> DeviceColumns:
        """Return the columns of participations [n] when they began."""
        if not parts:
            return {}
        gain = np.array([part.drop.path_gain[part.row] for part in parts])
        all_gains = np.stack([part.drop.all_gains[part.row] for part in parts])
        cell = np.array([part.cell for part in parts], dtype=np.int64)
        sinr, sir = self.budget.full_load(gain, all_gains, cell)
        return {
            "coupling_loss_db": -linear_to_db(gain),
            "geometry_db": linear_to_db(sinr),
            # A table has no infinity: without interference the cell stays empty.
            "sir_db": linear_to_db(np.where(np.isinf(sir), 1.0, sir)) + np.where(np.isinf(sir), np.nan, 0.0),
        }
