"""Workers in clean processes: after gradients on a GPU, or torch's compilers, training goes on in as many processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
import torch
from learner_cases import make_learner, train_round
from worker_cases import Handler, alive, assert_same, message, same, wait_until

from edgefl.core.errors import RunError
from edgefl.learning.learner.workers import fork_trial, handler_pickle, processes
from edgefl.learning.learner.workers.clean_processes import CannotStartError, clean_workers
from edgefl.learning.learner.workers.processes import TrainingWorkers

# To torch's autograd this mode of its exporters is what a GPU is: the first backward pass starts threads for devices.
BROKEN = """
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    pass
x = torch.ones(1, requires_grad=True)
(x * x).sum().backward()
"""
RUN = """
import edgefl
from edgefl.learning.learner.workers import processes
clean = []
start = processes.clean_workers
def noted(*args):
    clean.extend(start(*args))
    return clean
processes.clean_workers = noted
keys = {"rounds": 2, "devices": {"count": 4}, "training": {"local_steps": 2, "engine": "serial"}}
"""


@pytest.fixture(scope="module")
def pair():
    """Two workers that have a handler of their own program."""
    workers = clean_workers(Handler, 2)
    yield workers
    for worker in workers:
        worker.hang_up()
    for worker in workers:
        worker.close()


@pytest.fixture
def one():
    (worker,) = clean_workers(Handler, 1)
    yield worker
    worker.close()


@pytest.mark.process
class TestCalls:
    def test_a_clean_worker_returns_what_the_handler_does(self, pair):
        sent = {"a": torch.randn(4, 5), "b": torch.arange(6).view(2, 3).t()}
        left = torch.arange(1000.0)
        right = torch.arange(1000.0, 3000.0)
        for worker in pair:
            assert_same(worker.call("echo", [message()], same), message())
            assert_same(worker.call("double", [sent], same), Handler().double(sent))
            assert_same(worker.call("swap", [left, right], same), (right, left))
            assert_same(worker.call("gradient", [3], same), torch.full((3,), 6.0))
            assert worker.call("threads", [], same) == 1

    def test_workers_are_processes_of_one_program(self, pair):
        pids = [worker.call("pid", [], same) for worker in pair]
        assert pids == [worker.process.pid for worker in pair]
        assert len({os.getpid(), *pids}) == 3
        parents = {worker.call("parent", [], same) for worker in pair}
        assert len(parents) == 1
        assert os.getpid() not in parents

    def test_exceptions_come_back(self, pair):
        with pytest.raises(MemoryError, match="what went wrong"):
            pair[0].call("fail", [MemoryError], same)
        assert pair[0].call("echo", [5], same) == 5

    def test_torchs_settings_are_the_same_there(self):
        torch.set_default_dtype(torch.float64)
        try:
            (worker,) = clean_workers(Handler, 1)
        finally:
            torch.set_default_dtype(torch.float32)
        assert worker.call("gradient", [3], same).dtype == torch.float64
        worker.close()


@pytest.mark.process
class TestTheEnd:
    def test_close_ends_workers_and_their_program(self):
        workers = clean_workers(Handler, 2)
        pids = [worker.process.pid for worker in workers]
        program = workers[0].call("parent", [], same)
        for worker in workers:
            worker.close()
        assert not any(alive(pid) for pid in (*pids, program))
        assert [worker.process.exitcode for worker in workers] == [0, 0]

    def test_close_does_not_wait_for_long_calls(self, one):
        with ThreadPoolExecutor() as pool:
            running = pool.submit(one.call, "sleep", [30], same)
            one.close()
            assert not alive(one.process.pid)
            assert isinstance(running.exception(5), RunError)

    @pytest.mark.parametrize("when", ["between calls", "in a call"])
    def test_a_killed_worker_is_named(self, one, when):
        if when == "between calls":
            os.kill(one.process.pid, signal.SIGKILL)
        else:
            threading.Timer(0.2, os.kill, [one.process.pid, signal.SIGKILL]).start()
        with pytest.raises(RunError, match=r"a worker process ended unexpectedly \(exit code -9\)"):
            one.call("sleep", [20], same)

    def test_a_killed_program_leaves_workers_that_end(self, one):
        os.kill(one.call("parent", [], same), signal.SIGKILL)
        assert one.call("echo", [5], same) == 5
        one.close()
        assert wait_until(lambda: not alive(one.process.pid))

    @pytest.mark.parametrize("busy", [False, True])
    def test_they_end_with_a_killed_parent(self, busy):
        process, pids = started(f"""
            import time
            if {busy}:
                of.submit("sleep", lambda: [60], lambda result: result)
            print("ready", flush=True)
            time.sleep(60)
        """)
        assert process.stdout.readline() == "ready\n"
        process.kill()
        assert wait_until(lambda: not any(alive(pid) for pid in pids))
        process.communicate()

    @pytest.mark.parametrize("end", ["pass", "of.close(); raise ValueError"])
    def test_they_end_with_a_parent_that_does_not_close_them(self, end):
        process, pids = started(end)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == errors.count("Traceback") == int("raise" in end)
        assert wait_until(lambda: not any(alive(pid) for pid in pids))

    def test_an_interrupt_is_the_parents_alone(self):
        process, pids = started("""
            import time
            running = of.submit("sleep", lambda: [1], lambda result: result)
            try:
                print("ready", flush=True)
                time.sleep(60)
            except KeyboardInterrupt:
                print(running.result(), flush=True)
        """)
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=20)
        assert output == "1\n"
        assert errors == ""
        assert wait_until(lambda: not any(alive(pid) for pid in pids))

    def test_forked_workers_do_not_keep_them(self):
        """A forked worker inherits the parent's ends of all pipes."""
        (worker,) = clean_workers(Handler, 1)
        with patch.object(processes, "gradients_survive_fork", lambda: True):
            forked = TrainingWorkers([Handler()], 1)
        worker.close()
        assert worker.process.exitcode == 0
        forked.close()


