"""What an algorithm is: arithmetic on flat parameter vectors, written for one client.

The engine may hand every hook a leading client axis ([C, d] for vectors, [C, 1] for scalars such as the learning rate):
the same lines serve one client and a whole batch. All hooks are pure and default to FedAvg.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from edgefl.catalogue import Member

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor


@dataclass(frozen=True)
class Local:
    """What one device knows during its local training."""

    start: Tensor  # [d] the model as received
    lr: Tensor | float  # this round's learning rate
    received: Mapping[str, Tensor] = field(default_factory=dict)  # what `downlink` sent besides w
    state: Mapping[str, Tensor] = field(default_factory=dict)  # what `remember` kept in its last round
    steps: Tensor | float = 1.0  # local steps of this round, K
    weight: Tensor | float = 1.0  # its samples over the mean of all devices, omega


@dataclass(frozen=True)
class Updates:
    """What the server received in one round, stacked over participants in the order of their ids."""

    vectors: Mapping[str, Tensor]  # what `finish` uploaded, each [C, d]
    ids: npt.NDArray[np.int64]  # [C]
    samples: npt.NDArray[np.int64]  # [C] size of each device's data set
    population: int  # devices in the scenario, N
    steps: npt.NDArray[np.float64] | None = None  # [C] local steps that each took
    losses: npt.NDArray[np.float64] | None = None  # [C] mean training loss of each


class Algorithm(Member):
    """Base of all algorithms; the fields of a subclass are its hyper-parameters."""

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """What the server keeps, from the initial model [d]; the entry "w" is the global model."""
        return {"w": w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """What a device keeps between its rounds, before its first one; from the initial model [d]."""
        return {}

    def broadcast(self, server: Mapping[str, Tensor]) -> Tensor:
        """The model [d] that participants start from."""
        return server["w"]

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Vectors sent to participants besides the model."""
        return {}

    def correct(self, gradient: Tensor, w: Tensor, local: Local) -> Tensor:
        """The gradient after the algorithm's corrections, before clipping and weight decay."""
        return gradient

    def finish(self, w: Tensor, local: Local) -> dict[str, Tensor]:
        """The vectors that a device uploads after training; w [d] is the result of its training."""
        return {"delta": w - local.start}

    def remember(self, w: Tensor, local: Local) -> dict[str, Tensor]:
        """The device's next client state; w [d] is the result of its training."""
        return {}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """The server's next state."""
        raise NotImplementedError
