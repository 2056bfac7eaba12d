"""FedSSG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, NonNegativeFloat, model_validator

from edgefl.core.section import fault_at
from edgefl.learning.algorithms.base import Algorithm, LocalContext, RunInfo, Updates
from edgefl.learning.algorithms.variants import become_variant

if TYPE_CHECKING:
    from torch import Tensor

PROGRAM = "edgefl.learning.algorithms.as_published.fedssg_program"
APPENDIX = "edgefl.learning.algorithms.as_published.fedssg_appendix"
VARIANTS = {  # by the keys `variant` and `gradient_correction`
    ("code", True): f"{PROGRAM}:FedSSGProgram",
    ("code", False): f"{PROGRAM}:FedSSGProgramWithoutCorrection",
    ("algorithm_1", True): f"{APPENDIX}:FedSSGAppendix",
    ("algorithm_1", False): f"{APPENDIX}:FedSSGAppendixWithoutCorrection",
}
ABLATED = ("code", "algorithm_1")  # the main text has no gradient correction, and one gate for two terms
BELONGS_TO = {  # keys that only some variants have
    "phi": ("paper_main",),
    "clip_gate": ("paper_main",),
    "alignment": ("paper_main",),
    "beta": ("algorithm_1",),
    "correction_unit": ("algorithm_1",),
    "server_mean": ("algorithm_1",),
    "penalty": ABLATED,
    "gradient_correction": ABLATED,
    "memo_correction": ABLATED,
}


class FedSSG(Algorithm):
    """FedSSG: FedDC whose memory is gated by how often a device took part (FedSSG, arXiv 2025, algorithm 1).

    The paper has three versions. This class follows its main text (`variant: paper_main`): one gate phi weighs the
    memory (eq. 7) and the alignment (eq. 8), which is the same for devices of any size. There is no gradient
    correction, so that one vector is sent each way. The main text does not say what the server does; here it does what
    it does in the authors' program. The program (`code`) and the appendix (`algorithm_1`) are subclasses in
    `as_published`.
    """

    alpha: NonNegativeFloat = 0.05  # Weight of the alignment.
    # Whose FedSSG it is, the authors' program (code), the main text or the appendix (algorithm_1).
    variant: Literal["code", "paper_main", "algorithm_1"] = "code"
    # The gate phi of r, which is r (identity), alpha r, or alpha / (1 + e^-r) (eq. 6).
    phi: Literal["identity", "scaled", "logistic"] = "identity"
    clip_gate: bool = True  # Whether the ratio r of the main text is limited to 1, so that g(r) = r is in [0, 1].
    alignment: Literal["proximal", "inner_product"] = "proximal"  # Term of the alignment, eq. 9 (proximal) or eq. 10.
    beta: NonNegativeFloat = 0.0  # Added to the gate of algorithm 1; the program's 1 + xi has 1.
    correction_unit: Literal["steps", "epochs"] = "steps"  # What E counts in eq. 23.
    # Over which devices the server averages, as in eq. 28 (participants), or line 13 of algorithm 1.
    server_mean: Literal["participants", "population"] = "participants"
    penalty: bool = True  # Whether there is the penalised term, eq. 19 (Table 6).
    gradient_correction: bool = True  # Whether there is the gradient correction, eq. 23 (Table 6).
    # Whether there is the correction xi_i; without it the memory is h_i + delta_i, eq. 16 (Table 6).
    memo_correction: bool = True
    # Learning rate in the gradient correction; the program takes the initial one.
    cv_lr: Literal["initial", "current"] = "initial"
    # Share of participants, m / N; by default the scenario's.
    participation: Annotated[float, Field(gt=0, le=1)] | None = None

    @model_validator(mode="after")
    def _choose_variant(self) -> FedSSG:
        for key, variants in BELONGS_TO.items():
            if self.variant not in variants and getattr(self, key) != type(self).model_fields[key].default:
                belongs = " and ".join(variants)
                raise fault_at((key,), f"belongs to {belongs}: leave it out, or set variant: {variants[0]}")
        if self.variant == "paper_main":
            return self
        return become_variant(self, VARIANTS[self.variant, self.gradient_correction])

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and the mean memory of all devices, `h = 0`."""
        return {"w": w, "h": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return a device's memory, `h_i = 0`, and the number of rounds when it took part, `c_i = 0`."""
        return {"h": 0 * w, "count": 0 * w[:1]}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the gradient of `loss + phi A`, where A is eq. 9 or eq. 10."""
        if self.alignment == "inner_product":
            return gradient + self.gate(local) * local.state["h"]
        return gradient + self.gate(local) * (w - local.start + local.state["h"])

    def gate(self, local: LocalContext) -> Tensor:
        """Return `phi(r_i)` [1] with `r_i = c_i / (t m/N + 1e-6)` (eq. 5); t counts rounds since the state began.

        Both t and c_i include this round.
        """
        rounds = local.index - local.run.began + 1
        ratio = (local.state["count"] + 1) / (self.participation_rate(local.run) * rounds + 1e-6)
        if self.phi == "logistic":
            return self.alpha / (1 + math.e**-ratio)
        if self.clip_gate:
            ratio = 1 - (ratio < 1) * (1 - ratio)  # min(ratio, 1), for arrays and tensors alike
        if self.phi == "scaled":
            return self.alpha * ratio
        return ratio

    def participation_rate(self, run: RunInfo) -> float:
        """Return `m / N`, the expected fraction of devices in a round."""
        return self.participation or run.participants / run.population

    def gated_move(self, w: Tensor, local: LocalContext) -> Tensor:
        """Return the gate times `delta`."""
        return self.gate(local) * (w - local.start)

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move and its gate."""
        return {"delta": w - local.start, "gate": self.gate(local)}

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return `h_i+ = h_i + phi delta` (eq. 7) and `c_i+ = c_i + 1`."""
        return {"h": local.state["h"] + self.gated_move(w, local), "count": local.state["count"] + 1}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `mean(w_i) + h+` with `h+ = h + sum(gate_i delta_i) / N`."""
        gated = updates.vectors["gate"] * updates.vectors["delta"]
        h = server["h"] + gated.sum(dim=0) / updates.population
        return {**server, "w": server["w"] + updates.mean() + h, "h": h}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return the participants' mean gate."""
        return {"gate": float(updates.vectors["gate"].mean())}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return `h_i`: h is their mean."""
        return {"h": state["h"]}
