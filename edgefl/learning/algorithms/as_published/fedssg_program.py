"""Algorithms as the program of the FedSSG paper runs them (arXiv 2025), which builds on FedDyn's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from edgefl.core.catalogue import Member
from edgefl.learning.algorithms.base import LocalContext, Updates
from edgefl.learning.algorithms.feddyn import FedDyn
from edgefl.learning.algorithms.fedssg import FedSSG
from edgefl.learning.algorithms.fedvra import FedVRA
from edgefl.learning.algorithms.scaffold import Scaffold

if TYPE_CHECKING:
    from torch import Tensor


class ScaffoldInFedSSG(Scaffold):
    """SCAFFOLD whose `c` is the mean of `omega_i c_i`, and whose devices each take the steps of one of mean size."""

    listed_as: ClassVar[type[Member] | None] = Scaffold
    same_steps: ClassVar[bool] = True  # K_ref; a device with fewer samples goes over them again

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return `gradient - c_i + c / omega_i`."""
        return gradient - local.state["c"] + local.received["c"] / local.weight

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move, and omega_i times the change of the control variate."""
        change = self.remember(w, local)["c"] - local.state["c"]
        return {"delta": w - local.start, "delta_c": local.weight * change}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """Return `omega_i (-c - delta / (K lr))`; nothing in option I."""
        derived = super().derived(upload, local)
        return {name: local.weight * change for name, change in derived.items()}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return `omega_i c_i`."""
        return {"c": weight * state["c"]}


class FedVRAInFedSSG(FedDyn, FedVRA):
    """FedVRA whose dual term has no gradient with respect to the model, so that FedDyn remains."""

    listed_as: ClassVar[type[Member] | None] = FedVRA


class FedSSGProgramWithoutCorrection(FedSSG):
    """FedSSG whose gate begins at 1 and does not weigh the pull; without the program's gradient correction."""

    listed_as: ClassVar[type[Member] | None] = FedSSG
    depends_on_rounds: ClassVar[bool | None] = True  # its gate

    def gate(self, local: LocalContext) -> Tensor:
        """Return `p_i = 1 + c_i / (T m/N)` [1], where `c_i` includes this round; 1 without `memo_correction`."""
        if not self.memo_correction:
            return 1 + 0 * local.state["count"]
        return 1 + (local.state["count"] + 1) / (self.participation_rate(local.run) * local.run.rounds)

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return `gradient + alpha_i h_i` with `alpha_i = alpha / omega_i`; only the gradient without `penalty`."""
        if not self.penalty:
            return gradient
        return gradient + self.alpha / local.weight * local.state["h"]


class FedSSGProgram(FedSSGProgramWithoutCorrection):
    """FedSSG as in the authors' program: gated memory, and FedDC's gradient correction g."""

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return FedSSG's state and the mean correction of all devices, `g = 0`."""
        return {**super().server_state(w), "g": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return FedSSG's state and the device's correction, `g_i = 0`."""
        return {**super().client_state(w), "g": 0 * w}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Send the mean correction with the model."""
        return {"g": server["g"]}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return `gradient + alpha_i h_i + g / omega_i - g_i` with `alpha_i = alpha / omega_i`."""
        penalised = super().correct(gradient, w, local)
        return penalised + local.received["g"] / local.weight - local.state["g"]

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move, its gate, and omega_i times the change of the correction."""
        change = self.remember(w, local)["g"] - local.state["g"]
        return {**super().finish(w, local), "delta_g": local.weight * change}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """Return omega_i times the change of the correction, `-g - omega_i p_i delta / (K_ref lr)`."""
        change = local.weight * upload["gate"] * upload["delta"] / (local.run.steps * local.rate(self.cv_lr))
        return {"delta_g": -local.received["g"] - change}

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return FedSSG's next state and `g_i+ = g_i - g / omega_i - p_i delta / (K_ref lr)`."""
        slope = self.gated_move(w, local) / (local.run.steps * local.rate(self.cv_lr))
        g = local.state["g"] - local.received["g"] / local.weight - slope
        return {**super().remember(w, local), "g": g}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return FedSSG's next state and `g+ = g + sum(omega_i (g_i+ - g_i)) / N`."""
        g = server["g"] + updates.vectors["delta_g"].sum(dim=0) / updates.population
        return {**super().aggregate(server, updates), "g": g}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return `h_i` and `omega_i g_i`."""
        return {"h": state["h"], "g": weight * state["g"]}
