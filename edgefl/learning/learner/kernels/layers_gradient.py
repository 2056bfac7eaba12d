"""The loss gradient of a plain stack of layers, for one client or many."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from edgefl.learning.algorithms import Algorithm, Batch, ForwardPass
from edgefl.learning.algorithms.base import AddedLoss
from edgefl.learning.algorithms.properties import has_loss_by_hand
from edgefl.learning.learner.kernels.gradients import References, Step
from edgefl.learning.learner.kernels.image_layout import channels_last
from edgefl.learning.learner.kernels.layers import Bound, Convolution, Dropout, Linear, ManualLayer, Saved, layers_of
from edgefl.learning.learner.networks.network import Network, Unused
from edgefl.learning.losses.cross_entropy import CrossEntropy
from edgefl.learning.models import Model


class LayersGradient:
    """A GradientKernel with derivatives written by hand, for stacks of known layers.

    The cross-entropy is differentiated by hand, too, and so is an algorithm's `added_loss`. Autograd differentiates
    other losses in outputs and representations; the layers below are done by hand.
    """

    @staticmethod
    def fits(network: Network, model: Model, *, several_labels: bool = False) -> bool:
        """Return True if the module is a stack of known layers, whose outputs [B, n] are of one label each."""
        return bool(layers_of(network.module)) and not model.has_own_loss and not several_labels

    def __init__(
        self, network: Network, model: Model, algorithm: Algorithm, layers: Sequence[ManualLayer] | None = None
    ) -> None:
        self.network = network
        self.model = model
        self.algorithm = algorithm
        self.unused: Unused = ()  # each layer of a stack uses its parameters
        self._loss_by_hand = has_loss_by_hand(algorithm)
        self.layers = list(layers or layers_of(network.module))
        # The layers' parameters in their own order; in flat vectors those that devices keep come last.
        names = network.parameters.names
        self._numbers = [names.index(name) for name, _ in network.module.named_parameters()]
        buffers = dict(network.module.named_buffers())
        self._counts = [not buffers[name].is_floating_point() for name in network.statistics.names]
        self.images = any(isinstance(layer, Convolution) for layer in self.layers)
        learning = [number for number, layer in enumerate(self.layers) if layer.parameters]
        linear = [number for number in learning if isinstance(self.layers[number], Linear)]
        self.first = learning[0]
        # the layer whose input is the representation; None if outputs are representations, see `representation`
        self.head: int | None = None
        if linear and linear[-1] > self.first:
            self.head = linear[-1]
            # what stands before a dropout is the same in training and in tests
            while isinstance(self.layers[self.head - 1], Dropout):
                self.head -= 1

    def bind(self, w: Tensor, statistics: Tensor, into: Tensor, references: References | None) -> Step:
        """See GradientKernel."""
        parameters = self._by_layer(w, statistics)
        targets = self._by_layer(into)
        compare: Callable[[Tensor], dict[str, ForwardPass]] | None = None
        if references is not None:
            compare = self.comparison(references)

        def step(x: Tensor, y: Tensor, weight: Tensor, keys: Tensor | None) -> Tensor:
            x = self._entry(x)
            own, saved = self._forward(parameters, x, keys)
            others: dict[str, ForwardPass] | None = None
            batch = Batch(y, weight, {})
            if references is not None and compare is not None:
                others = compare(x)
                batch = Batch(y, weight, references.received)
            losses, dy, dz = self._loss(own, others, batch)
            self._backward(parameters, saved, targets, dy, dz)
            return losses

        return step

    def comparison(self, references: References) -> Callable[[Tensor], dict[str, ForwardPass]]:
        """Return a function that computes the forward pass of each reference for samples x [C, B, ...].

        In full-batch training every step has the same tensor: the references see it only once.
        """
        models = {name: self._by_layer(model) for name, model in references.models.items()}
        seen: Tensor | None = None
        passes: dict[str, ForwardPass] = {}

        def compare(x: Tensor) -> dict[str, ForwardPass]:
            nonlocal seen, passes
            if x is not seen:
                seen = x
                passes = {name: self._forward(own, x, None)[0] for name, own in models.items()}
            return passes

        return compare

    def outputs(self, w: Tensor, x: Tensor) -> Tensor:
        """Return the outputs [B, classes] of one model w [d] for x [B, ...], for evaluation."""
        forward, _ = self._forward(self._by_layer(w[None]), self._entry(x[None]), None)
        return forward.outputs[0]

    def _forward(self, parameters: list[Bound], x: Tensor, keys: Tensor | None) -> tuple[ForwardPass, list[Saved]]:
        """Return outputs and representations for x [C, B, ...], and what each layer saves for its backward pass."""
        saved_by_layer = []
        z: Tensor | None = None
        for number, (layer, p) in enumerate(zip(self.layers, parameters, strict=True)):
            if number == self.head:
                z = x.flatten(2)
            x, saved = layer.forward(x, p, keys)
            saved_by_layer.append(saved)
        if z is None:
            z = x
        return ForwardPass(x, z), saved_by_layer

    def _backward(
        self,
        parameters: list[Bound],
        saved: list[Saved],
        targets: list[Bound],
        dy: Tensor,
        dz: Tensor | None,
    ) -> None:
        """Write the gradients of all layers, from those in the outputs (dy) and in the representations (dz)."""
        # below the first layer with parameters no gradient is needed
        for number in range(len(parameters) - 1, self.first - 1, -1):
            layer = self.layers[number]
            own = (saved[number], parameters[number], targets[number])
            if number == self.first:
                layer.gradients(dy, *own)
            else:
                dy = layer.differentiate(dy, *own)
            if number == self.head and dz is not None:
                dy += dz.reshape(dy.shape)

    def _loss(
        self, own: ForwardPass, others: dict[str, ForwardPass] | None, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return what `_differentiated` does, by hand if the loss and the algorithm's part of it are known."""
        if not isinstance(self.model.loss, CrossEntropy):
            return self._differentiated(own, others, batch)
        added: AddedLoss | None = None
        if others is not None:
            if self._loss_by_hand:
                added = self.algorithm.added_loss(own, others, batch)
            if added is None:
                return self._differentiated(own, others, batch)
        losses, dy = cross_entropy(own.outputs, batch.y, batch.weight)
        if added is None:
            return losses, dy, None
        losses = losses + (added.losses * batch.weight).sum(1)
        dz = added.z_gradient * batch.weight.unsqueeze(2)
        if own.z is own.outputs:
            return losses, dy.add_(dz), None
        return losses, dy, dz

    def _differentiated(
        self, own: ForwardPass, others: dict[str, ForwardPass] | None, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return each client's weighted sum of losses [C], and autograd's gradients in outputs and representations.

        The latter are None if the representations are the outputs; `others` are None if the loss is the task's.
        """
        with torch.enable_grad():
            outputs = own.outputs.detach().requires_grad_()
            z = outputs
            leaves = [outputs]
            if own.z is not own.outputs:
                z = own.z.detach().requires_grad_()
                leaves.append(z)
            sample_losses = self.model.sample_losses(outputs, batch.y)
            if others is not None:
                sample_losses = self.algorithm.loss(sample_losses, ForwardPass(outputs, z), others, batch)
            losses = (sample_losses * batch.weight).sum(1)
            # materialize_grads: a loss that uses only one of the two has zeros, not None, in the other
            gradients = torch.autograd.grad(losses.sum(), leaves, materialize_grads=True)
        dz = None
        if len(leaves) == 2:
            dz = gradients[1]
        return losses.detach(), gradients[0], dz

    def _entry(self, x: Tensor) -> Tensor:
        """Return images of one client in the layout that makes convolutions fastest; other samples as they are."""
        if self.images and len(x) == 1:
            return channels_last(x[0])[None]
        return x

    def _by_layer(self, flat: Tensor, statistics: Tensor | None = None) -> list[Bound]:
        """Return the parameters of each layer, and the statistics that it updates, as views of flat vectors [C, d]."""
        views = self.network.parameters.views(flat)
        parameters = iter([views[number] for number in self._numbers])
        buffers: Iterator[Tensor] = iter(())
        if statistics is not None:
            buffers = iter(self._statistics(statistics, counts=False))
        return [layer.bound(parameters, buffers) for layer in self.layers]

    def counts_of(self, statistics: Tensor) -> list[Tensor]:
        """Return the views of statistics [C, b] that count the steps of normalisations, as own networks have them."""
        return self._statistics(statistics, counts=True)

    def _statistics(self, flat: Tensor, *, counts: bool) -> list[Tensor]:
        views = self.network.statistics.views(flat)
        return [view for view, is_count in zip(views, self._counts, strict=True) if is_count == counts]


def cross_entropy(z: Tensor, y: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return each client's weighted sum of losses [C], and its gradient [C, B, classes] in the logits z.

    The labels y and the weights of samples are [C, B].
    """
    label = y.unsqueeze(2)
    z = z - z.amax(2, keepdim=True)  # the largest exponential is 1: none overflows
    label_z = z.gather(2, label)
    p = z.exp_()  # in few plain steps, as torch's log_softmax is slow for a handful of classes
    total = p.sum(2, keepdim=True)
    losses = ((total.log() - label_z).squeeze(2) * weight).sum(1)
    # the gradient is softmax minus the label's indicator; in the memory of the exponentials
    dz = p.div_(total).scatter_(2, label, -1.0, reduce="add")
    return losses, dz.mul_(weight.unsqueeze(2))
