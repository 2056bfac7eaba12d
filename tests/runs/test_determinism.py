"""The same bytes, whatever differs around a run: cores, threads, hashes, locale, place, caches, numba, optimisation.

Each of these is changed alone in the slow tests, and all that go together at once in the quick one.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

import pytest
import yaml
from fault_library import results

from edgefl.core.words import words_of

CASES = words_of(__file__, "determinism.yaml")
WITHOUT_NUMBA = "import sys\nsys.modules['numba'] = None\n"


@dataclass(frozen=True)
class Way:
    """A way to make the same run in other surroundings."""

    environment: dict[str, str] = field(default_factory=dict)  # {folder} stands for an empty one
    prefix: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    elsewhere: bool = False  # another working directory
    without_numba: bool = False


COLD = {"XDG_CACHE_HOME": "{folder}/cache", "NUMBA_CACHE_DIR": "{folder}/numba", "HOME": "{folder}"}
WAYS = {
    "one core": Way(prefix=("taskset", "-c", "0")),
    "one thread": Way({"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}),
    "four threads": Way({"OMP_NUM_THREADS": "4", "MKL_NUM_THREADS": "4"}),
    "a hash seed": Way({"PYTHONHASHSEED": "1"}),
    "another hash seed": Way({"PYTHONHASHSEED": "4294967295"}),
    "another locale": Way({"LC_ALL": "C", "LANG": "tr_TR.UTF-8"}),
    "another time zone": Way({"TZ": "Pacific/Kiritimati"}),
    "another working directory": Way(elsewhere=True),
    "cold caches": Way(COLD),
    "caches that cannot be written": Way({"XDG_CACHE_HOME": "/proc/nowhere", "NUMBA_CACHE_DIR": "/proc/nowhere"}),
    "without numba": Way(without_numba=True),
    "assertions off": Way(python=("-O",)),
    "everything": Way(
        {**COLD, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Pacific/Kiritimati"},
        ("taskset", "-c", "0"),
        ("-O",),
        elsewhere=True,
        without_numba=True,
    ),
}


def ran(folder, keys, name, way):
    """Return the results of a run."""
    if way.prefix and shutil.which(way.prefix[0]) is None:
        pytest.skip(f"needs {way.prefix[0]}")
    scenario = folder / "s.yaml"
    scenario.write_text(yaml.safe_dump({"name": "determinism", **keys}))
    own = folder / name
    own.mkdir()
    environment = {key: value.format(folder=own) for key, value in way.environment.items()}
    paths = [os.environ.get("PYTHONPATH", "")]
    if way.without_numba:
        (own / "sitecustomize.py").write_text(WITHOUT_NUMBA)
        paths.insert(0, str(own))
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    out = own / "out"
    command = [*way.prefix, sys.executable, *way.python, "-m", "edgefl", "run", str(scenario), "-o", str(out)]
    cwd = own if way.elsewhere else None
    done = subprocess.run(
        [*command, "--device", "cpu", "--quiet"],
        cwd=cwd,
        env={**os.environ, "PYTHONWARNINGS": "ignore", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return results(out)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Returns the results of a case as they are without any change; each case runs once."""
    known = {}

    def of(case):
        if case not in known:
            known[case] = ran(tmp_path_factory.mktemp("plain"), CASES[case], "plain", Way())
        return known[case]

    return of


def check(case, way, plain, tmp_path):
    truth = plain(case)
    found = ran(tmp_path, CASES[case], "way", WAYS[way])
    assert {name for name in {*found, *truth} if found.get(name) != truth.get(name)} == set()


@pytest.mark.process
def test_everything_at_once(plain, tmp_path):
    check("handovers on a shared band with batteries", "everything", plain, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_each_alone(way, case, plain, tmp_path):
    check(case, way, plain, tmp_path)
