"""Trajectories of a sample of the devices, for maps."""

import numpy as np

from edgefl.core.arrays import Ids
from edgefl.records.ledger import Columns
from edgefl.world.world import World

MOST_TRACKED = 30  # devices
INSTANTS = 200  # of each trajectory


def trajectories(world: World, took_part: Ids, end_s: float) -> Columns:
    """Return the columns of tracks.csv: positions of some devices at evenly spaced instants, device after device.

    Devices that took part, of unique ids [n], come first. A device has no rows for instants at which it is off the map.
    The instants are from 0 to `end_s`.
    """
    ids = _sample(world.count, took_part)
    times_s = np.linspace(0.0, end_s, INSTANTS)
    positions_m = np.array([world.positions_m(ids, time_s) for time_s in times_s.tolist()])  # [instants, n, 2]
    on_map = np.array([world.on_map(ids, time_s) for time_s in times_s.tolist()])  # [instants, n]
    device, instant = np.nonzero(on_map.T)  # transposed: device after device
    x_m, y_m = positions_m[instant, device].T
    return {
        "device": ids[device].tolist(),
        "time_s": times_s[instant].tolist(),
        "x_m": x_m.tolist(),
        "y_m": y_m.tolist(),
    }


def _sample(count: int, took_part: Ids) -> Ids:
    """Return the ids of an even pick of participants, filled up with an even pick of the other devices."""
    participants = _even_pick(took_part, MOST_TRACKED)
    # So many candidates leave enough others, without comparing a million devices.
    candidates = _even_pick(np.arange(count), MOST_TRACKED + len(took_part))
    others = np.setdiff1d(candidates, took_part)
    fill = _even_pick(others, MOST_TRACKED - len(participants))
    return np.sort(np.concatenate([participants, fill])).astype(np.int64)


def _even_pick(ids: Ids, most: int) -> Ids:
    """Return at most `most` evenly spaced ids, the first and the last among them."""
    places = np.linspace(0, len(ids) - 1, min(len(ids), most)).round().astype(np.intp)
    return np.take(ids, places)
