"""FedNova."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, NonNegativeFloat

from edgefl.learning.algorithms.averaging import Averaging
from edgefl.learning.algorithms.base import LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedNova(Averaging):
    """FedNova: averages moves per step, so that devices with more steps do not dominate (Wang et al., NeurIPS 2020)."""

    mu: NonNegativeFloat = 0.0  # Weight of the proximal pull (mu/2) |w - start|^2.
    server_momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0  # Momentum of the server, gamma.

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and, with server momentum, its momentum `u = 0`."""
        if not self.server_momentum:
            return {"w": w}
        return {"w": w, "u": 0 * w}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the gradient of `loss + (mu/2) |w - start|^2`."""
        if not self.mu:
            return gradient
        return gradient + self.mu * (w - local.start)

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move and its normaliser a_i; with a pull also the number of steps K_i."""
        a = self.normaliser(local)
        vectors = {"delta": w - local.start, "a": a}
        if self.mu:
            vectors["steps"] = 0 * a + local.steps
        return vectors

    def normaliser(self, local: LocalContext) -> Tensor:
        """Return `|a_i|_1` [1]: the move, in units of -lr, that gradients of 1 would make.

        It is `K` for plain SGD, `sum_k (1 - rho^k) / (1 - rho)` with the momentum rho of the section `training`, and
        `(1 - (1 - lr mu)^K) / (lr mu)` with a pull. With both, or Nesterov's momentum, it follows from the recursion of
        SGD, as below; the authors' program counts each step twice with both.
        """
        steps = 0 * local.start[..., :1] + local.steps
        if self.mu or local.run.nesterov:
            return self._by_recursion(steps, local)
        rho = local.run.momentum
        if not rho:
            return steps
        exact = steps.double()  # the difference of two large numbers, if rho is near 1
        a = (exact - rho * (1 - rho**exact) / (1 - rho)) / (1 - rho)
        return a.to(steps.dtype)

    def _by_recursion(self, steps: Tensor, local: LocalContext) -> Tensor:
        """Return the normaliser [1] by the recursion of SGD with momentum and a pull."""
        rho = local.run.momentum
        velocity = 0 * steps
        a = 0 * steps
        # One recursion for a batch of devices: those with fewer steps stop moving earlier.
        for step in range(int(steps.max())):
            gradient = 1 - local.lr * self.mu * a
            velocity = rho * velocity + gradient
            move = gradient + rho * velocity if local.run.nesterov else velocity
            a = a + (step < steps) * move
        return a

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `w + tau sum_i p_i delta_i / a_i` with `tau = sum_i p_i a_i`, or `sum_i p_i K_i` with a pull.

        Server momentum is in units of gradients: `u+ = gamma u + move / lr`, and `w + lr u+`, with the round's lr.
        """
        p = self.weights(updates)
        a = updates.vectors["a"][:, 0]
        steps = a
        if self.mu:
            steps = updates.vectors["steps"][:, 0]
        tau = p @ steps
        move = tau * ((p / a) @ updates.vectors["delta"])
        if not self.server_momentum:
            return {**server, "w": server["w"] + move}
        lr = updates.lr or 1.0  # at a learning rate of 0 no device moves, so the move of 0 may be divided by anything
        u = self.server_momentum * server["u"] + move / lr
        return {**server, "w": server["w"] + updates.lr * u, "u": u}
