"""FedAvg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from edgefl.core.section import Count, fault, fault_at, shown
from edgefl.learning.algorithms.averaging import Averaging
from edgefl.learning.algorithms.base import Updates

if TYPE_CHECKING:
    from torch import Tensor

    from edgefl.core.arrays import Ids


def _availability(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """One sentence for the three alternatives."""
    try:
        return handler(value)
    except ValidationError:
        raise fault(f'must be "selection", a number in (0, 1] or a list of such, got {shown(value)}') from None


Probability = Annotated[float, Field(gt=0, le=1)]
Availability = Annotated[
    Literal["selection"] | Probability | Annotated[tuple[Probability, ...], Field(strict=False)] | None,
    WrapValidator(_availability),
]


class FedAvg(Averaging):
    """FedAvg: the mean of the local models, by samples or uniform (McMahan et al., AISTATS 2017, algorithm 1).

    With `availability` it is FedAvg-IS: devices that are there less often count more, so that the mean is right in
    expectation. "selection" takes the chance with which a device is there (churn) and the server's selection takes it.

    With `max_participants` it is FedAvg(S): of those who are selected no more take part in a round (cap), or S of all
    devices are drawn, and the model waits until each of them has taken part once (wait; Gu et al., NeurIPS 2021).
    """

    max_participants: Count | None = None  # S, drawn at random
    mode: Literal["cap", "wait"] = "cap"
    availability: Availability = None  # p_i of all devices, or a list of one each: weights 1 / (N p_i)

    @model_validator(mode="after")
    def _who_takes_part(self) -> FedAvg:
        if self.mode == "wait" and (self.max_participants is None or self.availability is not None):
            raise fault_at(("mode",), "wait needs max_participants, how many to draw and wait for, and no availability")
        if self.max_participants is not None and self.availability is not None:
            text = "weighs devices by the chance with which they take part, which max_participants changes"
            raise fault_at(("availability",), f"{text}: leave one out")
        return self

    def check(self, population: int) -> str | None:
        """One probability a device; no more devices to wait for than there are."""
        p = self.availability
        if self.mode == "wait" and (self.max_participants or 0) > population:
            return f"max_participants asks for {self.max_participants} devices, but there are {population}"
        if isinstance(p, tuple) and len(p) != population:
            return f"availability lists {len(p)} devices, but there are {population}"
        return None

    def check_sessions(self, groups: int) -> tuple[str, str] | None:
        """Waiting draws devices of the whole population, also such as belong to other sessions."""
        if self.mode == "wait":
            return "mode", "wait would never end, as some awaited devices belong to other sessions: set it to cap"
        return None

    def only_averages(self) -> bool:
        """Unless a subclass aggregates otherwise."""
        return type(self).aggregate is FedAvg.aggregate

    def divisible(self) -> bool:
        """Without `availability`, whose weights count all devices."""
        return self.availability is None and super().divisible()

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model; to wait also the weighted sum of the moves since it changed, and the sum of their weights."""
        return {"w": w, "moves": 0 * w, "total": 0 * w[:1]} if self.mode == "wait" else {"w": w}

    def awaited(self, before: Ids, heard: Ids, population: int, rng: np.random.Generator) -> Ids:
        """Those of the S drawn devices who have not been heard; S others when all have been."""
        if self.mode == "cap":
            return before
        left = np.setdiff1d(before, heard)
        return left if len(left) else np.sort(rng.choice(population, self.max_participants, replace=False))

    def admit(self, ids: Ids, server: Mapping[str, Any], rng: np.random.Generator) -> Ids:
        """At most S, or those who are awaited; in the same order."""
        if self.mode == "wait":
            return ids[np.isin(ids, server["awaited"])]
        if self.max_participants is None or len(ids) <= self.max_participants:
            return ids
        return ids[np.sort(rng.permutation(len(ids))[: self.max_participants])]

    def weights(self, updates: Updates) -> Tensor:
        """n_i / sum n (samples), 1 / m (uniform), or 1 / (N p_i) with `availability`."""
        if self.availability is None or updates.weights is not None:
            return super().weights(updates)
        p, run, n = self.availability, updates.run, updates.population
        there = np.array(run.presence or np.ones(n))
        chances = there * run.participants / there.sum() if p == "selection" else np.broadcast_to(p, n)
        return updates.vectors["delta"].new_tensor(1 / (n * chances[updates.ids]))

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W + sum_i a_i delta_i with the weights a_i; to wait, of all S devices at once."""
        if self.mode == "cap":
            return {**server, "w": server["w"] + self.mean_delta(updates)}
        delta = updates.vectors["delta"]
        counts = delta.new_tensor(updates.samples if self.weighting == "samples" else np.ones(len(delta)))
        moves, total = server["moves"] + counts @ delta, server["total"] + counts.sum()
        if self._still_awaited(server, updates):
            return {**server, "moves": moves, "total": total}
        return {**server, "w": server["w"] + moves / total, "moves": 0 * moves, "total": 0 * total}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """To wait: how many devices have still to be heard before the model changes."""
        return {"awaited": float(self._still_awaited(server, updates))} if self.mode == "wait" else {}

    def _still_awaited(self, server: Mapping[str, Any], updates: Updates) -> int:
        return len(np.setdiff1d(server["awaited"], updates.ids))
