"""FedSSG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, NonNegativeFloat

from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedSSG(Algorithm):
    """FedSSG: FedDC whose memory is gated by how often a device took part (FedSSG, arXiv 2025, algorithm 1).

    Variant code is what the authors' program does; paper_main is the paper's main text: a gate that also weighs the
    pull, which is proximal and the same for devices of any size, and no gradient correction, so that one vector is sent
    each way. Its server is not given there; it is the program's.
    """

    alpha: NonNegativeFloat = 0.05
    variant: Literal["code", "paper_main"] = "code"
    clip_gate: bool = True  # at 1, in the main text
    cv_lr: Literal["initial", "current"] = "initial"  # in g_i; initial as in the authors' program
    participation: Annotated[float, Field(gt=0, le=1)] | None = None  # m / N; the scenario's, of those in turn

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model, the mean memory of all devices, h = 0, and in the program their mean correction, g = 0."""
        return {"w": w, "h": 0 * w, **self._correction(w)}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """A device's memory, h_i = 0, in how many rounds it took part, c_i = 0, and its correction, g_i = 0."""
        return {"h": 0 * w, "count": 0 * w[:1], **self._correction(w)}

    def held(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """H is the mean of h_i, g in the program that of omega_i g_i."""
        return {"h": state["h"], **({"g": weight * state["g"]} if self.variant == "code" else {})}

    def _correction(self, w: Tensor) -> dict[str, Tensor]:
        return {"g": 0 * w} if self.variant == "code" else {}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The mean correction goes with the model."""
        return {"g": server["g"]} if self.variant == "code" else {}

    def gate(self, local: LocalContext) -> Tensor:
        """p_i [1]: 1 + c_i / (T m/N), or c_i / (t m/N), at most 1, in round t of the main text; c_i has this round."""
        run, count = local.run, local.state["count"] + 1
        share = self.participation or run.participants * run.groups / run.population
        if self.variant == "code":
            return 1 + count / (share * run.rounds)
        ratio = count / (share * (local.index - run.began + 1) + 1e-6)
        return 1 - (ratio < 1) * (1 - ratio) if self.clip_gate else ratio

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Gradient + alpha_i h_i + g / omega_i - g_i, or gradient + alpha p_i (w - start + h_i) of the main text."""
        h = local.state["h"]
        if self.variant == "code":
            return gradient + self.alpha / local.weight * h + local.received["g"] / local.weight - local.state["g"]
        return gradient + self.alpha * self.gate(local) * (w - local.start + h)

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """h_i+ = h_i + p_i delta; g_i+ = g_i - g / omega_i - p_i delta / (K_ref lr)."""
        gated, lr = self.gate(local) * (w - local.start), local.run.lr if self.cv_lr == "initial" else local.lr
        memory = {"h": local.state["h"] + gated, "count": local.state["count"] + 1}
        if self.variant == "paper_main":
            return memory
        return {**memory, "g": local.state["g"] - local.received["g"] / local.weight - gated / (local.run.steps * lr)}

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """The move, its gate, and in the program omega_i times the change of the correction."""
        sent = {"delta": w - local.start, "gate": self.gate(local)}
        if self.variant == "paper_main":
            return sent
        return {**sent, "delta_g": local.weight * (self.remember(w, local)["g"] - local.state["g"])}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """omega_i times the change of the correction: -g - omega_i p_i delta / (K_ref lr)."""
        if self.variant == "paper_main":
            return {}
        lr = local.run.lr if self.cv_lr == "initial" else local.lr
        change = local.weight * upload["gate"] * upload["delta"] / (local.run.steps * lr)
        return {"delta_g": -local.received["g"] - change}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """mean(w_i) + h with h + sum(p_i delta_i) / N; g + sum(omega_i change of g_i) / N."""
        delta, n = updates.vectors["delta"], updates.population
        h = server["h"] + (updates.vectors["gate"] * delta).sum(dim=0) / n
        after = {**server, "w": server["w"] + updates.mean() + h, "h": h}
        if self.variant == "paper_main":
            return after
        return {**after, "g": server["g"] + updates.vectors["delta_g"].sum(dim=0) / n}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """The participants' mean gate."""
        return {"gate": float(updates.vectors["gate"].mean())}
