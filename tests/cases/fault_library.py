"""Faults at every place of a short run: each write, each call of the file system, each message between processes.

A place is numbered by counting: the fault strikes the n-th call, for every n that a run without a fault makes. Nothing
is sampled. A server process imports edgefl once and forks a child for every run: imports would take most of the time.

`python tests/cases/fault_library.py` enumerates all of them and prints the counts of `docs/reliability.md`.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import wraps
from multiprocessing import active_children
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from warm_process import WarmProcess, serve

SERVER = [sys.executable, "-u", __file__, "--serve"]


# --- the calls that are counted ---------------------------------------------------------------------------------------


class Calls:
    """Counts the calls of a process, and strikes one of them.

    Args:
        folder: only calls that touch files below it count.
        at: the number of the call that is struck, from 0; -1: none.
        strike: called instead of that call, with the call as its argument.
        lasting: whether all later calls are struck as well.
    """

    def __init__(self, folder: Path, at: int, strike: Callable[[Call], Any], *, lasting: bool) -> None:
        self.folder = str(folder)
        self.at = at
        self.strike = strike
        self.lasting = lasting
        self.names: list[str] = []  # of the calls so far
        self._process = os.getpid()

    def pass_on(self, call: Call) -> Any:
        """Count a call and do it, or strike it."""
        if os.getpid() != self._process:  # a child process, such as a worker
            return call.do()
        number = len(self.names)
        self.names.append(call.name)
        if number == self.at or (self.lasting and 0 <= self.at < number):
            return self.strike(call)
        return call.do()


@dataclass
class Call:
    """A call that may be struck."""

    name: str
    do: Callable[[], Any]
    path: str | None = None  # which the system names in an error; it does not where a file is given by its number
    data: bytes = b""  # what is written
    write: Callable[[bytes], Any] | None = None


class WatchedFile(io.FileIO):
    """A file whose writes are counted."""

    calls: Calls

    def write(self, data: Any, /) -> int:
        content = bytes(data)
        raw_write = super().write
        written: int = self.calls.pass_on(Call("write", lambda: raw_write(content), None, content, raw_write))
        return written


def watch_files(calls: Calls) -> None:
    """Let `calls` count and strike what this process does with files from now on."""
    plain_open = io.open

    def watched_open(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        path = _path_of(file)
        writes = any(letter in mode for letter in "wax+")
        if not writes or not path.startswith(calls.folder):
            return plain_open(file, mode, *arguments, **options)
        if isinstance(file, int):  # it has been counted when it was opened
            return _layers(WatchedFile(file, mode.replace("b", "").replace("t", "")), mode, calls, options)

        def opened() -> Any:
            return _layers(WatchedFile(file, mode.replace("b", "").replace("t", "")), mode, calls, options)

        return calls.pass_on(Call("open", opened, path))

    builtins.open = watched_open
    io.open = watched_open
    for name in ("open", "replace", "rename", "unlink", "remove", "rmdir", "mkdir", "fsync", "ftruncate", "truncate"):
        setattr(os, name, _watched(getattr(os, name), name, calls))


def _layers(raw: WatchedFile, mode: str, calls: Calls, options: dict[str, Any]) -> Any:
    raw.calls = calls
    if options.get("buffering") == 0:
        return raw
    buffered: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
    if "b" in mode:
        return buffered
    return io.TextIOWrapper(
        buffered, encoding=options.get("encoding"), newline=options.get("newline"), errors=options.get("errors")
    )


def _watched(function: Callable[..., Any], name: str, calls: Calls) -> Callable[..., Any]:
    @wraps(function)
    def watched(first: Any, *arguments: Any, **options: Any) -> Any:
        reads = name == "open" and not arguments[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if reads or not _path_of(first, options.get("dir_fd")).startswith(calls.folder):
            return function(first, *arguments, **options)
        named = None if isinstance(first, int) else os.fsdecode(first)
        return calls.pass_on(Call(name, lambda: function(first, *arguments, **options), named))

    return watched


def _path_of(file: Any, folder: int | None = None) -> str:
    """Return the whole path of a file that is given by its path or number."""
    if isinstance(file, int):
        try:
            return str(Path(f"/proc/self/fd/{file}").readlink())
        except OSError:
            return ""
    if folder is not None:
        return str(Path(_path_of(folder)) / os.fsdecode(file))
    return str(Path(os.fsdecode(file)).absolute())


def watch_messages(calls: Calls) -> None:
    """Let `calls` count and strike the messages between this process and its workers from now on."""
    for name in ("send_bytes", "recv_bytes", "send", "recv"):
        function = getattr(Connection, name)

        def watched(self: Connection, *arguments: Any, function: Any = function, name: str = name) -> Any:
            return calls.pass_on(Call(name, lambda: function(self, *arguments)))

        setattr(Connection, name, wraps(function)(watched))


# --- the faults -------------------------------------------------------------------------------------------------------


def _does_nothing(call: Call) -> Any:
    return call.do()


def _fails(number: int) -> Callable[[Call], Any]:
    def strike(call: Call) -> Any:
        raise OSError(number, os.strerror(number), call.path)

    return strike


def _fills_the_disk(call: Call) -> Any:
    """Write half of it, as a disk does that becomes full, and fail; what takes no room succeeds."""
    if call.name in {"write", "open", "mkdir"}:
        if call.write is not None:
            call.write(call.data[: len(call.data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), call.path)
    return call.do()


def _kills(call: Call) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def _tears(call: Call) -> Any:
    """End in the middle of a write, as a power failure does."""
    if call.write is not None:
        call.write(call.data[: len(call.data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


def _signals(*numbers: int) -> Callable[[Call], Any]:
    def strike(call: Call) -> Any:
        for number in numbers:
            os.kill(os.getpid(), number)
        return call.do()

    return strike


def _kills_a_worker(call: Call) -> Any:
    for process in active_children():
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join(5)
    return call.do()


def _interrupts_the_call(call: Call) -> Any:
    """Let a signal arrive that a handler catches: the system may end a call with EINTR, which Python repeats."""
    signal.signal(signal.SIGUSR1, lambda *_: None)
    os.kill(os.getpid(), signal.SIGUSR1)
    return call.do()


def _turns_the_clock(call: Call) -> Any:
    """Set the wall clock back by a day, as a daemon may after the start of a machine."""
    plain_time = time.time
    time.time = lambda: plain_time() - 86400.0
    return call.do()


@dataclass(frozen=True)
class Fault:
    """A fault, and how a run may end by it.

    Args:
        strike: what happens instead of a call.
        codes: the exit codes that are right.
        watch: which calls are counted.
        lasting: whether all later calls are struck as well.
        workers: processes that train.
    """

    strike: Callable[[Call], Any]
    codes: frozenset[int]
    watch: Callable[[Calls], None] = watch_files
    lasting: bool = False
    workers: int = 0
    resumes: bool = True  # False: too much may be lost: --resume may refuse in a line, --overwrite must do
    leaves_parts: bool = False  # temporary files cannot be removed


def _vanishes(call: Call) -> Any:
    raise AssertionError  # replaced where the folder is known


FAULTS: dict[str, Fault] = {
    "the disk is full from there on": Fault(_fills_the_disk, frozenset({0, 1, 2}), lasting=True),
    "the disk is full once": Fault(_fills_the_disk, frozenset({0, 1, 2})),
    "an error of the device": Fault(_fails(errno.EIO), frozenset({0, 1, 2})),
    "the folder becomes read-only": Fault(_fails(errno.EROFS), frozenset({0, 1, 2}), lasting=True, leaves_parts=True),
    "too many open files": Fault(_fails(errno.EMFILE), frozenset({0, 1, 2})),
    "the folder vanishes": Fault(_vanishes, frozenset({0, 1, 2}), resumes=False),
    "kill -9": Fault(_kills, frozenset({-signal.SIGKILL})),
    "kill -9 in the middle of a write": Fault(_tears, frozenset({-signal.SIGKILL})),
    "SIGTERM": Fault(_signals(signal.SIGTERM), frozenset({0, 130})),
    "Ctrl-C": Fault(_signals(signal.SIGINT), frozenset({0, 130})),
    "Ctrl-C twice": Fault(_signals(signal.SIGINT, signal.SIGINT), frozenset({0, 130})),
    "another signal (EINTR)": Fault(_interrupts_the_call, frozenset({0})),
    "the clock is set back": Fault(_turns_the_clock, frozenset({0})),
    "a worker is killed": Fault(_kills_a_worker, frozenset({0, 1}), watch_messages, workers=1),
    "kill -9 at a message": Fault(_kills, frozenset({-signal.SIGKILL}), watch_messages, workers=1),
    "SIGTERM at a message": Fault(_signals(signal.SIGTERM), frozenset({0, 130}), watch_messages, workers=1),
}


# --- the server -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A run of the command line."""

    arguments: list[str]
    cwd: str
    folder: str  # of the results
    fault: str | None = None  # its name; None: only count
    watch: str = "files"  # or messages, where there is no fault
    at: int = -1
    workers: int = 0  # processes that train


