"""The radio link that devices share: its capacity, and the time before a message's first bit.

The last of n devices that exchange messages at the same time is done when the link has carried all n, however they
shared it. So its seconds are `access_s + clients * bits / capacity`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgefl.calibration.fitting import relative_fit, variation
from edgefl.calibration.log import BITS, LogRow

WIDE = 1.2  # sizes within this ratio count as one: a line through them would fit noise


class Exchange(NamedTuple):
    """Messages that devices exchange at the same time."""

    last: LogRow  # of the device that was done last
    bits: float  # of all of them together


@dataclass(frozen=True)
class LinkFit:
    """One direction of a shared link."""

    capacity_bps: float
    access_s: float
    knows_access: bool  # sizes differ enough for it
    exchanges: int
    spread: float | None  # coefficient of variation between exchanges of one size; None: none was repeated

    def seconds(self, bits: float) -> float:
        """Return how long the last device takes for all messages together."""
        return self.access_s + bits / self.capacity_bps


def exchanges_of(rows: Sequence[LogRow], phase: str) -> list[Exchange]:
    """Return the exchanges of one phase, in the order of the log.

    Downloads of one round belong together. Uploads do if `clients` says that they overlap; otherwise devices upload one
    after another. A row without a round is a separate exchange.
    """
    found: dict[tuple[object, ...], list[LogRow]] = {}
    times: dict[tuple[object, ...], int] = {}  # a device may exchange messages several times in a round
    for row in rows:
        if row.phase != phase:
            continue
        key: tuple[object, ...] = (row.line,)
        if row.round and (phase == "download" or (row.clients or 1) > 1):
            who = (row.device, row.network, row.round)
            times[who] = times.get(who, 0) + 1
            key = (row.network, row.round, row.clients, times[who])
        found.setdefault(key, []).append(row)
    return [_exchange(together) for together in found.values()]


def _exchange(rows: Sequence[LogRow]) -> Exchange:
    last = max(rows, key=lambda row: row.seconds)
    clients = last.clients or float(len(rows))
    mean_bytes = float(np.mean([row.bytes for row in rows if row.bytes is not None]))
    return Exchange(last, BITS * clients * mean_bytes)


def fit_link(exchanges: Sequence[Exchange]) -> LinkFit | None:
    """Return the fit to the median of each size, as single transfers stall; None without exchanges."""
    if not exchanges:
        return None
    of_size: dict[float, list[float]] = {}
    for exchange in exchanges:
        of_size.setdefault(exchange.bits, []).append(exchange.last.seconds)
    bits = np.array(list(of_size))
    seconds = np.array([np.median(times) for times in of_size.values()])
    access_s = 0.0
    s_per_bit = float(np.median(seconds / bits))
    knows_access = bool(bits.max() > WIDE * bits.min())
    if knows_access:
        fitted_s, fitted_s_per_bit = relative_fit(np.stack([np.ones(len(bits)), bits], axis=1), seconds).tolist()
        if fitted_s_per_bit > 0:
            access_s = fitted_s
            s_per_bit = fitted_s_per_bit
        else:  # larger messages take no longer, so something else limits the link
            knows_access = False
    return LinkFit(1 / s_per_bit, access_s, knows_access, len(exchanges), variation(list(of_size.values())))
