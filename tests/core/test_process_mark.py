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
def test_starting_one_fails_a_test(start):
    with pytest.raises(pytest.fail.Exception, match="mark the test with `process`"):
        start()


@pytest.mark.process
def test_a_marked_test_starts_one():
    subprocess.run([sys.executable, "-c", ""], check=True)
