"""Where local training happens: in worker processes, one single-threaded a core, or in threads, one a GPU.

Clients are independent, so cores are better used by training different clients than by splitting one client's small
matrix products. Threads would not do: between two small products each must wait for the interpreter's lock. As every
product is computed by one thread, results do not depend on the number of workers.
"""

from __future__ import annotations

import ctypes
import gc
import io
import mmap
import multiprocessing
import os
import pickle
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from edgefl.core.errors import RunError

T = TypeVar("T")
SLAB_BYTES = 2**30  # address space for tensors on their way, each direction; memory only as it is touched
_ALIGN = 64


class Worker(Protocol):
    """Something that runs one call after another."""

    def call(self, method: str, args: Sequence[Any], take: Callable[[Any], T]) -> T:
        """What `take` makes of the method's result, whose tensors may be overwritten by the next call."""

    def close(self) -> None:
        """End it."""


class Inline:
    """Calls in this process; for GPUs, which are parallel themselves, and where there is no fork."""

    def __init__(self, handler: object) -> None:
        self.handler = handler

    def call(self, method: str, args: Sequence[Any], take: Callable[[Any], T]) -> T:
        """See Worker."""
        return take(getattr(self.handler, method)(*args))

    def close(self) -> None:
        """Nothing to end."""


class Forked:
    """Calls in a forked process, which shares all data that were there before; tensors travel in shared memory.

    Args:
        handler: the object whose methods are called.
    """

    def __init__(self, handler: object) -> None:
        slabs = Slab(), Slab()
        context = multiprocessing.get_context("fork")
        self._connection, theirs = context.Pipe()
        _parents_ends.add(self._connection)
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, handler, slabs), daemon=True)
        with warnings.catch_warnings():  # from Python 3.12 on: of threads, none of which holds a lock that is needed
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        theirs.close()
        self._out, self._in = slabs

    def call(self, method: str, args: Sequence[Any], take: Callable[[Any], T]) -> T:
        """See Worker.

        Raises:
            RunError: the process is gone.
        """
        message = self._out.pack((method, args))
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
        done, result = self._in.unpack(reply)
        if done:
            return take(result)
        raise result

    def close(self) -> None:
        """End the process."""
        _parents_ends.discard(self._connection)
        self._connection.close()
        self.process.join(1)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Slab:
    """Shared memory for the tensors of one message; the rest of the message is pickled."""

    def __init__(self) -> None:
        flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        self._memory = mmap.mmap(-1, SLAB_BYTES, flags=flags)

    def pack(self, message: object) -> bytes:
        """Write the message's tensors into the memory; the rest as bytes."""
        buffer, used = io.BytesIO(), 0

        def place(tensor: object) -> object:
            nonlocal used
            if not isinstance(tensor, Tensor) or tensor.numel() == 0 or used + tensor.nbytes > SLAB_BYTES:
                return None  # pickled as usual
            begin, shape, dtype = used, tensor.shape, tensor.dtype
            used = -(-(used + tensor.nbytes) // _ALIGN) * _ALIGN
            self._view(begin, shape, dtype).copy_(tensor)
            return begin, tuple(shape), dtype

        pickler = pickle.Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        pickler.persistent_id = place  # type: ignore[method-assign]
        pickler.dump(message)
        return buffer.getvalue()

    def unpack(self, content: bytes) -> Any:
        """The message; its tensors are views of the memory."""
        unpickler = pickle.Unpickler(io.BytesIO(content))  # noqa: S301 - from this program's own worker
        unpickler.persistent_load = lambda place: self._view(*place)  # type: ignore[method-assign]
        return unpickler.load()

    def _view(self, begin: int, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        count = torch.Size(shape).numel()
        return torch.frombuffer(self._memory, dtype=dtype, count=count, offset=begin).view(shape)


_parents_ends: set[Connection] = set()  # of all workers' pipes; a worker that held one would keep others alive


def _serve(connection: Connection, handler: object, slabs: tuple[Slab, Slab]) -> None:
    """The life of a worker process: it ends when the other side is gone."""
    for end in _parents_ends:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()
    torch.set_num_threads(1)
    with suppress(EOFError, OSError):
        while True:
            connection.send_bytes(_reply(connection.recv_bytes(), handler, *slabs))


def _reply(message: bytes, handler: object, received: Slab, sent: Slab) -> bytes:
    """The result of a call, or the error that it ended with, packed."""
    try:
        method, args = received.unpack(message)
        return sent.pack((True, getattr(handler, method)(*args)))
    except Exception as error:  # noqa: BLE001 - raised again on the other side
        trace = "".join(traceback.format_exception(error))
        error.add_note(trace)
        try:
            packed = sent.pack((False, error))
            sent.unpack(packed)
        except Exception:  # noqa: BLE001 - an error that cannot be pickled, or not be made again
            packed = sent.pack((False, RuntimeError(f"{type(error).__name__}: {error}\n{trace}")))
        return packed


def keep_memory() -> None:
    """Tell glibc's malloc not to return memory to the system, which would clear it at every step; forks inherit it."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
        libc.mallopt(-3, 2**30)  # M_MMAP_THRESHOLD
    except (OSError, AttributeError):
        return  # another libc: only slower


class Workers:
    """Runs calls on the workers, in the background.

    Args:
        handlers: one a GPU, or a single one that all processes share.
        processes: how many to fork; 0 runs the handlers in this process.
    """

    def __init__(self, handlers: Sequence[object], processes: int) -> None:
        self._workers: list[Worker] = [] if processes else [Inline(handler) for handler in handlers]
        self._workers += [Forked(handlers[0]) for _ in range(processes)]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(len(self._workers), "edgefl-worker")

    def __len__(self) -> int:
        return len(self._workers)

    def submit(self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], T]) -> Future[T]:
        """Have a method called by the first worker that is free.

        Args:
            method: of the handler.
            arguments: makes its arguments, in a thread, when a worker is free.
            take: gets its result, in a thread; what it returns is the future's result.
        """
        return self._threads.submit(self._call, method, arguments, take)

    def _call(self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], T]) -> T:
        worker = self._idle.get()
        try:
            return worker.call(method, arguments(), take)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """End the workers; calls that have not begun are dropped."""
        self._threads.shutdown(cancel_futures=True, wait=False)
        for worker in self._workers:
            worker.close()


def cores() -> int:
    """Worker processes for local training on the CPU: torch's number of threads (cores, or OMP_NUM_THREADS)."""
    can_fork = hasattr(os, "fork") and not multiprocessing.current_process().daemon
    return torch.get_num_threads() if can_fork else 0


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Within, torch computes every operation in the thread that asks for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
