"""Language models: decoders in the form of Llama (Touvron et al., arXiv:2302.13971; Llama 3, arXiv:2407.21783).

layer       parameters of each of the layers, width w
q_proj      w x w
k_proj      w x (w kv_heads / heads); v_proj the same (grouped queries: Ainslie et al., EMNLP 2023)
o_proj      w x w
gate_proj   w x hidden; up_proj the same; down_proj hidden x w (SwiGLU: Shazeer, arXiv:2002.05202)
norms       2 w

Beside them are the embedding, vocabulary x w, which is the last layer, too, and a last norm of w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field, PositiveFloat, model_validator

from edgefl.core.arrays import Ints
from edgefl.core.section import fault_at
from edgefl.learning.models.counted import Counted, without_values

if TYPE_CHECKING:
    from torch import nn

Size = Annotated[int, Field(ge=1, le=1_000_000)]


class Llama(Counted):
    """Decoder of a language model: with the sizes of Llama 3.2 1B 1,235,814,400 parameters (Llama 3 paper, 2024).

    A sample is a row of token ids, and has a label for each: the token that follows. Positions are rotations of queries
    and keys (RoPE: Su et al., arXiv:2104.09864), so that rows may have any length.
    """

    depth: Size = 2  # Number of layers.
    width: Size = 64  # Numbers that stand for a token.
    heads: Size = 4  # Heads of attention.
    kv_heads: Size | None = None  # Heads of keys and values, which several heads of queries share; by default heads.
    hidden: Size = 128  # Width of each layer's gated network.
    rope_base: PositiveFloat = 10_000.0  # Base of the angles that rotate positions.

    tokens: ClassVar[bool] = True
    of_each_token: ClassVar[bool] = True

    @model_validator(mode="after")
    def _check_heads(self) -> Llama:
        if self.width % (2 * self.heads):
            raise fault_at(("width",), f"must be a multiple of 2 x heads, here {2 * self.heads}, got {self.width}")
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise fault_at(("kv_heads",), f"must divide heads, {self.heads}, got {self.kv_heads}")
        return self

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return why the data are not rows of tokens; None if they are."""
        if len(shape) != 1:
            return f"needs rows of token ids, got samples of shape {list(shape)}"
        return super().check(shape, classes)

    def token_limits(self, length: int) -> Ints:
        """Return a bound for each place of a row [length]; the vocabulary is the classes, which the data bound."""
        return np.full(length, np.iinfo(np.int64).max)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network; input [B, T] token ids, output [B, classes, T]."""
        from edgefl.learning.models.decoder import Decoder  # late, as it imports torch

        return Decoder(
            vocabulary=classes,
            depth=self.depth,
            width=self.width,
            heads=self.heads,
            kv_heads=self.kv_heads or self.heads,
            hidden=self.hidden,
            rope_base=self.rope_base,
        )

    def counted_module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the module without values: a billion of them take gigabytes and a minute."""
        return without_values(lambda: self.module(shape, classes)).eval()
