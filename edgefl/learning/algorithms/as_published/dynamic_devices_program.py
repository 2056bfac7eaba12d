"""Algorithms as the program of the dynamic-devices paper runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from edgefl.core.catalogue import Member
from edgefl.learning.algorithms.base import LocalContext, Updates
from edgefl.learning.algorithms.scaffold import Scaffold

if TYPE_CHECKING:
    from torch import Tensor


class ScaffoldInDynamicDevices(Scaffold):
    """SCAFFOLD without its correction, with means by samples and a server step times lr (the paper's program)."""

    listed_as: ClassVar[type[Member] | None] = Scaffold

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the gradient as it is: devices run plain SGD."""
        return gradient

    def move(self, updates: Updates) -> Tensor:
        """Return `lr mean(delta)` by samples: the server's learning rate is the devices' times `server_lr`."""
        return updates.lr * updates.mean(by_samples=True)

    def variate_move(self, updates: Updates) -> Tensor:
        """Return `mean(delta_c)` by samples, over participants."""
        return updates.mean("delta_c", by_samples=True)

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return nothing, as `c` is not a mean over all devices here."""
        return {}
