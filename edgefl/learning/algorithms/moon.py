"""MOON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import NonNegativeFloat, PositiveFloat

from edgefl.learning.algorithms.base import AddedLoss, Batch, ForwardPass, LocalContext
from edgefl.learning.algorithms.fedavg import FedAvg

if TYPE_CHECKING:
    from torch import Tensor

SHORTEST = 1e-8  # length of a representation below which torch's cosine_similarity counts it as one of that length


class Moon(FedAvg):
    """MOON: representations near the received model's, far from the device's last one's (Li et al., CVPR 2021, eq. 3).

    In its first round a device has no last model. The received one stands in, so that the contrast is a constant, or,
    with `first_previous: random`, a random network of the device's own, as in the dynamic-devices paper's program.
    """

    mu: NonNegativeFloat = 1.0  # Weight of the contrast.
    temperature: PositiveFloat = 0.5  # Temperature of the contrast, tau in eq. 3.
    first_previous: Literal["received", "random"] = "received"  # The model that stands in for the last one at first.

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model that the device trained last, and a flag that it has trained one."""
        return {"previous": 0 * w, "seen": 0 * w[:1]}

    def own_models(self) -> dict[str, str]:
        """Return the last model, with `first_previous: random`."""
        if self.first_previous == "random":
            return {"previous": "seen"}
        return {}

    def references(self, local: LocalContext) -> dict[str, Tensor]:
        """Return the received model, and the one that the device trained last."""
        if self.first_previous == "random":
            return {"received": local.start, "previous": local.state["previous"]}
        # Arithmetic instead of an if: in a batch of devices some are new and some are not.
        seen = local.state["seen"]
        previous = seen * local.state["previous"] + (1 - seen) * local.start
        return {"received": local.start, "previous": previous}

    def loss(self, losses: Tensor, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> Tensor:
        """Return `L - mu log(e^p / (e^p + e^q))` with cosines `p = cos(z, z_received) / temperature` (eq. 3).

        `q` is the same with `z_previous`. The logarithm is computed as a softplus of `q - p`, which does not overflow.
        """
        from torch.nn.functional import cosine_similarity, softplus

        near = cosine_similarity(own.z, references["received"].z, dim=-1)
        far = cosine_similarity(own.z, references["previous"].z, dim=-1)
        return losses + self.mu * softplus((far - near) / self.temperature)

    def added_loss(self, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> AddedLoss:
        """Return the contrast, and its gradient in `z`.

        With `u = z / |z|` and `a = z_previous / |z_previous| - z_received / |z_received|` the contrast is
        `mu softplus(c)` for `c = u a / temperature`; its gradient is `mu sigmoid(c) (a - (u a) u) / (temperature |z|)`.
        """
        from torch.nn.functional import normalize, softplus

        length = own.z.norm(dim=-1, keepdim=True).clamp_min(SHORTEST)
        u = own.z / length
        a = normalize(references["previous"].z, dim=-1, eps=SHORTEST)
        a = a - normalize(references["received"].z, dim=-1, eps=SHORTEST)
        along = (u * a).sum(dim=-1, keepdim=True)
        c = along / self.temperature
        gradient = (a - along * u) * (self.mu / self.temperature * c.sigmoid() / length)
        return AddedLoss(self.mu * softplus(c.squeeze(-1)), gradient)

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the trained model, and the flag."""
        return {"previous": w, "seen": 0 * local.state["seen"] + 1}
