"""The training samples that participants hold in a round: their own, or shares of all that these devices hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats, Ids, Indices, Ints
from edgefl.core.errors import RunError
from edgefl.learning.partitions.base import holdings
from edgefl.learning.redivision import Redivision
from edgefl.records.ledger import Ledger
from edgefl.records.result_files import LABELS_BY_ROUND
from edgefl.scenario import RoundKey


class HeldSamples:
    """Tells how many samples participants train on, and records of which classes they are, where the report wants it.

    Args:
        labels: [n] class of each training sample; None: the report does not want to know them.
        parts: [devices] the training samples that each device holds.
        redivision: divides the samples of a round's participants anew; None: they keep theirs.
        ledger: records the classes.
        several_sessions: whether messages name the session of a round.
    """

    def __init__(
        self,
        labels: Ints | None,
        parts: Sequence[Indices],
        redivision: Redivision | None,
        ledger: Ledger,
        *,
        several_sessions: bool,
    ) -> None:
        self._labels = labels
        self._parts = parts
        self._redivision = redivision
        self._ledger = ledger
        self._several_sessions = several_sessions

    @property
    def redivides(self) -> bool:
        """True if the samples of a round's participants are divided among them anew."""
        return self._redivision is not None

    def own_sizes(self, ids: Ids) -> Floats:
        """Return how many samples devices [n] hold themselves."""
        return np.array([len(self._parts[device]) for device in ids.tolist()], dtype=np.float64)

    def sizes(self, ids: Ids, index: int) -> Ints | None:
        """Return how many samples each participant [n] has in a round; None: all that the device holds.

        Args:
            ids: [n] the participants, ascending.
            index: index of the round, from 0.
        """
        if self._redivision is None:
            return None
        return self._redivision.sizes(ids, index)

    def note(self, ids: Ids, round_key: RoundKey, index: int) -> None:
        """Check that the samples of participants [n], ascending, can be divided; record their classes if wanted.

        Raises:
            RunError: the samples of these participants cannot be divided as the scenario says.
        """
        parts = [self._parts[device] for device in ids.tolist()]
        if self._redivision is not None:
            try:
                parts = self._redivision.parts(ids, index)
            except RunError as error:
                raise RunError(f"{round_key.named(several=self._several_sessions)}: {error}") from error
        if self._labels is None:
            return
        held = holdings(self._labels, parts)
        devices = ids[np.array(held["device"], dtype=np.int64)]  # `holdings` counts the parts
        rows = zip(devices.tolist(), held["label"], held["samples"], strict=True)
        self._ledger.enter_rows(LABELS_BY_ROUND, *round_key, rows)
