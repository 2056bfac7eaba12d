"""A sample of the paths of devices during a run, for maps."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Ids
from edgefl.server.ledger import Columns
from edgefl.world.world import World

MOST_TRACKED = 30
INSTANTS = 200


def trajectories(world: World, took_part: Ids, end_s: float) -> Columns:
    """Return the columns device, time_s, x_m, y_m of tracks.csv: some devices at even instants, device after device.

    A device has no rows for the instants at which the map or trace does not have it.

    Args:
        world: the devices.
        took_part: ids [n], each once, of devices that come before all others; an even pick of them.
        end_s: the last of the instants, of which the first is 0.
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
    # A million devices need not be compared with the participants: a few more than are wanted are enough.
    candidates = _even_pick(np.arange(count), MOST_TRACKED + len(took_part))
    others = np.setdiff1d(candidates, took_part)
    fill = _even_pick(others, MOST_TRACKED - len(participants))
    return np.sort(np.concatenate([participants, fill])).astype(np.int64)


def _even_pick(ids: Ids, most: int) -> Ids:
    """Return an even pick of at most so many ids that keeps the first and the last."""
    places = np.linspace(0, len(ids) - 1, min(len(ids), most)).round().astype(np.intp)
    return np.take(ids, places)
