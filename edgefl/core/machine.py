"""What this machine has."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COLLECTED = (20_000, 50, 50)  # new objects until garbage is looked for, in place of Python's 700 or 2,000


def available_bytes() -> int:
    """Memory that may still be taken, within what a container is allowed; all there is where the rest is not known."""
    if not (meminfo := Path("/proc/meminfo")).exists():
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    available = 1024 * int(meminfo.read_text().split("MemAvailable:")[1].split()[0])
    allowed = Path("/sys/fs/cgroup/memory.max")
    if allowed.exists() and (limit := allowed.read_text().strip()).isdigit():
        available = min(available, int(limit))
    return available


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for garbage in cycles seldom: events come and go by the million, and hardly any is part of a cycle."""
    usual = gc.get_threshold()
    gc.set_threshold(*COLLECTED)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
