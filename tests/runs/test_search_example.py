"""The search of docs/sweeps.md runs, with Optuna where it is installed and with a stand-in everywhere."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "sweeps.md"


def example():
    """Return the program of the guide, shortened."""
    text = GUIDE.read_text(encoding="utf-8").partition("## Search instead of a grid")[2]
    (program,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    for long, short in (
        ("n_trials=10", "n_trials=2"),
        ("rounds=40", "rounds=20"),
        ("[0.8]", "[0.3]"),
        ("=0.8", "=0.3"),
    ):
        assert long in program
        program = program.replace(long, short)
    return program


@pytest.fixture
def stand_in(monkeypatch):
    """Put a package instead of Optuna that tries the lowest values, then the highest."""
    package = ModuleType("optuna")
    package.TrialPruned = type("TrialPruned", (Exception,), {})
    package.samplers = SimpleNamespace(TPESampler=lambda seed: seed)
    package.create_study = lambda **_: Study()
    monkeypatch.setitem(sys.modules, "optuna", package)


class Study:
    """Keeps trials that no other one beats in both values."""

    def __init__(self):
        self.trials = []

    def optimize(self, cost, n_trials):
        for number in range(n_trials):
            trial = Trial(number)
            trial.values = cost(trial)
            self.trials.append(trial)

    @property
    def best_trials(self):
        return [one for one in self.trials if not any(beats(other, one) for other in self.trials)]


class Trial:
    def __init__(self, number):
        self.number = number
        self.params = {}

    def suggest_int(self, name, low, high):
        self.params[name] = (low, high)[self.number]

    def suggest_categorical(self, name, choices):
        self.params[name] = choices[-self.number]


def beats(one, other):
    return one.values != other.values and all(a <= b for a, b in zip(one.values, other.values, strict=True))


@pytest.mark.oracle
def test_search_finds_trials_that_no_other_beats(stand_in, capsys):
    names = {}
    exec(compile(example(), str(GUIDE), "exec"), names)  # noqa: S102 - the guide's own program
    tried = names["study"].trials
    assert [trial.params["server.participants"] for trial in tried] == [2, 20]
    assert [trial.params["radio.bandwidth_hz"] for trial in tried] == [20e6, 100e6]
    assert all(trial.values[0] > 0 and trial.values[1] > 0 for trial in tried)
    assert len(capsys.readouterr().out.splitlines()) == len(names["study"].best_trials)
