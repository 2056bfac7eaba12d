"""A device without numbers: it knows shapes, types and places of tensors, and refuses what would stall a GPU.

On it a product of tensors of two devices is an error, and so is asking for a number (`.item()`, `bool(tensor)`,
`nonzero`): on a GPU the host would wait for all that has been launched before.

Autograd asks the driver about CUDA tensors, which a machine without a GPU does not have. So what differentiates runs
on "meta", which is like a GPU in all other respects; what does not runs on "cuda:0".
"""

import gc
import warnings
from concurrent.futures import Future
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import torch
from learner_cases import parts_in_order
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from edgefl.core.streams import Streams
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets import Data
from edgefl.learning.learner import LearningTask
from edgefl.learning.learner.client_inputs import ClientInputs, rounded_rates
from edgefl.learning.learner.jobs import Job, JobKey
from edgefl.learning.learner.round_training import RoundTraining
from edgefl.learning.learner.states.store import StateStore
from edgefl.learning.learner.workers.setup import build_trainers
from edgefl.learning.training_section import Training

CUDA = "cuda:0"
AUTOGRAD = "meta"
SIZES = [9, 4, 6]  # samples of three devices: unequal, so that clients end at different steps
# These launch no kernel: they make views, or tensors without content, or ask where a tensor is.
VIEWS = {"detach", "alias", "lift_fresh", "_unsafe_view"}
NO_KERNELS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "device", *VIEWS}


@contextmanager
def fake_device():
    """Make all tensors within fake; a module's `to` makes new parameters, as fake ones cannot be changed in place."""

    def like(tensor, target):
        if isinstance(target, torch.dtype):
            return torch.empty(tensor.shape, dtype=target if tensor.is_floating_point() else tensor.dtype)
        return torch.empty(tensor.shape, dtype=tensor.dtype, device=target)

    def to(module, target):
        for part in module.modules():
            for name, parameter in part._parameters.items():
                if parameter is not None:
                    part._parameters[name] = nn.Parameter(like(parameter, target), parameter.requires_grad)
            for name, buffer in part._buffers.items():
                if buffer is not None:
                    part._buffers[name] = like(buffer, target)
        return module

    def new_tensor(tensor, values):
        # Torch's own knows the kind of a fake tensor's device, but not which of several GPUs it is.
        return torch.tensor(values, dtype=tensor.dtype, device=tensor.device)

    with (
        warnings.catch_warnings(),
        FakeTensorMode(allow_non_fake_inputs=True),
        patch.object(nn.Module, "to", to),
        patch.object(torch.Tensor, "new_tensor", new_tensor),
    ):
        warnings.filterwarnings("ignore", "Accessing the data pointer of FakeTensor")  # by a deepcopy of a module
        yield
        gc.collect()


class Launches(TorchDispatchMode):
    """Counts kernels that are launched on the device, and copies between it and the host."""

    def __init__(self):
        super().__init__()
        self.kernels = 0
        self.copies = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        tensors = [value for value in (result, *args) if isinstance(value, torch.Tensor)]
        places = {tensor.device.type for tensor in tensors}
        if "cpu" in places and len(places) > 1:
            self.copies += 1
        elif places - {"cpu"} and not function.is_view and function.overloadpacket.__name__ not in NO_KERNELS:
            self.kernels += 1
        return result


class CountedReplays:
    """Records steps in the place of `CudaGraphs`; a replay does nothing but count."""

    replays = 0

    def __init__(self, device):
        self.device = device

    def __call__(self, step):
        step()

        def replay():
            type(self).replays += 1

        return replay


def task_on(
    model, x, classes, algorithm=None, *, sizes=SIZES, augmentation=None, cut=None, dtype="float32", **training
):
    """Return a task on samples x, an array, with random labels; made outside of `fake_device`, as it draws numbers."""
    y = np.random.default_rng(0).integers(0, max(classes, 1), len(x))
    data = Data(x, y, x[:5], y[:5], classes, dtype=dtype)
    work = {} if "local_epochs" in training else {"local_steps": 2}
    return LearningTask(
        model=model,
        algorithm=algorithm or FedAvg(),
        training=Training.model_validate({"batch_size": 4, "lr": 0.05, **work, **training}),
        data=data,
        parts=parts_in_order(sizes),
        streams=Streams(3),
        augmentation=augmentation,
        cut=cut,
    )


def trained_on(task, device, plan, rates=None, built=None):
    """Return what the task's devices send after a round on a fake device, and the trainer."""
    built = built or build_trainers(task, [device])
    (trainer,) = built.trainers
    algorithm = task.algorithm
    count = len(task.parts)
    received = algorithm.downlink(algorithm.server_state(built.initial))
    state = algorithm.client_state(built.initial)
    inputs = ClientInputs(
        start=built.initial[None],
        received={name: value[None] for name, value in received.items()},
        state={name: value[None].expand(count, -1) for name, value in state.items()},
        statistics=built.statistics[None],
        lr=rounded_rates(rates or [0.05] * count, torch.float32),
        run=task.run_info(),
    )
    order = sorted(range(count), key=lambda device: -len(task.parts[device]))
    jobs = [JobKey(device, 0, None) for device in order]
    cohorts = [jobs] if plan.engine == "batched" else [[job] for job in jobs]
    return trainer.train(plan, cohorts, inputs), trainer, built


def places(trained):
    """Return on which devices the results of local training are."""
    tensors = [*trained.uploads.values(), *trained.state.values(), trained.losses, trained.statistics]
    return {str(tensor.device) for tensor in tensors}


class Alternating:
    """Workers that take calls in turn and at once: fake tensors exist only in the thread that has made them."""

    def __init__(self, handlers):
        self._handlers = handlers
        self.calls = 0

    def __len__(self):
        return len(self._handlers)

    def submit(self, method, arguments, take):
        handler = self._handlers[self.calls % len(self)]
        self.calls += 1
        future = Future()
        try:
            future.set_result(take(getattr(handler, method)(*arguments())))
        except RuntimeError as error:
            future.set_exception(error)
        return future


def round_on(task, devices, plan, home="device"):
    """Return a round of the task's devices on several fake GPUs, after it: its trainers, workers and states."""
    built = build_trainers(task, devices)
    algorithm = task.algorithm
    received = algorithm.downlink(algorithm.server_state(built.initial))
    store = StateStore(initial=algorithm.client_state(built.initial), clients=len(task.parts), home=home)
    lr = task.training.lr
    jobs = [Job(number, 0, built.initial, received, built.statistics, lr) for number in range(len(task.parts))]
    workers = Alternating(built.trainers)
    training = RoundTraining(jobs, workers, store, task.run_info())
    training.train(np.argsort([-len(part) for part in task.parts], kind="stable"), plan)
    return training, built, workers, store
