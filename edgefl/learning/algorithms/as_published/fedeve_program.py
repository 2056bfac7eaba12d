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
    """SCAFFOLD whose `c` moves to the participants' mean `c_i`, and whose K counts one more batch in an epoch.

    Models are averaged by samples (the program's `avg: w`), control variates uniformly.
    """

    listed_as: ClassVar[type[Member] | None] = Scaffold

    def divisor(self, local: LocalContext) -> Tensor | float:
        """Return `E (floor(n_i / B) + 1) lr` if both epochs E and a batch size B are given, else `K lr`.

        If B divides n_i, an epoch really has one step less than the program counts.
        """
        epochs, _, batch = local.run.work
        if not epochs or not batch:
            return super().divisor(local)
        n = local.weight * local.run.samples + 0.5  # n_i; the half keeps rounding in omega from losing a batch
        return epochs * (n // batch + 1) * local.rate(self.cv_lr)

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move, and the difference of the new control variate from the server's, `c_i+ - c`."""
        return {"delta": w - local.start, "delta_c": self.remember(w, local)["c"] - local.received["c"]}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """Return nothing, as `c_i+ - c` depends on `c_i`, which only the device knows."""
        return {}

    def move(self, updates: Updates) -> Tensor:
        """Return `mean(delta)` by samples, over participants."""
        return updates.mean(by_samples=True)

    def variate_move(self, updates: Updates) -> Tensor:
        """Return `server_lr mean(c_i+ - c)`, a mean over participants."""
        return self.server_lr * updates.vectors["delta_c"].mean(dim=0)

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return nothing, as `c` is not a mean over all devices here."""
        return {}


class FedEveProgram(FedEve):
    """FedEve with the variances of the authors' program, which differ from eq. 13."""

    listed_as: ClassVar[type[Member] | None] = FedEve

    def variances(self, m: Tensor, observed: Tensor, updates: Updates) -> tuple[Tensor, Tensor]:
        """Return `sigma_Q^2 = |D|^2 / (m d)`, without M, and `sigma_R^2` around the uniform mean of the descents."""
        descents = -updates.vectors["delta"]
        return self.spread(observed, descents, descents.mean(dim=0))
