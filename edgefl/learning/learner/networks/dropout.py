"""Dropout whose masks are a function of a key: the same for a client whichever engine or device trains it."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from edgefl.learning.learner.networks.module_state import has_own_calls

WORD = 0xFFFFFFFF  # the 32 bits of a word
KEY = "edgefl_key"
CALL = 2**16  # of layers that a network has at most: numbers the calls of a layer within a forward pass


class KeyedDropout(nn.Module):
    """Zeroes activations with probability p and scales the rest by 1 / (1 - p).

    The buffer `edgefl_key` names the draw; each client and step has its key, and each layer its number. The uniforms
    are a 32-bit hash of position, layer and key (lowbias32: Wellons, "Prospecting for hash functions", 2018); the masks
    of a generator would depend on which clients are trained together.
    """

    def __init__(self, p: float, layer: int, *, inplace: bool = False) -> None:
        super().__init__()
        self.p = p
        self.layer = layer
        self.inplace = inplace
        self._calls = 0  # in the forward pass under way: a layer that is used again draws another mask
        self.register_buffer(KEY, torch.zeros((), dtype=torch.int64), persistent=False)

    def begin(self) -> None:
        """Note that a forward pass of the network begins."""
        self._calls = 0

    def forward(self, x: Tensor) -> Tensor:
        """Return activations of the same shape [B, ...]."""
        if not self.training:  # the user's code has put this part of the network into evaluation mode
            return x
        layer = self.layer + CALL * self._calls
        self._calls += 1
        kept = kept_by(getattr(self, KEY), self.p, layer, x.shape).to(x.dtype)
        if self.inplace:
            return x.mul_(kept).div_(1 - self.p)
        return x * kept / (1 - self.p)


def kept_by(keys: Tensor, p: float, layer: int, shape: Sequence[int]) -> Tensor:
    """Return which activations [..., *shape] are kept, for keys [...] that name the draws of one client or several.

    Each is zeroed with probability `p`; `layer` is the layer's number.
    """
    keys = keys.view(*keys.shape, *(1 for _ in shape))
    low_word = keys & WORD
    high_word = (keys >> 32) & WORD
    position = torch.arange(math.prod(shape), device=keys.device).view(*shape)
    bits = _hash(_hash(_hash(position) ^ low_word) ^ high_word ^ _spread(layer))
    return bits >= int(p * 2**32)


def _hash(x: Tensor) -> Tensor:
    """Return lowbias32 of 32-bit words, in 64 bits, as torch has no arithmetic on unsigned words."""
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & WORD
    x = ((x ^ (x >> 15)) * 0x846CA68B) & WORD
    return x ^ (x >> 16)


def _spread(number: int) -> int:
    """Return a word that differs in many bits for neighbouring numbers: a multiple of 2^32 over the golden ratio."""
    return (number + 1) * 0x9E3779B9 & WORD


def step_keys(keys: Tensor, step: int) -> Tensor:
    """Return the keys of a step from those of the clients [C], which are 63 random bits."""
    return keys ^ (_spread(step) << 16)


def replace_dropout(module: nn.Module) -> list[str]:
    """Replace each nn.Dropout by KeyedDropout, in place; return the names of the key buffers.

    Other kinds of dropout draw from torch's generator, see `keyed_draws`.
    """
    names: list[str] = []
    for path, parent, name, child in list(_dropouts(module)):
        setattr(parent, name, KeyedDropout(child.p, len(names), inplace=child.inplace).train(child.training))
        names.append(".".join(filter(None, (path, name, KEY))))
    return names


def dropout_layers(module: nn.Module) -> list[nn.Dropout]:
    """Return the layers that `replace_dropout` would replace, in the order of their numbers."""
    return [child for _, _, _, child in _dropouts(module)]


def _dropouts(module: nn.Module) -> Iterator[tuple[str, nn.Module, str, nn.Dropout]]:
    for path, parent in module.named_modules():
        for name, child in parent.named_children():
            if type(child) is nn.Dropout and 0 < child.p < 1 and not has_own_calls(child):
                yield path, parent, name, child


def keyed_dropouts(module: nn.Module) -> list[KeyedDropout]:
    """Return the layers of a module that `replace_dropout` has put there."""
    return [layer for layer in module.modules() if isinstance(layer, KeyedDropout)]


@contextmanager
def keyed_draws(key: int, device: torch.device) -> Iterator[None]:
    """Let torch's generators draw as a key says; restore their states afterwards."""
    cuda_devices = []
    if device.type == "cuda":
        cuda_devices.append(device)
    with torch.random.fork_rng(devices=cuda_devices):
        torch.default_generator.manual_seed(key)
        for cuda_device in cuda_devices:
            with torch.cuda.device(cuda_device):
                torch.cuda.manual_seed(key)
        yield
