"""SCAFFOLD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import PositiveFloat, model_validator

from edgefl.core.section import fault_at
from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor


class Scaffold(Algorithm):
    """SCAFFOLD: control variates against client drift (Karimireddy et al., ICML 2020, algorithm 1).

    Other variants are what programs of other papers run under this name. ssg_code (FedDyn's and FedSSG's): c / omega_i
    in the correction, c is the mean of omega_i c_i, and K that of a device of mean size. dyn (the dynamic-devices
    paper's): no correction, means by samples, a server whose learning rate is the devices'. eve_code (FedEve's): c
    moves to the participants' mean c_i, and K counts one more batch in an epoch of full ones.
    """

    server_lr: PositiveFloat = 1.0
    option: Literal["I", "II"] = "II"  # control variates: the gradient at the received model, or from the move
    cv_lr: Literal["initial", "current"] = "current"  # in option II; initial as in FedDyn's and FedSSG's programs
    variant: Literal["paper", "ssg_code", "dyn", "eve_code"] = "paper"

    @model_validator(mode="after")
    def _has_the_option(self) -> Scaffold:
        if self.variant == "dyn" and self.option == "I":
            raise fault_at(("option",), "the variant dyn knows II alone: leave it out, or take another variant")
        return self

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model and the server's control variate, c = 0."""
        return {"w": w, "c": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """A device's control variate, c_i = 0."""
        return {"c": 0 * w}

    def held(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """C is the mean of c_i, of omega_i c_i in ssg_code; in dyn and eve_code no such mean."""
        if self.variant in {"dyn", "eve_code"}:
            return {}
        return {"c": weight * state["c"] if self.variant == "ssg_code" else state["c"]}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The server's control variate goes with the model."""
        return {"c": server["c"]}

    def needs_gradient(self) -> bool:
        """In option I."""
        return self.option == "I"

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Gradient - c_i + c; c / omega_i in ssg_code, the gradient alone in dyn."""
        if self.variant == "dyn":
            return gradient
        if self.variant == "ssg_code":
            return gradient - local.state["c"] + local.received["c"] / local.weight
        return gradient - local.state["c"] + local.received["c"]

    def divisor(self, local: LocalContext) -> Tensor | float:
        """K lr in option II: K_ref lr in ssg_code, E (floor(n_i / B) + 1) lr in eve_code where both are given."""
        lr = local.run.lr if self.cv_lr == "initial" else local.lr
        epochs, _, batch = local.run.work
        if self.variant == "ssg_code":
            return local.run.steps * lr
        if self.variant == "eve_code" and epochs and batch:
            samples = local.weight * local.run.samples + 0.5  # n_i; half a sample for what omega has lost by rounding
            return epochs * (samples // batch + 1) * lr
        return local.steps * lr

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """c_i+ = gradient of all samples at start (I), or c_i - c + (start - w) / (K lr) (II)."""
        if self.option == "I":
            return {"c": 0 * w + local.gradient}
        return {"c": local.state["c"] - local.received["c"] + (local.start - w) / self.divisor(local)}

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """The move, and the change of the control variate; omega_i times it in ssg_code, c_i+ - c in eve_code."""
        before = local.received["c"] if self.variant == "eve_code" else local.state["c"]
        change = self.remember(w, local)["c"] - before
        return {"delta": w - local.start, "delta_c": local.weight * change if self.variant == "ssg_code" else change}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """The change of the control variate, -c - delta / (K lr), unless the device alone knows what it depends on."""
        if self.option == "I" or self.variant == "eve_code":
            return {}
        change = -local.received["c"] - upload["delta"] / self.divisor(local)
        return {"delta_c": local.weight * change if self.variant == "ssg_code" else change}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W + server_lr mean(delta), and c + sum(delta_c) / N: a mean over participants, and over the population.

        In dyn w + server_lr lr mean(delta) and c + mean(delta_c) by samples; in eve_code c + server_lr mean(delta_c).
        """
        changes, move = updates.vectors["delta_c"], updates.mean(by_samples=self.variant == "dyn")
        if self.variant == "dyn":
            move, change = updates.lr * move, updates.mean("delta_c", by_samples=True)
        elif self.variant == "eve_code":
            change = self.server_lr * changes.mean(dim=0)
        else:
            change = changes.sum(dim=0) / updates.population
        return {**server, "w": server["w"] + self.server_lr * move, "c": server["c"] + change}
