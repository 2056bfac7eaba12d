"""Copies of torch modules."""

import copy
from collections.abc import Iterable

from torch import Tensor, nn


def copied(module: nn.Module) -> nn.Module:
    """Return a deep copy of a module, even of one that keeps computed tensors, such as pruned weights."""
    # Python's `deepcopy` refuses tensors with a history; it takes the copies that it is given of them.
    copies: dict[int, object] = {}
    for layer in module.modules():
        for value in vars(layer).values():
            for each in _inside(value):
                if isinstance(each, Tensor) and not each.is_leaf:
                    copies[id(each)] = each.detach().clone()
    return copy.deepcopy(module, copies)


def _inside(value: object) -> Iterable[object]:
    """Return what an attribute holds: recurrent layers also list their weights, and all layers their buffers."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    return [value]
