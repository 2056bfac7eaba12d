"""Dropout whose masks are a function of a key: the same for a client whatever engine, device or company trains it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_MASK = 0xFFFFFFFF
KEY = "edgefl_key"


class KeyedDropout(nn.Module):
    """Zeroes activations with probability p and scales the rest by 1 / (1 - p).

    The buffer `edgefl_key` names the draw; it is given anew for each client and step. The uniforms are a 32-bit hash of
    position, layer and key (lowbias32: Wellons, "Prospecting for hash functions", 2018).

    Args:
        p: probability.
        layer: number that tells the layers of one network apart.
    """

    def __init__(self, p: float, layer: int) -> None:
        super().__init__()
        self.p, self.layer = p, layer
        self.register_buffer(KEY, torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """The same shape [B, ...]."""
        key = getattr(self, KEY)
        position = torch.arange(x.numel(), device=x.device).view(x.shape)
        bits = _hash(_hash(_hash(position) ^ (key & _MASK)) ^ ((key >> 32) & _MASK) ^ _constant(self.layer))
        kept = (bits >= int(self.p * 2**32)).to(x.dtype)
        return x * kept / (1 - self.p)


def _hash(x: Tensor) -> Tensor:
    """lowbias32 on words of 32 bits, held in 64."""
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _MASK
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _MASK
    return x ^ (x >> 16)


def _constant(layer: int) -> int:
    """Far apart for neighbouring layers."""
    return (layer + 1) * 0x9E3779B9 & _MASK


def step_keys(keys: Tensor, step: int) -> Tensor:
    """The keys of a step from those of the clients [C], which are 63 random bits."""
    return keys ^ (_constant(step) << 16)


def replace_dropout(module: nn.Module) -> list[str]:
    """Put KeyedDropout in the place of each nn.Dropout, in place; the names of their key buffers.

    Raises:
        NotImplementedError: another kind of dropout, which would draw from torch's global generator.
    """
    names: list[str] = []
    for path, parent in list(module.named_modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.modules.dropout._DropoutNd) and child.p > 0:  # noqa: SLF001 - their common base
                if type(child) is not nn.Dropout:
                    raise NotImplementedError(f"{type(child).__name__} cannot be keyed; use nn.Dropout")
                setattr(parent, name, KeyedDropout(child.p, len(names)))
                names.append(".".join(filter(None, (path, name, KEY))))
    return names
