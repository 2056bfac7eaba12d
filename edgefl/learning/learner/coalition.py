"""What the server has of a coalition of devices: their new updates, and those of theirs that it has stored."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from edgefl.core.arrays import Ids
from edgefl.learning.algorithms import Updates


def coalition(
    server: Mapping[str, Tensor], updates: Updates, players: Ids, members: Ids, blank: Mapping[str, Tensor]
) -> tuple[dict[str, Tensor], Updates]:
    """The state before a round and its updates, as if those players who are no members had never been heard.

    Args:
        server: the state before the round.
        updates: the round's.
        players: ids of those who may be in a coalition.
        members: ids of those who are.
        blank: what the server keeps of a device before its first update [...]; stored ones stay where it is empty.
    """
    absent = np.setdiff1d(players, members)
    without = {name: server[name].clone() for name in blank}
    for name, row in blank.items():
        without[name][absent] = row
    return {**server, **without}, updates.only(np.flatnonzero(np.isin(updates.ids, members)))
