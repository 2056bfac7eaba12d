"""MIFA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import model_validator

from edgefl.core.section import fault_at
from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor

    from edgefl.core.arrays import Ids


class Mifa(Algorithm):
    """MIFA: the mean of all devices' last updates, of whatever age (Gu et al., NeurIPS 2021, algorithm 1).

    With `state: client` a device keeps its last update itself and sends the difference, so that the server keeps two
    vectors of the model's size instead of N + 1.

    With `wait` the first step is taken in the round when the last device is heard, as all devices take part in the
    paper's first round. The authors' program takes it one round later (`first_step: next_round`).
    """

    state: Literal["server", "client"] = "server"  # Where last updates are kept.
    # Whether no step is taken until all devices have taken part, as in the paper; otherwise the others count as 0.
    wait: bool = False
    # When the first step is taken with wait, as soon as all are known, or a round later.
    first_step: Literal["at_once", "next_round"] = "at_once"

    @model_validator(mode="after")
    def _check_first_step(self) -> Mifa:
        if self.first_step == "next_round" and not self.wait:
            raise fault_at(("first_step",), "needs wait: true, as else the first round takes a step: leave it out")
        return self

    @property
    def replays(self) -> bool:
        """True: every round uses the last updates of all devices (algorithm 1)."""
        return True

    @property
    def uploads_changes(self) -> bool:
        """True with `state: client`."""
        return self.state == "client"

    def check_sessions(self, groups: int) -> tuple[str, str] | None:
        """Refuse to wait for devices of groups that take turns."""
        if self.wait and groups > 1:
            return "wait", "waits for devices of all groups, but only one is present at a time: set it to false"
        return None

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model; if devices keep their updates, also the mean of these, `G = 0`."""
        if self.uploads_changes:
            return {"w": w, "mean": 0 * w}
        return {"w": w}

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        """Return a flag that the device has taken part, and its last update, `G_i = 0`, unless it keeps that itself."""
        seen = 0 * w[:1]
        if self.uploads_changes:
            return {"seen": seen}
        return {"G": 0 * w, "seen": seen}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the device's last update, `G_i = 0`, if it keeps that itself."""
        if self.uploads_changes:
            return {"G": 0 * w}
        return {}

    def update(self, w: Tensor, local: LocalContext) -> Tensor:
        """Return `G_i = (start - w) / lr`."""
        return (local.start - w) / local.lr

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return `G_i`, or its change if the device keeps it."""
        if self.uploads_changes:
            return {"G": self.update(w, local) - local.state["G"]}
        return {"G": self.update(w, local)}

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return `G_i`, if the device keeps it."""
        if self.uploads_changes:
            return {"G": self.update(w, local)}
        return {}

    def waits(self, server: Mapping[str, Any], received: Ids) -> bool:
        """Return True with `wait` until all devices have taken part: before the round, or at its end (`first_step`)."""
        if not self.wait:
            return False
        seen = server["seen"]
        if self.first_step == "at_once":
            seen = seen.clone()
            seen[received] = 1.0
        return not bool(seen.all())

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `w - lr sum_i G_i / N` over all N devices, with this round's learning rate."""
        after = {**server, "seen": server["seen"].clone()}
        after["seen"][updates.ids] = 1.0
        update = updates.vectors["G"]
        if self.uploads_changes:
            # The mean of all G_i follows from the sum of their changes, so the server needs no table.
            mean = server["mean"] + update.sum(dim=0) / updates.population
            after["mean"] = mean
        else:
            after["G"] = server["G"].clone()
            after["G"][updates.ids] = update
            mean = after["G"].mean(dim=0)
        if self.waits(server, updates.ids):
            return after
        return {**after, "w": server["w"] - updates.lr * mean}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return how many devices have taken part so far."""
        return {"seen": float(server["seen"].sum())}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return `G_i`, if the device keeps it: the server has their mean."""
        if self.uploads_changes:
            return {"mean": state["G"]}
        return {}
