"""The power of choice."""

from typing import ClassVar, Literal

import numpy as np

from edgefl.coordination.selection.base import Selection, draws, lowest, weighted
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids, Ints
from edgefl.core.section import Count
from edgefl.core.streams import Streams


class PowerOfChoice(Selection):
    """The highest losses among d candidates, drawn by their samples (Cho, Wang & Joshi, arXiv 2010.01243).

    In pow-d and cpow-d, candidates are sent the model and report its loss on all their samples, or on a mini-batch. In
    rpow-d, the training loss of a device's last update stands for it, and a device that has never sent one comes first.
    """

    needs_losses: ClassVar[bool] = True  # every variant chooses by losses

    # Loss on all samples (pow-d), on a mini-batch (cpow-d), or the last training loss (rpow-d).
    variant: Literal["pow-d", "cpow-d", "rpow-d"] = "pow-d"
    d: Count | None = None  # Number of candidates; by default twice the participants.
    batch_size: Count = 50  # Size of the mini-batch in cpow-d, b.

    @property
    def report_floats(self) -> int:
        """In rpow-d, devices report the mean loss of their local steps."""
        return int(not self.polls)

    @property
    def polls(self) -> bool:
        """Candidates are asked in pow-d and cpow-d."""
        return self.variant != "rpow-d"

    def check(self, count: int, participants: int) -> str | None:
        """Return why there cannot be d candidates; None if there can."""
        if self.d is None or participants <= self.d <= count:
            return None
        return f"d must be from server.participants = {participants} to devices.count = {count}, got {self.d}"

    def candidates(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return d devices, drawn without replacement with probabilities by their numbers of samples."""
        wanted = self.d or 2 * participants
        return weighted(present, view.samples[present], draws(present, index, streams), wanted)

    def polled_samples(self, samples: Ints) -> Ints:
        """Return all samples [n], or at most a mini-batch of them in cpow-d."""
        if self.variant != "cpow-d":
            return samples
        return np.minimum(samples, self.batch_size)

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the candidates with the highest losses; ties are drawn."""
        candidates = present  # those that were polled and have answered
        if not self.polls:
            candidates = self.candidates(present, participants, index, streams, view)
        # A device that has never reported a loss comes first, so that all are heard.
        loss = np.nan_to_num(view.loss[candidates], nan=np.inf)
        return lowest(candidates, -loss, draws(candidates, index, streams, attempt=1), participants)
