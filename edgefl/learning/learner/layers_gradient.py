"""The loss gradient of a plain stack of layers, for one client or many."""

from __future__ import annotations

import torch
from torch import Tensor

from edgefl.learning.algorithms import Algorithm, Batch, ForwardPass
from edgefl.learning.learner.gradients import Frozen, Step
from edgefl.learning.learner.layers import IMAGES, Convolution, Linear, Saved, layers_of
from edgefl.learning.learner.network import Network
from edgefl.learning.models import Model


class LayersGradient:
    """See GradientOf; only for stacks of known layers under the cross-entropy.

    An algorithm's own loss of outputs and representations is differentiated by autograd, as far as these.
    """

    @staticmethod
    def fits(network: Network, model: Model) -> bool:
        """Whether the module and the loss are of the kind that is written out here."""
        return bool(layers_of(network.module)) and type(model).sample_losses is Model.sample_losses

    def __init__(self, network: Network, model: Model, algorithm: Algorithm) -> None:
        self.network, self.model, self.algorithm = network, model, algorithm
        self.layers = layers_of(network.module)
        weighty = [i for i, layer in enumerate(self.layers) if layer.parameters]
        dense = [i for i in weighty if isinstance(self.layers[i], Linear)]
        self.first = weighty[0]
        self.head = dense[-1] if dense and dense[-1] > self.first else None  # what it gets are the representations
        self.images = any(isinstance(layer, Convolution) for layer in self.layers)

    def bind(self, w: Tensor, statistics: Tensor, into: Tensor, frozen: Frozen | None) -> Step:
        """See GradientOf."""
        mine, targets = self._by_layer(w), self._by_layer(into)
        others = {} if frozen is None else {name: self._by_layer(model) for name, model in frozen.models.items()}

        def step(x: Tensor, y: Tensor, weight: Tensor, keys: Tensor | None) -> Tensor:
            x = self._entry(x)
            own, kept = self._forward(mine, x)
            if frozen is None:
                losses, dy = cross_entropy(own.outputs, y, weight)
                dz = None
            else:
                seen = {name: self._forward(other, x)[0] for name, other in others.items()}
                losses, dy, dz = self._compared(own, seen, Batch(y, weight, frozen.received))
            for i in range(len(mine) - 1, self.first - 1, -1):
                layer = self.layers[i]
                layer.gradients(dy, kept[i], mine[i], targets[i])
                if i > self.first:
                    dy = layer.backward(dy, kept[i], mine[i])
                if i == self.head and dz is not None:
                    dy += dz
            return losses

        return step

    def _forward(self, parameters: list[list[Tensor]], x: Tensor) -> tuple[ForwardPass, list[Saved]]:
        """What models make of samples, as `network.representation` has it, and what their layers save."""
        kept, z = [], None
        for i, (layer, p) in enumerate(zip(self.layers, parameters, strict=True)):
            if i == self.head:
                z = x
            x, saved = layer.forward(x, p)
            kept.append(saved)
        return ForwardPass(x, x if z is None else z), kept

    def _compared(
        self, own: ForwardPass, others: dict[str, ForwardPass], batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Each client's weighted sum of the algorithm's losses [C]; its gradients in outputs and representations."""
        with torch.enable_grad():
            outputs = own.outputs.detach().requires_grad_()
            z = outputs if own.z is own.outputs else own.z.detach().requires_grad_()
            each = self.model.sample_losses(outputs, batch.y)
            each = self.algorithm.loss(each, ForwardPass(outputs, z), others, batch)
            losses = (each * batch.weight).sum(1)
            leaves = [outputs] if z is outputs else [outputs, z]
            gradients = torch.autograd.grad(losses.sum(), leaves, materialize_grads=True)
        return losses.detach(), gradients[0], None if z is outputs else gradients[1]

    def outputs(self, w: Tensor, x: Tensor) -> Tensor:
        """Outputs [B, classes] of one model w [d] for x [B, ...], for evaluation."""
        seen, _ = self._forward(self._by_layer(w[None]), self._entry(x[None]))
        return seen.outputs[0]

    def _entry(self, x: Tensor) -> Tensor:
        """Images of one client in the layout in which convolutions are fastest on CPUs."""
        if self.images and len(x) == 1 and x.ndim == IMAGES:
            return x[0].contiguous(memory_format=torch.channels_last)[None]
        return x

    def _by_layer(self, flat: Tensor) -> list[list[Tensor]]:
        views = iter(self.network.parameters.views(flat))
        return [layer.bound([next(views) for _ in range(layer.parameters)]) for layer in self.layers]


def cross_entropy(z: Tensor, y: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Each client's weighted sum of losses [C], and its gradient [C, B, classes] in the logits z.

    Args:
        z: [C, B, classes] logits.
        y: [C, B] labels.
        weight: [C, B] of each sample.
    """
    label = y.unsqueeze(2)
    z = z - z.amax(2, keepdim=True)
    p = z.exp()  # in few plain steps, as torch's log_softmax is slow for a handful of classes
    total = p.sum(2, keepdim=True)
    losses = ((total.log() - z.gather(2, label)).squeeze(2) * weight).sum(1)
    dz = p.div_(total).scatter_(2, label, -1.0, reduce="add")
    return losses, dz.mul_(weight.unsqueeze(2))
