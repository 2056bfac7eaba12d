"""Algorithms as the program of the FedEve paper runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from edgefl.core.catalogue import Member
from edgefl.learning.algorithms.base import LocalContext, Updates
from edgefl.learning.algorithms.fedeve import FedEve
from edgefl.learning.algorithms.scaffold import Scaffold

if TYPE_CHECKING:
    from torch import Tensor


class ScaffoldInFedEve(Scaffold):
    """SCAFFOLD whose c moves to the participants' mean c_i, with one batch more in K (algorithm cards, 1.3)."""

    listed_as: ClassVar[type[Member] | None] = Scaffold

    def divisor(self, local: LocalContext) -> Tensor | float:
        """Return `E (floor(n_i / B) + 1) lr`, where both epochs and a batch size are given, else `K lr`.

        An epoch of nothing but full batches has one step fewer than the program counts.
        """
        epochs, _, batch = local.run.work
        if not epochs or not batch:
            return super().divisor(local)
        n = local.weight * local.run.samples + 0.5  # n_i; half a sample makes up for what omega has lost by rounding
        return epochs * (n // batch + 1) * local.rate(self.cv_lr)

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move, and how far the new control variate is from the server's, `c_i+ - c`."""
        return {"delta": w - local.start, "delta_c": self.remember(w, local)["c"] - local.received["c"]}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """Return nothing: `c_i+ - c` depends on c_i, which only the device knows."""
        return {}

    def variate_move(self, updates: Updates) -> Tensor:
        """Return `server_lr mean(c_i+ - c)`, a mean over participants."""
        return self.server_lr * updates.vectors["delta_c"].mean(dim=0)

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return nothing: `c` is no mean over all devices here."""
        return {}


class FedEveProgram(FedEve):
    """FedEve with other variances of the prediction and of the observation (algorithm cards, 1.15)."""

    listed_as: ClassVar[type[Member] | None] = FedEve

    def variances(self, m: Tensor, observed: Tensor, updates: Updates) -> tuple[Tensor, Tensor]:
        """Return `sigma_Q^2 = |D|^2 / (m d)`, and `sigma_R^2` as in the paper but around the uniform mean."""
        descents = -updates.vectors["delta"]
        return self.spread(observed, descents, descents.mean(dim=0))
