"""The warm process of the command line's tests."""

import os
import signal
import sys
import time

import pytest
import warm_edgefl
from warm_process import WarmProcess

pytestmark = pytest.mark.process


def test_the_program_ends_although_a_fork_of_ours_holds_its_pipe(tmp_path):
    warm = WarmProcess([sys.executable, warm_edgefl.__file__], tmp_path)
    fork = os.fork()
    if fork == 0:
        time.sleep(600)
        os._exit(0)
    try:
        warm.close()
    finally:
        os.kill(fork, signal.SIGKILL)
        os.waitpid(fork, 0)
