"""The training samples that participants hold in a round: their own, or shares of all that these devices hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from edgefl.core.arrays import Floats, Ids, Indices, Ints
from edgefl.core.errors import RunError
from edgefl.learning.partitions.base import holdings
from edgefl.learning.redivision import Redivision
from edgefl.records.ledger import Ledger
from edgefl.records.result_files import LABELS_BY_ROUND
from edgefl.scenario import RoundKey


@dataclass(eq=False)
class HeldSamples:
    """Returns how many samples participants train on; records their classes if the report asks for them."""

    labels: Ints | None  # [n] class of each training sample; None: the report does not ask for them
    parts: Sequence[Indices]  # [devices] the training samples that each device holds
    redivision: Redivision | None  # divides the samples of a round's participants; None: they keep theirs
    ledger: Ledger  # records the classes
    several_sessions: bool = field(kw_only=True)  # whether messages name the session of a round

    @property
    def redivides(self) -> bool:
        """True if the samples of a round's participants are divided among them again."""
        return self.redivision is not None

    def own_sizes(self, ids: Ids) -> Floats:
        """Return how many samples devices [n] hold themselves."""
        return np.array([len(self.parts[device]) for device in ids.tolist()], dtype=np.float64)

    def sizes(self, ids: Ids, index: int) -> Ints | None:
        """Return how many samples each participant [n], ascending, has in round `index`; None: all that it holds."""
        if self.redivision is None:
            return None
        return self.redivision.sizes(ids, index)

    def note(self, ids: Ids, round_key: RoundKey, index: int) -> None:
        """Check that the samples of participants [n], ascending, can be divided; record their classes if asked for.

        Raises:
            RunError: the samples of these participants cannot be divided as the scenario asks.
        """
        if self.redivision is None and self.labels is None:
            return
        parts = [self.parts[device] for device in ids.tolist()]
        if self.redivision is not None:
            try:
                parts = self.redivision.parts(ids, index)
            except RunError as error:
                raise RunError(f"{round_key.named(several=self.several_sessions)}: {error}") from error
        if self.labels is None:
            return
        held = holdings(self.labels, parts)
        devices = ids[np.array(held["device"], dtype=np.int64)]  # `holdings` counts the parts
        rows = zip(devices.tolist(), held["label"], held["samples"], strict=True)
        self.ledger.enter_rows(LABELS_BY_ROUND, *round_key, rows)
