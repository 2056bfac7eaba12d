"""FedSSG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, NonNegativeFloat, model_validator

from edgefl.learning.algorithms.base import Algorithm, LocalContext, RunInfo, Updates
from edgefl.learning.algorithms.variants import become_variant

if TYPE_CHECKING:
    from torch import Tensor

PROGRAM = "edgefl.learning.algorithms.as_published.fedssg_program:FedSSGProgram"


class FedSSG(Algorithm):
    """FedSSG: FedDC whose memory is gated by how often a device took part (FedSSG, arXiv 2025, algorithm 1).

    This class follows the paper's main text (`variant: paper_main`): the gate also weighs the pull, which is proximal
    and the same for devices of any size, and there is no gradient correction, so that one vector is sent each way. The
    main text does not say what the server does; here it does what it does in the authors' program (`variant: code`),
    which is a subclass in `as_published`.
    """

    alpha: NonNegativeFloat = 0.05
    variant: Literal["code", "paper_main"] = "code"
    clip_gate: bool = True  # limit the gate of the main text to 1
    cv_lr: Literal["initial", "current"] = "initial"  # learning rate in the program's g_i; it takes the initial one
    participation: Annotated[float, Field(gt=0, le=1)] | None = None  # m / N; if not given, the scenario's

    @model_validator(mode="after")
    def _choose_variant(self) -> FedSSG:
        if self.variant == "code":
            return become_variant(self, PROGRAM)
        return self

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and the mean memory of all devices, `h = 0`."""
        return {"w": w, "h": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return a device's memory, `h_i = 0`, and the number of rounds in which it took part, `c_i = 0`."""
        return {"h": 0 * w, "count": 0 * w[:1]}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return `gradient + alpha p_i (w - start + h_i)`."""
        return gradient + self.alpha * self.gate(local) * (w - local.start + local.state["h"])

    def gate(self, local: LocalContext) -> Tensor:
        """Return `p_i = c_i / (t m/N + 1e-6)` [1], limited to 1; t counts rounds since the state began.

        Both t and c_i include this round.
        """
        rounds = local.index - local.run.began + 1
        ratio = (local.state["count"] + 1) / (self.participation_rate(local.run) * rounds + 1e-6)
        if not self.clip_gate:
            return ratio
        return 1 - (ratio < 1) * (1 - ratio)  # min(ratio, 1), for arrays and tensors alike

    def participation_rate(self, run: RunInfo) -> float:
        """Return `m / N`, the expected fraction of devices in a round: with groups in turn, of the one present."""
        return self.participation or run.participants * run.groups / run.population

    def gated_move(self, w: Tensor, local: LocalContext) -> Tensor:
        """Return `p_i delta`."""
        return self.gate(local) * (w - local.start)

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move and its gate."""
        return {"delta": w - local.start, "gate": self.gate(local)}

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return `h_i+ = h_i + p_i delta` and `c_i+ = c_i + 1`."""
        return {"h": local.state["h"] + self.gated_move(w, local), "count": local.state["count"] + 1}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `mean(w_i) + h+` with `h+ = h + sum(p_i delta_i) / N`."""
        gated = updates.vectors["gate"] * updates.vectors["delta"]
        h = server["h"] + gated.sum(dim=0) / updates.population
        return {**server, "w": server["w"] + updates.mean() + h, "h": h}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return the participants' mean gate."""
        return {"gate": float(updates.vectors["gate"].mean())}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return `h_i`: h is their mean."""
        return {"h": state["h"]}
