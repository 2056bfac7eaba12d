"""The scalar model of the quadratic functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefl.learning.models.base import Model

if TYPE_CHECKING:
    from torch import Tensor, nn


class QuadraticModel(Model):
    """One parameter x; a sample (a, b, c) costs a x^2 + b x + c (sequential-FL paper, section 5.1)."""

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return why the data are not rows of three coefficients without labels; None if they are."""
        if shape == (3,) and classes == 0:
            return None
        return "needs dataset: quadratic"

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network; input [B, 3], output [B]: the value of each function."""
        import torch
        from torch import nn

        class Polynomial(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.x = nn.Parameter(torch.zeros(1))

            def forward(self, rows: Tensor) -> Tensor:
                a, b, c = rows.unbind(-1)
                return a * self.x**2 + b * self.x + c

        return Polynomial()

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return 1, for x."""
        return 1

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """Return 3: `x * x`, `a * x^2` and `b * x`."""
        return 3

    def sample_losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the values of the functions: they are the losses."""
        return outputs
