"""Commands in children of a warm process, which has imported edgefl once: imports take most of a short command's time.

A command in a child is like one of its own process: arguments, environment, working directory, output, signals, exit
code and what happens at its end. What a program reads as it is loaded, such as OMP_NUM_THREADS or PYTHONHASHSEED, is
the warm process's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

LIMIT_S = 60  # for one command
TIMED_OUT = 124  # its exit code, as that of coreutils' `timeout`
END = "end"  # asks the program to end
SCENARIO = {
    "rounds": 2,
    "data": {"dataset": "synthetic", "owners": 6, "features": 5, "classes": 3},
    "model": {"kind": "mlp", "hidden": [4]},
    "training": {"local_steps": 2, "batch_size": 4, "lr": 0.1},
    "devices": {"count": 6},
    "server": {"participants": 3},
}


class WarmProcess:
    """Starts a program that calls `serve`, and has it run tasks, one at a time.

    Args:
        program: the command line of the program.
        home: its home directory.
        settings: other variables of its environment.
    """

    def __init__(self, program: Sequence[str], home: Path, **settings: str) -> None:
        # One thread: a child may not use threads of OpenMP that were started before it was forked.
        own = {"HOME": str(home), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        self.environment = {**os.environ, **own, **settings}
        self._process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment
        )

    def __call__(self, task: dict[str, Any], out: Path, err: Path) -> int:
        """Run a task in a child whose output goes to these two files, and return its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"task": task, "out": str(out), "err": str(err)}) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End the program."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # A closed pipe would not end it: workers that edgefl forked here hold the pipe's end as well.
        self._process.stdin.write(json.dumps(END) + "\n")
        self._process.stdin.close()
        self._process.wait(LIMIT_S)
        self._process.stdout.close()


def serve(run: Callable[[dict[str, Any]], NoReturn]) -> NoReturn:
    """Fork a child for each task on standard input, answer with its exit code, and end when asked to.

    Args:
        run: called with the task in the child, which it ends.
    """
    _warm_up()
    for line in sys.stdin:
        asked = json.loads(line)
        if asked == END:
            break
        child = os.fork()
        if child == 0:
            _become_own(Path(asked["out"]), Path(asked["err"]))
            run(asked["task"])
        sys.stdout.write(f"{_awaited(child)}\n")
        sys.stdout.flush()
    os._exit(0)  # Python would first take all modules apart: seconds, with torch's


def _warm_up() -> None:
    """Run a scenario, so that no child has to import or compile what a run needs."""
    import edgefl
    import edgefl.cli
    from edgefl.learning.learner import learner

    usual = learner.cores
    learner.cores = lambda: 0  # a child must not inherit the ends of a worker's pipes
    with tempfile.TemporaryDirectory() as folder:
        edgefl.run(SCENARIO, out=Path(folder) / "out", device="cpu")
    learner.cores = usual
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _become_own(out: Path, err: Path) -> None:
    """Give a child what a process of its own has: a group, an empty input, its output, and Python's Ctrl-C."""
    os.setsid()
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        handle = os.open(name, flags, 0o644)
        os.dup2(handle, number)
        os.close(handle)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it


def _awaited(child: int) -> int:
    """Return the exit code of a child; one that takes too long is killed."""
    deadline_s = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline_s:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return TIMED_OUT
