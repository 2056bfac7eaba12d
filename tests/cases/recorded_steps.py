"""A recorder of steps on the CPU that is as forgetful as a CUDA graph.

It keeps the operations of a step with the memory that they worked in and the numbers that the host handed to them. To
replay them is to do the same operations in the same memory: no line of Python runs again.
"""

from unittest.mock import patch

import numpy as np
import torch
from fake_gpu import task_on
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from edgefl.learning.learner.client_inputs import ClientInputs, rounded_rates
from edgefl.learning.learner.engines.step_graphs import Recording
from edgefl.learning.learner.jobs import JobKey
from edgefl.learning.learner.kernels import arithmetic
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.workers.setup import build_trainers
from edgefl.learning.learner.workers.trainer import Trainer


class Tape(TorchDispatchMode):
    """The operations that torch does within, with their arguments and results."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.calls.append((function, args, kwargs or {}, result))
        return result

    def replay(self):
        with torch.no_grad():
            for function, args, kwargs, result in self.calls:
                again = function(*args, **kwargs)
                for kept, value in zip(tree_leaves(result), tree_leaves(again), strict=True):
                    # A view, or what is written in place, is in the same memory as before.
                    if isinstance(kept, torch.Tensor) and kept.data_ptr() != value.data_ptr():
                        kept.copy_(value)


class Recorder:
    """Records on the CPU; counts records and replays."""

    def __init__(self):
        self.records = 0
        self.replays = 0

    def __call__(self, step):
        self.records += 1
        # NumPy's products are not operations of torch, and a tape would not notice them.
        with patch.object(arithmetic, "numpy_can_read", lambda _: False), Tape() as tape:
            step()

        def replay():
            self.replays += 1
            tape.replay()

        return replay


def trainer_of(task, recorder=None, device="cpu"):
    """A trainer, with a recorder if steps are to be recorded on the CPU, and the initial model."""
    built = build_trainers(task, [device])
    (trainer,) = built.trainers
    samples = trainer.samples
    network = Network(trainer.network.module)
    own = {"train": samples["train"], "test": samples["test"], "recording": Recording(), "record": recorder}
    return Trainer(task=task, network=network, **own), built


def two_rounds(task, plan, recorder=None, *, rates=(0.05, 0.02), same_start=True, device="cpu"):
    """Return the updates that a task's devices send in two rounds, each from models, states and rates of its own."""
    trainer, built = trainer_of(task, recorder, device)
    count = len(task.parts)
    order = sorted(range(count), key=lambda device: -len(task.parts[device]))
    algorithm = task.algorithm
    rng = torch.Generator().manual_seed(1)

    def moved(rows):
        noise = torch.randn(rows, len(built.initial), generator=rng, dtype=built.initial.dtype)
        return built.initial + 0.1 * noise.to(device)

    sent = []
    for index, rate in enumerate(rates):
        state = {name: value[None].repeat(count, 1) for name, value in algorithm.client_state(built.initial).items()}
        for name, value in state.items():
            if value.shape[1] == len(built.initial):
                state[name] = value + 0.1 * moved(count)
            else:
                state[name] = torch.full_like(value, index)  # flags: not seen before the first round, but afterwards
        start = moved(1 if same_start else count)
        received = algorithm.downlink({**algorithm.server_state(start[0])})
        inputs = ClientInputs(
            start=start,
            received={name: value[None] + 0.01 * index for name, value in received.items()},
            state=state,
            statistics=built.statistics[None],
            lr=rounded_rates([rate] * count, built.initial.dtype),
            run=task.run_info(),
        )
        jobs = [JobKey(device, index, None) for device in order]
        sent.append(trainer.train(plan, [jobs], inputs))
    return sent


def task_with_graphs(model, x, classes, algorithm=None, **keys):
    """A task in double precision whose steps may be recorded."""
    return task_on(model, np.asarray(x, np.float64), classes, algorithm, dtype="float64", graphs="auto", **keys)
