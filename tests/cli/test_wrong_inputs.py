"""Wrong inputs as users write them: each gets one line that says what is wrong and what would be right."""

import logging
import signal
import sys

import pytest
from wrong_inputs import ALL

WORDS_OF_PYTHON = ("Traceback", "TypeError", "AttributeError", "<class", "object at 0x", "[Errno")


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """An empty working directory and home, without data; what a command changes in this process is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("EDGEFL_DATA", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    root = logging.getLogger()
    state = root.handlers[:], root.level
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    root.handlers[:], root.level = state
    sys.modules.pop("my_methods", None)


@pytest.mark.oracle
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", ALL)
def test_wrong_input_gets_a_line_with_its_place_and_a_remedy(name):
    wrong = ALL[name]
    answer = wrong.answer()
    assert answer.code == 2, answer.text
    assert len(answer.text.splitlines()) == 1, answer.text
    assert not answer.written
    lacking = [word for word in wrong.words if word not in answer.text]
    assert not lacking, answer.text
    assert not [word for word in WORDS_OF_PYTHON if word in answer.text], answer.text
