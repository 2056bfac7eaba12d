"""Packages of plug-ins in the folder `examples`, as users install them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import installed_wheels

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in ROOT.glob("examples/*/pyproject.toml"))
SCENARIOS = sorted(path for folder in FOLDERS for path in folder.glob("scenarios/*.yaml") if path.stem != "sweep")
TESTS = sorted(path for folder in FOLDERS for path in folder.glob("tests/test_*.py"))
LONGEST = 600  # lines of a package, without its tests


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder into which the wheels of edgefl and of all packages were installed, without a network."""
    return installed_wheels([ROOT, *FOLDERS], tmp_path_factory)


def run(site, folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.process
@pytest.mark.timeout(900)
def test_packages_pass_their_own_tests(site, tmp_path):
    """From the installed wheels; a test is skipped where a package that it needs is absent."""
    quiet = ["-n0", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--basetemp", str(tmp_path / "tests")]
    run(site, tmp_path, "pytest", *quiet, *map(str, TESTS))


RUN_ALL = """
import sys
import edgefl

site, *files = sys.argv[1:]
assert edgefl.__file__.startswith(site), edgefl.__file__
for file in files:
    result = edgefl.run(file, train=False, overrides=["rounds=1"])
    assert result.status == "finished", result.error
"""


@pytest.mark.process
@pytest.mark.timeout(900)
def test_scenarios_of_packages_run_by_the_names_of_their_members(site, tmp_path):
    """All but that of central privacy, which needs a package that is not edgefl's."""
    program = tmp_path / "run_all.py"
    program.write_text(RUN_ALL)
    run(site, tmp_path, "run_all", str(site), *(str(file) for file in SCENARIOS if file.stem != "central-dp"))
    assert "edgefl_threats.rules:Krum, of edgefl-threats" in run(site, tmp_path, "edgefl", "list", "algorithms")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_package_stays_small_and_uses_public_names(folder):
    """Base classes and what they are given: no private module, no private name."""
    files = sorted(folder.glob("*/*.py"))
    sources = [file.read_text() for file in files if file.parent.name != "tests"]
    assert sum(len(text.splitlines()) for text in sources) < LONGEST
    imported = {line for text in sources for line in text.splitlines() if line.startswith("from edgefl.")}
    rooms = ("learning.", "coordination.policies ", "radio.allocation ", "records.columns ")
    homes = tuple(f"from edgefl.{room}" for room in rooms)
    assert imported
    assert all(line.startswith(homes) and " _" not in line for line in imported)
