"""Uploads that overlap on the band of their cell: their groups, and the interference within a group.

`radio.uplink` decides on both, for arrays in the order of powers and of devices' numbers, so that results do not depend
on the order of transfers' beginnings.
"""

import numpy as np

from edgefl.core.arrays import Floats, Ints, Rows
from edgefl.core.returns import Array, called
from edgefl.radio.multiple_access import MultipleAccess


class Superposition:
    """The groups of concurrent uploads [n].

    Args:
        uplink: how uploads share the uplink.
        devices: [n] their devices.
        cell: [n] the cells that serve them.
        cells: number of cells.
        received_w: [n] power that the base stations receive of the devices at full power.
    """

    def __init__(self, uplink: MultipleAccess, devices: Ints, cell: Ints, cells: int, received_w: Floats) -> None:
        self._uplink = uplink
        self._devices = devices
        self.group = np.zeros(len(cell), dtype=np.int64)  # [n] numbers from 0 within the cells
        self.counts = np.zeros(cells, dtype=np.int64)  # [cells] of groups
        for one in np.unique(cell):
            rows = np.flatnonzero(cell == one)
            rows = rows[np.lexsort((devices[rows], -received_w[rows]))]
            self.group[rows] = self._groups(received_w[rows])
            self.counts[one] = self.group[rows].max() + 1
        firsts = np.cumsum(self.counts) - self.counts
        self._number = firsts[cell] + self.group  # [n] of the groups, over all cells

    def in_order(self, rows: Rows) -> Rows:
        """Return some rows in the order of the devices' numbers, so that sums over groups have one order."""
        return rows[np.argsort(self._devices[rows], kind="stable")]

    def interference_hz(self, snr_hz: Floats) -> Floats:
        """Return the power of the others of its group over the density of noise, for each upload [n].

        Args:
            snr_hz: [n] received power of each over the density of noise and of other cells' interference.
        """
        order = np.lexsort((self._devices, -snr_hz, self._number))
        number = self._number[order]
        sizes = np.bincount(number)
        place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[number]  # within the group
        received = np.zeros((sizes.size, int(sizes.max())))
        received[number, place] = snr_hz[order]
        must = Array(received.shape, "powers [groups, n] from 0", least=0.0)
        heard = called(self._uplink.interference, must, received)
        found = np.empty(len(order))
        found[order] = heard[number, place]
        return found

    def _groups(self, received_w: Floats) -> Ints:
        """Return the groups [n] of one cell's uploads."""
        what = "whole numbers [n] of groups, from 0 and below n"
        must = Array(received_w.shape, what, least=0, most=len(received_w) - 1, whole=True)
        groups = called(self._uplink.groups, must, received_w)
        # Numbered without gaps: a group without members would get a part of the band.
        numbered: Ints = np.unique(groups, return_inverse=True)[1]
        return numbered
