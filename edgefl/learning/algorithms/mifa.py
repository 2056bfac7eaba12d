"""MIFA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor


class Mifa(Algorithm):
    """MIFA: the mean of all devices' last updates, of whatever age (Gu et al., NeurIPS 2021, algorithm 1).

    State client keeps a device's last update with the device, which then sends the difference: two models at the
    server in place of N + 1.
    """

    state: Literal["server", "client"] = "server"
    wait: bool = False  # no step before every device has been heard, as the paper assumes; else they count as 0

    def uploads_changes(self) -> bool:
        """Of G_i, where devices keep it."""
        return self.state == "client"

    def check_sessions(self, groups: int) -> tuple[str, str] | None:
        """Waiting needs all devices."""
        if self.wait and groups > 1:
            return "wait", "waits for devices of all groups, but only one is present at a time: set it to false"
        return None

    def replays(self) -> bool:
        """The table is there (algorithm cards, 1.10.5)."""
        return True

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model; with the updates at the devices also their mean, G = 0."""
        return {"w": w, "mean": 0 * w} if self.state == "client" else {"w": w}

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        """The last update, G_i = 0, and whether there was one."""
        seen = {"seen": 0 * w[:1]}
        return seen if self.state == "client" else {"G": 0 * w, **seen}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """With the updates at the devices: the last one, G_i = 0."""
        return {"G": 0 * w} if self.state == "client" else {}

    def held(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """With the updates at the devices G is the mean of G_i."""
        return {"mean": state["G"]} if self.state == "client" else {}

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """G_i = (start - w) / lr."""
        return {"G": (local.start - w) / local.lr} if self.state == "client" else {}

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """G_i, or how it has changed."""
        update = (local.start - w) / local.lr
        return {"G": update - local.state["G"] if self.state == "client" else update}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W - lr sum over all N of G_i / N, with this round's learning rate."""
        update, state = updates.vectors["G"], {**server, "seen": server["seen"].clone()}
        state["seen"][updates.ids] = 1.0
        if self.state == "client":
            mean = state["mean"] = server["mean"] + update.sum(dim=0) / updates.population
        else:
            state["G"] = server["G"].clone()
            state["G"][updates.ids] = update
            mean = state["G"].mean(dim=0)
        if self.wait and not bool(state["seen"].all()):
            return state
        return {**state, "w": server["w"] - updates.lr * mean}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """How many devices have been heard."""
        return {"seen": float(server["seen"].sum())}
