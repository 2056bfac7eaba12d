"""The program of a `WarmProcess` that runs `python -m edgefl`, whose sweeps may fork their processes."""

from __future__ import annotations

import atexit
import importlib
import os
import runpy
import sys
import threading
from typing import Any, NoReturn

from forked_pool import forked_pools
from warm_process import serve

# What many commands import, beside what a run does.
OFTEN = (
    *("edgefl.reproductions.library", "edgefl.reproductions.study", "edgefl.reproductions.overview"),
    *("edgefl.reproductions.readings.rounds", "matplotlib.figure", "matplotlib.backends.backend_svg"),
)


def run(task: dict[str, Any]) -> NoReturn:
    """Run `python -m edgefl` with arguments, in a folder and with an environment."""
    import torch

    os.environ.clear()
    os.environ.update(task["environment"])
    os.chdir(task["cwd"])
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))  # torch has read the warm process's number
    sys.argv = ["edgefl", *task["arguments"]]
    sys.path[0] = task["cwd"]
    named = task["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [folder for folder in named if folder and folder not in sys.path]
    if task["forks_sweeps"]:
        forked_pools().start()
    code = 1
    try:
        runpy.run_module("edgefl", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - Python shows whatever ends a program
        sys.excepthook(*sys.exc_info())
    # What Python does when a program ends. It would also take all modules apart, which copies the memory that a child
    # shares with the warm process: a third of a second.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    for name in OFTEN:
        importlib.import_module(name)
    serve(run)
