"""Warnings of a sweep's runs carry the run's name, and each kind is shown once."""

import logging

import pytest

from edgefl.runs.sweep_warnings import WarningKinds, collected_warnings
from edgefl.runs.sweeps import SweepOptions
from edgefl.runs.sweeps import run as run_sweep
from edgefl.scenario import load_sweep

ABSENT = {
    "base": {
        "rounds": 2,
        "devices": {"count": 6},
        "server": {"participants": 5},
        "churn": {"kind": "bernoulli", "probability": 0.3},
    },
    "grid": {"radio.bandwidth_hz": [1e6, 2e6]},
    "seeds": "1..2",
    "train": False,
}


def test_warnings_that_differ_in_numbers_are_of_one_kind():
    kinds = WarningKinds()
    assert kinds.note("1-a/seed-1", "round 3: 2 devices are present")
    assert not kinds.note("2-b/seed-1", "round 17: 4 devices are present")
    assert not kinds.note("2-b/seed-1", "round 18: 4 devices are present")  # the same run again
    assert kinds.note("2-b/seed-1", "2-b/seed-1: cannot be read")
    assert not kinds.note("3-c/seed-2", "3-c/seed-2: cannot be read")
    assert list(kinds.lines()) == [
        "1-a/seed-1 and 1 more run: round 3: 2 devices are present",
        "2-b/seed-1 and 1 more run: 2-b/seed-1: cannot be read",
    ]


def test_collected_warnings_are_not_shown_here_and_others_are(capsys):
    root = logging.getLogger()
    handler = logging.StreamHandler()
    root.addHandler(handler)
    try:
        with collected_warnings() as texts:
            logging.getLogger("edgefl.a").warning("%d devices", 3)
            logging.getLogger("other").warning("of another library")
        logging.getLogger("edgefl.a").warning("afterwards")
    finally:
        root.removeHandler(handler)
    assert texts == ["3 devices"]
    assert capsys.readouterr().err.splitlines() == ["of another library", "afterwards"]


@pytest.mark.oracle
def test_runs_of_a_sweep_warn_once_with_the_name_of_a_run(tmp_path, caplog, monkeypatch):
    from edgefl.runs import sweeps

    class Here:
        """A pool that runs each task at once, in this process."""

        room = True

        def __init__(self):
            self.waiting = []

        busy = property(lambda self: bool(self.waiting))

        def begin(self, number, task):
            self.waiting.append((number, sweeps.work(task)))

        def answers(self):
            ended, self.waiting = self.waiting, []
            return ended

        def close(self):
            pass

    monkeypatch.setattr(sweeps, "_processes", lambda *_: Here())
    sweep = load_sweep(ABSENT)
    run_sweep(sweep, SweepOptions(out=tmp_path / "out", report=False))
    told = [record.getMessage() for record in caplog.records if record.name == "edgefl.runs.sweep_warnings"]
    places = [str(point.place) for point in sweep.points]
    assert len(told) == 2
    assert told[0].startswith(f"{places[0]}: round 1: ")
    assert told[1].startswith(f"3 more runs like {places[0]}: ")
