"""The trial of a user's network: one training step and one test, compared with the module itself.

Training calls a module as a function of flat vectors. What such a call does not see (counters, parameters in lists,
outputs of another shape in training) would give wrong numbers or a traceback in the middle of a run, so it is looked
for before anything is written.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from edgefl.core.global_draws import TORCH, moved, states
from edgefl.core.plugins import place_within
from edgefl.core.streams import Streams
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets import Data
from edgefl.learning.datasets.base import IGNORED, telling_rows
from edgefl.learning.learner.kernels.compared import sample_losses
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.networks.attributes import attributes, changed
from edgefl.learning.learner.networks.dropout import KEY, keyed_draws, keyed_dropouts, replace_dropout
from edgefl.learning.learner.networks.flat_vectors import flatten
from edgefl.learning.learner.networks.initial import build_module
from edgefl.learning.learner.networks.module_state import trained_parameters
from edgefl.learning.learner.networks.network import Network, as_leaves, write_gradient
from edgefl.learning.losses import LOSSES
from edgefl.learning.losses.cross_entropy import CrossEntropy
from edgefl.learning.losses.imported import ImportedLoss
from edgefl.learning.losses.torch_losses import TorchLoss
from edgefl.learning.models import Model

log = logging.getLogger("edgefl")

TRIED = 4  # samples
ROUNDING = 1e-3  # relative difference below which two ways to compute the same agree in single precision
KEY_OF_TRIAL = 20_240_229  # of dropout and other draws: any number
HOST = torch.device("cpu")

OWN = "so that each client has its own"
IN_TESTS = "keep it only in evaluation (if not self.training)"
HIDDEN = "take parameters from attributes of the module (self.weight), from no list and no function around it"


class _WrongError(Exception):
    """A fault of the network, in the words of a message."""


def network_problem(model: Model, data: Data, streams: Streams, name: str) -> str | None:
    """Return why a user's network would learn something else than in torch; None if it would not.

    Messages begin with the `name`, such as "my_nets:Net".
    """

    def make() -> nn.Module:
        return build_module(model, data, streams)

    try:
        modules = (make(), make(), make())  # not copies, which training makes
        if reason := kind_problem(modules[0], data):
            return f"{name}: {reason}"
        dtype = getattr(torch, data.dtype)
        _NetworkTrial(model, data, *(module.to(dtype) for module in modules)).run()
    except _WrongError as wrong:
        return f"{name}: {wrong}"
    except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
        text = (str(error).splitlines() or [""])[0]
        place = place_within(error, model.made_from())
        return f"{name} in training on {TRIED} samples: {type(error).__name__}: {text}{place}"
    return None


def kind_problem(module: nn.Module, data: Data) -> str | None:
    """Return why a module's tensors cannot be exchanged or have another type than the data; None if they fit."""
    if isinstance(module, torch.jit.ScriptModule):
        return "is a TorchScript module, whose parameters cannot be exchanged: give the module that it was made from"
    if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return f"is a {type(module).__name__} around a network: give the network itself (.module)"
    if hasattr(module, "_orig_mod"):
        return "is compiled: give the module itself, without torch.compile"
    wanted = {torch.float32, getattr(torch, data.dtype)}
    named: list[tuple[str, str, Tensor]] = [("parameter", *named) for named in module.named_parameters()]
    named += [("buffer", name, tensor) for name, tensor in module.named_buffers()]
    for what, name, tensor in named:
        if isinstance(tensor, nn.UninitializedParameter | nn.UninitializedBuffer):
            return f"the {what} {name} has no size yet: give its layer the sizes, without Lazy"
        is_number = tensor.is_floating_point() or (what == "parameter" and tensor.is_complex())
        if is_number and tensor.dtype not in wanted:
            kind = str(tensor.dtype).removeprefix("torch.")
            remedy = "make it float32 with .float()"
            if tensor.dtype in {torch.float16, torch.bfloat16}:
                remedy += "; training.precision: bfloat16 computes with half the digits"
            if tensor.is_complex():
                remedy = "keep its real and imaginary part (torch.view_as_real)"
            return f"the {what} {name} is {kind}, and models learn in {data.dtype}: {remedy}"
    return None


