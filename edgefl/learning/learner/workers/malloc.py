"""Options of glibc's malloc, for processes that train and for those that do not."""

import ctypes
from collections.abc import Mapping

M_TRIM_THRESHOLD = -1  # of glibc's malloc.h
M_MMAP_THRESHOLD = -3
RETURNED_BYTES = 2**18  # of a block that goes back to the system as soon as it is free


def keep_memory() -> None:
    """Tell glibc's malloc not to return memory to the system, which would clear it at every step of training."""
    _set_malloc({M_TRIM_THRESHOLD: 2**31 - 1, M_MMAP_THRESHOLD: 2**30})


def return_memory() -> None:
    """Tell glibc's malloc to return large blocks to the system as soon as they are free.

    A process that does not train makes and drops models among small objects that stay. Blocks that it kept would be cut
    up, and the process would grow by a part of a model each round.
    """
    _set_malloc({M_MMAP_THRESHOLD: RETURNED_BYTES})


def _set_malloc(options: Mapping[int, int]) -> None:
    """Set options of glibc's malloc; with another libc nothing happens, and training is only slower."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        for option, value in options.items():
            libc.mallopt(option, value)
    except (OSError, AttributeError):
        return
