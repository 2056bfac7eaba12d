"""The life of a worker process: it answers calls until the other side of its connection is gone."""

import atexit
import gc
import os
import select
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, Protocol, TypeVar

import torch

from edgefl.core import interrupts
from edgefl.core.machine import one_numpy_thread
from edgefl.core.plugins import calls_noted, note_calls
from edgefl.learning.learner.workers.malloc import keep_memory
from edgefl.learning.learner.workers.slab import Slab

Packed = TypeVar("Packed")


class Packing(Protocol[Packed]):
    """A way to pack messages for the other side, and to unpack those that arrive."""

    def pack(self, message: object) -> Packed:
        """Return a message as it travels."""

    def unpack(self, content: Packed) -> Any:
        """Return the message."""


class ParentConnections:
    """This process's ends of all workers' pipes.

    A forked worker inherits those of the workers before it, and closes them: as long as one process holds such an end,
    the worker on the other side does not see that this process is gone.
    """

    def __init__(self) -> None:
        self._open: set[Connection] = set()

    def add(self, connection: Connection) -> None:
        """Note a connection that is open."""
        self._open.add(connection)

    def close(self, connection: Connection) -> None:
        """Close a connection."""
        self._open.discard(connection)
        connection.close()

    def close_all(self) -> None:
        """Close all connections: in this process that ends the workers, in a worker it leaves them to the parent."""
        for connection in self._open:
            connection.close()


parent_connections = ParentConnections()
# Before `multiprocessing` waits for the workers: it would end them by SIGTERM, which they ignore. The function that was
# registered last is called first, and that of `multiprocessing` was registered by its import above.
atexit.register(parent_connections.close_all)


def serve(connection: Connection, handler: object, received: Slab, sent: Slab) -> None:
    """Answer calls until the other side is gone: the life of a worker process."""
    parent_connections.close_all()
    # Ctrl-C and SIGTERM reach all processes of a group: the parent decides what to do, and this process ends with it.
    interrupts.ignore()
    Thread(target=_end_with, args=(connection.fileno(),), daemon=True).start()
    keep_memory()
    gc.freeze()  # a collection would write to pages that are shared with the parent, and so copy them
    torch.set_num_threads(1)
    with suppress(EOFError, OSError), one_numpy_thread():
        while True:
            connection.send_bytes(reply(connection.recv_bytes(), handler, received, sent))


def _end_with(descriptor: int) -> None:
    """End this process as soon as the other side of its connection is gone, also in the middle of a long call.

    Linux could send a signal at the parent's end (PR_SET_PDEATHSIG), but sends it when the thread ends that has forked,
    and several threads may drive a run.
    """
    hang_up = select.poll()
    hang_up.register(descriptor, 0)  # 0: messages do not count, only the end of the connection
    hang_up.poll()
    os._exit(0)


def reply(message: Packed, handler: object, received: Packing[Packed], sent: Packing[Packed]) -> Packed:
    """Return the packed result of a call to a method of the handler, or the packed error that it ended with."""
    try:
        method, args = received.unpack(message)
        return sent.pack((True, getattr(handler, method)(*args)))
    except BaseException as error:  # noqa: BLE001 - raised again on the other side, also a `SystemExit` of a hook
        trace = "".join(traceback.format_exception(error))
        error.add_note(trace)
        note_calls(error)
        try:
            # Some errors can be pickled but not be made again: better found out here than in the parent.
            packed = sent.pack((False, error))
            sent.unpack(packed)
        except Exception:  # noqa: BLE001 - an error that cannot be pickled, or not be made again
            other = RuntimeError(f"{type(error).__name__}: {error}\n{trace}")
            other.__dict__.update(calls_noted(error))
            packed = sent.pack((False, other))
        return packed
