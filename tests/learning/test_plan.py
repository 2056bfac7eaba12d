"""Plans: by rule and by trials; which are tried, which one is taken, and that a machine measures it once."""

import json
import logging
from dataclasses import asdict
from itertools import pairwise
from threading import Barrier, Thread

import numpy as np
import pytest
import torch
from learner_cases import learners, make_learner, random_data

from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.learner import Learner
from edgefl.learning.learner.plans.attempt import attempt
from edgefl.learning.learner.plans.cache import folder, processor, remembered
from edgefl.learning.learner.plans.plan import (
    COHORT_WIDTHS,
    SERIAL,
    WORTH,
    Plan,
    Trial,
    candidates,
    fastest,
)
from edgefl.learning.learner.workers.trainer import Trainer
from edgefl.learning.models.fcn import Fcn
from edgefl.learning.models.logistic import Logistic

PARTS = np.split(np.arange(40), 4)


def batched(kernel, *widths):
    return [Plan("batched", kernel, width) for width in widths]


class TestCandidates:
    @pytest.mark.parametrize("device", ["cpu", "cuda"])
    def test_all_families_are_tried(self, device):
        families = candidates(["layers", "vmap"], device, serial=True)
        assert families == [
            [SERIAL],
            batched("layers", *COHORT_WIDTHS[device]),
            batched("vmap", *COHORT_WIDTHS[device]),
        ]

    @pytest.mark.parametrize("device", ["cpu", "cuda"])
    def test_a_named_engine_is_the_only_one(self, device):
        assert candidates(["vmap"], device, serial=False) == [batched("vmap", *COHORT_WIDTHS[device])]

    @pytest.mark.parametrize("device", ["cpu", "cuda"])
    def test_widths_grow_from_a_single_client_at_most_fourfold(self, device):
        """As `fastest` takes four times the memory for the most that the next one may need."""
        widths = COHORT_WIDTHS[device]
        assert widths[0] == 1
        assert all(small < large <= 4 * small for small, large in pairwise(widths))


class Bench:
    """Trials with given outcomes; what is not given must not be tried."""

    def __init__(self, seconds, client_bytes=1.0):
        self.seconds = seconds
        self.client_bytes = client_bytes
        self.tried = []

    def __call__(self, plan):
        name = plan.kernel, plan.width
        self.tried.append(name)
        if self.seconds[name] is MemoryError:
            raise MemoryError
        return Trial(self.seconds[name], self.client_bytes)


def given(autograd=None, **kernels):
    """Seconds by kernel and width: {"layers": [s at 1, s at 2, ...]}."""
    named = {(kernel, 2**i): s for kernel, many in kernels.items() for i, s in enumerate(many)}
    return named if autograd is None else {("autograd", 1): autograd, **named}


def families(**kernels):
    return [[SERIAL], *(batched(kernel, *(2**i for i in range(count))) for kernel, count in kernels.items())]


