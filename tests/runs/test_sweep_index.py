"""The index of a sweep under way is written as often as the time for it allows."""

import pytest

from edgefl.runs import sweep_index
from edgefl.runs.sweep_index import SweepIndex
from edgefl.runs.sweep_run import SweepRun
from edgefl.scenario import SweepPoint, load


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set forward; writing takes one second of it."""

    class Clock:
        now_s = 0.0
        written = 0

        def write(self, path, content):
            self.now_s += 1.0
            self.written += 1
            path.write_bytes(content)

    clock = Clock()
    monkeypatch.setattr(sweep_index, "monotonic", lambda: clock.now_s)
    monkeypatch.setattr(sweep_index, "write_atomically", clock.write)
    return clock


@pytest.fixture
def runs(tmp_path):
    """A hundred runs of a sweep over seeds."""
    found = []
    for seed in range(100):
        point = SweepPoint("base", {}, load({"seed": seed}))
        found.append(SweepRun(seed, point, tmp_path / f"seed-{seed}"))
    return found


def statuses(folder):
    lines = (folder / "index.csv").read_text().splitlines()
    place = lines[0].split(",").index("status")
    return [line.split(",")[place] for line in lines[1:]]


@pytest.mark.oracle
def test_long_runs_enter_the_index_at_once(tmp_path, runs, clock):
    index = SweepIndex(tmp_path, (), runs)
    index.write()
    for ended, run in enumerate(runs[:6], start=1):
        if ended % 2:  # two of them end together
            clock.now_s += 3600.0
        run.status = "finished"
        index.note_end()
        assert statuses(tmp_path).count("finished") == ended


@pytest.mark.oracle
def test_writing_takes_a_small_share_of_short_runs(tmp_path, runs, clock):
    index = SweepIndex(tmp_path, (), runs)
    for run in runs:
        clock.now_s += 5.0
        run.status = "finished"
        index.note_end()
    # Five seconds for each run and a share of 2 % allow for a writing of one second at every tenth end.
    assert clock.written == pytest.approx(10, abs=1)
    index.write()
    assert statuses(tmp_path).count("finished") == 100
