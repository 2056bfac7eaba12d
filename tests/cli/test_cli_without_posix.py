"""The command line on a stand-in for Windows: Python without the modules, functions and signals that only POSIX has.

The two libraries that know Windows' own calls, filelock and psutil, are replaced: nothing here runs on Windows itself.
"""

import subprocess
import sys

import pytest

# Libraries come first, as they decide by the platform what they import.
WITHOUT_POSIX = """
import multiprocessing.connection, os, signal, subprocess, sys, tempfile, threading, types
import filelock, numpy, pandas, psutil, scipy, torch
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "getuid", "pread", "pwrite", "register_at_fork", "sched_getaffinity", "sysconf"):
    delattr(os, name)
for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "pthread_sigmask"):
    delattr(signal, name)
filelock.lock_descriptor = lambda *handle, **how: True
del psutil.RLIMIT_AS
psutil.Process.memory_info = lambda self: types.SimpleNamespace(peak_wset=2**30)
multiprocessing.get_all_start_methods = lambda: ["spawn"]
from edgefl.cli import program
sys.exit(program())
"""


@pytest.mark.process
@pytest.mark.oracle
@pytest.mark.parametrize("command", ["list", "validate quickstart", "run quickstart --set rounds=2 -o out"])
def test_command_finishes(command, tmp_path):
    program = [sys.executable, "-c", WITHOUT_POSIX, *command.split()]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout
