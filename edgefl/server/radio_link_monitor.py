"""Radio-link monitoring: a device finds out that the link to its base station has failed."""

from edgefl.core.arrays import Floats
from edgefl.core.times import steps_begun
from edgefl.world.cells_section import RadioLinkFailure


class RadioLinkMonitor:
    """Counts indications of a link's quality (3GPP TS 38.331, clause 5.3.10; TS 38.133, clause 8.1).

    A measurement below `out_of_sync_db` is an indication "out of sync", one from `in_sync_db` on "in sync"; others are
    none. N310 indications out of sync in a row start the timer T310, N311 in sync in a row stop it. When it expires,
    the link has failed.

    Args:
        section: the section `cells.handover.radio_link_failure`.
        measure_s: time between two measurements.
    """

    def __init__(self, section: RadioLinkFailure, measure_s: float) -> None:
        self._section = section
        self._t310_steps = steps_begun(section.t310_s, measure_s)
        self._left: int | None = None  # measurements until T310 expires; None: it does not run
        self._in_a_row = 0  # indications of the kind that start T310, or that stop it while it runs

    def failure(self, sinr_db: Floats) -> int | None:
        """Return the measurement, of those [t] that follow, at which the link fails; None if it does not.

        Measurements after a failure are not counted; the others must not be passed again.
        """
        # The common case: a good link, on which no timer runs.
        if self._left is None and not (sinr_db < self._section.out_of_sync_db).any():
            if (sinr_db >= self._section.in_sync_db).any():
                self._in_a_row = 0
            return None
        for number, level_db in enumerate(sinr_db.tolist()):
            if self._left is None:
                self._count_out_of_sync(level_db)
            else:
                self._left -= 1
                self._count_in_sync(level_db)
            if self._left is not None and self._left <= 0:
                return number
        return None

    def _count_out_of_sync(self, level_db: float) -> None:
        """Take in a measurement while T310 does not run."""
        if level_db >= self._section.in_sync_db:
            self._in_a_row = 0
        if level_db < self._section.out_of_sync_db:
            self._in_a_row += 1
        if self._in_a_row >= self._section.n310:
            self._left = self._t310_steps
            self._in_a_row = 0

    def _count_in_sync(self, level_db: float) -> None:
        """Take in a measurement while T310 runs."""
        if level_db < self._section.out_of_sync_db:
            self._in_a_row = 0
        if level_db >= self._section.in_sync_db:
            self._in_a_row += 1
        if self._in_a_row >= self._section.n311:
            self._left = None
            self._in_a_row = 0
