"""FedSSG as appendix B of its paper has it, word for word: algorithm 1 with eqs. 16 to 28 (arXiv 2025)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from edgefl.core.catalogue import Member
from edgefl.learning.algorithms.base import LocalContext, Updates
from edgefl.learning.algorithms.fedssg import FedSSG

if TYPE_CHECKING:
    from torch import Tensor


class FedSSGAppendixWithoutCorrection(FedSSG):
    """Algorithm 1 with the penalised term, and without the gradient correction (Table 6)."""

    listed_as: ClassVar[type[Member] | None] = FedSSG
    depends_on_rounds: ClassVar[bool | None] = True  # xi

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model: the server keeps no memory, as participants send theirs."""
        return {"w": w}

    def gate(self, local: LocalContext) -> Tensor:
        """Return `xi_i + beta` [1] with `xi_i = c_i / (T m/N)` (line 11); 1 without `memo_correction` (eq. 16)."""
        if not self.memo_correction:
            return 1 + 0 * local.state["count"]
        return (local.state["count"] + 1) / (self.participation_rate(local.run) * local.run.rounds) + self.beta

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the gradient of `loss + alpha <w - (start - h_i), h_i>` (eq. 19)."""
        if not self.penalty:
            return gradient
        return gradient + self.alpha * local.state["h"]

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move, its gate, and the memory that the server corrects the local model with, `h_i+`."""
        return {**super().finish(w, local), "h": self.remember(w, local)["h"]}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `mean(w_i + h_i+)` over the participants (eq. 28), or their sum over N (line 13)."""
        w = server["w"] + updates.mean() + updates.mean("h")
        if self.server_mean == "population":
            # As printed: a model that shrinks to m / N of itself in every round.
            w = w * (len(updates.ids) / updates.population)
        return {**server, "w": w}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return nothing: the server keeps no means over all devices."""
        return {}


class FedSSGAppendix(FedSSGAppendixWithoutCorrection):
    """FedSSG by algorithm 1 and eqs. 19, 23 and 28."""

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and its participants' mean move of the last round, `Delta omega = 0`."""
        return {**super().server_state(w), "move": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the memory, the counter and the device's last move, `Delta theta_i = 0`."""
        return {**super().client_state(w), "move": 0 * w}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Send the mean move with the model."""
        return {"move": server["move"]}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the penalised gradient plus `(Delta theta_i - Delta omega) / (eta E)` (eq. 24)."""
        length = local.steps
        if self.correction_unit == "epochs":
            length = local.steps / local.epoch_steps
        correction = (local.state["move"] - local.received["move"]) / (local.rate(self.cv_lr) * length)
        return super().correct(gradient, w, local) + correction

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the next memory and counter, and this round's move."""
        return {**super().remember(w, local), "move": w - local.start}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return the next model, and the mean of the moves, `Delta omega = mean(Delta theta_i)`."""
        return {**super().aggregate(server, updates), "move": updates.mean()}
