"""Fixtures that tests of datasets share."""

import pytest


@pytest.fixture
def home(tmp_path_factory, monkeypatch):
    """A home without the user's datasets, and an empty cache."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / ".cache"))
    monkeypatch.delenv("EDGEFL_DATA", raising=False)
    return folder
