"""Measures the processor time of each test, and finds tests with the wrong mark.

    python -m pytest -p tests.durations --durations-to FILE -m 'not slow'   # adds a line for each test
    python tests/durations.py FILE                                          # what follows from the lines

`make durations` does both. A test's time is that of its process and of children that ended with it. What a fixture of a
module or a session takes is shared out among the tests that use it. What the first test in a process would pay for
all (imports, compiled kernels) is done before. A test marked `process` waits for programs that go on after it, so there
the clock counts.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

LIMIT_S = 0.25  # a test that takes longer is an oracle
BUDGET_S = 450  # of all tests of `make test`
HEAVY = {"oracle", "process", "slow", "gpu"}
LIGHT_S = 0.1  # an oracle none of whose cases takes longer is none
SHOWN = 40
WARM_UP = {
    "rounds": 1,
    "data": {"dataset": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
    "training": {"local_steps": 1},
    "devices": {"count": 4},
    "server": {"participants": 2},
}


def processor_s():
    """Return the processor time of this process and of its ended children so far."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


class Recorder:
    """Adds a line to a file for each test; all workers share the file."""

    def __init__(self, file):
        self.file = file
        self.shared = {}

    @pytest.hookimpl
    def pytest_collection_finish(self, session):
        """Do what the first run in a process pays for all."""
        if session.items:
            import edgefl

            edgefl.run(WARM_UP, device="cpu")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Measure a test with its own fixtures, apart from those that it shares with others."""
        self.shared = {}
        began_s = processor_s()
        clock_s = time.perf_counter()
        try:
            return (yield)
        finally:
            line = {
                "test": item.nodeid,
                "s": round(processor_s() - began_s - sum(self.shared.values()), 4),
                "clock_s": round(time.perf_counter() - clock_s, 4),
                "marks": sorted({mark.name for mark in item.iter_markers()}),
                "shared": self.shared,
                "fixtures": item.fixturenames,
            }
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(line) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """Measure a fixture that several tests share, without the shared fixtures that it asks for itself."""
        before_s = sum(self.shared.values())
        began_s = processor_s()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                inner_s = sum(self.shared.values()) - before_s
                self.shared[fixturedef.argname] = processor_s() - began_s - inner_s


def pytest_addoption(parser):
    parser.addoption("--durations-to", metavar="FILE", help="add a line for each test to this file")


def pytest_configure(config):
    file = config.getoption("--durations-to")
    if file:
        config.pluginmanager.register(Recorder(Path(file).absolute()))


# What follows from the lines


def times(rows):
    """Return the time [s] of each test, with its part of what fixtures of its file take."""
    taken_s = defaultdict(float)
    users = Counter()
    for row in rows:
        file = row["test"].partition("::")[0]
        users.update((file, name) for name in row["fixtures"])
        for name, seconds in row["shared"].items():
            taken_s[file, name] += seconds
    found = {}
    for row in rows:
        file = row["test"].partition("::")[0]
        own_s = min(row["s"], row["clock_s"] * os.cpu_count())  # a child that ends in a test may have worked before it
        if "process" in row["marks"]:
            own_s = row["clock_s"]
        found[row["test"]] = own_s + sum(taken_s[file, name] / users[file, name] for name in row["fixtures"])
    return found


def kind_of(row):
    """Return the mark that says why `make test` leaves a test out, or "fast"."""
    return next((mark for mark in ("slow", "gpu", "process", "oracle") if mark in row["marks"]), "fast")


def main(file):
    """Print the time of each kind of test, the costliest files, and tests whose mark is not what their time says."""
    rows = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    time_of = times(rows)
    by_kind = defaultdict(list)
    by_file = Counter()
    cases = defaultdict(list)
    kinds = {}
    for row in rows:
        seconds = time_of[row["test"]]
        function = row["test"].partition("[")[0]
        by_kind[kind_of(row)].append(seconds)
        by_file[row["test"].partition("::")[0]] += seconds
        cases[function].append(seconds)
        kinds[function] = kind_of(row)
    for kind, seconds in by_kind.items():
        print(f"{kind}: {len(seconds):,} tests, {sum(seconds):,.0f} s")
    print(f"budget of the fast ones: {BUDGET_S} s")

    print("\nFiles that take most [s]:")
    for name, seconds in by_file.most_common(SHOWN):
        print(f"{seconds:8.1f}  {name}")
    heavy = {name: max(found) for name, found in cases.items() if kinds[name] == "fast" and max(found) > LIMIT_S}
    print(f"\nFast tests with a case above {LIMIT_S} s, which want the mark `oracle` or a lighter case:")
    for name, seconds in sorted(heavy.items(), key=lambda item: -item[1]):
        print(f"{seconds:8.2f}  {name}")
    light = {name: max(found) for name, found in cases.items() if kinds[name] == "oracle" and max(found) < LIGHT_S}
    print(f"\nOracles whose cases all take less than {LIGHT_S} s, which can do without the mark:")
    for name, seconds in sorted(light.items(), key=lambda item: item[1]):
        print(f"{seconds:8.2f}  {name}")


if __name__ == "__main__":
    main(sys.argv[1])
