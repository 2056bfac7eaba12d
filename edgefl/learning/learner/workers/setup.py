"""The parts of a learner: torch's devices and precision, and a trainer on each device."""

from dataclasses import dataclass

import torch
from torch import Tensor

from edgefl.learning.learner.engines.samples import Samples
from edgefl.learning.learner.engines.step_graphs import Recording
from edgefl.learning.learner.networks.initial import build_module, initial_parameters
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.task import LearningTask
from edgefl.learning.learner.workers.trainer import Trainer
from edgefl.learning.models.imported import has_own_network


@dataclass(frozen=True)
class TrainersOnDevices:
    """A trainer on each torch device, and the model that they start from, on the first one."""

    trainers: list[Trainer]
    initial: Tensor  # [d] parameters that travel
    kept: Tensor  # [k] trained parameters that stay at devices; each has its own
    statistics: Tensor  # [b] of batch normalisation

    own_statistics: Tensor  # the same if devices keep theirs, otherwise empty

    @property
    def network(self) -> Network:
        """The network on the first device."""
        return self.trainers[0].network


def build_trainers(task: LearningTask, devices: list[str]) -> TrainersOnDevices:
    """Build the model, and a trainer with a copy of all samples on each torch device.

    Raises:
        InputError: the model does not fit the data, or the initial parameters do not fit the model.
    """
    module = build_module(task.model, task.data, task.streams).to(task.dtype)
    initial = initial_parameters(task.model, task.data, module).to(devices[0], task.dtype)
    own_code = has_own_network(task.model)
    kept = task.model.kept_names(module)
    travelling = len(initial) - sum(dict(module.named_parameters())[name].numel() for name in kept)
    data = task.stored
    recording = Recording()
    trainers = []
    for device in devices:
        train = Samples(
            x=data.train_x,
            y=data.train_y,
            mean=data.mean,
            std=data.std,
            device=device,
            dtype=task.dtype,
            augmentation=task.augmentation,
            weight=task.sample_weights,
        )
        test = Samples(x=data.test_x, y=data.test_y, mean=data.mean, std=data.std, device=device, dtype=task.dtype)
        network = Network(module.to(device), own_code=own_code, kept=kept)
        trainers.append(Trainer(task=task, network=network, train=train, test=test, recording=recording))
    statistics = trainers[0].network.initial_statistics.to(devices[0])
    own_statistics = statistics[:0]
    if task.training.batch_norm == "local" or task.model.keeps_statistics(module):
        own_statistics = statistics
    return TrainersOnDevices(trainers, initial[:travelling], initial[travelling:], statistics, own_statistics)


def trainer_on_cpu(task: LearningTask) -> Trainer:
    """Return a new trainer for a process on a CPU, which trains as the first one of `build_trainers` does."""
    return build_trainers(task, ["cpu"]).trainers[0]


def torch_devices(device: str) -> list[str]:
    """Return the torch devices behind cpu, cuda (all GPUs of this machine) or cuda:i."""
    if device == "cuda":
        return [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    return [device]