class TestFastest:
    @pytest.mark.parametrize(
        ("layers", "vmap", "expected"),
        [
            ([5, 4, 3], [9, 8, 2], Plan("batched", "vmap", 4)),
            ([5, 1, 1.2], [9, 8, 2], Plan("batched", "layers", 2)),
            ([11, 12, 13], [12, 13, 14], SERIAL),
        ],
    )
    def test_the_fastest_is_taken(self, layers, vmap, expected):
        bench = Bench(given(10, layers=layers, vmap=vmap))
        assert fastest(families(layers=3, vmap=3), bench, 1e9) == expected

    @pytest.mark.parametrize(("more", "expected"), [(0.01, SERIAL), (-0.01, Plan("batched", "layers", 1))])
    def test_a_plan_must_be_worth_it(self, more, expected):
        """A little faster is not enough."""
        bench = Bench(given(10, layers=[10 * (WORTH + more)]))
        assert fastest(families(layers=1), bench, 1e9) == expected

    def test_small_gains_add_up(self):
        """Each is compared with the best so far, not with the one before."""
        bench = Bench(given(10, layers=[20, 10 * (WORTH + 0.01), 10 * (WORTH - 0.01)]))
        assert fastest(families(layers=3), bench, 1e9) == Plan("batched", "layers", 4)

    def test_growth_ends_where_it_does_not_help(self):
        bench = Bench(given(10, layers=[5, 4, 5.3]))  # a fourth one would be a KeyError
        assert fastest(families(layers=6), bench, 1e9) == Plan("batched", "layers", 2)

    def test_a_hopeless_family_is_tried_only_once(self):
        bench = Bench(given(1, layers=[3.1], vmap=[2.9, 0.5]))
        assert fastest(families(layers=6, vmap=2), bench, 1e9) == Plan("batched", "vmap", 2)
        assert ("layers", 2) not in bench.tried

    @pytest.mark.parametrize(("limit", "widest"), [(1, 1), (3.9, 1), (4, 2), (7.9, 2), (8, 4), (15.9, 4), (16, 8)])
    def test_growth_ends_before_memory_does(self, limit, widest):
        """The next width may be four times the last: it is tried only where that fits."""
        bench = Bench(given(10, layers=[8, 4, 2, 1]), client_bytes=1.0)
        assert fastest(families(layers=4), bench, limit) == Plan("batched", "layers", widest)
        assert bench.tried[-1] == ("layers", widest)

    def test_a_plan_that_does_not_fit_is_not_taken(self):
        """Clients may need more together than each alone."""
        sizes = {1: 1.0, 2: 100.0}
        bench = Bench(given(10, layers=[8, 4]))
        limited = fastest(families(layers=2), lambda plan: Trial(bench(plan).step_s, sizes[plan.width]), 50)
        assert limited == Plan("batched", "layers", 1)
        assert bench.tried[-1] == ("layers", 2)

    def test_a_single_client_is_tried_at_any_size(self):
        bench = Bench(given(10, layers=[8]), client_bytes=1e12)
        assert fastest(families(layers=3), bench, 1e9) == Plan("batched", "layers", 1)

    def test_a_family_that_runs_out_of_memory_is_left(self):
        bench = Bench(given(10, layers=[8, MemoryError], vmap=[9, 5]))
        assert fastest(families(layers=4, vmap=2), bench, 1e9) == Plan("batched", "vmap", 2)
        assert ("layers", 4) not in bench.tried
        bench = Bench(given(MemoryError, layers=[8]))
        assert fastest(families(layers=1), bench, 1e9) == Plan("batched", "layers", 1)

    def test_without_a_plan_that_fits_memory_error_is_raised(self):
        bench = Bench(given(MemoryError, layers=[MemoryError], vmap=[MemoryError]))
        with pytest.raises(MemoryError):
            fastest(families(layers=3, vmap=3), bench, 1e9)
        assert len(bench.tried) == 3

    def test_other_errors_are_not_hidden(self):
        with pytest.raises(KeyError):
            fastest(families(layers=1), Bench({}), 1e9)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "edgefl" / "plans"


FIRST = Plan("batched", "layers", 4)
SECOND = Plan("batched", "vmap", 2)
POSSIBLE = [FIRST, SECOND]


def never():
    raise AssertionError("measured again")


KEY = {"model": "a", "torch": "2"}
DAMAGED = [b"", b"{", b'{"plan": {"engi', b"\xff\xfe\x00", b"[]", b"{}", b"null", b'{"plan": null}']
IMPOSSIBLE = [
    b'{"plan": {"engine": "batched", "kernel": "layers", "width": 1000000000}}',
    b'{"plan": {"engine": "serial", "kernel": "layers", "width": 4}}',
    b'{"plan": {"engine": "batched", "kernel": "layers", "width": 4.5}}',
    b'{"plan": {"engine": ["a"], "kernel": {}, "width": null}}',
]
FOREIGN = [b'{"plan": {"engine": "serial"}}', b'{"plan": {"engine": "a", "kernel": "b", "width": 1, "more": 2}}']


