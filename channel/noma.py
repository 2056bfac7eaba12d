"""Non-orthogonal uplinks: several terminals send on one band at the same time, and the receiver decodes them in turn.

Power-domain NOMA with successive interference cancellation: the receiver decodes the strongest terminal with all others
as noise, subtracts its signal, and continues with the next one. A terminal's rate is `B log2(1 + P / (N + I))`, with
the power `I` of those that are decoded later (Tse and Viswanath, Fundamentals of Wireless Communication, section 6.1;
Saito et al., VTC Spring 2013; Ma, Sun and Hu, GLOBECOM 2020, for federated learning).

Terminals lie along the last axis. Powers are received powers [W], or in any other unit that the noise has, too.
"""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats, Ints
from channel._checks import non_negative, positive, require, within


def decoding_order(received_w: ArrayLike) -> Ints:
    """Return the terminals in the order of decoding: the strongest first, equal ones by their places.

    Args:
        received_w: received powers [W], [..., n].

    Returns:
        Places along the last axis, [..., n].

    Example:
        >>> decoding_order([1e-9, 4e-9, 2e-9])
        array([1, 2, 0])
    """
    return np.argsort(-non_negative("received_w", received_w), axis=-1, kind="stable")


def interference_w(received_w: ArrayLike, residual: ArrayLike = 0.0, order: ArrayLike | None = None) -> Floats:
    """Return the interference under which each terminal is decoded, `I_k = sum_later P_j + residual sum_before P_j`.

    Args:
        received_w: received powers P [W], [..., n].
        residual: part of a decoded signal's power that cancellation leaves, in [0, 1] (Andrews and Meng, IEEE Trans.
            Wireless Commun. 2003): 0 is perfect, 1 is none.
        order: places of the terminals as they are decoded, [..., n]; None: the strongest first.

    Returns:
        I [W], [..., n].

    Example:
        The stronger one is decoded under the power of the weaker one, which then has no interference.

        >>> interference_w([1e-9, 4e-9])
        array([0.e+00, 1.e-09])
    """
    received = non_negative("received_w", received_w)
    left = within("residual", residual, 0.0, 1.0)
    if order is None:
        places = decoding_order(received)
    else:
        places = _checked(order, received)
    in_order = np.take_along_axis(received, places, axis=-1)
    # Sums over those after and those before: differences of sums would lose the digits of weak terminals.
    none = np.zeros_like(in_order[..., :1])
    later = np.concatenate([np.cumsum(in_order[..., :0:-1], axis=-1)[..., ::-1], none], axis=-1)
    before = np.concatenate([none, np.cumsum(in_order[..., :-1], axis=-1)], axis=-1)
    found = np.empty_like(in_order)
    np.put_along_axis(found, places, later + left * before, axis=-1)
    return found


def sinr(
    received_w: ArrayLike, noise_w: ArrayLike, residual: ArrayLike = 0.0, order: ArrayLike | None = None
) -> Floats:
    """Return the signal to interference and noise ratios [1], [..., n], at which terminals are decoded.

    `noise_w` is the power of the noise and of interference from elsewhere [W]; `interference_w` describes the rest.

    Example:
        >>> sinr([1e-9, 4e-9], noise_w=1e-9)
        array([1., 2.])
    """
    others_w = interference_w(received_w, residual, order)
    return np.asarray(non_negative("received_w", received_w) / (positive("noise_w", noise_w) + others_w))


def rates_bps(
    received_w: ArrayLike,
    noise_w: ArrayLike,
    band_hz: ArrayLike,
    residual: ArrayLike = 0.0,
    order: ArrayLike | None = None,
) -> Floats:
    """Return the rates of terminals [bit/s], [..., n], that share a band `band_hz` [Hz], `B log2(1 + SINR)`.

    `sinr` describes the other arguments.

    Example:
        >>> rates_bps([1e-9, 4e-9], noise_w=1e-9, band_hz=1e6).round(-3)
        array([1000000., 1585000.])
    """
    return np.asarray(positive("band_hz", band_hz) * np.log2(1.0 + sinr(received_w, noise_w, residual, order)))


def sum_rate_bps(received_w: ArrayLike, noise_w: ArrayLike, band_hz: ArrayLike) -> Floats:
    """Return the sum of the rates under perfect cancellation, `B log2(1 + sum P / N)`, whatever the order.

    It is also the sum capacity of the band: no way of sharing it carries more (Tse and Viswanath, eq. 6.4 and 6.7).

    Args:
        received_w: received powers P [W], [..., n].
        noise_w: power N of the noise in the band [W].
        band_hz: the band B [Hz].

    Returns:
        Sums [bit/s], [...].

    Example:
        >>> float(sum_rate_bps([1e-9, 4e-9, 2e-9], noise_w=1e-9, band_hz=1e6))
        3000000.0
    """
    total_w = non_negative("received_w", received_w).sum(axis=-1)
    return np.asarray(positive("band_hz", band_hz) * np.log2(1.0 + total_w / positive("noise_w", noise_w)))


def strong_with_weak(received_w: ArrayLike, users_per_group: int) -> Ints:
    """Return the smallest number of groups that join strong terminals with weak ones.

    In the order of their powers, terminals are dealt out to the groups from the first to the last and back again. Pairs
    thus join the strongest with the weakest: pairing by distinct channels (Ding, Fan and Poor, IEEE Trans. Veh.
    Technol. 2016).

    Args:
        received_w: received powers [W], [n].
        users_per_group: the most terminals of a group.

    Returns:
        Numbers of their groups from 0, [n].

    Example:
        >>> strong_with_weak([8e-9, 4e-9, 2e-9, 1e-9], users_per_group=2)
        array([0, 1, 1, 0])
    """
    received = non_negative("received_w", received_w)
    most = np.asarray(users_per_group)
    require(most >= 1, most, "users_per_group", "at least 1")
    groups = -(-received.size // int(users_per_group))  # rounded up
    rank = np.arange(received.size)
    turn, place = np.divmod(rank, max(groups, 1))
    dealt = np.where(turn % 2 == 0, place, groups - 1 - place)
    found = np.empty(received.size, dtype=np.int64)
    found[decoding_order(received)] = dealt
    return found


def _checked(order: ArrayLike, received: Floats) -> Ints:
    """Return an order of decoding that names each of the terminals [..., n] once."""
    places = np.broadcast_to(np.asarray(order, dtype=np.int64), received.shape)
    terminals = np.arange(received.shape[-1])
    if not np.array_equal(np.sort(places, axis=-1), np.broadcast_to(terminals, received.shape)):
        raise ValueError(f"order must name each of the {terminals.size} terminals once")
    return places
