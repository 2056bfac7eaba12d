"""The workers of local training: a single-threaded process on each CPU core, or a thread for each GPU.

Clients are independent, so training different clients uses cores better than splitting one client's small matrix
products. Threads would wait for the interpreter's lock between two small products. One thread computes each product, so
results do not depend on the number of workers.
"""

import atexit
import ctypes
import gc
import logging
import mmap
import multiprocessing
import os
import select
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from edgefl.core import interrupts
from edgefl.core.errors import RunError
from edgefl.core.machine import one_numpy_thread
from edgefl.core.plugins import calls_noted, note_calls
from edgefl.learning.learner.calls import CallResult, Worker
from edgefl.learning.learner.workers.tensor_pickle import packed, unpacked

log = logging.getLogger("edgefl")

Packed = TypeVar("Packed")
SLAB_BYTES = 2**30  # address space for tensors in each direction; it takes memory only where it is touched
LEAST_SLAB_BYTES = 2**20  # where a limit such as `ulimit -v` leaves no room for more
ALIGNMENT = 64  # bytes: a cache line, and the widest vector register
M_TRIM_THRESHOLD = -1  # of glibc's malloc.h
M_MMAP_THRESHOLD = -3
EXPORTERS = "torch._dynamo"  # imported by torch's exporters and compilers, and not by torch itself
RETURNED_BYTES = 2**18  # of a block that goes back to the system as soon as it is free


class Packing(Protocol[Packed]):
    """A way to pack messages for the other side, and to unpack those that arrive."""

    def pack(self, message: object) -> Packed:
        """Return a message as it travels."""

    def unpack(self, content: Packed) -> Any:
        """Return the message."""


class InlineWorker:
    """Runs calls in this process: for GPUs, which are parallel themselves, and for systems without fork."""

    def __init__(self, handler: object) -> None:
        self.handler = handler

    def call(self, method: str, args: Sequence[Any], take: Callable[[Any], CallResult]) -> CallResult:
        """See Worker."""
        return take(getattr(self.handler, method)(*args))

    def hang_up(self) -> None:
        """Do nothing: there is no process to end."""

    def close(self) -> None:
        """Do nothing: there is no process to end."""


class ForkedWorker:
    """Runs calls of a handler's methods in a forked process, which shares all data that existed before the fork.

    Tensors travel in shared memory.
    """

    def __init__(self, handler: object) -> None:
        self._sent = Slab()
        self._received = Slab()
        context = multiprocessing.get_context("fork")
        self._connection, child_connection = context.Pipe()
        _parent_connections.add(self._connection)
        self.process: BaseProcess = context.Process(
            target=_serve, args=(child_connection, handler, self._sent, self._received), daemon=True
        )
        # From Python 3.12 on a fork warns of threads, which might hold a lock at that moment: those of edgefl do not.
        # No signal to the parent may reach the worker before it ignores them.
        with warnings.catch_warnings(), interrupts.blocked():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        child_connection.close()  # or else the end of the process would not show as the end of the pipe

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
        _parent_connections.discard(self._connection)
        self._connection.close()

    def close(self) -> None:
        """Hang up, and wait for the end of the process."""
        self.hang_up()
        self.process.join(1)
        if self.process.is_alive():  # it is in the middle of a call
            self.process.kill()
            self.process.join()


