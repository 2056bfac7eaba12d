"""The machine's memory and processor cores, and how often Python collects garbage."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
RARE_COLLECTIONS = (20_000, 50, 50)  # thresholds of the three generations; Python's own first one is 700 or 2,000


def available_bytes() -> int:
    """Return how much memory is available, within the limit of a container; without /proc, all of the machine's."""
    if not MEMINFO.exists():
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    available_kib = MEMINFO.read_text().split("MemAvailable:")[1].split()[0]
    available = 1024 * int(available_kib)
    if CONTAINER_LIMIT.exists():
        limit = CONTAINER_LIMIT.read_text().strip()
        if limit.isdigit():  # "max" where there is no limit
            available = min(available, int(limit))
    return available


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage rarely: a run makes millions of events, and hardly any is part of a reference cycle."""
    usual = gc.get_threshold()
    gc.set_threshold(*RARE_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
