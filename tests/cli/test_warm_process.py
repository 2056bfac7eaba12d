"""The warm process of the command line's tests."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
import warm_process
from warm_process import WarmProcess

pytestmark = pytest.mark.process
PROGRAM = f"""
import sys
sys.path.append({str(Path(warm_process.__file__).parent)!r})
import warm_process
warm_process._warm_up = int  # nothing
warm_process.serve(print)
"""


def test_the_program_ends_although_a_fork_of_ours_holds_its_pipe(tmp_path):
    warm = WarmProcess([sys.executable, "-c", PROGRAM], tmp_path)
    fork = os.fork()
    if fork == 0:
        time.sleep(600)
        os._exit(0)
    try:
        warm.close()
    finally:
        os.kill(fork, signal.SIGKILL)
        os.waitpid(fork, 0)
