"""Signals in the programs of edgefl: one interrupt, and none where something is being written."""

import ctypes
import signal
import sys
import threading
import time

import pytest
from pydantic import field_serializer

from edgefl.core import interrupts
from edgefl.core.section import Section


class Interrupting(Section):
    """A section during whose serialisation Ctrl-C is pressed."""

    value: int = 1

    @field_serializer("value")
    def _interrupted(self, value):
        signal.raise_signal(signal.SIGINT)
        return value


@pytest.fixture(autouse=True)
def listening(monkeypatch):
    hook = sys.unraisablehook
    before = {number: signal.getsignal(number) for number in interrupts.STOPPING}
    # The tests may run as a background job, which ignores Ctrl-C, and `listen` would leave it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    interrupts.listen()
    yield
    sys.unraisablehook = hook
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", interrupts.STOPPING)
def test_first_signal_interrupts(number):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_repeated_signal_counts_as_the_same():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    for number in (*interrupts.STOPPING, *interrupts.STOPPING):
        signal.raise_signal(number)


def test_later_signal_interrupts_again(monkeypatch):
    monkeypatch.setattr(interrupts, "REPEATED_S", 0.01)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.02)
    with interrupts.deferred(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_deferred_writing_is_whole():
    done = []

    def write():
        with interrupts.deferred():
            with interrupts.deferred():
                signal.raise_signal(signal.SIGINT)
                done.append("inner")
            signal.raise_signal(signal.SIGINT)
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert done == ["inner", "outer"]


def test_an_error_in_the_block_comes_first():
    def write():
        with interrupts.deferred():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        write()


def test_nothing_is_raised_without_a_signal():
    with interrupts.deferred():
        pass


def test_background_jobs_ignore_ctrl_c():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.listen()
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    signal.raise_signal(signal.SIGINT)


def test_other_threads_change_nothing():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    thread = threading.Thread(target=interrupts.listen)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_signals_wait_outside_of_a_block():
    reached = []

    def start():
        with interrupts.blocked():
            signal.raise_signal(signal.SIGTERM)
            reached.append("end")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert reached == ["end"]


def test_interrupt_dropped_by_c_code_is_raised_again(capfd):
    """Python cannot raise out of a function that C has called: numba's compiler calls such ones."""
    dropped = []

    @ctypes.CFUNCTYPE(None)
    def callback():
        dropped.append(True)
        signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the interrupt comes while the program goes on
        callback()
        time.sleep(10)
    assert dropped == [True]
    assert not capfd.readouterr().err


def test_other_errors_dropped_by_c_code_are_printed(capfd):
    ctypes.CFUNCTYPE(None)(lambda: 1 / 0)()
    assert "ZeroDivisionError" in capfd.readouterr().err


@pytest.mark.parametrize("dump", [Section.model_dump, Section.model_dump_json])
def test_a_section_that_is_written_does_not_turn_an_interrupt_into_an_error(dump):
    """Pydantic would, and a user who pressed Ctrl-C would read a traceback."""
    with pytest.raises(KeyboardInterrupt):
        dump(Interrupting())
