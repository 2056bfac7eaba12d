"""Uploads as they come out of the scenario's codec, and what it has lost of each device's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from edgefl.core.streams import Streams
from edgefl.learning.codecs.base import Codec
from edgefl.learning.codecs.none import NoCodec
from edgefl.learning.learner.round import Job
from edgefl.learning.learner.store import Home, StateStore


class Compression:
    """Codes what devices upload; with error feedback each adds to its next upload what its last one has lost.

    Args:
        codec: the scenario's.
        initial: [d] the model, for the size and kind of what is coded.
        clients: how many devices there are.
        streams: keyed randomness.
        home: where what is lost is kept, see StateStore.
    """

    def __init__(self, codec: Codec, initial: Tensor, clients: int, streams: Streams, home: Home) -> None:
        self._codec, self._initial, self._clients, self._streams, self._home = codec, initial, clients, streams, home
        self.lost: StateStore | None = None  # of each upload by device, once there is any

    def apply(self, jobs: Sequence[Job], uploads: Mapping[str, Tensor]) -> None:
        """Replace uploads [C, d] by what the server decodes of them; scalars are sent as they are."""
        if isinstance(self._codec, NoCodec):
            return
        ids, d = np.array([job.device for job in jobs]), len(self._initial)
        vectors = {name: upload for name, upload in uploads.items() if upload.shape[1] == d}
        if self._codec.error_feedback:
            for name, lost in (self.lost or self.expect(vectors)).gather(ids).items():
                vectors[name] += lost
        losses = {name: torch.empty_like(upload) for name, upload in vectors.items()}
        for row, job in enumerate(jobs):
            rng = self._streams.generator("codec", job.device, job.index)
            for name, upload in vectors.items():
                decoded = self._codec.decoded(upload[row], rng)
                losses[name][row] = upload[row] - decoded
                upload[row] = decoded
        if self.lost is not None:
            self.lost.scatter(ids, losses)

    def expect(self, names: Iterable[str]) -> StateStore:
        """Make room for what uploads of these names lose; nothing is lost yet."""
        nothing = dict.fromkeys(names, torch.zeros_like(self._initial))
        self.lost = StateStore(nothing, self._clients, self._home)
        return self.lost
