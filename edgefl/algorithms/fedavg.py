"""FedAvg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from edgefl.algorithms.averaging import Averaging
from edgefl.algorithms.base import Updates
from edgefl.section import Count, fault, shown

if TYPE_CHECKING:
    from torch import Tensor


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
    expectation. "selection" takes the chance with which the server's selection takes a device.
    """

    max_participants: Count | None = None  # S: of those who are selected no more take part, drawn at random
    availability: Availability = None  # p_i of all devices, or a list of one each: weights 1 / (N p_i)

    def check(self, population: int) -> str | None:
        """One probability a device."""
        p = self.availability
        if isinstance(p, tuple) and len(p) != population:
            return f"availability lists {len(p)} devices, but there are {population}"
        return None

    def admit(self, ids: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """At most S, in the same order."""
        if self.max_participants is None or len(ids) <= self.max_participants:
            return ids
        return ids[np.sort(rng.permutation(len(ids))[: self.max_participants])]

    def weights(self, updates: Updates) -> Tensor:
        """n_i / sum n (samples), 1 / m (uniform), or 1 / (N p_i) with `availability`."""
        if self.availability is None:
            return super().weights(updates)
        p, run, n = self.availability, updates.run, updates.population
        chances = np.broadcast_to(run.participants / run.population if p == "selection" else p, n)[updates.ids]
        return updates.vectors["delta"].new_tensor(1 / (n * chances))

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W + sum_i a_i delta_i with the weights a_i."""
        return {**server, "w": server["w"] + self.mean_delta(updates)}
