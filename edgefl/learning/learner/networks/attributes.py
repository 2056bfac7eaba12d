"""The attributes of a torch module's parts besides its parameters and buffers, by value.

Clients that train in one process share them, so a forward pass that changes one depends on who has trained before.
"""

import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

DEPTH = 4  # of objects within objects
PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)


def attributes(module: nn.Module) -> dict[str, Any]:
    """Return the values of the attributes of a module and its parts by name, without those of torch's layers.

    Values can be compared by `==`, and do not change when the attributes do.
    """
    of_torch = vars(nn.Module()).keys()
    parts = {id(part) for part in module.modules()}
    values = {}
    for path, part in module.named_modules():
        if type(part).__module__.partition(".")[0] == "torch":
            continue
        for name, attribute in vars(part).items():
            if name not in of_torch and id(attribute) not in parts:
                values[".".join(filter(None, (path, name)))] = _value(attribute, DEPTH)
    return values


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the names of the attributes that differ."""
    names = dict.fromkeys([*before, *after])
    return [name for name in names if name not in before or name not in after or before[name] != after[name]]


def _value(attribute: Any, depth: int) -> Any:
    """Return the numbers in an attribute, as far as they are known; the type of anything else."""
    for kind, read in READERS:
        if isinstance(attribute, kind):
            return read(attribute)
    inside: Mapping[Any, Any] = {}
    if isinstance(attribute, Mapping):
        inside = attribute
    elif isinstance(attribute, list | tuple | deque):
        inside = dict(enumerate(attribute))
    elif isinstance(attribute, nn.Module):  # in a list of Python's, where torch does not see it
        inside = {**dict(attribute.named_buffers()), **attributes(attribute)}
    elif not callable(attribute):
        inside = getattr(attribute, "__dict__", {})
    if depth == 0:
        inside = {}
    return type(attribute).__qualname__, [(repr(key), _value(item, depth - 1)) for key, item in inside.items()]


def _numbers(tensor: Tensor) -> tuple[torch.Size, bytes]:
    return tensor.shape, tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()


def _nothing(_: object) -> None:
    return None


READERS: list[tuple[Any, Callable[[Any], Any]]] = [
    (PLAIN, repr),
    (nn.Parameter, _nothing),  # compared elsewhere
    (Tensor, _numbers),
    (np.ndarray, lambda array: (array.shape, array.tobytes())),
    (torch.Generator, lambda generator: _numbers(generator.get_state())),
    (np.random.Generator, lambda generator: repr(generator.bit_generator.state)),
    (random.Random, lambda generator: generator.getstate()),
    (set | frozenset, lambda items: sorted(map(repr, items))),
]
