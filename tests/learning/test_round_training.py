"""Rounds: cohorts, what happens when memory runs out, clients' states, several devices, evaluation meanwhile."""

import logging
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import learners, parts_in_order, random_data, shuffled_parts, train_round

from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.feddyn import FedDyn
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.learner import round_training
from edgefl.learning.learner.engines.batches import PAD, mini_batches, stack
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.learner.round_training import RoundTraining, cohorts
from edgefl.learning.learner.workers.trainer import Trainer
from edgefl.learning.workload import local_steps

pytestmark = pytest.mark.oracle

SIZES = [7, 20, 12, 36, 1, 25, 6, 17, 20]
CLIENTS = len(SIZES)


def steps_of(size, training):
    return float(local_steps(np.array([size]), *training.work)[0])


@pytest.fixture
def learner():
    """Makes learners, and closes them."""
    with learners() as make_any:

        def make(width=8, algorithm=None, *, dtype="float64", processes=1, plan=None, **training):
            return make_any(
                algorithm=algorithm,
                data=random_data(sum(SIZES), dtype),
                parts=shuffled_parts(SIZES),
                plan=plan or Plan("batched", "layers", width),
                processes=processes,
                **{"local_epochs": 2, **training},
            )

        yield make


def train(of, devices=range(CLIENTS), index=0, server=None):
    """One round, from the initial model or the server's state."""
    algorithm = of.task.algorithm
    server = server or algorithm.server_state(of.initial)
    return train_round(of, devices, index, server["w"], algorithm.downlink(server))


