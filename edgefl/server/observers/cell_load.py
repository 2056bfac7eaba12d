"""The load of the cells: the share of their bands that downloads and uploads occupy."""

from dataclasses import dataclass, field

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.radio.transfers import WAYS, Way
from edgefl.records.ledger import Ledger
from edgefl.records.result_files import CELL_LOAD
from edgefl.server.observer import EndedRound, Observer, RoundColumns
from edgefl.server.participation import sent_by_cells


@dataclass(kw_only=True, eq=False)
class CellLoad(Observer):
    """Tells how long the whole band would have been occupied, over the time of the round.

    Participations count in the round where they end, and in the cell that served them when they began, as in
    devices.csv. The band of a direction is that of one cell: its part of a reused band, its slots of a frame.
    """

    cells: int
    broadcast: bool  # whether a cell sends a download once, to all devices that begin together
    ledger: Ledger  # takes a table by cell, of several cells
    _lasted_s: float = field(default=0.0, init=False)  # the last round

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the load of all cells in the round that ends, and record that of each cell."""
        self._lasted_s = ended.until_s - ended.since_s
        return self._record(ended)

    def run_ends(self, ended: EndedRound) -> RoundColumns:
        """Return what participations that were cut off add to the load in the last round."""
        return self._record(ended)

    def _record(self, ended: EndedRound) -> RoundColumns:
        if not self._lasted_s > 0:
            return {"load_down": 0.0, "load_up": 0.0}
        loads = {way: self._band_s(way, ended) / self._lasted_s for way in WAYS}
        if self.cells > 1:
            self.ledger.enter_rows(CELL_LOAD, ended.key.session, ended.key.round, self._rows(loads, ended))
        return {f"load_{way}": float(loads[way].mean()) for way in WAYS}

    def _rows(self, loads: dict[Way, Floats], ended: EndedRound) -> list[tuple[int, float, float, int, int]]:
        cell = ended.devices["cell"]
        bytes_down = np.bincount(cell, ended.devices["bytes_down"], self.cells).astype(np.int64)
        bytes_up = np.bincount(cell, ended.devices["bytes_up"], self.cells).astype(np.int64)
        columns = (loads["down"], loads["up"], bytes_down, bytes_up)
        served = np.unique(cell)
        rows = zip(served.tolist(), *(column[served].tolist() for column in columns), strict=True)
        return list(rows)

    def _band_s(self, way: Way, ended: EndedRound) -> Floats:
        """Return how long the whole band would have been occupied [cells]."""
        if way == "up":
            occupied = [(part.cell, part.up.band_s) for part in ended.parts]
        else:
            occupied = sent_by_cells(ended.parts, lambda down: down.band_s, broadcast=self.broadcast)
        band_s = np.zeros(self.cells)
        for cell, seconds in occupied:
            band_s[cell] += seconds
        return band_s
