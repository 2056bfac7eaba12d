"""The connection to a Ray cluster, made from its address."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Sequence
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.version import DISTRIBUTION

ANSWER_S = 5.0  # how long to wait for a cluster's answer; Ray itself would try for many minutes
ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})")  # host:port, the host in brackets if it is IPv6


def connected(address: str) -> Any:
    """Join a cluster, and return the module `ray`.

    Args:
        address: host:port of the head node, or auto: the address in RAY_ADDRESS, or else this machine's own cluster.

    Raises:
        InputError: the cluster cannot be joined; the message says why in one line.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise InputError(f"--cluster needs Ray, which is not installed: pip install '{DISTRIBUTION}[ray]'") from None
    named = address
    if address == "auto":
        named = os.environ.get("RAY_ADDRESS", "auto")
    if named != "auto":
        _check_address(named)  # fails within seconds, while Ray would try for minutes
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=named, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError:
        hint = "ray start --address HOST:PORT, or name its head"
        raise InputError(f"--cluster {address}: this machine is in no Ray cluster; {hint}") from None
    except (RuntimeError, ValueError) as error:
        raise InputError(f"--cluster {address}: {on_one_line(str(error).splitlines())}") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_term)  # Ray's handler would end the program without any message
    return ray


def on_one_line(lines: Sequence[str]) -> str:
    """Return lines as one, with single blanks between words."""
    return " ".join(" ".join(lines).split())


def _check_address(address: str) -> None:
    """Check that something answers at an address.

    Raises:
        InputError: nothing does, or it is not an address.
    """
    form = ADDRESS.fullmatch(address)
    if form is None:
        raise InputError(f"--cluster {address}: must be auto, or the host:port of a Ray cluster's head")
    host = form[1].strip("[]")
    port = int(form[2])
    try:
        socket.create_connection((host, port), ANSWER_S).close()
    except (OSError, OverflowError) as error:
        hint = "is it running? (ray start --head)"
        raise InputError(f"--cluster {address}: nothing answers there ({error}); {hint}") from None
