"""The process that serves the live page of a run."""

import errno
import multiprocessing
import os
import secrets
import socket
import time
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import NamedTuple, Self

from edgefl.core import interrupts
from edgefl.core.errors import InputError
from edgefl.results.integrity import MANIFEST_FILE
from edgefl.results.live.board import Board
from edgefl.results.live.server import LOOPBACK, PageServer
from edgefl.results.progress import ROUNDS_FILE, wait_until_released
from edgefl.results.run_folder import PROGRESS

TOKEN_BYTES = 24
LOOK_EVERY_S = 0.3  # between two looks at the files of the run
LOOKED_AT_S = 30.0  # a page without a request for this long counts as closed
REST = 3.0  # pause between two pages, as a multiple of the time one takes: the run needs the processor more
QUIET_S = 2.0  # without a request: by then every open page has the last state, if one has
DRAWING_S = 10.0  # without a request while no page has it: a browser asks again once it has drawn the state before
LAST_S = 15.0  # at most, for open pages to get the last state
END_S = 120.0  # at most, for making the last page and sending it to open pages
NICENESS = 5  # the run comes first

FileState = tuple[int, int, int] | None  # None: there is no such file


class Watched(NamedTuple):
    """The run whose page is served, as the serving process sees it."""

    folder: Path  # of its results
    title: str
    before: FileState  # of the folder's manifest before the run, which replaces it when it begins
    pid: int  # of its process
    ended: Connection  # becomes readable when it has ended: True, if it has written its results

    def states(self) -> list[FileState]:
        """Return the states of the files that change during the run, the manifest first."""
        return [_state_of(self.folder / MANIFEST_FILE), _state_of(self.folder / PROGRESS / ROUNDS_FILE)]

    @property
    def has_begun(self) -> bool:
        """True if the folder belongs to this run, not to an earlier one."""
        return self.states()[0] != self.before

    def goes_on(self, patience_s: float) -> bool:
        """Wait briefly for the end of the run, and return whether it is still under way."""
        # A forked process of the run may hold the other end of the pipe, too: then the run's death leaves it open.
        return not self.ended.poll(patience_s) and os.getppid() == self.pid

    def has_results(self) -> bool:
        """Return, after the end of the run, whether the folder holds its results."""
        with suppress(EOFError, OSError):
            if self.ended.poll() and self.ended.recv():
                return True
        return self.has_begun


class LivePage:
    """A page about the run in a folder, which is served until the context is left.

    The serving process starts immediately, and shows the run as soon as its folder is open. It ends with this
    process, however that ends.

    Raises:
        InputError: the port cannot be used.
    """

    def __init__(self, folder: Path, port: int, title: str) -> None:
        listener = _listening(port)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self.address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/{token}/"
        context = multiprocessing.get_context("spawn")
        theirs, self._ours = context.Pipe(duplex=False)
        before = _state_of(folder / MANIFEST_FILE)
        # The token goes through a pipe: every user of the machine may read a process's arguments.
        watched = Watched(folder.absolute(), title, before, os.getpid(), theirs)
        self._process = context.Process(target=serve, args=(listener, token, watched))
        resource_tracker.ensure_running()  # by `start` otherwise, which then lets signals in again
        with interrupts.blocked():
            self._process.start()
        theirs.close()
        listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        """Send open pages the last state, and end the process."""
        with suppress(OSError):  # the process is gone
            self._ours.send(kind is None)
        self._ours.close()
        with suppress(KeyboardInterrupt):  # Ctrl-C ends the wait: the run itself has ended
            self._process.join(END_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        reason = error.strerror
        if error.errno == errno.EADDRINUSE:
            reason = "is in use"
        elif error.errno in {errno.EACCES, errno.EPERM}:
            reason = "is not allowed"
        raise InputError(f"--live {port}: this port {reason}; name another, or none for a free one") from None


def _state_of(path: Path) -> FileState:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def serve(listener: socket.socket, token: str, run: Watched) -> None:
    """Serve the page of a run until the run has ended, or its process is gone."""
    interrupts.ignore()  # Ctrl-C is for the run, which ends this process then
    os.nice(NICENESS)
    from edgefl.results.live.page import PageMaker  # the process of the run does not need it

    maker = PageMaker(run.folder, run.title)
    board = Board(maker.setting_up())
    server = PageServer(listener, token, board)
    Thread(target=server.serve_forever, daemon=True).start()

    shown: list[FileState] = []  # states of the files that the page shows
    rest_until_s = 0.0
    while run.goes_on(LOOK_EVERY_S):
        found = run.states()
        rested = time.monotonic() > rest_until_s
        if rested and found != shown and run.has_begun and board.asked_within(LOOKED_AT_S):
            began_s = time.monotonic()
            page = maker.now()
            if page is not None:
                board.post(page)
                shown = found
            rest_until_s = time.monotonic() + REST * (time.monotonic() - began_s)

    if board.asked_within(LOOKED_AT_S):
        wait_until_released(run.folder)  # or a killed run would be said to be still running
        board.post(maker.last(has_rounds=run.has_results()))
        give_up_s = time.monotonic() + LAST_S
        while time.monotonic() < give_up_s:
            quiet_s = QUIET_S if board.is_fetched else DRAWING_S
            if not board.asked_within(quiet_s):
                break
            time.sleep(LOOK_EVERY_S)
    server.shutdown()
