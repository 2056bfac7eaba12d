"""The order of images in memory: on CPUs convolutions are fastest with the channels of a pixel side by side."""

import torch
from torch import Tensor

from edgefl.core.plugins import is_outside
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.models import Model
from edgefl.learning.models.images import ImageModel

BATCH_OF_IMAGES = 4  # axes: samples, channels, height, width
MOST_PARAMETERS = 2**20  # each step reorders all weights and gradients, which in larger models costs more than it saves


def channels_last(x: Tensor) -> Tensor:
    """Return images [B, C, H, W] on a CPU with channels last in memory; other tensors as they are."""
    if x.ndim != BATCH_OF_IMAGES or x.device.type != "cpu":
        return x
    return x.contiguous(memory_format=torch.channels_last)


def fastest_layout(x: Tensor, model: Model, network: Network) -> Tensor:
    """Return samples x [B, ...] in the layout that lets autograd compute the model's network fastest.

    A network from outside gets x as it is, as it may take views that need channels first.
    """
    if not isinstance(model, ImageModel) or is_outside(type(model)):
        return x
    if len(network.parameters) > MOST_PARAMETERS:
        return x
    return channels_last(x)
