"""Distributions of members from outside: what a manifest says that a class came with."""

import importlib
import sys

import pytest

from edgefl.core.plugins import distribution_of

CLASS = "class Mine:\n    'Mine.'\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed distributions, and one of the user's; what is imported from them is forgotten."""
    before = set(sys.modules)
    for folder in ("site", "user"):
        (tmp_path / folder).mkdir()
        monkeypatch.syspath_prepend(tmp_path / folder)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def install(folder, name, files):
    """Write what pip leaves of a distribution, as `files` of its folder."""
    described = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", **files}
    write(folder / f"{name}-1.2.dist-info", described)


def imported(name):
    importlib.invalidate_caches()
    return importlib.import_module(name).Mine


@pytest.mark.parametrize(
    ("file", "module"),
    [("alone_of.py", "alone_of"), ("pack_of/__init__.py", "pack_of"), ("pack_of/inner/it.py", "pack_of.inner.it")],
)
def test_a_distribution_has_the_files_that_it_records(site, file, module):
    write(site / "site", {"pack_of/__init__.py": CLASS, file: CLASS})
    install(site / "site", "first", {"RECORD": "alone_of_too.py,,\npack_of_too/__init__.py,,\n"})
    install(site / "site", "second", {"RECORD": f"second-1.2.dist-info/METADATA,,\n{file},sha256=x,1\n"})
    assert distribution_of(imported(module)) == ("second", "1.2")


def test_an_editable_distribution_lies_elsewhere(site):
    write(site / "user", {"worked_on.py": CLASS})
    origin = '{"dir_info": {"editable": true}, "url": "file:///src"}'
    install(site / "site", "editable", {"RECORD": "", "top_level.txt": "worked_on\n", "direct_url.json": origin})
    assert distribution_of(imported("worked_on")) == ("editable", "1.2")


def test_a_file_of_the_users_is_not_that_of_a_distribution_with_its_name(site):
    """Many distributions install a module `tests` or `utils` by mistake."""
    write(site / "user", {"utils_of_many.py": CLASS})
    install(site / "site", "careless", {"RECORD": "utils_of_many.py,,\n", "top_level.txt": "utils_of_many\n"})
    assert distribution_of(imported("utils_of_many")) == (None, None)


def test_a_module_of_no_distribution_has_none(site):
    write(site / "user", {"of_my_own.py": CLASS})
    assert distribution_of(imported("of_my_own")) == (None, None)
