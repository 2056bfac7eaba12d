"""The clock of a run: the event loop of all its processes."""

from simpy import Environment as Clock
from simpy import Event, Process

__all__ = ["Clock", "Event", "Process", "advance", "new_clock"]


def new_clock() -> Clock:
    """Return an event loop at time 0 [s]."""
    return Clock()


def advance(env: Clock, process: Process, until: Event | float | None = None) -> bool:
    """Run the event loop until a process ends, or an event or time [s] comes; return True if the process has ended."""
    if until is None:
        env.run(process)
        return True
    if not isinstance(until, Event):
        if until <= env.now:
            return not process.is_alive
        until = env.timeout(until - env.now)
    env.run(env.any_of([process, until]))
    return not process.is_alive
