"""What all tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def data_folder():
    """Real datasets: EDGEFL_DATA, or a skip with the reason."""
    folder = os.environ.get("EDGEFL_DATA")
    if not folder or not (Path(folder) / "mnist.npz").exists():
        pytest.skip("EDGEFL_DATA names no folder with mnist.npz")
    return Path(folder)


@pytest.fixture(scope="session", autouse=True)
def plans_of_their_own(tmp_path_factory):
    """Tests measure how to train for themselves, once, and leave the user's cache alone."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before
