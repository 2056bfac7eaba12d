"""Where devices have gone during a run: a sample of their movement, for maps."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Ids
from edgefl.server.ledger import Columns
from edgefl.world.world import World

MOST_DEVICES, INSTANTS = 30, 200


def trajectories(world: World, took_part: Ids, end_s: float) -> Columns:
    """Columns device, time_s, x_m, y_m: some devices at even instants from 0 to `end_s`, device after device.

    Devices of `took_part` [n, each once] come before all others, an even pick of each; a device has no rows for the
    instants at which the map or trace does not have it.
    """
    rest = np.setdiff1d(_even(np.arange(world.count), MOST_DEVICES + len(took_part)), took_part)
    some = _even(took_part, MOST_DEVICES)
    ids = np.sort(np.concatenate([some, _even(rest, MOST_DEVICES - len(some))])).astype(np.int64)
    times_s = np.linspace(0.0, end_s, INSTANTS)
    places = np.array([world.positions_m(ids, time_s) for time_s in times_s.tolist()])  # [instants, n, 2]
    there = np.array([world.on_map(ids, time_s) for time_s in times_s.tolist()])
    device, instant = np.nonzero(there.T)
    x_m, y_m = places[instant, device].T
    columns = {"device": ids[device], "time_s": times_s[instant], "x_m": x_m, "y_m": y_m}
    return {name: column.tolist() for name, column in columns.items()}


def _even(ids: Ids, most: int) -> Ids:
    """An even pick that keeps the first and the last."""
    return np.take(ids, np.linspace(0, len(ids) - 1, min(len(ids), most)).round().astype(np.intp))
