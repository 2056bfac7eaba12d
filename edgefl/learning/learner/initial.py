"""The initial model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from edgefl.core.streams import Streams
from edgefl.learning.datasets import Data
from edgefl.learning.learner.network import flatten
from edgefl.learning.models import Model


def build_module(model: Model, data: Data, streams: Streams) -> nn.Module:
    """The network with its layers' own initialisation, drawn from the stream "init"."""
    with torch.random.fork_rng(devices=[]):  # layers draw from torch's generator: it is lent a keyed state
        torch.default_generator.manual_seed(int(streams.generator("init").integers(2**63)))
        return model.module(data.shape, data.classes)


def initial_parameters(model: Model, data: Data, module: nn.Module) -> Tensor:
    """The flat initial model [d] as the scenario's `model.init` says.

    Raises:
        InputError: the file does not hold a vector of that length.
    """
    parameters = list(module.parameters())
    if model.init.kind == "default":
        return flatten(parameters, parameters[0])
    return torch.from_numpy(model.init.vector(model.parameters(data.shape, data.classes)))
