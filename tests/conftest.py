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
