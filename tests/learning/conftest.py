"""Fixtures that tests of learning share."""

import pytest


@pytest.fixture
def home(tmp_path_factory, monkeypatch):
    """A home without the user's datasets, and an empty cache."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / ".cache"))
    monkeypatch.delenv("EDGEFL_DATA", raising=False)
    return folder


@pytest.fixture
def narrow_svhn_cnn(monkeypatch):
    """Give few channels to the catalogue's network with batch normalisation and dropout."""
    from edgefl.learning.models.cnn import SvhnCnn

    monkeypatch.setattr(SvhnCnn, "stages", ((3, 3), (4,)))
    monkeypatch.setattr(SvhnCnn, "hidden", (6,))


@pytest.fixture
def no_overflow_checks(monkeypatch):
    """Spare Triton's interpreter a quarter of its time, for checks whose outcome it drops unless it debugs."""
    from triton.runtime import interpreter

    options = interpreter.InterpreterOptions(sanitize_overflow=False)
    monkeypatch.setattr(interpreter.interpreter_builder, "options", options)
