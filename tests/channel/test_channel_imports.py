"""A module of `channel` is imported when it is first used, and not before."""

import subprocess
import sys
from pathlib import Path

import pytest

import channel

FOLDER = Path(channel.__file__).parent

pytestmark = pytest.mark.process


def imported_by(statement):
    """Return the modules of `channel` that a statement imports."""
    program = f"import sys\n{statement}\nprint(*[name for name in sys.modules if name.startswith('channel.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    ["import channel; channel.tr38901", "from channel import tr38901", "import channel.tr38901"],
)
def test_import_of_a_module_loads_only_its_dependencies(statement):
    assert imported_by(statement) == {"channel.tr38901", "channel._arrays", "channel._checks"}


def test_the_package_alone_imports_none_of_its_modules():
    assert imported_by("import channel") == set()


def test_all_modules_are_among_its_names():
    files = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}
    assert set(channel.__all__) == files
    assert files <= set(dir(channel))
    assert {getattr(channel, name).__name__ for name in channel.__all__} == {f"channel.{name}" for name in files}


def test_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match="module 'channel' has no attribute 'umj'"):
        _ = channel.umj
