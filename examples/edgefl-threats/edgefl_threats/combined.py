"""The base of everything that the server makes of the updates before an algorithm learns from them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
from torch import Tensor

from edgefl.learning.algorithms import ALGORITHMS, Algorithm, Updates, Wrapper
from edgefl.learning.algorithms.fedavg import FedAvg

Vectors = npt.NDArray[np.floating]


class Combined(Wrapper):
    """The algorithm `base` learns from one vector that is made of all updates, instead of their mean."""

    depends_on_rounds: ClassVar[bool | None] = False

    # The algorithm of the devices' training and of the server's step, such as fedprox or fedadam.
    base: Annotated[Algorithm, ALGORITHMS] = FedAvg()

    def combine(self, vectors: Vectors, updates: Updates) -> Vectors:
        """Return the vector [d] that stands for the updates [C, d]."""
        raise NotImplementedError

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Let the base learn as if a single device had sent the combined vector.

        Raises:
            ValueError: the base sends or keeps more than one vector for each device.
        """
        if set(updates.vectors) != {"delta"} or self.base.device_rows(server["w"]):
            name = type(self.base).__name__
            raise ValueError(f"{name} sends or keeps several vectors for a device: choose another base, such as fedavg")
        delta = updates.vectors["delta"]
        combined = self.combine(delta.cpu().numpy(), updates)
        only_one = updates.only(np.array([0]))
        return self.base.aggregate(server, replace(only_one, vectors={"delta": delta.new_tensor(combined)[None]}))
