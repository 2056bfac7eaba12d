"""Low-rank adapters of linear layers: `y = W x + b + (alpha / rank) B A x` (LoRA: Hu et al., ICLR 2022).

The library peft has them, too, only for the layers of `transformers`, and renames each parameter; these few lines work
in any module, keep its names, and let torch.func train many clients together. Sizes and initial values are peft's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn
from torch.nn import functional

from edgefl.core.errors import InputError
from edgefl.core.section import nearest


class LoraLinear(nn.Linear):
    """A linear layer whose weight is frozen, and beside it the product of B [outputs, rank] and A [rank, inputs].

    A begins as the weights of torch's linear layers do, and B with zeros, so that the layer first computes what it did.
    """

    def __init__(self, layer: nn.Linear, rank: int, alpha: float) -> None:
        with torch.device("meta"):  # the layer's own tensors take these places: nothing is drawn
            super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None)
        self.weight = layer.weight
        self.bias = layer.bias
        self.scaling = alpha / rank
        self.lora_A = nn.Parameter(layer.weight.new_empty(rank, layer.in_features))
        self.lora_B = nn.Parameter(layer.weight.new_zeros(layer.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs [..., outputs] of inputs [..., inputs]."""
        low = functional.linear(functional.linear(x, self.lora_A), self.lora_B)
        return functional.linear(x, self.weight, self.bias) + self.scaling * low


def with_lora(module: nn.Module, on: Sequence[str], rank: int, alpha: float) -> nn.Module:
    """Return the module with an adapter on each linear layer that a pattern names.

    Raises:
        InputError: a pattern names no linear layer.
    """
    # Only torch's own class: a subclass, such as that inside nn.MultiheadAttention, may never be called.
    linear = {name: layer for name, layer in module.named_modules() if type(layer) is nn.Linear}
    named: set[str] = set()
    for pattern in on:
        found = {name for name in linear if fnmatchcase(name, pattern) or fnmatchcase(name, f"*.{pattern}")}
        if not found:
            known = ", ".join(linear) or "none"
            text = f"{pattern!r} names no linear layer of the model{nearest(pattern, list(linear))}"
            raise InputError(f"model.adapters.on: {text}; there are: {known}")
        named |= found
    for name, layer in linear.items():
        if name in named:
            parent, _, last = name.rpartition(".")
            setattr(module.get_submodule(parent), last, LoraLinear(layer, rank, alpha))
    return module
