"""Find the devices whose next event is due, and advance devices to a time.

A population keeps one array with the time of each device's next event. So advancing costs a comparison for each device,
and work only for the devices whose event is due.
"""

from collections.abc import Callable

import numpy as np

from edgefl.core.arrays import Floats, Ids


def due_devices(next_s: Floats, time_s: float, ids: Ids | None = None) -> Ids:
    """Return the devices, of `ids` or of all, whose next event in `next_s` [devices] is not later than a time."""
    if ids is None:
        return np.flatnonzero(next_s <= time_s)
    return ids[next_s[ids] <= time_s]


def advance_to(time_s: float, next_s: Floats, handle: Callable[[Ids], None], ids: Ids | None = None) -> None:
    """Handle all events that are not later than a time, of devices `ids` or of all.

    Each device's events are handled in order. Events of different devices may be handled out of order, so they must not
    affect each other.

    Args:
        time_s: the time.
        next_s: [devices] when each one's next event happens.
        handle: called with the devices whose next event is due; must replace their times in `next_s`.
        ids: the devices to look at; all if None.
    """
    due = due_devices(next_s, time_s, ids)
    while due.size:
        handle(due)
        due = due_devices(next_s, time_s, due)  # several events of a device may be due
