"""Runs tests in a second process, whose torch nothing else uses."""

import functools
import multiprocessing
import traceback

import pytest


def run(test, arguments):
    """Run a test in the second process, and skip or fail as it does."""
    process, connection = _second_process()
    try:
        connection.send((test, arguments))
        outcome, text = connection.recv()
    except (EOFError, BrokenPipeError):
        process.join()
        _second_process.cache_clear()
        outcome = "failed"
        text = f"the test's process ended with exit code {process.exitcode}"
    if outcome == "skipped":
        pytest.skip(text)
    if outcome == "failed":
        pytest.fail(text, pytrace=False)


@functools.cache
def _second_process():
    """The process, and the connection to it.

    It is spawned. A fork could wait for ever for threads of OpenMP that earlier tests have started here: a fork does
    not copy them.
    """
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe()
    process = processes.Process(target=_answer, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _answer(connection):
    """Run each test that is sent, and tell how it ended."""
    while True:
        try:
            test, arguments = connection.recv()
        except EOFError:
            return
        connection.send(_outcome(test, arguments))


def _outcome(test, arguments):
    try:
        test(**arguments)
    except pytest.skip.Exception as skipped:
        return "skipped", str(skipped)
    except BaseException:  # noqa: BLE001 - also what `pytest.fail` raises
        return "failed", traceback.format_exc()
    return "passed", ""
