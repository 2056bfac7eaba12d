"""Algorithms that change some of the hooks of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edgefl.learning.algorithms.base import AddedLoss, Algorithm, Batch, ForwardPass, LocalContext, Updates

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from edgefl.core.arrays import Ids


class Wrapper(Algorithm):
    """Base of algorithms that change some hooks of another one, `base`; here every hook still calls that of `base`."""

    base: Algorithm  # the algorithm that is changed

    @property
    def needs_gradient(self) -> bool:
        return self.base.needs_gradient

    @property
    def replays(self) -> bool:
        return self.base.replays

    @property
    def needs_only_mean(self) -> bool:
        return self.base.needs_only_mean

    @property
    def weighs_population(self) -> bool:
        return self.base.weighs_population

    @property
    def uploads_changes(self) -> bool:
        return self.base.uploads_changes

    @property
    def needs_classes(self) -> bool:
        return self.base.needs_classes

    def check(self, population: int) -> str | None:
        return self.base.check(population)

    def check_sessions(self, groups: int) -> tuple[str, str] | None:
        misfit = self.base.check_sessions(groups)
        if misfit is None:
            return None
        _, reason = misfit
        return "base", reason

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        return self.base.server_state(w)

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        return self.base.device_rows(w)

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        return self.base.client_state(w)

    def own_models(self) -> dict[str, str]:
        return self.base.own_models()

    def awaited(self, awaited: Ids, received: Ids, population: int, rng: np.random.Generator) -> Ids:
        return self.base.awaited(awaited, received, population, rng)

    def admit(self, ids: Ids, server: Mapping[str, Any], rng: np.random.Generator) -> Ids:
        return self.base.admit(ids, server, rng)

    def waits(self, server: Mapping[str, Any], received: Ids) -> bool:
        return self.base.waits(server, received)

    def broadcast(self, server: Mapping[str, Tensor]) -> Tensor:
        return self.base.broadcast(server)

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self.base.downlink(server)

    def sent_once(self) -> frozenset[str]:
        return self.base.sent_once()

    def references(self, local: LocalContext) -> dict[str, Tensor]:
        return self.base.references(local)

    def loss(self, losses: Tensor, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> Tensor:
        return self.base.loss(losses, own, references, batch)

    def added_loss(self, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> AddedLoss | None:
        return self.base.added_loss(own, references, batch)

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        return self.base.correct(gradient, w, local)

    def decay(self, local: LocalContext) -> Tensor | float:
        return self.base.decay(local)

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        return self.base.finish(w, local)

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        return self.base.derived(upload, local)

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        return self.base.remember(w, local)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        return self.base.aggregate(server, updates)

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        return self.base.trace(server, updates)

    def contributors(self, server: Mapping[str, Tensor], updates: Updates) -> Ids:
        return self.base.contributors(server, updates)

    def carried_over(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self.base.carried_over(server)

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        return self.base.share_in_means(state, weight)
