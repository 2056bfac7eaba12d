"""The key `model.adapters`: small trained matrices beside the frozen weights of linear layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, PositiveFloat

from edgefl.core.section import Count, Section
from edgefl.learning.parts import Patterns

if TYPE_CHECKING:
    from torch import nn


class Adapters(Section):
    """Adapters of linear layers, trained instead of the model (LoRA: Hu et al., ICLR 2022)."""

    kind: Literal["lora"] = "lora"  # Adds a product of two matrices of low rank to each weight.
    rank: Count = 8  # Rank of the product: each layer trains rank x (inputs + outputs) numbers.
    alpha: Annotated[PositiveFloat, Field(le=1e9)] = 16.0  # The product counts alpha / rank times.
    # Bits of each frozen number in the first download; a device trains in 32 bits all the same.
    frozen_bits: Annotated[int, Field(ge=1, le=64)] = 32
    on: Patterns  # Linear layers that get an adapter: the last part of their names, whole names, or patterns.

    def inserted(self, module: nn.Module) -> nn.Module:
        """Return the module with adapters on its layers; raise an InputError if a pattern names no linear layer."""
        from edgefl.learning.models.lora import with_lora  # late, as it imports torch

        return with_lora(module, self.on, self.rank, self.alpha)