class _NetworkTrial:
    """A `module` that training makes a network of, beside the same module made again, with the same samples.

    A third one, `other`, takes a step from other attributes.
    """

    def __init__(self, model: Model, data: Data, module: nn.Module, plain: nn.Module, other: nn.Module) -> None:
        self.model = model
        self.data = data
        rows = telling_rows(data.train_x, 2 * TRIED)
        self.first = Batch(data, rows[:TRIED])
        self.second = Batch(data, rows[TRIED + 1 :])  # of another size
        self.network = Network(module, own_code=True)
        # Other parameters than the module's: a forward pass that still uses the module's is then found.
        initial = flatten(list(trained_parameters(module).values()), torch.empty(0))
        factors = 1 + 0.5 * (-1.0) ** torch.arange(len(initial))  # 1.5 and 0.5 in turn
        self.w = initial * factors.to(initial.dtype) + 2**-10
        self.plain = self._prepared(plain)
        self.other = self._prepared(other)
        self.key = torch.tensor(KEY_OF_TRIAL)

    def run(self) -> None:
        """Try everything; raise a `_WrongError` at the first fault."""
        outputs, gradients = self._step(self.plain, self.first)
        buffers = {name: buffer.detach().clone() for name, buffer in self.plain.named_buffers() if KEY not in name}
        changed_weights = flatten(list(trained_parameters(self.plain).values()), self.w)
        self._check_attributes()
        self._check_shapes()
        self._check_frozen()
        self._compare(outputs, gradients, buffers, changed_weights)
        self._compare_layers(gradients)
        self._check_tests()
        self._check_frozen()  # a test may have changed them

    def _prepared(self, plain: nn.Module) -> nn.Module:
        plain.train()
        replace_dropout(plain)
        with torch.no_grad():
            for parameter, value in zip(
                trained_parameters(plain).values(), self.network.parameters.views(self.w), strict=True
            ):
                parameter.copy_(value)
        for layer in keyed_dropouts(plain):
            getattr(layer, KEY).fill_(KEY_OF_TRIAL)
        return plain

    def _step(self, plain: nn.Module, batch: Batch) -> tuple[Tensor, dict[str, Tensor | None]]:
        for layer in keyed_dropouts(plain):
            layer.begin()
        drawn = states()
        with keyed_draws(KEY_OF_TRIAL, HOST):
            outputs = plain(batch.x.clone())  # which layers may overwrite
        for generator in moved(drawn):
            if generator != TORCH:
                raise _WrongError(f"draws from {generator} in training: draw with torch, whose draws are keyed")
        self._check_outputs(outputs, "in training ", len(batch.y))
        loss = self._losses(outputs, batch.y).mean()
        parameters = trained_parameters(plain)
        gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
        return outputs, dict(zip(parameters, gradients, strict=True))

    def _losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the losses of samples; refuse outputs that the loss does not take, such as logits for BCELoss."""
        try:
            losses = sample_losses(self.model, outputs, labels)
            if bool(torch.isfinite(losses).all()) or not self._needs_probabilities():
                return losses
        except RuntimeError:
            if not self._needs_probabilities():
                raise
        text = f"gives outputs such as {outputs.min().item():.3g}, which the loss does not take"
        raise _WrongError(f"{text}: end with torch.sigmoid for probabilities, or with softplus for positive numbers")

    def _needs_probabilities(self) -> bool:
        loss = self.model.loss
        if self.model.has_own_loss or not isinstance(loss, ImportedLoss):
            return False
        return loss.takes_probabilities(self.data.outputs, self._labels())

    def _labels(self) -> npt.NDArray[np.generic]:
        """Return the labels as a loss takes them, one after another."""
        labels = self.data.train_y
        if self.data.several_labels:
            labels = labels[labels != IGNORED]
        return labels

    def _check_outputs(self, outputs: Any, when: str, count: int = TRIED) -> None:
        wanted = (count, *self.data.output_shape)
        got = getattr(outputs, "shape", None)
        if not isinstance(outputs, Tensor) or got != wanted:
            text = f"{when}must give [B, {', '.join(map(str, self.data.output_shape))}]"
            if got is None:
                raise _WrongError(f"{text}, got {type(outputs).__name__} for B = {count}: switch auxiliary outputs off")
            raise _WrongError(f"{text}, got {list(got)} for B = {count}")
        if outputs.dtype != self.w.dtype:
            kind = str(outputs.dtype).removeprefix("torch.")
            raise _WrongError(f"{when}gives {kind} outputs, and models learn in {self.data.dtype}: end with .float()")
        if when and not outputs.requires_grad:
            raise _WrongError(
                "its outputs depend on no parameter that is trained: leave out torch.no_grad() and .detach()"
            )

    def _check_attributes(self) -> None:
        """Take a second step, which must leave the same attributes as the first one, and as a single step."""
        before = attributes(self.plain)
        for module in (self.plain, self.other):
            self._step(module, self.second)
        after = attributes(self.plain)
        earlier = changed(after, attributes(self.other))  # these depend on steps before the last one
        for name in earlier + changed(before, after):
            remedy = f"keep state in buffers (register_buffer), {OWN}" if name in earlier else IN_TESTS
            raise _WrongError(f"changes its attribute {name} in the forward pass, which all clients share: {remedy}")

    def _check_shapes(self) -> None:
        shapes = {name: buffer.shape for name, buffer in self.network.module.named_buffers()}
        for name, buffer in self.plain.named_buffers():
            if KEY not in name and buffer.shape != shapes.get(name):
                text = f"the buffer {name} is {list(buffer.shape)} after a step, and must keep its shape"
                raise _WrongError(f"{text}: if it is of a batch, {IN_TESTS}")

    def _check_frozen(self) -> None:
        first = dict(self.network.module.named_parameters())
        for name, parameter in self.plain.named_parameters():
            if not parameter.requires_grad and _differ(parameter, first[name]):
                text = f"changes its frozen parameter {name} in the forward pass, which all clients share"
                raise _WrongError(f"{text}: make it a buffer (delattr, then register_buffer), {OWN}")

    def _compare(
        self,
        outputs: Tensor,
        gradients: dict[str, Tensor | None],
        buffers: dict[str, Tensor],
        weights: Tensor,
    ) -> None:
        network = self.network
        leaves = as_leaves(network.parameters.views(self.w))
        statistics = network.initial_statistics.clone()
        with network.drawing(self.key, HOST):
            found = network.train(leaves, network.statistics.views(statistics), self.first.x, self.key)
        if _differ(found, outputs):
            raise _WrongError(f"its outputs in training differ from those of the plain module: {HIDDEN}")
        into = torch.empty_like(self.w)
        targets = network.parameters.views(into)
        own_loss = sample_losses(self.model, found, self.first.y).mean()
        unused = write_gradient(own_loss, leaves, targets)
        for number, name in enumerate(network.parameters.names):
            right = gradients[name]
            is_unused = number in unused
            if is_unused != (right is None) or (right is not None and _differ(targets[number], right)):
                remedy = "leave out torch.utils.checkpoint, whose second forward pass has other weights"
                if getattr(dict(self.plain.named_parameters())[name], "_backward_hooks", None):
                    remedy = "it has a hook (register_hook): change the weight or the loss in the forward pass instead"
                raise _WrongError(f"the gradient of {name} differs from that of the plain module: {remedy}")
        if _differ(self.w, weights):
            raise _WrongError("puts other tensors in the places of its parameters: write .data.copy_(...), not .data =")
        state = network.state(self.w, statistics)
        known = {**dict(network.module.named_buffers()), **state}
        known |= zip(network.statistics.names, network.as_buffers(network.statistics.views(statistics)), strict=True)
        for name, right in buffers.items():
            if _differ(known[name], right):
                raise _WrongError(
                    f"the buffer {name} does not keep what training writes: update it with copy_ or as an attribute"
                )

    def _compare_layers(self, gradients: dict[str, Tensor | None]) -> None:
        """Compare gradients by hand with those of autograd if the module is a plain stack of layers."""
        if not LayersGradient.fits(self.network, self.model, several_labels=self.data.several_labels):
            return
        into = torch.empty_like(self.w)[None]
        kernel = LayersGradient(self.network, self.model, FedAvg())
        step = kernel.bind(self.w[None], self.w.new_empty(1, 0), into, None)
        weight = self.w.new_full((1, TRIED), 1 / TRIED)
        step(self.first.x[None].clone(), self.first.y[None], weight, self.key[None])
        for name, found in zip(self.network.parameters.names, self.network.parameters.views(into[0]), strict=True):
            right = gradients[name]
            if right is None or _differ(found, right):
                raise _WrongError(f"the gradient of {name} by hand differs from that of autograd: please report it")

    def _check_tests(self) -> None:
        """Compare a test of the network with one of the module; a sample's outputs must not depend on the others."""
        network = self.network
        plain = self.plain.eval()
        buffers = dict(plain.named_buffers())
        weights = [weight.detach().clone() for weight in trained_parameters(plain).values()]
        statistics = flatten([buffers[name].to(self.w.dtype) for name in network.statistics.names], self.w)
        drawn = states()
        with torch.no_grad():
            outputs = plain(self.first.x.clone())
            for generator in moved(drawn):
                raise _WrongError(f"draws from {generator} in evaluation: switch its noise off where not self.training")
            self._check_outputs(outputs, "")
            found = network.test(weights, network.statistics.views(statistics), self.first.x.clone())
            again = plain(self.first.x.clone())
            in_pairs = torch.cat([plain(pair) for pair in torch.split(self.first.x.clone(), 2)])
        if _differ(found, outputs):
            raise _WrongError(f"its outputs in evaluation differ from those of the plain module: {HIDDEN}")
        if _differ(again, outputs):
            text = "changes itself in evaluation, as a second forward pass gives other outputs"
            raise _WrongError(f"{text}: change weights and buffers only where self.training")
        if _differ(in_pairs, outputs):
            raise _WrongError(
                "in evaluation the outputs of a sample depend on the others of its batch: let batch normalisation keep "
                "running statistics (track_running_stats=True), and take no mean over the batch"
            )
        with torch.no_grad():
            single = plain(self.first.x[:1].clone())
        if single.shape != outputs[:1].shape:
            text = f"gives {list(single.shape)} for a single sample, must give {[1, *self.data.output_shape]}"
            raise _WrongError(f"{text}: name the axis in squeeze")
        self._check_scale(outputs)

    def _check_scale(self, outputs: Tensor) -> None:
        """Check that outputs [B, n] are what the loss takes; warn of probabilities that would be normalised twice."""
        loss = self.model.loss
        is_bounded = _are_probabilities(outputs) and not isinstance(loss, TorchLoss)
        is_bounded = is_bounded or _are_probabilities(outputs.exp())
        if not is_bounded and loss.takes_log_probabilities(self.data.outputs, self._labels()):
            name = LOSSES.name_of(loss)
            text = f"gives no logarithms of probabilities, as {name} takes them (it falls without limit)"
            raise _WrongError(f"{text}: end with log_softmax")
        if isinstance(loss, CrossEntropy) and not self.model.has_own_loss and _are_probabilities(outputs):
            log.warning(
                "model.kind: outputs are probabilities, and the cross-entropy takes their softmax: "
                "leave out the network's own softmax"
            )


class Batch:
    """Training samples of the trial, by their rows [TRIED]."""

    def __init__(self, data: Data, rows: npt.NDArray[np.int64]) -> None:
        self.x = torch.from_numpy(np.ascontiguousarray(data.normalised(data.train_x[rows])))
        self.y = torch.from_numpy(data.train_y[rows])


def _differ(found: Tensor, right: Tensor) -> bool:
    if found.shape != right.shape:
        return True
    if not found.is_floating_point():
        return not torch.equal(found, right)
    found = found.detach().to_dense().double()
    right = right.detach().to_dense().double()
    if not bool((found.isfinite() == right.isfinite()).all()):
        return True
    found = found.nan_to_num()
    right = right.nan_to_num()
    return float((found - right).norm()) > ROUNDING * float(right.norm()) + 1e-6


def _are_probabilities(outputs: Tensor) -> bool:
    """Return whether outputs [B, n] look like those of a softmax."""
    sums = outputs.sum(dim=1)
    return (
        outputs.shape[1] > 1 and bool((outputs >= 0).all()) and torch.allclose(sums, torch.ones_like(sums), atol=1e-4)
    )