def started(after):
    """A program in a group of its own with two clean workers, and the ids of all that it has started."""
    source = f"""
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
{BROKEN}
from worker_cases import Handler
from edgefl.learning.learner.workers.processes import TrainingWorkers
of = TrainingWorkers([Handler()], 2)
pids = [worker.process.pid for worker in of._workers]
print(of.submit("parent", list, int).result(), *pids, flush=True)
{textwrap.dedent(after)}"""
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    pids = [int(word) for word in process.stdout.readline().split()]
    assert len(pids) == 3
    assert process.pid not in pids  # as a parent of forked workers it would be the first
    return process, pids


@pytest.mark.process
class TestCannotStart:
    @pytest.mark.parametrize(
        ("make", "reason"),
        [
            (lambda: None, "PicklingError: Can't pickle .*lambda"),
            (partial(Handler().fail, KeyError), "KeyError: 'what went wrong'"),
            (partial(Handler().fail, SystemExit), "SystemExit: what went wrong"),
            (partial(os._exit, 3), r"it ended unexpectedly \(exit code 3\)"),
        ],
    )
    def test_the_reason_is_told(self, make, reason):
        with pytest.raises(CannotStartError, match=reason):
            clean_workers(make, 1)

    def test_training_goes_on_in_this_process(self, caplog):
        class Local(Handler):
            pass

        with patch.object(processes, "gradients_survive_fork", lambda: False):
            of = TrainingWorkers([Local()], 2)
        assert len(of) == 1
        assert of.submit("pid", list, int).result() == os.getpid()
        (record,) = caplog.records
        assert "training uses a single process" in record.message
        assert "Local" in record.message
        of.close()


def test_a_definition_of_the_program_itself_cannot_be_sent(tmp_path):
    own = type("Net", (), {"__module__": "__main__"})
    with (tmp_path / "make").open("wb") as file, pytest.raises(handler_pickle.CannotSendError) as caught:
        handler_pickle.write(file, own)
    assert str(caught.value) == "the program itself defines Net: move it to a module of its own"


def test_mapped_arrays_stay_in_their_files(tmp_path):
    array = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (1000, 100))
    array[:] = np.arange(1e5).reshape(1000, 100)
    array.flush()
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for sent, mapped_again in ((mapped, True), (mapped[10:], False)):
        with (tmp_path / "make").open("w+b") as file:
            handler_pickle.write(file, partial(same, sent))
            assert (file.tell() < 10_000) == mapped_again
            file.seek(0)
            assert np.array_equal(handler_pickle.made(file), sent)


