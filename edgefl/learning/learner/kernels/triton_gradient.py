"""The loss gradients of several clients' networks of convolutions on a GPU, by kernels of our own."""

from collections.abc import Callable

import torch
from torch import Tensor
from typing_extensions import override

from edgefl.learning.algorithms import Algorithm, ForwardPass
from edgefl.learning.learner.kernels.gradients import References, Step
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.kernels.pixels.module_layers import layers_of_pixels
from edgefl.learning.learner.kernels.pixels.tiles import ARITHMETIC
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.models import Model


class TritonGradient(LayersGradient):
    """A GradientKernel with derivatives written by hand, for networks of convolutions.

    Torch computes such networks for one client after another, or for several as one grouped convolution, which leaves
    most of a GPU idle. These kernels (`pixels/`) have an axis for the clients. Losses, dense layers and the algorithm's
    part of the loss are those of LayersGradient, in float32; only what is a convolution, and the images between
    convolutions, have the `precision` of `training.precision`.
    """

    @staticmethod
    @override
    def fits(network: Network, model: Model, *, several_labels: bool = False) -> bool:
        """Return True if the module is made of known layers in single precision, with one label for each sample."""
        if model.has_own_loss or several_labels:
            return False
        dtypes = {parameter.dtype for parameter in network.module.parameters()}
        return dtypes == {torch.float32} and bool(layers_of_pixels(network.module, ARITHMETIC["float32"]))

    def __init__(self, network: Network, model: Model, algorithm: Algorithm, precision: str) -> None:
        super().__init__(network, model, algorithm, layers_of_pixels(network.module, ARITHMETIC[precision]))

    @override
    def bind(self, w: Tensor, statistics: Tensor, into: Tensor, references: References | None) -> Step:
        """See GradientKernel."""
        counts = self.counts_of(statistics)
        without_counts = super().bind(w, statistics, into, references)

        def step(x: Tensor, y: Tensor, weight: Tensor, keys: Tensor | None) -> Tensor:
            losses = without_counts(x, y, weight, keys)
            for count in counts:
                count.add_(1)
            return losses

        return step

    @override
    def comparison(self, references: References) -> Callable[[Tensor], dict[str, ForwardPass]]:
        """Return a function that computes the forward pass of each reference for samples x [C, B, ...].

        References are tested, not trained: batch normalisation uses their statistics, as torch has it.
        """
        return lambda x: references.forward(self.network, x)
