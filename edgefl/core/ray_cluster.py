"""The connection to a Ray cluster, made from its address."""

import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from edgefl.core.errors import InputError
from edgefl.core.version import DISTRIBUTION

BEGIN_S = 60.0  # how long a process on a machine may take to begin
LOOPBACK = "127.0.0.1"
ANSWER_S = 5.0  # how long to wait for a cluster's answer; Ray would try for minutes
ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})")  # host:port, the host in brackets if it is IPv6

log = logging.getLogger(__name__)

Told = TypeVar("Told")


def connected(address: str) -> Any:
    """Join a cluster and return the module `ray`.

    Args:
        address: host:port of the head node, or auto: the address in RAY_ADDRESS, or else this machine's cluster.

    Raises:
        InputError: the cluster cannot be joined; one line says why.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise InputError(f"--cluster needs Ray, which is not installed: pip install '{DISTRIBUTION}[ray]'") from None
    named = address
    if address == "auto":
        named = os.environ.get("RAY_ADDRESS", "auto")
    if named != "auto":
        _check_address(named)  # within seconds
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=named, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError:
        hint = "ray start --address HOST:PORT, or name its head"
        raise InputError(f"--cluster {address}: this machine is in no Ray cluster; {hint}") from None
    except (RuntimeError, ValueError) as error:
        raise InputError(f"--cluster {address}: {on_one_line(str(error).splitlines())}") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_term)  # Ray's handler would end the program silently
    _tell_who_may_connect(ray)
    return ray


def told_by_machines(ray: Any, question: Callable[[], Told]) -> list[Told]:
    """Return the distinct answers of a cluster's machines to a question.

    Machines without processors for tasks, and machines that are lost meanwhile, do not answer.

    Args:
        ray: the module, connected to the cluster.
        question: a function that can be imported there.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # A task without a processor begins even where all are busy.
    asked = ray.remote(num_cpus=0, max_retries=0)(lambda asking: asking())
    references = []
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU"):
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            references.append(asked.options(scheduling_strategy=there).remote(question))
    answers: list[Told] = []
    for reference in references:
        with suppress(ray.exceptions.RayError):
            answer = ray.get(reference, timeout=BEGIN_S)
            if answer not in answers:
                answers.append(answer)
    return answers


def _tell_who_may_connect(ray: Any) -> None:
    """Warn if other machines can run code in this process, as Ray listens at more than the loopback address."""
    has_token = os.environ.get("RAY_AUTH_MODE") == "token"
    if not has_token and ray.util.get_node_ip_address() != LOOPBACK:
        text = "as a member of the cluster, this program listens at all addresses of this machine, without a token"
        log.warning("--cluster: %s: docs/cluster.md says how to keep others out", text)


def on_one_line(lines: Sequence[str]) -> str:
    """Return lines as one, with single spaces."""
    return " ".join(" ".join(lines).split())


def _check_address(address: str) -> None:
    """Check that something answers at an address."""
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