class TestRemembered:
    def test_a_plan_is_measured_once_for_a_key(self, cache):
        assert folder() == cache
        assert remembered(KEY, lambda: FIRST, POSSIBLE) == FIRST
        assert remembered(KEY, never, POSSIBLE) == FIRST
        (file,) = cache.iterdir()
        assert json.loads(file.read_text()) == {"plan": asdict(FIRST), **KEY}

    def test_another_key_is_another_plan(self, cache):
        assert remembered(KEY, lambda: FIRST, POSSIBLE) == FIRST
        for other in ({**KEY, "torch": "3"}, {**KEY, "more": ""}, {"model": "a"}):
            assert remembered(other, lambda: SECOND, POSSIBLE) == SECOND
        assert remembered(dict(reversed(KEY.items())), never, POSSIBLE) == FIRST
        assert len(list(cache.iterdir())) == 4

    @pytest.mark.parametrize("content", [*DAMAGED, *FOREIGN, *IMPOSSIBLE])
    def test_a_damaged_file_is_measured_again(self, cache, content):
        remembered(KEY, lambda: FIRST, POSSIBLE)
        (file,) = cache.iterdir()
        file.write_bytes(content)
        assert remembered(KEY, lambda: SECOND, POSSIBLE) == SECOND

    def test_of_two_at_the_same_time_the_first_one_counts(self, cache):
        def slow():
            assert remembered(KEY, lambda: FIRST, POSSIBLE) == FIRST  # another process meanwhile
            return SECOND

        assert remembered(KEY, slow, POSSIBLE) == FIRST
        assert remembered(KEY, never, POSSIBLE) == FIRST
        assert len(list(cache.iterdir())) == 1

    def test_many_at_the_same_time_agree(self, cache):
        together = Barrier(8)
        eight = batched("vmap", *range(1, 9))
        found = []

        def run(width):
            def measure():
                together.wait(5)
                return Plan("batched", "vmap", width)

            found.append(remembered(KEY, measure, eight))

        threads = [Thread(target=run, args=[width]) for width in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert len(set(found)) == 1
        assert remembered(KEY, never, eight) == found[0]

    def test_a_folder_that_cannot_be_made_only_warns(self, tmp_path, monkeypatch, caplog):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        with caplog.at_level(logging.WARNING, "edgefl"):
            assert remembered(KEY, lambda: FIRST, POSSIBLE) == FIRST
            assert remembered(KEY, lambda: SECOND, POSSIBLE) == SECOND
        texts = [record.getMessage() for record in caplog.records]
        assert len(texts) == 2
        assert texts[0].startswith(f"{folder()}: the measured training plan cannot be kept: Not a directory")

    def test_a_failed_measurement_leaves_no_file(self, cache):
        with pytest.raises(ZeroDivisionError):
            remembered(KEY, lambda: 1 / 0, POSSIBLE)
        assert not cache.exists()
        assert remembered(KEY, lambda: FIRST, POSSIBLE) == FIRST

    def test_the_folder_without_the_variable(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        for unset in (lambda: monkeypatch.setenv("XDG_CACHE_HOME", ""), lambda: monkeypatch.delenv("XDG_CACHE_HOME")):
            unset()
            assert folder() == tmp_path / ".cache" / "edgefl" / "plans"


def test_the_processor_has_a_name():
    assert processor("cpu")


@pytest.fixture
def learner(monkeypatch):
    """Makes learners, and closes them; trials take no time: they look as if many clients at once were good."""

    def trial(self, plan, inputs):
        assert inputs.start.shape == (1, made_of(self)), "a single row serves all clients"
        return Trial({"autograd": 3.0, "layers": 2.0, "vmap": 4.0}[plan.kernel] / min(plan.width, 4), 1.0)

    def made_of(trainer):
        return len(trainer.network.parameters)

    monkeypatch.setattr(Trainer, "attempt", trial)

    with learners() as make_any:

        def make(
            model=None, algorithm=None, *, seed=0, shape=(3, 4), classes=3, dtype="float32", processes=0, **training
        ):
            data = random_data(40, dtype, shape=shape, classes=classes, seed=seed)
            model = model or Fcn(hidden=(5,))
            own = {"data": data, "parts": PARTS, "seed": seed, "processes": processes, "plan": None}
            return make_any(model, algorithm, **own, **{"engine": "measured", **training})

        yield make


class TestLearner:
    @pytest.mark.parametrize("processes", [0, 1])
    def test_a_plan_is_measured_once(self, learner, cache, monkeypatch, processes):
        plan = learner(processes=processes).plan
        assert plan == Plan("batched", "layers", 4)
        (file,) = cache.iterdir()
        content = json.loads(file.read_text())
        assert content["plan"] == asdict(plan)
        assert content["torch"] == torch.__version__
        monkeypatch.setattr("edgefl.learning.learner.plans.choice.fastest", lambda *_: never())
        assert learner(processes=processes).plan == plan
        assert learner(seed=7, processes=processes).plan == plan  # another run of the same work

    @pytest.mark.parametrize(
        "change",
        [
            {"model": Fcn(hidden=(6,))},
            {"model": Logistic()},
            {"algorithm": Scaffold()},
            {"shape": (4, 3)},
            {"classes": 4},
            {"dtype": "float64"},
            {"batch_size": 10},
            {"width": 2},
            {"precision": "bfloat16"},
        ],
    )
    def test_other_work_is_measured_separately(self, learner, cache, change):
        learner()
        learner(**change)
        assert len(list(cache.iterdir())) == 2

    def test_serial_needs_no_measurement(self, learner, cache, monkeypatch):
        monkeypatch.setattr("edgefl.learning.learner.plans.choice.fastest", lambda *_: never())
        assert learner(engine="serial").plan == SERIAL
        assert not cache.exists()

    @pytest.mark.parametrize("engine", ["auto", "batched", "measured"])
    @pytest.mark.parametrize("width", [1, 3, 64])
    def test_a_named_width_is_taken(self, learner, cache, engine, width):
        assert learner(engine=engine, width=width).plan == Plan("batched", "layers", width)

    def test_the_fastest_may_be_serial(self, learner, cache, monkeypatch):
        seconds = {"autograd": 1.0, "layers": 9.0, "vmap": 8.0}
        monkeypatch.setattr(Trainer, "attempt", lambda _self, plan, _inputs: Trial(seconds[plan.kernel], 1.0))
        assert learner(shape=(2, 2)).plan == SERIAL

    @pytest.mark.parametrize("processes", [0, 1])
    def test_memory_is_shared_among_workers(self, learner, cache, monkeypatch, processes):
        """A trial that runs out of it in the worker ends the growth, also across the process border."""

        def trial(self, plan, inputs):
            if plan.width > 2:
                raise MemoryError
            return Trial(1.0 / plan.width, 1.0)

        monkeypatch.setattr(Trainer, "attempt", trial)
        assert learner(processes=processes).plan.width == 2
        limits = []
        monkeypatch.setattr("edgefl.learning.learner.plans.choice.budget", lambda _place: 1200)
        monkeypatch.setattr(
            "edgefl.learning.learner.plans.choice.fastest", lambda _f, _a, limit: limits.append(limit) or SERIAL
        )
        for seed, count in enumerate([0, 1, 3]):
            learner(Fcn(hidden=(7 + seed,)), processes=count)
        assert limits == [1200, 1200, 400]

    def test_the_workers_end_where_no_plan_can_be_found(self, learner, cache, monkeypatch):
        closed = []
        monkeypatch.setattr("edgefl.learning.learner.plans.choice.fastest", lambda *_: 1 / 0)
        monkeypatch.setattr(Learner, "close", lambda self: closed.append(self._workers.close()))
        with pytest.raises(ZeroDivisionError):
            learner(processes=1)
        assert len(closed) == 1


def test_a_real_measurement(cache, monkeypatch):
    """Whatever was fastest, it is one of those that were to be tried, and it trains."""
    data = random_data(40, "float32", shape=(3, 4))
    monkeypatch.setattr("edgefl.learning.learner.plans.attempt.TRIAL_S", 0.005)
    of = make_learner(
        Fcn(hidden=(5,)), Scaffold(), data=data, parts=PARTS, plan=None, processes=1, batch_size=5, engine="measured"
    )
    assert [of.plan] in [[plan] for family in candidates(["layers", "vmap"], "cpu", serial=True) for plan in family]
    of.submit(1, 0, of.initial, {"c": 0 * of.initial})
    updates, _ = of.collect()
    of.close()
    assert torch.isfinite(updates.vectors["delta"]).all()
    assert len(list(cache.iterdir())) == 1


def test_a_trial_on_a_cpu_counts_what_its_thread_computes(monkeypatch):
    """Two milliseconds a step, and on the wall whatever others take meanwhile."""

    class Clock:
        computed_s = 0.0
        wall_s = 0.0

        def thread_time(self):
            return self.computed_s

        def perf_counter(self):
            return self.wall_s

    clock = Clock()

    def train(steps):
        clock.computed_s += 0.002 * steps
        clock.wall_s += 0.005 * steps + 0.1

    monkeypatch.setattr("edgefl.learning.learner.plans.attempt.time", clock)
    assert attempt(train, 4, "cpu", 10).step_s == pytest.approx(0.0005)
