"""Shapley values: what each player adds to a coalition, averaged over the orders in which they may join it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb

import numpy as np

from edgefl.core.arrays import Floats, Ids

Coalition = tuple[int, ...]  # numbers of its players, ascending
Value = Callable[[Coalition], float]

EXACT = 10  # players of whom every coalition is tried, 2^10


def shapley(players: int, value: Value) -> Floats:
    """Exact values [players], from all 2^players coalitions (Shapley 1953; FedAR paper, Fig. 1).

    phi_i = sum over U without i of |U|! (n - |U| - 1)! / n! (v(U + i) - v(U)); they add up to v(all) - v(nobody).
    """
    masks = np.arange(2**players)
    inside = (masks[:, None] >> np.arange(players) & 1).astype(bool)  # [coalition, player]
    worth = np.array([value(tuple(np.flatnonzero(row).tolist())) for row in inside])
    weight = np.array(
        [1 / (players * comb(players - 1, int(size))) if size < players else 0.0 for size in inside.sum(1)]
    )
    without = [masks[~inside[:, player]] for player in range(players)]
    return np.array([weight[u] @ (worth[u | 1 << player] - worth[u]) for player, u in enumerate(without)])


def sampled(orders: Ids, value: Value) -> Floats:
    """Estimates [players] from some orders [count, players] of all players (Castro et al., 2009).

    Unbiased for random orders, with a standard error of the gains' deviation over sqrt(count); they add up as well.
    """
    gains, known = np.zeros(orders.shape[1]), cache(value)
    for order in orders.tolist():
        before = known(())
        for place, player in enumerate(order, 1):
            after = known(tuple(sorted(order[:place])))
            gains[player] += after - before
            before = after
    return gains / len(orders)
