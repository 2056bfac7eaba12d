"""The devices that the server's state is about: all, or the group of a session."""

from dataclasses import dataclass

import numpy as np

from edgefl.core.arrays import Ids


@dataclass(frozen=True)
class Members:
    """The devices that the server's state is about; each has a row in the server's tables."""

    ids: Ids | None = None  # [N] ascending; None: all devices

    def rows(self, ids: Ids) -> Ids:
        """Return the rows [n] of devices `ids` [n] in the server's tables, which have N rows."""
        if self.ids is None:
            return ids
        return np.searchsorted(self.ids, ids)

    def devices(self, rows: Ids) -> Ids:
        """Return the ids [n] of the devices in these rows [n] of the server's tables."""
        if self.ids is None:
            return rows
        return self.ids[rows]

    def among(self, ids: Ids) -> Ids:
        """Return the members among the devices `ids`."""
        if self.ids is None:
            return ids
        return ids[np.isin(ids, self.ids)]