@dataclass(frozen=True)
class Done:
    """The end of a run: its exit code, its output and the calls that were counted."""

    code: int
    out: str
    err: str
    calls: list[str] = field(default_factory=list)  # counted ones, if it was not killed


def _run_child(keys: dict[str, Any]) -> NoReturn:
    """Run the command of a task, whose keys are given, and end this process with its exit code."""
    task = Task(**keys)
    os.chdir(task.cwd)
    from edgefl.cli import main
    from edgefl.learning.learner import learner

    learner.cores = lambda: task.workers
    strike: Callable[[Call], Any] = _does_nothing
    watch = watch_files if task.watch == "files" else watch_messages
    lasting = False
    if task.fault is not None:
        fault = FAULTS[task.fault]
        watch = fault.watch
        lasting = fault.lasting
        strike = fault.strike
    if strike is _vanishes:
        folder = task.folder

        def strike(call: Call) -> Any:
            shutil.rmtree(folder, ignore_errors=True)
            return call.do()

    calls = Calls(Path(task.folder), task.at, strike, lasting=lasting)
    watch(calls)
    code = 99
    try:
        code = main(task.arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - the test reads it
        import traceback

        traceback.print_exc()
    finally:
        calls.at = -1
        sys.stdout.flush()
        sys.stderr.flush()
        (Path(task.cwd) / "calls.json").write_text(json.dumps(calls.names))
        for process in active_children():
            process.join(5)
        os._exit(code)


class FaultServer:
    """Runs commands of edgefl in children of one warm process, one at a time."""

    def __init__(self, home: Path) -> None:
        self._warm = WarmProcess(SERVER, home)

    def __call__(self, task: Task) -> Done:
        folder = Path(task.cwd)
        out = folder / "stdout"
        err = folder / "stderr"
        code = self._warm(asdict(task), out, err)
        names = []
        counted = folder / "calls.json"
        if counted.exists():
            names = json.loads(counted.read_text())
            counted.unlink()
        return Done(code, out.read_text(), err.read_text(), names)

    def close(self) -> None:
        self._warm.close()


# --- what is enumerated -----------------------------------------------------------------------------------------------

SCENARIO = """\
name: faults
rounds: 4
data: {dataset: synthetic, owners: 6, features: 5, classes: 3}
model: {kind: mlp, hidden: [4]}
training: {local_steps: 2, batch_size: 4, lr: 0.1}
algorithm: scaffold
devices: {count: 6}
server: {participants: 3}
"""
TIMES = {"wall_s"}


def results(folder: Path) -> dict[str, bytes]:
    """Return the results in a folder that two equal runs share."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".part" and path.is_file()}
    found.pop("manifest.json", None)
    found.pop("report.html", None)  # tells how long it took
    summary = json.loads(found["summary.json"])
    found["summary.json"] = json.dumps({key: summary[key] for key in summary if key not in TIMES}).encode()
    return found


@dataclass
class Enumeration:
    """Strikes one short run by one fault at each of its places, and checks every end.

    Args:
        server: runs the commands.
        home: a folder of its own.
        verb: the command that is struck.
    """

    server: FaultServer
    home: Path
    verb: tuple[str, ...] = ("run", "s.yaml", "-o", "out", "--device", "cpu", "--checkpoint-every", "1", "--quiet")

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "s.yaml").write_text(SCENARIO)

    def _task(self, *more: str, workers: int, **options: Any) -> Task:
        return Task([*self.verb, *more], str(self.home), str(self.home / "out"), workers=workers, **options)

    def places(self, watch: str, workers: int, *, again: bool = False) -> list[str]:
        """Return the calls of a run without a fault, whose results become the truth."""
        if again:
            shutil.rmtree(self.home / "out")
        done = self.server(self._task(workers=workers, watch=watch))
        assert done.code == 0, done.err
        self.truth = results(self.home / "out")
        return done.calls

    def strike(self, name: str, at: int, workers: int) -> Done:
        """Run with a fault; check the end, and that a resumed run has the bytes of one that was never struck."""
        shutil.rmtree(self.home / "out", ignore_errors=True)
        done = self.server(self._task(workers=workers, fault=name, at=at))
        where = f"{name} at {at}: exit {done.code}\n{done.out}{done.err}"
        fault = FAULTS[name]
        assert done.code in fault.codes, where
        assert "Traceback" not in done.err, where
        if done.code in {1, 2}:
            lines = [line for line in done.err.splitlines() if line.startswith("edgefl: ")]
            assert len(lines) == 1, where
            assert "[Errno" not in lines[0], where
        untidy = done.code == -signal.SIGKILL or fault.leaves_parts
        assert untidy or not list((self.home / "out").glob(".*.part")), where
        again = self.server(self._task("--resume", workers=workers))
        if again.code == 2 and not fault.resumes:
            again = self.server(self._task("--overwrite", workers=workers))
        assert again.code == 0, f"{where}\nresumed: {again.err}"
        found = results(self.home / "out")
        differing = [name for name in {*found, *self.truth} if found.get(name) != self.truth.get(name)]
        assert not differing, f"{where}\nresumed, these differ: {differing}"
        assert fault.leaves_parts or not list((self.home / "out").glob(".*.part")), where
        return done


def enumerate_faults(
    server: FaultServer, home: Path, names: Sequence[str], most: int | None = None
) -> Iterator[tuple[str, int, Counter[int]]]:
    """Yield each fault with the number of places that it has struck, and how often each exit code came.

    Args:
        server: runs the commands.
        home: a folder of its own.
        names: of the faults.
        most: how many places to strike by each fault, spread over the run; None: all.
    """
    for number, name in enumerate(names):
        fault = FAULTS[name]
        enumeration = Enumeration(server, home / f"fault-{number}")
        watch = "files" if fault.watch is watch_files else "messages"
        count = len(enumeration.places(watch, fault.workers))
        assert count, f"no places for {name}"
        struck = range(count)
        if most is not None:
            first = number % (count // most)  # not the same places for all faults
            struck = range(first, count, count // most)[:most]
        codes: Counter[int] = Counter()
        for at in struck:
            codes[enumeration.strike(name, at, fault.workers).code] += 1
        yield name, codes.total(), codes


def main() -> None:
    """Print a table of all faults."""
    import tempfile

    only = sys.argv[1:]
    print("| fault | places | exit 0 | 1 | 2 | 130 | killed |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        server = FaultServer(Path(folder))
        for name, places, codes in enumerate_faults(server, Path(folder), only or list(FAULTS)):
            counts = [codes[code] for code in (0, 1, 2, 130, -signal.SIGKILL)]
            print(f"| {name} | {places} | {' | '.join(map(str, counts))} |", flush=True)
        server.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve(_run_child)
    else:
        main()
