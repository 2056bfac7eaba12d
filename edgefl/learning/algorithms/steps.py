"""Steps around the hooks, which are the same for all algorithms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from edgefl.core.arrays import Ids
from edgefl.learning.algorithms.base import Algorithm, LocalContext

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
    """Return what a device sends: what `finish` returns, in a minimal upload without what the server can derive."""
    vectors = algorithm.finish(w, local)
    left_out = algorithm.derived(vectors, local) if minimal else {}
    return {name: vector for name, vector in vectors.items() if name not in left_out}


def forget(
    algorithm: Algorithm,
    server: Mapping[str, Tensor],
    ids: Ids,
    shares: Iterable[Mapping[str, Tensor]],
    population: int,
) -> dict[str, Tensor]:
    """Return the server's state as if some devices had never taken part, except for the model.

    The means remain means over all N devices: those that are forgotten count as at the beginning.

    Args:
        algorithm: whose state it is.
        server: the state.
        ids: of the devices [n] to forget.
        shares: `share_in_means` of each [n].
        population: N.
    """
    after = dict(server)
    for share in shares:
        for name, vector in share.items():
            after[name] = after[name] - vector / population
    for name, row in algorithm.device_rows(server["w"]).items():
        after[name] = server[name].clone()
        after[name][ids] = row
    return after
