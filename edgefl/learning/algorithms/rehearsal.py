"""Rounds on short vectors of made-up numbers before a run, which find hooks that return wrong values.

Nothing is learned, so this takes milliseconds and needs neither data nor a model. Hooks of local training are called as
both engines call them: for one device, and for several together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefl.core.errors import InputError
from edgefl.learning.algorithms.base import Algorithm, Batch, ForwardPass, LocalContext, RunInfo, Updates
from edgefl.learning.algorithms.contracts import AWAITED
from edgefl.learning.algorithms.hook_errors import HookError
from edgefl.learning.algorithms.steps import initial_state, new_session, upload
from edgefl.learning.algorithms.trial import from_outside
from edgefl.learning.algorithms.watched import Watched
from edgefl.learning.algorithms.wrapper import Wrapper

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from edgefl.core.arrays import Ids

LENGTH = 8  # parameters of the made-up model
BATCH = 5  # samples of a mini-batch
CLASSES = 3
STEPS = 3  # local steps
LR = 0.1


class Rehearsal:
    """The server and the devices of a made-up run of an algorithm, usually a `Watched` one."""

    def __init__(self, algorithm: Algorithm, population: int, dtype: torch.dtype | None = None) -> None:
        import torch

        self.algorithm = algorithm
        self.population = population
        # All numbers differ, and none is 0: a hook may treat equal numbers and 0 differently.
        self.initial = torch.linspace(-1.0, 1.3, LENGTH, dtype=dtype)
        self.server: dict[str, Any] = initial_state(algorithm, self.initial, population)
        self.states: dict[int, Mapping[str, Tensor]] = {}  # of the devices that have taken part
        labels = (2 * population,) * CLASSES
        self.run = RunInfo(
            population=population,
            rounds=2,
            participants=min(2, population),
            lr=LR,
            steps=STEPS,
            labels=labels,
            test_labels=labels,
            samples=2.0 * CLASSES,
            work=(None, STEPS, None),
        )
        self._awaited: Ids = np.empty(0, dtype=np.int64)
        self._await(self._awaited, 0)

    def play(self) -> None:
        """Play two rounds, so that the second finds states that are not zeros any more, and begin a session.

        Raises:
            HookError: the algorithm is watched, and a hook fails or returns a wrong value.
        """
        self.round(np.unique([0, self.population - 1]), 0)
        self.round(np.unique([0, self.population // 2]), 1)
        self.algorithm.share_in_means(self._state(0), 1.0)
        self.server = new_session(self.algorithm, self.server, self.initial, self.population)

    def round(self, ids: Ids, index: int) -> Updates:
        """Play a round of the devices `ids` [C]; return their updates."""
        admitted = self.algorithm.admit(ids, self.server, np.random.default_rng(index))
        if len(admitted):  # where none is admitted, the other hooks are tried on devices that are not
            ids = admitted
        uploads, state = self._train(self._context(ids, index), ids)
        for device in ids.tolist():  # only to be checked: the results are those of all together
            self._train(self._context(np.array([device]), index).each(lambda value: value[0]), device)
        for row, device in enumerate(ids.tolist()):
            self.states[device] = {name: value[row] for name, value in state.items()}
        updates = self._updates(ids, uploads, index)
        self.algorithm.waits(self.server, ids)
        self.server = self.algorithm.aggregate(self.server, updates)
        self.algorithm.trace(self.server, updates)
        self.algorithm.contributors(self.server, updates)
        self._await(ids, index + 1)
        return updates

    def _await(self, received: Ids, index: int) -> None:
        """Ask the algorithm which devices the next model waits for."""
        rng = np.random.default_rng(index)
        self._awaited = self.algorithm.awaited(self._awaited, received, self.population, rng)
        if len(self._awaited):
            self.server[AWAITED] = self._awaited

    def _state(self, device: int) -> Mapping[str, Tensor]:
        return self.states.get(device) or self.algorithm.client_state(self.initial)

    def _context(self, ids: Ids, index: int) -> LocalContext:
        """Return what devices [C] know, as in the batched engine."""
        start = self.algorithm.broadcast(self.server).expand(len(ids), -1)
        column = start.new_ones(len(ids), 1)
        states = [self._state(device) for device in ids.tolist()]
        gradient: Tensor | float = 0.0
        if self.algorithm.needs_gradient:
            gradient = self._gradient(start, ids)
        return LocalContext(
            start=start,
            lr=LR,
            received={name: value.expand(len(ids), -1) for name, value in self.algorithm.downlink(self.server).items()},
            state={name: start.new_tensor([state[name].tolist() for state in states]) for name in states[0]},
            steps=STEPS * column,
            weight=column * start.new_tensor(ids % 3 + 1.0)[:, None] / 2,  # devices have unequal numbers of samples
            index=index * column,
            gradient=gradient,
            run=self.run,
            device_id=start.new_tensor(ids)[:, None],
        )

    def _gradient(self, w: Tensor, devices: Ids | int) -> Tensor:
        """Return gradients of made-up quadratics, a different one for each device."""
        centres = w.new_tensor(np.asarray(devices) % 7 / 7.0)[..., None]
        return 0.5 * (w - centres)

    def _train(self, local: LocalContext, devices: Ids | int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Call the hooks of local training on one device or several together; return their uploads and states."""
        algorithm = self.algorithm
        labels = local.start.new_tensor(np.arange(BATCH) % CLASSES).long()
        algorithm.labels(labels.expand(*local.start.shape[:-1], -1), local)
        self._loss(local)
        w = local.start
        for _ in range(STEPS):
            gradient = algorithm.correct(self._gradient(w, devices), w, local)
            w = w - LR * (gradient + algorithm.decay(local) * w)
        uploads = upload(algorithm, w, local, minimal=False)
        algorithm.derived(uploads, local)
        return uploads, algorithm.remember(w, local)

    def _loss(self, local: LocalContext) -> None:
        """Call the hook `loss` on made-up outputs, if the algorithm compares models."""
        references = self.algorithm.references(local)
        if not references:
            return
        lead = local.start.shape[:-1]
        numbers = local.start.new_tensor(np.linspace(-1.0, 1.1, BATCH * CLASSES)).reshape(BATCH, CLASSES)
        own = ForwardPass(numbers.expand(*lead, -1, -1), numbers.expand(*lead, -1, -1))
        flipped = own.outputs.flip(-1)
        others = {name: ForwardPass(flipped / place, flipped / place) for place, name in enumerate(references, 2)}
        losses = numbers.square().sum(dim=-1).expand(*lead, -1)
        labels = (numbers[:, 0] > 0).long().expand(*lead, -1)
        self.algorithm.loss(losses, own, others, Batch(labels, losses * 0 + 1 / BATCH, local.received))

    def _updates(self, ids: Ids, uploads: Mapping[str, Tensor], index: int) -> Updates:
        sizes = 3 * (ids % 3 + 1)
        return Updates(
            vectors=uploads,
            ids=ids,
            samples=sizes,
            population=self.population,
            steps=np.full(len(ids), float(STEPS)),
            losses=np.linspace(1.0, 2.0, len(ids)),
            staleness=np.arange(len(ids)),
            starts=(self.algorithm.broadcast(self.server),) * len(ids),
            index=index,
            lr=LR,
            labels=np.tile(sizes[:, None] // CLASSES, CLASSES),
            statistics=self.initial.new_empty(len(ids), 0),
            run=self.run,
        )


def rehearse_outside(algorithm: Algorithm, population: int) -> None:
    """Try the hooks of an algorithm from outside edgefl; those of a wrapper and of its base are tried separately.

    Raises:
        InputError: a hook fails, or returns another shape, type or key than it must, or NaN.
    """
    if isinstance(algorithm, Wrapper):
        rehearse_outside(algorithm.base, population)
    if not from_outside(type(algorithm)):
        return
    try:
        Rehearsal(Watched(base=algorithm), population).play()
    except HookError as error:
        raise InputError(str(error)) from error
