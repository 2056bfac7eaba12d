"""A test without the mark `process` cannot start a program, so that `make test` stays in its own processes."""

import multiprocessing
import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "start",
    [
        lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        lambda: os.system("true"),  # noqa: S605
        lambda: os.posix_spawn("/bin/sh", ["sh", "-c", "true"], {}),
        multiprocessing.get_context("spawn").Process().start,
    ],
)
def test_unmarked_test_cannot_start_a_process(start):
    with pytest.raises(pytest.fail.Exception, match="mark the test with `process`"):
        start()


@pytest.mark.process
def test_marked_test_may_start_a_process():
    subprocess.run([sys.executable, "-c", ""], check=True)
