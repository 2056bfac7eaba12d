"""The machine's memory and processor, the number of NumPy's threads, and Python's garbage collection."""

from __future__ import annotations

import gc
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
PEAK = "peak_memory_bytes"  # in the manifest
ADDRESS_SPACE = "ulimit -v"  # the name of a limit that a shell sets
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
CPUINFO = Path("/proc/cpuinfo")
# They tell types of one name apart, such as "AMD EPYC"; Arm's processors have nothing else.
PROCESSOR_NUMBERS = ("cpu family", "model", "CPU implementer", "CPU part")
THREADS = "OMP_NUM_THREADS"  # the environment variable with the user's number of threads and processes
SHARED_CORES = "EDGEFL_SHARED_CORES"  # set as well if a sweep, not the user, has set it
HUGE_PAGES = "THP_MEM_ALLOC_ENABLE"  # the environment variable of torch
RARE_COLLECTIONS = (20_000, 50, 50)  # thresholds of the three generations; Python's own first one is 700 or 2,000
# Environment variables for users to choose the instructions of torch, OpenBLAS, MKL and oneDNN; NumPy names its own.
INSTRUCTION_SETTINGS = (
    "ATEN_CPU_CAPABILITY",
    "OPENBLAS_CORETYPE",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_CBWR",
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
)
# Messages of glibc's loader when an address space is full (elf/dl-map-segments.h, elf/dl-load.c).
LOADER_COMPLAINTS = ("failed to map segment from shared object", "cannot map zero-fill pages", "annot allocate memory")


def available_bytes() -> int:
    """Return the available memory [bytes], within a container's limit."""
    import psutil  # late: many commands do not ask

    available = int(psutil.virtual_memory().available)
    limit = _line(CONTAINER_LIMIT)
    return min(available, int(limit)) if limit.isdigit() else available  # "max" without a limit


def peak_memory_bytes() -> dict[str, int]:
    """Return the peak memory of this process since its start, and of its largest ended child, under their names.

    Windows does not tell the latter. A forked child shares pages with its parent, so the two do not add up.
    """
    try:
        import resource
    except ImportError:  # on Windows
        import psutil

        return {PEAK: psutil.Process().memory_info().peak_wset}
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {PEAK: unit_bytes * own, "largest_child_bytes": unit_bytes * child}


def prefer_huge_pages() -> None:
    """Let torch use pages of 2 MiB, which let large models train faster, unless the user has decided."""
    os.environ.setdefault(HUGE_PAGES, "1")  # torch reads it once, at its first allocation


def user_divides_cores() -> bool:
    """Return whether the user has set the number of threads and processes."""
    return THREADS in os.environ and SHARED_CORES not in os.environ


def collect_rarely() -> None:
    """Collect garbage rarely from now on, in a process of edgefl.

    Imported modules stay until it ends, and collecting takes a sixth of the time of importing torch.
    """
    gc.set_threshold(*RARE_COLLECTIONS)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage rarely: a run makes millions of events, hardly any of them in a reference cycle."""
    usual = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*usual)


class _NumpyThreads:
    """The number of threads of NumPy's matrix products, shared by the whole process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0  # runs under way; the last one to end restores the threads
        self._limit: AbstractContextManager[object] = nullcontext()

    def hold_one(self) -> None:
        """Use one thread until `release` has been called as often as this."""
        with self._lock:
            if not self._holders:
                self._limit = _matrix_libraries().limit(limits=1)
                self._limit.__enter__()
            self._holders += 1

    def release(self) -> None:
        """Restore the number of threads, unless another run still needs one."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._limit.__exit__(None, None, None)


_numpy_threads = _NumpyThreads()


@cache
def _matrix_libraries() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # late: many commands compute nothing

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_numpy_thread() -> Iterator[None]:
    """Let NumPy compute every matrix product in the calling thread.

    Several threads would divide sums among them, with a rounding that depends on their number, and would wait for the
    next product on cores that workers need.
    """
    _numpy_threads.hold_one()
    try:
        yield
    finally:
        _numpy_threads.release()


def memory_limits() -> dict[str, int]:
    """Return the limits of this process's memory [bytes] by their names."""
    import psutil

    limits = {"machine": int(psutil.virtual_memory().total)}
    container = _line(CONTAINER_LIMIT)
    if container.isdigit():
        limits["container"] = int(container)
    if hasattr(psutil, "RLIMIT_AS"):  # on Linux
        address_space, _ = psutil.Process().rlimit(psutil.RLIMIT_AS)
        if address_space != psutil.RLIM_INFINITY:
            limits[ADDRESS_SPACE] = address_space
    return limits


def tightest_limit() -> tuple[str, int]:
    """Return the limit of this process's memory that counts: its name, and its bytes."""
    return min(memory_limits().items(), key=itemgetter(1))


def more_memory() -> str:
    """Return the memory limit, and a remedy if it is too low."""
    name, limit_bytes = tightest_limit()
    # Without `units`, as NumPy may not fit into the memory.
    return f"there are {limit_bytes / 1e9:.3g} GB of memory ({name}): raise the limit, or use a larger machine"


def unmapped_library(error: ImportError) -> str | None:
    """Return the loader's line about a library that does not fit into the memory; None for any other error."""
    # NumPy and others put that line into longer texts, or raise another error from that one.
    for line in str(error).splitlines():
        if any(complaint in line for complaint in LOADER_COMPLAINTS):
            return line.strip()
    cause = error.__cause__
    return unmapped_library(cause) if isinstance(cause, ImportError) else None


def core_quota() -> float | None:
    """Return how many cores the container's quota allows; None without a limit."""
    quota, _, period = _line(CPU_QUOTA).partition(" ")
    if not quota.isdigit() or not period.isdigit():  # "max 100000" without a limit
        return None
    return int(quota) / int(period)


def _line(path: Path) -> str:
    """Return the first line of a file; "" if it cannot be read."""
    try:
        return path.read_text().partition("\n")[0].strip()
    except OSError:
        return ""


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_model() -> str:
    """Return the model of this machine's processor, or its architecture if the model is unknown."""
    return _processor_fact("model name") or platform.processor() or platform.machine()


def processor_vendor() -> str:
    """Return the vendor of this machine's processor, such as GenuineIntel; "" if it is unknown."""
    return _processor_fact("vendor_id")


@cache
def processor() -> dict[str, str]:
    """Return the type of the processor and its usable instructions, on which the rounding of results depends.

    Libraries choose their code by both. An emulated or virtual processor may have the name of a different one.
    """
    # Late, as many commands compute nothing. NumPy asks the processor itself.
    from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]

    numbers = (_processor_fact(name) for name in PROCESSOR_NUMBERS)
    found = {
        "model": processor_model(),
        "vendor": processor_vendor(),
        "numbers": " ".join(filter(None, numbers)),
        "instructions": " ".join(sorted(name for name, there in __cpu_features__.items() if there)),
    }
    for name in INSTRUCTION_SETTINGS:
        if value := os.environ.get(name):
            found[name] = value
    return found


def _processor_fact(name: str) -> str:
    """Return an entry of the first processor in /proc/cpuinfo; "" if it is missing."""
    try:
        text = CPUINFO.read_text(encoding="utf-8")
    except OSError:
        return ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
