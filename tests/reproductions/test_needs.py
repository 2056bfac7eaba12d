"""The data that a recipe needs: which files go into which folders."""

import pytest
from recipe_cases import PRICES, write_library

from edgefl.core.errors import InputError
from edgefl.reproductions.library import Library
from edgefl.reproductions.needs import needs
from edgefl.reproductions.plan import plan
from edgefl.reproductions.study import StudyOptions, run

CIFAR = PRICES.replace("seeds: [1, 2]", "seeds: [1, 2]\ndata: [cifar10]").replace(
    "small: {", "small: {data: [{dataset: cifar10, part: true}], "
)


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A recipe of all of CIFAR-10, whose small scale takes a part of it, and a folder for data, which is empty."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("EDGEFL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Library(write_library(tmp_path, figure_1=CIFAR))


def needed(library, scale="full"):
    (need,) = needs(plan(library, library.load("textbook/figure-1"), scale))
    return need


def test_remedy_names_the_folders_of_missing_files(library, tmp_path):
    need = needed(library)
    assert not need.here
    assert f"into {tmp_path / 'data'} or {tmp_path / 'home' / '.cache' / 'edgefl'}, or name a folder" in need.remedy
    assert "cifar10_12k.npz" not in need.remedy  # it would not do


def test_a_part_is_enough_where_the_recipe_says_so(library, tmp_path):
    (tmp_path / "data" / "cifar10_12k.npz").write_bytes(b"never read")
    assert needed(library, "small").here
    need = needed(library)
    assert not need.here
    assert need.remedy.startswith("cifar10_12k.npz is only a part of it. `edgefl data fetch cifar10` downloads it. ")


@pytest.mark.parametrize("part", [True, False])
def test_scale_with_available_data_is_offered(library, tmp_path, part):
    if part:
        (tmp_path / "data" / "cifar10_12k.npz").write_bytes(b"never read")
    with pytest.raises(InputError) as caught:
        run(library, plan(library, library.load("textbook/figure-1"), "full"), StudyOptions(out=tmp_path / "study"))
    assert ("; --scale small takes only data that are here" in str(caught.value)) == part
    assert not (tmp_path / "study").exists()
