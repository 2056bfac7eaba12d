"""A worker pool on the machines of a Ray cluster; if a machine is lost, its tasks begin again on another."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.ray_cluster import connected, on_one_line
from edgefl.runs.workers import Answer, Died, answered

RETRIES = 5  # of a task whose machine or process is lost
CANCEL_S = 10.0  # for interrupted tasks to write their results


class Cluster:
    """Runs as many tasks together as the CPUs, or GPUs, of a Ray cluster allow; see `WorkerPool`.

    Args:
        work: called with each task; must be importable on all machines. It must write where all machines can read, and
            continue from the files of an earlier attempt.
        address: host:port of the head node, or auto: the address in RAY_ADDRESS, or else this machine's cluster.
        gpus: GPUs of each task: a part of one, or a whole number; None: one if the cluster has any.
        most: how many tasks may run together; None: as many as the cluster allows.
        settings: environment variables of each task.

    Raises:
        InputError: Ray is not installed, the cluster does not answer, or it has no room for a task.
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
        if gpus:
            is_part = 0 < gpus <= 1
            is_whole = gpus > 0 and gpus % 1 == 0
            if not is_part and not is_whole:
                raise InputError(f"--gpus-per-run {gpus:g}: must be a part of one GPU, such as 0.5, or a whole number")
        self._ray = connected(address)
        self._work = work
        self._most = most
        if gpus is None:
            gpus = min(1.0, self._total("GPU"))
        self._gpus = gpus
        self._settings = dict(settings)
        if not self._gpus:
            # A task without a GPU must not train on one of another task.
            self._settings["CUDA_VISIBLE_DEVICES"] = ""
        self._busy: dict[Any, int] = {}  # the number of each running task, by Ray's reference
        if self._capacity() < 1:
            self.close()
            needs = "1 CPU"
            if self._gpus:
                needs = f"1 CPU and {self._gpus:g} GPU"
            text = f"a run takes {needs}, which the cluster does not have: let a machine join it first"
            raise InputError(f"--cluster {address}: {text}")
        self._serve = self._ray.remote(num_cpus=1, num_gpus=self._gpus, max_retries=RETRIES)(_serve)

    def _total(self, kind: str) -> float:
        return float(self._ray.cluster_resources().get(kind, 0.0))

    def _capacity(self) -> int:
        count = self._total("CPU")
        if self._gpus:
            count = min(count, self._total("GPU") / self._gpus)
        if self._most is not None:
            count = min(count, self._most)
        return int(count)

    @property
    def room(self) -> bool:
        """Whether another task can begin now; if all machines have left, one task may wait for a machine."""
        return not self._busy or len(self._busy) < self._capacity()

    @property
    def busy(self) -> bool:
        """Whether any task is under way."""
        return bool(self._busy)

    def begin(self, number: int, task: Any) -> None:
        """Begin a task; there must be room."""
        self._busy[self._serve.remote(self._work, task, self._settings)] = number

    def answers(self) -> Iterator[Answer]:
        """Wait until at least one task ends, and return the answers of all that have ended."""
        ended, _ = self._ray.wait(list(self._busy))
        for reference in ended:
            try:
                value = self._ray.get(reference)
            # Exceptions of the work are values; this one is the cluster's, after the last retry.
            except self._ray.exceptions.RayError as error:
                value = Died(_reason(error))
            yield Answer(self._busy.pop(reference), value)

    def close(self) -> None:
        """Leave the cluster; running tasks are interrupted, and write their finished rounds."""
        if not self._ray.is_initialized():
            return
        under_way = list(self._busy)
        for reference in under_way:
            self._ray.cancel(reference)  # raises KeyboardInterrupt in the task
        if under_way:
            self._ray.wait(under_way, num_returns=len(under_way), timeout=CANCEL_S)
        self._busy = {}
        self._ray.shutdown()


def _serve(work: Callable[[Any], Any], task: Any, settings: Mapping[str, str]) -> Any:
    os.environ.update(settings)
    return answered(work, task)


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    # The last line of a traceback is the reason.
    if "Traceback" in str(error):
        lines = lines[-1:]
    return on_one_line(lines)
