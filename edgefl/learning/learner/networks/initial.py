"""The initial model."""

import torch
from torch import Tensor, nn

from edgefl.core.streams import Streams
from edgefl.learning.datasets import Data
from edgefl.learning.learner.networks.flat_vectors import flatten
from edgefl.learning.learner.networks.module_state import trained_parameters
from edgefl.learning.models import Model
from edgefl.learning.models.parted import Parted


def build_module(model: Model, data: Data, streams: Streams, device: int | None = None) -> nn.Module:
    """Return the network with its layers' initialisation, drawn from the stream "init"; or that of a `device`."""
    # Layers draw from torch's global generator, which gets a keyed state for as long as they do.
    with torch.random.fork_rng(devices=[]):
        entity = 0 if device is None else device + 1
        torch.default_generator.manual_seed(int(streams.generator("init", entity).integers(2**63)))
        return model.module(data.shape, data.outputs)


def initial_parameters(model: Model, data: Data, module: nn.Module) -> Tensor:
    """Return the flat initial model [d] as `model.init` says, and make it that of frozen parameters, too.

    Raises:
        InputError: the file holds another length.
    """
    if isinstance(model, Parted) and model.bare.init.kind != "default":
        model.fill(module, data.shape, data.outputs)
    elif model.init.kind != "default":
        return torch.from_numpy(model.init.vector(model.parameters(data.shape, data.outputs)))
    parameters = list(trained_parameters(module, model.kept_names(module)).values())
    return flatten(parameters, parameters[0])
