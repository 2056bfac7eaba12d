"""FedAvg as one writes it with PyTorch alone: the module itself, autograd, torch's SGD; the oracle of users' networks.

Only the draws are edgefl's: initial parameters, the order of the samples, masks of torch.nn.Dropout, seeds of torch's
generator for all else.
"""

from functools import partial

import numpy as np
import torch

from edgefl.learning.learner.engines.batches import PAD, mini_batches
from edgefl.learning.learner.networks.dropout import KEY, keyed_dropouts, replace_dropout, step_keys
from edgefl.learning.learner.networks.initial import build_module


class PlainFedAvg:
    """Rounds of FedAvg over the devices of a learner's task, one after another.

    Args:
        task: the learning task; its model makes the module.
    """

    def __init__(self, task):
        self.task = task
        self.module = self._made()

    def round(self, devices, index=0):
        """Train the devices from the global module; put the mean of their states in its place; return the loss."""
        states, losses, sizes = [], [], []
        for device in devices:
            module = self._like_the_global_one().train()
            losses.append(self._trained(module, device, index))
            states.append(tensors_of(module))
            sizes.append(len(self.task.parts[device]))
        shares = torch.tensor(np.array(sizes) / sum(sizes))
        with torch.no_grad():
            for name, tensor in tensors_of(self.module).items():
                mean = sum(share * state[name].double() for share, state in zip(shares, states, strict=True))
                if not tensor.is_floating_point():
                    mean = mean.round()
                tensor.copy_(mean.to(tensor.dtype))
        return float(np.average(losses, weights=sizes))

    def outputs(self, x):
        """Return what the global module gives for samples in evaluation."""
        with torch.no_grad():
            return self._like_the_global_one().eval()(x.clone())  # a layer may overwrite them

    def _made(self):
        return build_module(self.task.model, self.task.data, self.task.streams).to(self.task.dtype)

    def _like_the_global_one(self):
        """Return another module with the tensors of the global one."""
        module = self._made()
        state = tensors_of(self.module)
        with torch.no_grad():
            for name, tensor in tensors_of(module).items():
                tensor.copy_(state[name])
        return module

    def _trained(self, module, device, index):
        """Train a module on a device's samples, as torch does; return the mean loss of the steps."""
        task = self.task
        training = task.training
        trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        optimizer = torch.optim.SGD(
            trained, lr=training.lr, momentum=training.momentum, weight_decay=training.weight_decay
        )
        generator = partial(task.streams.generator, "batches", device, index)
        key = torch.tensor([int(task.streams.generator("dropout", device, index).integers(2**63))])
        replace_dropout(module)
        losses = []
        for step, batch in enumerate(mini_batches(task.parts[device], training, generator)):
            rows = batch[batch != PAD]
            x = torch.from_numpy(task.data.normalised(task.data.train_x[rows]))
            step_key = step_keys(key, step)[0]
            for layer in keyed_dropouts(module):
                layer.begin()
                getattr(layer, KEY).copy_(step_key)
            torch.manual_seed(int(step_key))
            loss = torch.nn.functional.cross_entropy(module(x), torch.from_numpy(task.data.train_y[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return np.mean(losses)


def plain_move(task, device, loss_of, index=0, training=None, momentum=0.0, optimizer_of=None):
    """Return the move [d] of a device from the initial module by torch's SGD; the loss is `loss_of(module, x, y)`.

    The section `training` is the task's unless it is given; `optimizer_of(module)` may make another optimiser.
    """
    training = training or task.training
    module = build_module(task.model, task.data, task.streams).to(task.dtype)
    before = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
    optimizer = torch.optim.SGD(module.parameters(), lr=training.lr, momentum=momentum)
    if optimizer_of is not None:
        optimizer = optimizer_of(module)
    for batch in mini_batches(task.parts[device], training, partial(task.streams.generator, "batches", device, index)):
        rows = batch[batch != PAD]
        optimizer.zero_grad()
        loss_of(module, torch.from_numpy(task.data.train_x[rows]), torch.from_numpy(task.data.train_y[rows])).backward()
        optimizer.step()
    return torch.nn.utils.parameters_to_vector(module.parameters()).detach() - before


def tensors_of(module):
    """Return the parameters and buffers of a module, by all their names."""
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return {name: tensor for name, tensor in named if KEY not in name}
