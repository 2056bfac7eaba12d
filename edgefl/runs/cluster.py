"""Tasks on the machines of a Ray cluster; those of a machine that is lost begin again elsewhere."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from edgefl.core.errors import InputError
from edgefl.runs.pool import Answer, Died, answered

RETRIES = 5  # of a task whose machine or process is lost
ANSWER_S = 5.0  # in which a cluster answers; Ray itself tries for many minutes
END_S = 10.0  # in which an interrupted task writes what it has

FORM = re.compile(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})")


class Cluster:
    """What `pool.Pool` is on one machine: at most as many tasks at once as the cluster has CPUs, or GPUs, for.

    Args:
        work: called with each task; must be importable on all machines. What it makes must lie where all see it, and it
            must go on with what it finds there.
        address: host:port of the head, or auto: that of RAY_ADDRESS, or of the cluster that this machine is part of.
        gpus: of a task, a part of one or whole ones; one where not given and the cluster has any.
        most: tasks at once.
        settings: environment variables of each task.

    Raises:
        InputError: Ray is not installed, nobody answers, or the cluster has no room for a task.
    """

    def __init__(
        self,
        work: Callable[[Any], Any],
        address: str,
        *,
        gpus: float | None = None,
        most: int | None = None,
        settings: Mapping[str, str],
    ) -> None:
        if gpus and not (0 < gpus <= 1 or (gpus > 0 and gpus % 1 == 0)):
            raise InputError(f"--gpus-per-run {gpus:g}: must be a part of a GPU, such as 0.5, or whole ones")
        self._ray = _connected(address)
        self._work, self._most = work, most
        self._gpus = min(1.0, self._has("GPU")) if gpus is None else gpus
        self._settings = {**settings, **({} if self._gpus else {"CUDA_VISIBLE_DEVICES": ""})}
        self._busy: dict[Any, int] = {}
        if self._capacity() < 1:
            self.close()
            needs = f"1 CPU and {self._gpus:g} GPU" if self._gpus else "1 CPU"
            raise InputError(f"--cluster {address}: a run takes {needs}, which it has not; join a machine first")
        self._serve = self._ray.remote(num_cpus=1, num_gpus=self._gpus, max_retries=RETRIES)(_serve)

    def _has(self, kind: str) -> float:
        """Of CPUs or GPUs, on all machines that are there now."""
        return float(self._ray.cluster_resources().get(kind, 0.0))

    def _capacity(self) -> int:
        """Tasks at once; machines come and go."""
        count = self._has("CPU")
        if self._gpus:
            count = min(count, self._has("GPU") / self._gpus)
        return int(count if self._most is None else min(count, self._most))

    @property
    def room(self) -> bool:
        """Whether another task can begin now; a first one waits for a machine if all are gone."""
        return not self._busy or len(self._busy) < self._capacity()

    def begin(self, number: int, task: Any) -> None:
        """Have a task worked off; there must be room."""
        self._busy[self._serve.remote(self._work, task, self._settings)] = number

    def answers(self) -> Iterator[Answer]:
        """Wait for the next tasks that end."""
        ended, _ = self._ray.wait(list(self._busy))
        for one in ended:
            try:
                value = self._ray.get(one)
            except self._ray.exceptions.RayError as error:
                value = Died(_why(error))
            yield Answer(self._busy.pop(one), value)

    @property
    def busy(self) -> bool:
        """Whether any task is under way."""
        return bool(self._busy)

    def close(self) -> None:
        """Leave the cluster; tasks that are under way end as an interrupt ends them."""
        if not self._ray.is_initialized():
            return
        left = list(self._busy)
        for one in left:
            self._ray.cancel(one)
        if left:
            self._ray.wait(left, num_returns=len(left), timeout=END_S)
        self._busy = {}
        self._ray.shutdown()


def _serve(work: Callable[[Any], Any], task: Any, settings: Mapping[str, str]) -> Any:
    """On one of the machines."""
    os.environ.update(settings)
    return answered(work, task)


def _connected(address: str) -> Any:
    """Ray, as part of a cluster.

    Raises:
        InputError: in one line, why not.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise InputError("--cluster needs Ray, which is not installed: pip install 'edgefl[ray]'") from None
    named = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    if named != "auto":
        _call(named)
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=named, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError:
        hint = "ray start --address HOST:PORT, or name its head"
        raise InputError(f"--cluster {address}: this machine is in no Ray cluster; {hint}") from None
    except (RuntimeError, ValueError) as error:
        raise InputError(f"--cluster {address}: {_line(str(error).splitlines())}") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_term)  # Ray's would end the program without a word
    return ray


def _call(address: str) -> None:
    """Whether anybody answers there.

    Raises:
        InputError: nobody does, or it is no address.
    """
    form = FORM.fullmatch(address)
    if form is None:
        raise InputError(f"--cluster {address}: must be auto, or the host:port of a Ray cluster's head")
    try:
        socket.create_connection((form[1].strip("[]"), int(form[2])), ANSWER_S).close()
    except (OSError, OverflowError) as error:
        hint = "is it running? (ray start --head)"
        raise InputError(f"--cluster {address}: nobody answers there ({error}); {hint}") from None


def _why(error: Exception) -> str:
    """What Ray says about a task that has no answer, in a line; at the end of a traceback stands what it was about."""
    lines = str(error).strip().splitlines()
    return _line(lines[-1:] if "Traceback" in str(error) else lines)


def _line(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())
