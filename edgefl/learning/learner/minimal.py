"""Uploads without what the server can work out itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from edgefl.core.arrays import Floats
from edgefl.learning.algorithms import Algorithm, LocalContext, RunInfo
from edgefl.learning.learner.round import Job, stacked
from edgefl.learning.training_section import Training


def completed(
    uploads: Mapping[str, Tensor],
    jobs: Sequence[Job],
    steps: Floats,
    weights: Floats,
    algorithm: Algorithm,
    training: Training,
    run: RunInfo,
) -> dict[str, Tensor]:
    """Uploads [C, ...] with the vectors that were left out, as the algorithm derives them from the others.

    Args:
        uploads: as they have arrived.
        jobs: [C] whose they are; the server knows what it has sent.
        steps: [C] local steps.
        weights: [C] samples held, over the mean of all devices.
        algorithm: knows what is `derived`.
        training: for the learning rates.
        run: what all rounds have in common.
    """
    start = stacked([job.start for job in jobs])
    of_jobs = [job.lr for job in jobs], steps, weights, [job.index for job in jobs]
    lr, k, omega, index = (start.new_tensor(each)[:, None] for each in of_jobs)
    received = {name: stacked([job.received[name] for job in jobs]) for name in jobs[0].received}
    return {**uploads, **algorithm.derived(uploads, LocalContext(start, lr, received, {}, k, omega, index, run=run))}
