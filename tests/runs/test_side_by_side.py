"""Calls in forked processes: the same answers in the same order, and an error is that of the call."""

import json
import subprocess
import sys

import pytest

from edgefl.runs import side_by_side


def printed(expression):
    """What a fresh Python prints of an expression as JSON: a fork waits for threads that other tests have started."""
    program = f"import json, os\nfrom edgefl.runs import side_by_side\nprint(json.dumps({expression}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        return done.stderr.splitlines()[-1]
    return json.loads(done.stdout)


@pytest.mark.process
@pytest.mark.parametrize("workers", [1, 2])
def test_answers_come_in_order(workers):
    found = printed(f"list(side_by_side.each(lambda number: number * number, 7, {workers}))")
    assert found == [0, 1, 4, 9, 16, 25, 36]


@pytest.mark.process
def test_calls_run_in_other_processes():
    assert printed("os.getpid() in set(side_by_side.each(lambda _: os.getpid(), 3, 2))") is False


@pytest.mark.process
def test_error_ends_all_calls():
    found = printed("list(side_by_side.each(lambda number: 1 // (number - 1), 3, 2))")
    assert found == "ZeroDivisionError: integer division or modulo by zero"


def test_little_work_stays_in_this_process():
    assert side_by_side.processes(8, 3, 0.001) == 1
    assert side_by_side.processes(1, 1000, 10.0) == 1
