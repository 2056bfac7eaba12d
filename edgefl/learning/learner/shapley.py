"""Shapley values: the mean gain of a coalition when a player joins it, over all orders of joining."""

from collections.abc import Callable
from functools import cache
from math import comb

import numpy as np

from edgefl.core.arrays import Floats, Ints

Coalition = tuple[int, ...]  # numbers of its players, ascending
Value = Callable[[Coalition], float]

EXACT = 10  # most players for every coalition to be tried, 2^10


def shapley(players: int, value: Value) -> Floats:
    """Return the exact values [players], from all 2^players coalitions (Shapley 1953; FedAR paper, Fig. 1).

    `phi_i = sum over U without i of |U|! (n - |U| - 1)! / n! (v(U + i) - v(U))`; they add up to v(all) - v(none).
    """
    coalitions = np.arange(2**players)  # bit i is set if player i is a member
    is_member = (coalitions[:, None] >> np.arange(players) & 1).astype(bool)  # [coalition, player]
    values = np.array([value(tuple(np.flatnonzero(members).tolist())) for members in is_member])
    weights = np.array([_weight(int(size), players) for size in is_member.sum(1)])
    # Vectorised over coalitions: each player joins all that are without it.
    phi = []
    for player in range(players):
        without = coalitions[~is_member[:, player]]
        with_player = without | 1 << player
        phi.append(weights[without] @ (values[with_player] - values[without]))
    return np.array(phi)


def _weight(size: int, players: int) -> float:
    """Return |U|! (n - |U| - 1)! / n! for a coalition of `size` players; 0 for that of all players."""
    if size == players:
        return 0.0
    return 1 / (players * comb(players - 1, size))


def sampled(orders: Ints, value: Value) -> Floats:
    """Return estimates [players] from some orders [count, players] of all players (Castro et al., 2009).

    Unbiased for random orders, with a standard error of the gains' deviation over sqrt(count). They add up like exact
    values.
    """
    gains = np.zeros(orders.shape[1])
    known_value = cache(value)  # orders meet the same coalitions, above all the small and the large ones
    for order in orders.tolist():
        before = known_value(())
        for place, player in enumerate(order, 1):
            after = known_value(tuple(sorted(order[:place])))
            gains[player] += after - before
            before = after
    return gains / len(orders)
