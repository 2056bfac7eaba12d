"""Compression of uploads by the scenario's codec, with error feedback."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from edgefl.core.returns import ANYTHING, called, is_trusted, kind, wrong
from edgefl.learning.learner.jobs import Job
from edgefl.learning.learner.states.store import StateStore
from edgefl.learning.learner.task import LearningTask


class Compression:
    """Encodes and decodes uploads; with error feedback a device adds to an upload what its last one lost."""

    def __init__(self, task: LearningTask, initial: Tensor) -> None:
        self._task = task
        self._codec = task.training.codec
        self._initial = initial
        self.lost: StateStore | None = None  # the loss in each device's last upload; None before error feedback begins

    def apply(self, jobs: Sequence[Job], uploads: Mapping[str, Tensor]) -> None:
        """Replace uploads [C, d] by what the server decodes; scalars are sent as they are."""
        if not self._codec.compresses:
            return
        ids = np.array([job.device for job in jobs])
        # uploads of other sizes than the model's are scalars
        vectors = {name: upload for name, upload in uploads.items() if upload.shape[1] == len(self._initial)}
        if self._codec.error_feedback:
            store = self.lost or self.make_room(vectors)
            for name, lost in store.gather(ids).items():
                vectors[name] += lost
        # client by client, as a codec is written for one vector
        losses = {name: torch.empty_like(upload) for name, upload in vectors.items()}
        for row, job in enumerate(jobs):
            # one generator for all vectors of a device, so that each has draws of its own
            rng = self._task.streams.generator("codec", job.device, job.index)
            for name, upload in vectors.items():
                decoded = called(self._codec.decoded, ANYTHING, upload[row], rng)
                self._check(decoded, upload[row])
                losses[name][row] = upload[row] - decoded
                upload[row] = decoded
        if self.lost is not None:
            self.lost.scatter(ids, losses)

    def _check(self, decoded: Tensor, upload: Tensor) -> None:
        """Check that a codec from outside has made a vector like the upload [d]; raise a `WrongReturn` if not."""
        if is_trusted(self._codec):
            return
        must = f"a tensor [{len(upload)}] of {upload.dtype}, finite where its argument is"
        if not isinstance(decoded, Tensor) or decoded.shape != upload.shape or decoded.dtype != upload.dtype:
            raise wrong(self._codec, "decoded", kind(decoded), must)
        if not decoded.isfinite().all() and upload.isfinite().all():
            raise wrong(self._codec, "decoded", "NaN or an infinite number", must)

    def make_room(self, names: Iterable[str]) -> StateStore:
        """Return a new store for the losses of the uploads of these names; nothing is lost yet."""
        # All vectors that are encoded have the size and type of the model.
        nothing_lost = dict.fromkeys(names, torch.zeros_like(self._initial))
        self.lost = StateStore(initial=nothing_lost, clients=len(self._task.parts), home=self._task.training.state_home)
        return self.lost