class TestTheTrial:
    def test_an_initialised_gpu_needs_no_trial(self):
        with patch.object(torch.cuda, "is_initialized", lambda: True):
            assert not fork_trial.gradients_survive_fork()

    def test_its_answer_is_kept_only_as_long_as_there_are_no_foreign_threads(self, monkeypatch):
        trials = []
        monkeypatch.setattr(fork_trial, "_try_gradients_in_fork", lambda: trials.append(1) or True)
        monkeypatch.setattr(fork_trial, "_survived_fork", lambda: True)
        monkeypatch.setattr(fork_trial, "EXPORTERS", "not imported")
        own = set(threading.enumerate())
        monkeypatch.setattr(threading, "enumerate", lambda: [thread for thread in found() if thread not in own])
        assert fork_trial.gradients_survive_fork()
        assert not trials
        end = threading.Event()
        for name, expected in (("edgefl-worker_0", 0), ("heartbeat", 1)):
            thread = threading.Thread(target=end.wait, name=name)
            thread.start()
            assert fork_trial.gradients_survive_fork()
            assert len(trials) == expected
        end.set()

    def test_a_stuck_trial_ends(self, monkeypatch):
        monkeypatch.setattr(fork_trial, "TRIAL_S", 0.2)
        lock = threading.Lock()
        monkeypatch.setattr(fork_trial, "_try_gradients", lock.acquire)
        before = multiprocessing.active_children()
        with lock:
            assert not fork_trial._try_gradients_in_fork()
        assert multiprocessing.active_children() == before


found = threading.enumerate


@pytest.mark.process
def test_a_learner_learns_the_same_bytes():
    results = []
    for survives in (True, False):
        with patch.object(processes, "gradients_survive_fork", lambda survives=survives: survives):
            learner = make_learner(processes=2)
        assert len(learner._workers) == 2
        updates, loss = train_round(learner, [0, 1, 2, 3, 4, 5])
        accuracy = learner.evaluate(learner.initial).result()
        results.append((updates.vectors["delta"].numpy().tobytes(), loss, accuracy))
        learner.close()
    assert results[0] == results[1]


@pytest.mark.process
@pytest.mark.parametrize("kind", ["exporter", "gpu", "foreign code"])
def test_a_run_of_a_broken_program_has_the_same_bytes(kind, tmp_path):
    """The program has no guard around its main part, and its working directory is not on Python's path."""
    keys = {}
    before = BROKEN
    if kind == "gpu":
        before = "import torch\ntorch.cuda.is_initialized = lambda: True\n"
    if kind == "foreign code":
        folder = tmp_path / "own"
        folder.mkdir()
        (folder / "my_average.py").write_text(
            "import os\n"
            "from edgefl.learning.algorithms.fedavg import FedAvg\n"
            "class Mine(FedAvg):\n"
            '    """Mine."""\n'
            "    def correct(self, gradient, w, local):\n"
            f"        open(f'{tmp_path}/{{os.getpid()}}.seen', 'w').close()\n"
            "        return 0.5 * gradient\n"
        )
        keys = {"import_from": [str(folder)], "algorithm": "my_average:Mine"}
    result = run_of(tmp_path, before, keys, workers=2)
    seen = list(tmp_path.glob("*.seen"))
    assert (len(seen) > 1) == (kind == "foreign code")  # workers, which have imported the code from its folder
    assert result == run_of(tmp_path, "", keys, workers=0)


def run_of(tmp_path, before, keys, workers):
    """Return the model of a program's run on two cores, which must start some clean workers and not warn."""
    file = tmp_path / "program.py"
    after = f"""
keys.update({keys!r})
done = edgefl.run(keys)
print(done.status, len(clean), done.parameters.tobytes().hex())
"""
    file.write_text(before + RUN + after)
    done = subprocess.run(
        [sys.executable, file],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "single process" not in done.stderr
    status, started_workers, parameters = done.stdout.split()
    assert (status, int(started_workers)) == ("finished", workers)
    return parameters


@pytest.mark.slow
def test_a_program_that_exports_after_training_keeps_all_processes(tmp_path):
    program = """
import edgefl, torch
keys = {"rounds": 2, "devices": {"count": 4}, "training": {"local_steps": 2, "engine": "serial"}}
edgefl.run(keys)
torch.onnx.export(torch.nn.Linear(3, 2), (torch.zeros(2, 3),), dynamo=True, verbose=False)
x = torch.ones(1, requires_grad=True)
(x * x).sum().backward()
print(edgefl.run(keys).status)
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    processes = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False, env=processes)
    assert done.returncode == 0, done.stderr
    assert "training uses a single process" not in done.stderr
    assert done.stdout.split()[-1] == "finished"
