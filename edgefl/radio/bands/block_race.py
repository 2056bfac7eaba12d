"""The progress of transfers with link adaptation on a band, until its next division."""

import numpy as np

from channel import link_columns, link_race
from channel.link_adaptation import LinkAdaptation
from channel.link_race import Table
from channel.rate import SHANNON
from edgefl.core.arrays import Floats
from edgefl.radio.bands.rows import BandRows
from edgefl.radio.prices.transmission import effective_snr

ROW_SLOTS = 2**13  # walked at once, all rows together; some are walked again if a transfer joins meanwhile
LEAST_SLOTS = 16  # walked at once, however many rows there are


class BlockRace:
    """The transport blocks of transfers [n] that keep their shares, walked until the first payload is complete.

    Args:
        adaptation: how links are adapted.
        rows: the transfers, with their SNRs; their state is that of the division until `settle`.
        share_hz: [n] bandwidth that carries payload.
        slot: number of the slot that begins.
        slot_s: length of a slot.
        most_slots: how long the shares hold.
    """

    def __init__(
        self, *, adaptation: LinkAdaptation, rows: BandRows, share_hz: Floats, slot: int, slot_s: float, most_slots: int
    ) -> None:
        self._adaptation = adaptation
        self._rows = rows
        self._slot = slot
        self._slot_s = slot_s
        self._most_slots = most_slots
        self._links = link_race.links(rows.correlation, rows.k_factor, rows.mean_snr, share_hz * slot_s, rows.left_bits)
        rows.blocks.state[:, link_columns.BITS] = 0.0
        self._before = rows.blocks  # before the slots that were walked last
        self._before_slots = 0
        self._after = rows.blocks.copy()
        self.slots = 0  # so far
        self._walk()

    def _walk(self) -> None:
        room = max(ROW_SLOTS // len(self._rows), LEAST_SLOTS)
        self.slots += self._race(self._after, self.slots, min(room, self._most_slots - self.slots))

    def goes_on(self) -> bool:
        """Walk more slots and return True, unless a payload is complete or the shares hold no longer."""
        complete = self._after.state[:, link_columns.BITS] >= self._rows.left_bits
        if self.slots >= self._most_slots or complete.any():
            return False
        self._before = self._after.copy()
        self._before_slots = self.slots
        self._walk()
        return True

    def settle(self, slots: int) -> Floats:
        """Let some of the slots pass, and return the bits [n] sent in them."""
        if slots < self.slots:
            self._after.put_back(self._before)
            self._race(self._after, self._before_slots, slots - self._before_slots)
        self._rows.blocks.put_back(self._after)
        return self._after.state[:, link_columns.BITS]

    def _race(self, table: Table, first: int, slots: int) -> int:
        given = coming_snr(self._rows, self._slot + first, slots, self._slot_s)
        return link_race.race(self._adaptation, table, self._links, self._rows.sources, slots, given)


def coming_snr(rows: BandRows, first: int, slots: int, slot_s: float) -> Floats | None:
    """Return the SNRs [n, slots] from slot `first` on of rows whose fading is a function of time; None: there are none.

    Other rows of the result have no meaning.
    """
    in_time = np.flatnonzero(rows.in_time & (rows.mean_snr > 0))
    if not in_time.size:
        return None
    snr = np.empty((len(rows), slots))
    for row in in_time.tolist():
        snr[row] = effective_snr(rows.bps_hz_in_time(row, first, slots, SHANNON, slot_s))
    return snr
