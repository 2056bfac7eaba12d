"""Algorithms that replace the aggregation weights of another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import model_validator

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Catalogue
from edgefl.core.section import fault_at
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.algorithms.base import Algorithm, Updates
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.wrapper import Wrapper

if TYPE_CHECKING:
    from torch import Tensor

AVERAGING = [  # algorithms whose server takes a mean over participants
    "fedacg", "fedadagrad", "fedadam", "fedavg", "fedavgm", "feddc", "feddyn", "fedeve", "fednova", "fedprox", "fedssg",
    "fedvra", "fedyogi", "moon", "scaffold",
]  # fmt: skip
BASES: Catalogue[Algorithm] = Catalogue(
    noun="base algorithm",
    members={name: ALGORITHMS.members[name] for name in AVERAGING},
    base=Algorithm,
    kind="algorithms",
)


class Reweighted(Wrapper):
    """Base of these algorithms."""

    base: Annotated[Algorithm, BASES] = FedAvg()  # The algorithm whose weights are replaced.

    @model_validator(mode="after")
    def _check_base(self) -> Reweighted:
        if isinstance(self.base, FedAvg) and self.base.mode == "wait":
            text = f"{ALGORITHMS.name_of(self)} weighs the participants of one round: set it to cap"
            raise fault_at(("base", "mode"), text)
        if isinstance(self.base, FedAvg) and self.base.availability is not None:
            text = f"gives updates weights, but {ALGORITHMS.name_of(self)} replaces them: remove it"
            raise fault_at(("base", "availability"), text)
        return self

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Aggregate as `base` does, with the weights of `new_weights`: `w + sum_k a_k delta_k` for FedAvg."""
        return self.base.aggregate(server, replace(updates, weights=self.new_weights(updates)))

    def new_weights(self, updates: Updates) -> Floats:
        """Return the weight [C] of each participant; they add up to 1."""
        raise NotImplementedError