class Slab:
    """Shared memory for the tensors of one message; the rest of the message is pickled.

    A tensor is copied once, into the memory; through the pipe it would be copied several times. Tensors that do not fit
    into the memory go through the pipe.
    """

    def __init__(self) -> None:
        self._memory = _shared_memory()

    def pack(self, message: object) -> bytes:
        """Write the message's tensors into the memory; return the rest as bytes."""
        used = 0

        def keep(tensor: Tensor) -> tuple[int, tuple[int, ...], torch.dtype] | None:
            """Put a tensor into the memory, and return where it is; None if it does not fit."""
            nonlocal used
            if used + tensor.nbytes > len(self._memory):
                return None
            begin = used
            self._view(begin, tensor.shape, tensor.dtype).copy_(tensor)
            used = _aligned(begin + tensor.nbytes)
            return begin, tuple(tensor.shape), tensor.dtype

        return packed(message, keep)

    def unpack(self, content: bytes) -> Any:
        """Return the message; its tensors are views of the memory."""
        return unpacked(content, self._view)

    def _view(self, begin: int, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        count = torch.Size(shape).numel()
        return torch.frombuffer(self._memory, dtype=dtype, count=count, offset=begin).view(shape)


def _shared_memory() -> mmap.mmap:
    """Return memory that forked processes share, as much as the address space has room for, up to `SLAB_BYTES`."""
    # MAP_NORESERVE: no swap is set aside for the address space, of which most is never touched
    flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    size_bytes = SLAB_BYTES
    while size_bytes > LEAST_SLAB_BYTES:
        with suppress(OSError):
            return mmap.mmap(-1, size_bytes, flags=flags)
        size_bytes //= 4
    return mmap.mmap(-1, max(size_bytes, 1), flags=flags)


def _aligned(offset: int) -> int:
    """Return the next offset at which a tensor may begin."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


# This process's ends of all workers' pipes. A forked worker inherits those of the workers before it, and closes them:
# as long as one process holds such an end, the worker on the other side does not see that this process is gone.
_parent_connections: set[Connection] = set()


def _end_all() -> None:
    """End the workers that are still open when this process exits."""
    for connection in _parent_connections:
        connection.close()


# Before `multiprocessing` waits for them: it would end them by SIGTERM, which they ignore. The function that was
# registered last is called first, and that of `multiprocessing` was registered by its import above.
atexit.register(_end_all)


def _serve(connection: Connection, handler: object, received: Slab, sent: Slab) -> None:
    """Answer calls until the other side is gone: the life of a worker process."""
    for parent_connection in _parent_connections:
        parent_connection.close()
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


class TrainingWorkers:
    """Runs calls on workers of this machine, in the background; see `Workers`.

    There is a handler for each GPU, or one that all forked processes share; without processes it runs in this one.
    """

    def __init__(self, handlers: Sequence[object], processes: int) -> None:
        self._workers: list[Worker] = []
        if processes:
            self._workers += [ForkedWorker(handlers[0]) for _ in range(processes)]
        else:
            self._workers += [InlineWorker(handler) for handler in handlers]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        # A thread for each worker only packs, waits for the worker and unpacks. Further threads of torch would wait on
        # the cores that the workers need.
        self._threads = ThreadPoolExecutor(len(self._workers), "edgefl-worker", torch.set_num_threads, (1,))

    def __len__(self) -> int:
        return len(self._workers)

    def submit(
        self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], CallResult]
    ) -> Future[CallResult]:
        """See Workers."""
        return self._threads.submit(self._call, method, arguments, take)

    def _call(
        self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], CallResult]
    ) -> CallResult:
        worker = self._idle.get()
        try:
            return worker.call(method, arguments(), take)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """See Workers."""
        self._threads.shutdown(cancel_futures=True, wait=False)
        for worker in self._workers:  # all at once: the end of a process takes long
            worker.hang_up()
        for worker in self._workers:
            worker.close()


def cores() -> int:
    """Return the number of worker processes for the CPU: torch's number of threads (cores, or OMP_NUM_THREADS)."""
    # a daemonic process may have no children: it trains in its own process
    if not hasattr(os, "fork") or multiprocessing.current_process().daemon:
        return 0
    if not _gradients_survive_fork():
        log.warning(
            "training uses a single process: this program has exported or compiled a model with torch before, after "
            "which torch computes no gradients in forked processes. Results are the same; a fresh program is faster"
        )
        return 0
    return torch.get_num_threads()


def _gradients_survive_fork() -> bool:
    """Return whether torch computes gradients in a process that is forked now.

    A program's first backward pass decides whether torch starts threads for devices besides the CPU, as it does once
    its exporters or compilers have been used. If so, torch refuses backward passes in all processes that are forked
    later.
    """
    if EXPORTERS in sys.modules:
        # The program's first pass may be over or not. Only a trial tells, and its answer may change.
        return _try_gradients_in_fork()
    return _gradients_survive_fork_from_now_on()


@cache
def _gradients_survive_fork_from_now_on() -> bool:
    """Make torch decide now, by a backward pass in this process; return whether forked processes get gradients."""
    _compute_gradient()
    return _try_gradients_in_fork()


def _try_gradients_in_fork() -> bool:
    """Return whether a backward pass works in a process that is forked for it."""
    trial = multiprocessing.get_context("fork").Process(target=_try_gradients)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        trial.start()
    trial.join()
    return trial.exitcode == 0


def _try_gradients() -> None:
    """End this process with 0 if a backward pass works in it, and with 1 if not."""
    code = 0
    try:
        _compute_gradient()
    except RuntimeError:
        code = 1
    os._exit(code)  # without exit handlers, which belong to the parent


def _compute_gradient() -> None:
    x = torch.ones(1, requires_grad=True)
    (x * x).sum().backward()  # type: ignore[no-untyped-call]


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


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let torch compute every operation in the calling thread, as long as the context lasts."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
