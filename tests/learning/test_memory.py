"""Memory that learning takes does not grow with the rounds: neither models that are kept, nor pieces of memory."""

import gc
import subprocess
import sys

import pytest
import torch
from learner_cases import make_learner
from resume_cases import BASE

import edgefl
from edgefl.learning.learner.evaluation import Evaluator
from edgefl.learning.models.fcn import Fcn
from edgefl.server import evaluation

pytestmark = pytest.mark.oracle

HIDDEN = [50, 40]
PARAMETERS = 5 * 50 + 50 + 50 * 40 + 40 + 40 * 3 + 3
POLICIES = {
    "synchronous": {"participants": 4},
    "asynchronous": {"participants": 4, "policy": "asynchronous"},
    "buffered": {"participants": 6, "policy": {"kind": "buffered", "buffer": 2}},
}


@pytest.fixture
def new_objects_alone():
    """The garbage collector sees what the test makes, and not the much that thousands of tests have left behind."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def models():
    """Count the tensors of a model's size."""
    gc.collect()
    found = [thing for thing in gc.get_objects() if type(thing) is torch.Tensor]
    return sum(tensor.numel() % PARAMETERS == 0 and tensor.numel() > 0 for tensor in found)


@pytest.mark.parametrize("name", POLICIES)
def test_models_do_not_add_up(name, monkeypatch, new_objects_alone):
    """Each evaluation, each model under way and each update is let go of; the first rounds fill what there is."""
    counts = []
    monkeypatch.setattr("edgefl.learning.learner.learner.cores", lambda: 1)
    keys = {**BASE, "rounds": 12, "model": {"kind": "fcn", "hidden": HIDDEN}, "server": POLICIES[name]}
    edgefl.run(keys, device="cpu", progress=lambda row: counts.append(models()) if row["round"] % 2 == 0 else None)
    assert len(counts) == 6
    assert min(counts) > 0
    # Devices under way hold the models that they received, and evaluations theirs.
    assert max(counts[3:]) <= max(counts[:3]) + 2, counts


def test_evaluations_under_way_are_bounded(monkeypatch):
    """However slow they are: the round that would be one too many waits for the first of them."""
    under_way = []
    most = []
    evaluate = Evaluator.evaluate

    class Slow:
        def __init__(self, pending):
            self._pending = pending
            under_way.append(self)
            most.append(len(under_way))

        def done(self):
            return False

        def result(self):
            under_way.remove(self)
            return self._pending.result()

    monkeypatch.setattr(Evaluator, "evaluate", lambda self, *args: Slow(evaluate(self, *args)))
    keys = {**BASE, "rounds": 5 * evaluation.MOST_UNDER_WAY}
    plain = edgefl.run(keys, device="cpu")
    assert max(most) == evaluation.MOST_UNDER_WAY + 1
    assert plain.rounds["test_accuracy"].notna().all()


FRAGMENTS = """
import sys
from pathlib import Path
import torch
from edgefl.learning.learner.workers import malloc

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

getattr(malloc, sys.argv[1])()
torch.ones(10**6).sum()
before = resident()
models = []
small = []
for _ in range(100):
    models.append(torch.ones(300_000))
    small.append(torch.ones(2_000))  # stays, so that models leave pieces behind
del models
print(resident() - before)
"""


@pytest.mark.process
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc alone has these settings")
def test_memory_of_dropped_models_goes_back():
    grown = {}
    for setting in ("keep_memory", "return_memory"):
        command = [sys.executable, "-c", FRAGMENTS, setting]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        grown[setting] = int(done.stdout)
    assert grown["return_memory"] < 5e6
    assert grown["keep_memory"] > 20e6  # otherwise this test would show nothing


@pytest.mark.parametrize(
    ("how", "expected"),
    [({"processes": 0}, "keep_memory"), ({"processes": 1}, "return_memory"), ({"brief": True}, "return_memory")],
)
def test_only_processes_that_train_for_long_keep_memory(monkeypatch, how, expected):
    called = []
    for name in ("keep_memory", "return_memory"):
        monkeypatch.setattr(f"edgefl.learning.learner.learner.{name}", lambda name=name: called.append(name))
    make_learner(Fcn(hidden=(5,)), **how).close()
    assert called == [expected]
