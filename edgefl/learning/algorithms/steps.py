"""Steps around an algorithm's hooks, the same for all algorithms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from edgefl.core.arrays import Ids
from edgefl.learning.algorithms.base import Algorithm, LocalContext, RunInfo

if TYPE_CHECKING:
    from torch import Tensor


def initial_state(algorithm: Algorithm, w: Tensor, population: int) -> dict[str, Tensor]:
    """Return the server's state before the first round: `server_state`, and N rows of each of `device_rows`."""
    state = dict(algorithm.server_state(w))
    for name, row in algorithm.device_rows(w).items():
        state[name] = row.repeat(population, 1)
    return state


def new_session(algorithm: Algorithm, server: Mapping[str, Tensor], w: Tensor, population: int) -> dict[str, Tensor]:
    """Return the server's state at the beginning of a session with the model w [d], given that of the last session."""
    return {**initial_state(algorithm, w, population), **algorithm.carried_over(server)}


def upload(algorithm: Algorithm, w: Tensor, local: LocalContext, *, minimal: bool) -> dict[str, Tensor]:
    """Return the vectors that a device sends; a minimal upload leaves out those that the server can derive."""
    vectors = algorithm.finish(w, local)
    if not minimal:
        return vectors
    derived = algorithm.derived(vectors, local)
    return {name: vector for name, vector in vectors.items() if name not in derived}


def no_vectors(algorithm: Algorithm, w: Tensor, server: Mapping[str, Tensor], run: RunInfo) -> dict[str, Tensor]:
    """Return the vectors of a round without any update, each [0, d].

    Their names and sizes are those of `finish`, which runs on any model w [d].
    """
    local = LocalContext(w, 1.0, algorithm.downlink(server), algorithm.client_state(w), run=run)
    return {name: vector[None][:0] for name, vector in algorithm.finish(w, local).items()}


def forget(
    algorithm: Algorithm,
    server: Mapping[str, Tensor],
    ids: Ids,
    shares: Iterable[Mapping[str, Tensor]],
    population: int,
) -> dict[str, Tensor]:
    """Return the server's state as if devices `ids` [n] had never taken part, except that the model stays.

    The means remain means over all N devices: forgotten ones count as they did before their first round. The `shares`
    [n] are `share_in_means` of each.
    """
    after = dict(server)
    for share in shares:
        for name, vector in share.items():
            after[name] = after[name] - vector / population
    for name, row in algorithm.device_rows(server["w"]).items():
        after[name] = server[name].clone()
        after[name][ids] = row
    return after
