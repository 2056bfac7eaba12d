"""FedAvg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from edgefl.core.arrays import Floats
from edgefl.core.section import Count, fault, fault_at, shown
from edgefl.learning.algorithms.averaging import Averaging
from edgefl.learning.algorithms.base import Updates

if TYPE_CHECKING:
    from torch import Tensor

    from edgefl.core.arrays import Ids


def _in_one_sentence(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Replace the faults of all three alternatives with one sentence."""
    try:
        return handler(value)
    except ValidationError:
        raise fault(f'must be "selection", a number in (0, 1] or a list of such numbers, got {shown(value)}') from None


Probability = Annotated[float, Field(gt=0, le=1)]
Availability = Annotated[
    Literal["selection"] | Probability | Annotated[tuple[Probability, ...], Field(strict=False)] | None,
    WrapValidator(_in_one_sentence),
]


class FedAvg(Averaging):
    """FedAvg: the mean of the local models, by samples or uniform (McMahan et al., AISTATS 2017, algorithm 1).

    With `availability` it is FedAvg-IS: devices that take part less often count more, so that the mean is unbiased.
    "selection" takes the probability that a device is present (churn) and selected.

    With `max_participants` it is FedAvg(S). With `mode: cap` at most S of the selected devices take part in a round.
    With `mode: wait` S of all devices are drawn, and the model waits until each of them has taken part once (Gu et al.,
    NeurIPS 2021).
    """

    max_participants: Count | None = None  # Most updates that count in a round, S, drawn at random; by default all.
    # With max_participants: cap takes at most so many; wait waits for each of those drawn.
    mode: Literal["cap", "wait"] = "cap"
    # Probability that a device takes part, p_i, one for all or a list, which gives weights 1 / (N p_i).
    availability: Availability = None

    @model_validator(mode="after")
    def _check_mode_and_availability(self) -> FedAvg:
        if self.mode == "wait" and (self.max_participants is None or self.availability is not None):
            text = "wait needs max_participants (how many devices to draw and wait for)"
            raise fault_at(("mode",), f"{text}, and does not go with availability")
        if self.max_participants is not None and self.availability is not None:
            text = "weighs devices by the probability that they take part, which max_participants changes"
            raise fault_at(("availability",), f"{text}: leave one out")
        return self

    @property
    def weighs_population(self) -> bool:
        """True with `availability`, as the weights `1 / (N p_i)` depend on all N devices."""
        return self.availability is not None

    def check(self, population: int) -> str | None:
        """Refuse to wait for more devices than there are, and a list of probabilities that does not fit the devices."""
        if self.mode == "wait" and (self.max_participants or 0) > population:
            return f"max_participants asks for {self.max_participants} devices, but there are {population}"
        if isinstance(self.availability, tuple) and len(self.availability) != population:
            listed = len(self.availability)
            return f"availability lists {listed} devices, but there are {population}: give one number for each"
        return None

    def check_sessions(self, groups: int) -> tuple[str, str] | None:
        """Refuse to wait for devices drawn from the whole population, as some belong to other sessions."""
        if self.mode == "wait":
            return "mode", "wait would never end, as some awaited devices belong to other sessions: set it to cap"
        return None

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model; with `mode: wait` also the weighted sum of moves since it changed, and that of weights."""
        if self.mode == "wait":
            return {"w": w, "moves": 0 * w, "total": 0 * w[:1]}
        return {"w": w}

    def awaited(self, awaited: Ids, received: Ids, population: int, rng: np.random.Generator) -> Ids:
        """Return those of the S drawn devices that have not taken part yet; once all have, S newly drawn ones."""
        if self.mode == "cap":
            return awaited
        left = np.setdiff1d(awaited, received)
        if len(left):
            return left
        return np.sort(rng.choice(population, self.max_participants, replace=False))

    def admit(self, ids: Ids, server: Mapping[str, Any], rng: np.random.Generator) -> Ids:
        """Return at most S of the selected devices (cap), or the awaited ones among them (wait)."""
        if self.mode == "wait":
            return ids[np.isin(ids, server["awaited"])]
        if self.max_participants is None or len(ids) <= self.max_participants:
            return ids
        # Sorted places keep the order of selection, which sequential policies follow.
        return ids[np.sort(rng.permutation(len(ids))[: self.max_participants])]

    def waits(self, server: Mapping[str, Any], received: Ids) -> bool:
        """Return True with `mode: wait` until the last of the S drawn devices has taken part."""
        return self.mode == "wait" and self._still_awaited(server, received) > 0

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `w + sum_i a_i delta_i` with weights a_i; with `mode: wait` once all S devices have taken part."""
        if self.mode == "wait":
            return self._aggregate_when_complete(server, updates)
        return {**server, "w": server["w"] + self.mean_delta(updates)}

    def weights(self, updates: Updates) -> Tensor:
        """Return n_i / sum n (samples), 1 / m (uniform), or `1 / (N p_i)` with `availability`."""
        if self.availability is None or updates.weights is not None:
            return super().weights(updates)
        p = self.probabilities(updates)[updates.ids]
        return updates.vectors["delta"].new_tensor(1 / (updates.population * p))

    def probabilities(self, updates: Updates) -> Floats:
        """Return the probability p_i [N] that each device takes part."""
        n = updates.population
        if self.availability != "selection":
            listed = np.asarray(self.availability, dtype=np.float64)
            if listed.ndim and updates.run.devices:
                listed = listed[list(updates.run.devices)]
            return np.broadcast_to(listed, n)
        # However many devices are present, m of them are selected: each with a probability of m / sum(presence) on
        # average.
        presence = np.array(updates.run.presence or np.ones(n))
        return np.asarray(presence * updates.run.participants / presence.sum())

    def _aggregate_when_complete(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Add up the moves since the model changed; when no device is awaited any more, move it by their mean."""
        delta = updates.vectors["delta"]
        counts = delta.new_tensor(self.counts(updates))
        moves = server["moves"] + counts @ delta
        total = server["total"] + counts.sum()
        if self._still_awaited(server, updates.ids):
            return {**server, "moves": moves, "total": total}
        return {**server, "w": server["w"] + moves / total, "moves": 0 * moves, "total": 0 * total}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return how many devices the model still waits for, with `mode: wait`."""
        if self.mode == "cap":
            return {}
        return {"awaited": float(self._still_awaited(server, updates.ids))}

    def _still_awaited(self, server: Mapping[str, Any], received: Ids) -> int:
        # The entry "awaited" is from before this round.
        return len(np.setdiff1d(server["awaited"], received))
