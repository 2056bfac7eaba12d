"""The program of workers in clean processes: it makes their handler, forks them, and reports their ends."""

import multiprocessing
import os
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch

from edgefl.core import interrupts
from edgefl.learning.learner.workers.fork_trial import gradients_survive_fork
from edgefl.learning.learner.workers.handler_pickle import made
from edgefl.learning.learner.workers.serving import serve
from edgefl.learning.learner.workers.slab import Slab

END_S = 1.0  # in which workers end after their pipes, or are killed
FILES = 3  # of a worker: a pipe, memory for what it receives, memory for what it sends


def main(control_file: int, task_file: int, *files: int) -> None:
    """Run the workers, given descriptors: of the pipe to the parent, of what makes the handler, and of each worker."""
    interrupts.ignore()  # the parent decides what to do
    # Threads of torch would not survive the forks.
    torch.set_num_threads(1)
    control = Connection(control_file)
    processes: Sequence[BaseProcess] = []
    reason = None
    try:
        processes = _forked(_handler(task_file), control, files)
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
    with suppress(OSError):  # the parent is gone
        control.send(([process.pid for process in processes], reason))
        _report_ends(control, processes)
    for process in processes:
        process.join(END_S)
        if process.exitcode is None:  # it is in the middle of a call
            process.kill()


def _handler(task_file: int) -> object:
    """Return the handler of all workers."""
    with open(task_file, "rb") as task:
        task.seek(0)  # the parent has written up to its end
        handler = made(task)
    if not gradients_survive_fork():
        raise RuntimeError("its modules start threads of torch, or use a GPU, when they are imported")
    return handler


def _forked(handler: object, control: Connection, files: Sequence[int]) -> list[BaseProcess]:
    """Fork the workers; each keeps its own end of a pipe open, and this process keeps none."""
    ends = [Connection(file) for file in files[::FILES]]
    context = multiprocessing.get_context("fork")
    processes: list[BaseProcess] = []
    for number, end in enumerate(ends):
        slabs = [_slab(file) for file in files[FILES * number + 1 : FILES * (number + 1)]]
        others = [control, *ends[number + 1 :]]
        process = context.Process(target=_serve_alone, args=(others, end, handler, *slabs), daemon=True)
        process.start()
        end.close()
        processes.append(process)
    return processes


def _slab(file: int) -> Slab:
    slab = Slab(file)
    os.close(file)  # its memory stays
    return slab


def _serve_alone(others: Sequence[Connection], connection: Connection, handler: object, *slabs: Slab) -> None:
    for other in others:
        other.close()
    received, sent = slabs
    serve(connection, handler, received, sent)


def _report_ends(control: Connection, processes: Sequence[BaseProcess]) -> None:
    """Send the exit code of each worker that ends, and kill those that the parent names, until it hangs up."""
    running = {process.sentinel: process for process in processes}
    by_pid = {process.pid: process for process in processes}
    while running:
        ready = wait([control, *running])
        if control in ready:
            try:
                by_pid[control.recv()].kill()
            except EOFError:
                return
        for sentinel in running.keys() & set(ready):
            process = running.pop(sentinel)
            process.join()
            control.send((process.pid, process.exitcode))
