"""Workers in processes of their own: a forked one shares all data that existed before the fork."""

import multiprocessing
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from edgefl.core import interrupts
from edgefl.core.errors import RunError
from edgefl.learning.learner.calls import CallResult
from edgefl.learning.learner.workers.serving import parent_connections, serve
from edgefl.learning.learner.workers.slab import Slab


class ForkedWorker:
    """Runs calls of a handler's methods in a process that is forked from this one; tensors travel in shared memory."""

    def __init__(self, handler: object) -> None:
        sent = Slab()
        received = Slab()
        context = multiprocessing.get_context("fork")
        connection, child_connection = context.Pipe()
        parent_connections.add(connection)
        process = context.Process(target=serve, args=(child_connection, handler, sent, received), daemon=True)
        # From Python 3.12 on a fork warns of threads, which might hold a lock at that moment: those of edgefl do not.
        # No signal to the parent may reach the worker before it ignores them.
        with warnings.catch_warnings(), interrupts.blocked():
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        child_connection.close()  # or else the end of the process would not show as the end of the pipe
        self.process = process
        self._connection = connection
        self._sent = sent  # memory for what is sent there
        self._received = received  # memory for what comes back

    def call(self, method: str, args: Sequence[Any], take: Callable[[Any], CallResult]) -> CallResult:
        """See Worker; raises a RunError if the process is gone."""
        message = self._sent.pack((method, args))
        try:
            self._connection.send_bytes(message)
            reply = self._connection.recv_bytes()
        except (EOFError, OSError, TypeError):  # TypeError: closed meanwhile
            self.process.join(1)
            code = self.process.exitcode
            raise RunError(
                f"a worker process ended unexpectedly (exit code {code}); if the machine ran out of memory, "
                "use fewer workers (OMP_NUM_THREADS), a smaller batch_size or training.width: 1"
            ) from None
        done, result = self._received.unpack(reply)
        if done:
            # before this returns, as the next call overwrites the shared memory behind the result's tensors
            return take(result)
        raise result

    def hang_up(self) -> None:
        """Close the pipe; the process notices, and ends."""
        parent_connections.close(self._connection)

    def close(self) -> None:
        """Hang up, and wait for the end of the process."""
        self.hang_up()
        self.process.join(1)
        if self.process.exitcode is None:  # it is in the middle of a call
            self.process.kill()
            self.process.join()