@given(st.integers(1, 300), st.integers(1, 40))
def test_cohorts_are_of_nearly_equal_sizes(count, width):
    order = np.random.default_rng(count).permutation(count)
    found = cohorts(order, width)
    sizes = [len(cohort) for cohort in found]
    assert max(sizes) <= width
    assert max(sizes) - min(sizes) <= 1
    assert len(found) == -(-count // width)  # no more of them than need be
    assert np.concatenate(found).tolist() == order.tolist()  # each job once, alike ones still side by side


def wasted(order, sizes, training, width):
    """Share of padding in all that is computed; a cohort itself is always longest first."""
    samples = computed = 0.0
    for cohort in cohorts(order, width):
        longest = sorted(cohort, key=lambda device: -steps_of(sizes[device], training))
        batches = [
            mini_batches(np.arange(sizes[device]), training, lambda: np.random.default_rng(0)) for device in longest
        ]
        taken = (stack(batches) != PAD).sum(axis=2)  # [clients, steps]
        samples += taken.sum()
        computed += (taken.max(axis=0) * (taken > 0).sum(axis=0)).sum()
    return 1 - samples / computed


def test_large_models_come_back_in_more_messages(learner, monkeypatch):
    """Each fits into the memory that a worker shares, and the results are the same."""
    expected, loss = train(learner(width=1))
    sent = []
    real = RoundTraining._send

    def send(self, message, plan):
        sent.append(sum(len(cohort) for cohort in message))
        return real(self, message, plan)

    monkeypatch.setattr(RoundTraining, "_send", send)
    of = learner(width=1)
    for models, messages in [(100, [9]), (3, [3, 3, 3]), (0.5, [1] * CLIENTS)]:
        monkeypatch.setattr(round_training, "MESSAGE_BYTES", int(models * of.initial.nbytes))
        sent.clear()
        got, got_loss = train(of)
        assert sent == messages
        assert got_loss == loss
        assert torch.equal(got.vectors["delta"], expected.vectors["delta"])


def test_little_is_padded(learner, monkeypatch):
    """Devices of very unequal sizes, in the order in which `collect` trains them."""
    orders = []
    monkeypatch.setattr(RoundTraining, "train", lambda _self, order, _plan: orders.append(order) or 1 / 0)
    mix = np.random.default_rng(0).dirichlet(np.full(100, 0.3))
    sizes = np.maximum(1, (mix * 60_000).astype(np.int64))
    of = learner(processes=0, batch_size=50, local_epochs=5)
    of.task = replace(of.task, parts=parts_in_order(sizes))
    with pytest.raises(ZeroDivisionError):
        train(of, range(100))
    (order,) = orders
    assert sorted(order.tolist()) == list(range(100))
    share = wasted(order, sizes, of.task.training, 8)
    assert share < 0.1
    assert share < 0.8 * wasted(np.arange(100), sizes, of.task.training, 8)


def limit(monkeypatch, most, error):
    """Let training fail that has more than `most` clients in a cohort."""
    real = Trainer.train

    def limited(self, plan, cohorts, inputs):
        if max(len(cohort) for cohort in cohorts) > most:
            raise error
        return real(self, plan, cohorts, inputs)

    monkeypatch.setattr(Trainer, "train", limited)


ERRORS = {
    "cuda": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "cpu": RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried"),
    "python": MemoryError(),
}


class TestOutOfMemory:
    @pytest.mark.parametrize(
        ("algorithm", "kind", "processes"), [(FedAvg(), "cuda", 0), (Scaffold(), "cpu", 1), (FedAvg(), "python", 2)]
    )
    def test_narrower_cohorts_take_over(self, learner, monkeypatch, caplog, processes, kind, algorithm):
        """The same results, a line for each halving, and no attempt to go back."""
        narrow = learner(2, algorithm)
        expected = [train(narrow, index=index) for index in range(2)]
        limit(monkeypatch, 2, ERRORS[kind])
        of = learner(9, algorithm, processes=processes)
        with caplog.at_level(logging.WARNING, "edgefl"):
            got = [train(of)]
            assert [record.getMessage() for record in caplog.records] == [
                f"out of memory with {wide} clients at once: continuing with {half}" for wide, half in [(9, 5), (5, 3)]
            ] + ["out of memory with 3 clients at once: continuing with 2"]
            assert of.plan == Plan("batched", "layers", 2)
            caplog.clear()
            got.append(train(of, index=1))
            assert not caplog.records
        for (updates, loss), (wanted, wanted_loss) in zip(got, expected, strict=True):
            assert loss == pytest.approx(wanted_loss, rel=1e-12)
            assert updates.ids.tolist() == wanted.ids.tolist()
            assert list(updates.vectors) == list(wanted.vectors)
            for name, vectors in wanted.vectors.items():
                assert torch.allclose(updates.vectors[name], vectors, rtol=1e-10, atol=1e-13)

    @pytest.mark.parametrize("processes", [0, 2])
    def test_cohorts_that_run_out_of_memory_narrow_together(self, learner, monkeypatch, caplog, processes):
        """All three of them fail; that is one halving."""
        limit(monkeypatch, 2, ERRORS["cuda"])
        of = learner(4, processes=processes)
        with caplog.at_level(logging.WARNING, "edgefl"):
            got, _ = train(of)
        assert [record.getMessage() for record in caplog.records] == [
            "out of memory with 3 clients at once: continuing with 2"
        ]
        monkeypatch.undo()
        assert torch.allclose(got.vectors["delta"], train(learner(1))[0].vectors["delta"], rtol=1e-10, atol=1e-13)

    @pytest.mark.parametrize("processes", [0, 1])
    def test_clients_do_not_continue_from_a_round_that_did_not_count(self, learner, monkeypatch, processes):
        """Memory may also run out as the results, the largest table of all, are put together."""
        expected = with_store(learner(2, Scaffold()))
        real = RoundTraining._put
        failures = [torch.OutOfMemoryError("CUDA out of memory")]

        def put(self, *args):
            if failures:
                raise failures.pop()
            real(self, *args)

        monkeypatch.setattr(RoundTraining, "_put", put)
        got = with_store(learner(4, Scaffold(), processes=processes))
        for vectors, wanted in zip(got, expected, strict=True):
            assert all(torch.allclose(vectors[name], wanted[name], rtol=1e-9, atol=1e-12) for name in wanted)

    @pytest.mark.parametrize(("kind", "processes"), [*zip(ERRORS, [0, 1, 0], strict=True)])
    def test_a_client_that_does_not_fit_alone_ends_the_run(self, learner, monkeypatch, kind, processes):
        limit(monkeypatch, 0, ERRORS[kind])
        of = learner(4, processes=processes)
        with pytest.raises(type(ERRORS[kind])):
            train(of)

    @pytest.mark.parametrize(
        ("error", "processes"),
        [(RuntimeError("shapes do not match"), 1), (ValueError("memory"), 0), (KeyError("delta"), 1)],
    )
    def test_other_errors_are_raised_as_they_are(self, learner, monkeypatch, caplog, error, processes):
        limit(monkeypatch, 2, error)
        of = learner(4, processes=processes)
        with caplog.at_level(logging.WARNING, "edgefl"), pytest.raises(type(error), match=str(error.args[0])):
            train(of)
        assert not caplog.records
        assert of.plan.width == 4


LIMITED = """
import logging, resource, sys
import numpy as np
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets import Data
from edgefl.learning.workload import local_steps
from edgefl.learning.learner import Learner, LearningTask
from edgefl.learning.learner.plans.plan import Plan
from edgefl.learning.models.logistic import Logistic
from edgefl.learning.training_section import Training
from edgefl.core.streams import Streams

logging.basicConfig(format="%(message)s", stream=sys.stdout)
COUNT, MB = 64, 2**20
rng = np.random.default_rng(0)
x, y = rng.normal(size=(512, 1000)).astype(np.float32), rng.integers(0, 2, 512)
section = Training(local_steps=2, batch_size="full")
task = LearningTask(Logistic(), FedAvg(), section, Data(x, y, x, y, 2), [np.arange(512)] * COUNT, Streams(0))
of = Learner(task=task, device="cpu", plan=Plan("batched", "layers", COUNT), processes=0)

def train(count, index):
    for device in range(count):
        of.submit(device, index, of.initial, {})
    return of.collect()[0].vectors["delta"]

alone = train(1, 0)
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 60 * MB,) * 2)  # 64 clients gather 131 MB of samples, 2 MB each
together = train(COUNT, 0)
assert np.allclose(together, alone.expand(COUNT, -1), rtol=1e-5, atol=1e-7)
print(of.plan.width)
of.close()
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is of Linux")
def test_memory_that_really_runs_out():
    """In torch's own allocator, under a limit that wide cohorts exceed and narrow ones do not."""
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    *warnings, width = done.stdout.splitlines()
    assert 1 <= int(width) < 64
    assert warnings[0] == "out of memory with 64 clients at once: continuing with 32"
    assert warnings[-1].endswith(f"continuing with {width}")


SCHEDULE = [[0, 3, 5], [3, 8, 1, 2], [0, 1, 5, 6, 8], [7, 3]]


def by_hand(of):
    """All rounds with a dict of states, each client alone and serially: the uploads, one dict a round."""
    algorithm = of.task.algorithm
    states = {}
    rounds = []
    server = algorithm.server_state(of.initial)
    for index, devices in enumerate(SCHEDULE):
        for device in devices:
            of._states.store.scatter(np.array([device]), {k: v[None] for k, v in states_of(states, device, of).items()})
            of.submit(device, index, server["w"], algorithm.downlink(server))
        updates, _ = of.collect()
        for device, delta in zip(updates.ids.tolist(), updates.vectors["delta"], strict=True):
            states[device] = remembered(of, states_of(states, device, of), device, delta, server)
        # whatever the store holds now is overwritten before it is used again
        server = algorithm.aggregate(server, updates)
        rounds.append(updates.vectors)
    return rounds


def states_of(states, device, of):
    return states.get(device, dict.fromkeys(of._states.initial_state, 0 * of.initial))


def remembered(of, state, device, delta, server):
    """The cards' formulas, written again: SCAFFOLD's option II, and FedDyn's drift."""
    if isinstance(of.task.algorithm, FedDyn):
        return {"h": state["h"] + delta}
    return {"c": state["c"] - server["c"] - delta / (steps_of(SIZES[device], of.task.training) * of.task.training.lr)}


def with_store(of):
    rounds = []
    server = of.task.algorithm.server_state(of.initial)
    for index, devices in enumerate(SCHEDULE):
        updates, _ = train(of, devices, index, server)
        server = of.aggregate(server, updates)
        rounds.append(updates.vectors)
    return rounds


@pytest.mark.parametrize("algorithm", [Scaffold(), FedDyn(alpha=0.5)])
class TestStates:
    def test_states_last_from_one_participation_to_the_next(self, learner, algorithm):
        """In each home, and as a dict kept by hand has it."""
        homes = ["device", "host", "disk"]
        runs = [with_store(learner(3, algorithm, processes=2, state_home=home)) for home in homes]
        for other in runs[1:]:
            for vectors, wanted in zip(other, runs[0], strict=True):
                assert all(torch.equal(vectors[name], wanted[name]) for name in wanted)
        expected = by_hand(learner(algorithm=algorithm, plan=SERIAL, processes=0))
        for vectors, wanted in zip(runs[0], expected, strict=True):
            for name in wanted:
                assert torch.allclose(vectors[name], wanted[name], rtol=1e-9, atol=1e-12)

    def test_states_matter(self, learner, algorithm):
        """A learner that forgets them comes to something else, so that the test above shows something."""
        kept = with_store(learner(3, algorithm))
        forgetful = learner(3, algorithm)
        forgetful._states.store.scatter = lambda _ids, _states: None
        lost = with_store(forgetful)
        assert torch.equal(kept[0]["delta"], lost[0]["delta"])
        assert not torch.allclose(kept[2]["delta"], lost[2]["delta"], rtol=1e-3)


class TestEvaluation:
    @pytest.mark.parametrize("processes", [0, 1])
    def test_evaluation_continues_in_the_background(self, learner, processes):
        of = learner(processes=processes)
        expected = of.evaluate(of.initial).result()
        free = threading.Event()
        of._workers.submit("test", lambda: free.wait(10) and (of.initial, of.statistics, 0, 1, False), lambda _: None)
        pending = of.evaluate(of.initial)
        time.sleep(0.1)
        assert not pending.done()
        threading.Timer(0.2, free.set).start()
        assert pending.result() == expected
        assert pending.done()

    def test_training_between_evaluations_changes_nothing(self, learner):
        alone, _ = train(learner())
        of = learner(processes=2)
        pending = [of.evaluate(of.initial) for _ in range(5)]
        busy, _ = train(of)
        assert torch.equal(alone.vectors["delta"], busy.vectors["delta"])
        assert len({one.result().loss for one in pending}) == 1


@pytest.mark.parametrize(("algorithm", "width"), [(Scaffold(), 1), (FedAvg(), 2), (Scaffold(), 8)])
def test_two_training_devices_are_one(learner, monkeypatch, algorithm, width):
    """As on a machine with two GPUs: cohorts go to both, results come back to the first one, byte for byte."""
    one = learner(width, algorithm, dtype="float32", processes=0)
    expected = with_store(one) if one._states.store else [train(one, index=k)[0].vectors for k in range(2)]
    monkeypatch.setattr("edgefl.learning.learner.learner.torch_devices", lambda _device: ["cpu", "cpu"])
    two = learner(width, algorithm, dtype="float32", processes=0)
    assert len(one._workers) == 1
    assert len(two._workers) == 2
    got = with_store(two) if two._states.store else [train(two, index=k)[0].vectors for k in range(2)]
    for vectors, wanted in zip(got, expected, strict=True):
        assert all(torch.equal(vectors[name], wanted[name]) for name in wanted)
    evaluations = [of.evaluate(of.initial).result() for of in (one, two)]
    assert evaluations[0] == evaluations[1]
    accuracies = [of.evaluator.accuracies(of.initial, of.statistics).tolist() for of in (one, two)]
    assert accuracies[0] == accuracies[1]
