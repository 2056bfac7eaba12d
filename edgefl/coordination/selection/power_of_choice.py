"""The power of choice."""

from __future__ import annotations

from typing import Literal

import numpy as np

from edgefl.coordination.selection.base import Selection, draws, lowest, weighted
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.section import Count
from edgefl.core.streams import Streams


class PowerOfChoice(Selection):
    """Of d candidates, drawn by their samples, those with the highest loss (Cho, Wang & Joshi, arXiv 2010.01243).

    In pow-d and cpow-d candidates are sent the model and say its loss on all their samples, or on a mini-batch; in
    rpow-d the training loss that came with a device's last update serves, and who has never sent one comes first.
    """

    variant: Literal["pow-d", "cpow-d", "rpow-d"] = "pow-d"
    d: Count | None = None  # candidates; twice the participants where not given
    batch_size: Count = 50  # of the mini-batch in cpow-d, b

    @property
    def reports(self) -> int:
        """In rpow-d the mean loss of the local steps."""
        return int(not self.polls)

    @property
    def by_loss(self) -> bool:
        """In every variant."""
        return True

    @property
    def polls(self) -> bool:
        """Unless the last loss that the server has seen serves."""
        return self.variant != "rpow-d"

    def check(self, count: int, participants: int) -> str | None:
        """Candidates are devices, and enough to choose from."""
        if self.d is None or participants <= self.d <= count:
            return None
        return f"d must be from server.participants = {participants} to devices.count = {count}, got {self.d}"

    def candidates(self, present: Ids, participants: int, index: int, streams: Streams, known: ServerView) -> Ids:
        """Without replacement, with chances by the samples held."""
        wanted = self.d or 2 * participants
        return weighted(present, known.samples[present], draws(present, index, streams), wanted)

    def polled_samples(self, samples: Ids) -> Ids:
        """All, or a mini-batch."""
        return np.minimum(samples, self.batch_size) if self.variant == "cpow-d" else samples

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, known: ServerView) -> Ids:
        """The highest losses; ties are drawn."""
        asked = present if self.polls else self.candidates(present, participants, index, streams, known)
        gain = np.nan_to_num(known.loss[asked], nan=np.inf)
        return lowest(asked, -gain, draws(asked, index, streams, attempt=1), participants)
