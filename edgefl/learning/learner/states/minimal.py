"""Minimal uploads, which leave out the vectors that the server can derive."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from edgefl.core.arrays import Floats
from edgefl.learning.algorithms import Algorithm, LocalContext, RunInfo
from edgefl.learning.learner.jobs import Job, stacked


def completed(
    uploads: Mapping[str, Tensor],
    jobs: Sequence[Job],
    steps: Floats,
    weights: Floats,
    algorithm: Algorithm,
    run: RunInfo,
) -> dict[str, Tensor]:
    """Return uploads [C, ...] with the vectors that were left out, as the algorithm derives them from the others.

    The uploads come from `jobs` [C], with local `steps` [C] and `weights` [C], omega.
    """
    start = stacked([job.start for job in jobs])
    received = {name: stacked([job.received[name] for job in jobs]) for name in jobs[0].received}
    known_to_server = LocalContext(
        start=start,
        lr=start.new_tensor([job.own_lr for job in jobs])[:, None],
        received=received,
        state={},  # stays with the device
        steps=start.new_tensor(steps)[:, None],
        weight=start.new_tensor(weights)[:, None],
        index=start.new_tensor([job.index for job in jobs])[:, None],
        run=run,
        device_id=start.new_tensor([job.device for job in jobs])[:, None],
    )
    return {**uploads, **algorithm.derived(uploads, known_to_server)}
