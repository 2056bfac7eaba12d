"""The models of devices that keep a part of theirs: what travels, with what each device has of its own."""

import numpy as np
import torch
from torch import Tensor

from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.state_names import OWN_PARAMETERS, OWN_STATISTICS
from edgefl.learning.learner.states.client_states import ClientStates
from edgefl.learning.models import Model


class OwnModels:
    """Joins what devices keep (`training.parts.keep`) with what the server sends."""

    def __init__(self, model: Model, network: Network, kept: Tensor, states: ClientStates, devices: int) -> None:
        self._network = network
        self._kept = kept
        self._states = states
        self._ids = np.arange(devices)
        self.exist = len(kept) > 0 or model.keeps_statistics(network.module)

    def first(self, w: Tensor) -> Tensor:
        """Return the model [d + k] of the parameters w [d] that travel and the first values of those that do not."""
        return torch.cat([w, self._kept])

    def of_devices(self, w: Tensor, statistics: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return each device's model [d + k] and its statistics [b] of batch normalisation.

        Devices share the parameters w [d] and, unless they have their own, the `statistics` [b].
        """
        own = self._states.own_parts(self._ids)
        parameters = own.get(OWN_PARAMETERS, w.new_empty(len(self._ids), 0))
        normalisations = own.get(OWN_STATISTICS, statistics.expand(len(self._ids), -1))
        return [(torch.cat([w, kept]), each) for kept, each in zip(parameters, normalisations, strict=True)]

    def tensors(self) -> dict[str, Tensor]:
        """Return the values [devices, *shape] that devices have of their own, by the names of their tensors."""
        if not self.exist:
            return {}
        own = self._states.own_parts(self._ids)
        tensors: dict[str, Tensor] = {}
        if OWN_PARAMETERS in own:
            tensors |= zip(self._network.kept.names, self._network.kept.views(own[OWN_PARAMETERS]), strict=True)
        if OWN_STATISTICS in own:
            statistics = self._network.statistics
            buffers = self._network.as_buffers(statistics.views(own[OWN_STATISTICS]))
            tensors |= zip(statistics.names, buffers, strict=True)
        return tensors
