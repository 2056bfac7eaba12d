"""Workers in clean processes, for programs whose forked processes compute no gradients.

A new process of Python, the program of workers, makes the handler once, and forks a worker for each core, so that they
share its data. It is not spawned by `multiprocessing`, which would run the user's program again.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from signal import SIGKILL
from threading import Lock

from edgefl.core import interrupts
from edgefl.learning.learner.workers.handler_pickle import CannotSendError, Make, write
from edgefl.learning.learner.workers.serving import parent_connections
from edgefl.learning.learner.workers.slab import Slab, memory_file
from edgefl.learning.learner.workers.worker_processes import ProcessWorker

BEGIN_S = 300.0  # how long the program may take to import torch and to make the handler
# It imports what this program can import, from the same places.
COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from edgefl.learning.learner.workers.clean_program import main; main(*map(int, sys.argv[2:]))"
)


class CannotStartError(Exception):
    """No clean process can be started for a handler; the text says why."""


class CleanProgram:
    """The program of some workers, which ends by itself after the last of them."""

    def __init__(self, process: subprocess.Popen[bytes], control: Connection) -> None:
        self._process = process
        self._control = control
        self._lock = Lock()  # for what follows: several threads may ask
        self._running: set[int] = set()
        self._codes: dict[int, int] = {}

    def begun(self) -> list[int]:
        """Wait until the workers have begun; return their process ids.

        Raises:
            CannotStartError: the program cannot make the handler, or cannot fork.
        """
        try:
            if not self._control.poll(BEGIN_S):
                self._process.kill()
            pids, reason = self._control.recv()
        except (EOFError, OSError):
            raise CannotStartError(f"it ended unexpectedly (exit code {self._process.wait()})") from None
        if reason is not None:
            raise CannotStartError(reason)
        self._running = set(pids)
        return list(pids)

    def exit_code(self, pid: int, wait_s: float | None) -> int | None:
        """Return the exit code of a worker, or a signal's negative number; None if it runs on after `wait_s` [s].

        It is also None if the program was killed, as only a parent is told.
        """
        give_up_s = float("inf") if wait_s is None else time.monotonic() + wait_s
        with self._lock:
            while pid in self._running:
                left_s = None if wait_s is None else max(0.0, give_up_s - time.monotonic())
                try:
                    if not self._control.poll(left_s):
                        break
                    ended, code = self._control.recv()
                except (EOFError, OSError):
                    self._running.clear()
                else:
                    self._codes[ended] = code
                    self._running.discard(ended)
                if not self._running:
                    self.close()
            return self._codes.get(pid)

    def kill(self, pid: int) -> None:
        """End a worker by force."""
        with suppress(OSError):  # the program was killed, and cannot do it
            self._control.send(pid)
            return
        with suppress(ProcessLookupError):
            os.kill(pid, SIGKILL)

    def close(self) -> None:
        """Hang up, upon which the program ends its workers, and wait for its end."""
        parent_connections.close(self._control)
        self._process.wait()


class CleanProcess:
    """The process of a worker that another program has forked; see `WorkerProcess`."""

    def __init__(self, program: CleanProgram, pid: int) -> None:
        self._program = program
        self.pid = pid

    @property
    def exitcode(self) -> int | None:
        """See WorkerProcess."""
        return self._program.exit_code(self.pid, 0.0)

    def join(self, timeout: float | None = None) -> None:
        """See WorkerProcess."""
        self._program.exit_code(self.pid, timeout)

    def kill(self) -> None:
        """See WorkerProcess."""
        self._program.kill(self.pid)


def clean_workers(make: Make, count: int) -> list[ProcessWorker]:
    """Start workers in clean processes, which share the handler that `make` returns there.

    Raises:
        CannotStartError: that is not possible.
    """
    if not hasattr(os, "memfd_create"):
        raise CannotStartError("this system has no files in memory")
    if not sys.executable:
        raise CannotStartError("this program does not know where Python is")
    with ExitStack() as theirs, ExitStack() as failed:  # what only the other side needs, and what goes after a failure
        descriptors: list[int] = []

        def inherited(file: int) -> int:
            """Return a file's descriptor, which the other side gets, too."""
            descriptors.append(file)
            theirs.callback(os.close, file)
            return file

        def pipe() -> Connection:
            """Return this side's end of a new pipe to the other side."""
            own, other = Pipe()
            descriptors.append(other.fileno())
            theirs.callback(other.close)
            parent_connections.add(own)
            failed.callback(parent_connections.close, own)
            return own

        control = pipe()
        _write(inherited(os.memfd_create("edgefl")), make)
        sides = [(pipe(), Slab(inherited(memory_file())), Slab(inherited(memory_file()))) for _ in range(count)]
        process = _started(descriptors)
        theirs.close()  # or else the end of a process would not show as the end of its pipe
        program = CleanProgram(process, control)
        failed.callback(program.close)
        failed.callback(process.kill)
        pids = program.begun()
        workers = [
            ProcessWorker(CleanProcess(program, pid), connection, sent, received)
            for pid, (connection, sent, received) in zip(pids, sides, strict=True)
        ]
        failed.pop_all()
    return workers


def _write(file: int, make: Make) -> None:
    try:
        with open(file, "wb", closefd=False) as task:
            write(task, make)
    except CannotSendError as error:
        raise CannotStartError(str(error)) from error


def _started(descriptors: list[int]) -> subprocess.Popen[bytes]:
    # The workers compute on the CPU: where torch knows of a GPU, it would begin threads for it in each of them.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    arguments = [json.dumps(sys.path), *map(str, descriptors)]
    try:
        # No signal to this program may reach the other one before it ignores them.
        with interrupts.blocked():
            return subprocess.Popen(  # noqa: S603 - Python itself
                [sys.executable, "-P", "-c", COMMAND, *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=descriptors,
                env=environment,
            )
    except OSError as error:
        raise CannotStartError(f"Python cannot be started: {error}") from error
