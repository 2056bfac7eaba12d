"""The clock of a run: the event loop in which all of its processes live."""

from __future__ import annotations

import simpy


def new_clock() -> simpy.Environment:
    """Return an event loop at time 0 [s]."""
    return simpy.Environment()
