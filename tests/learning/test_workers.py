"""Worker processes: what goes in and comes out, how they fail, and that none is left behind."""

import errno
import mmap
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import pytest
import torch
from worker_cases import Handler, alive, assert_same, message, same, wait_until

from edgefl.core.errors import RunError
from edgefl.learning.learner.workers import processes as module
from edgefl.learning.learner.workers import slab as slab_module
from edgefl.learning.learner.workers.processes import InlineWorker, TrainingWorkers
from edgefl.learning.learner.workers.slab import Slab
from edgefl.learning.learner.workers.worker_processes import ForkedWorker


@pytest.fixture(autouse=True)
def _forks(monkeypatch):
    """Let workers be forked, whatever other tests have done: none of these computes gradients."""
    monkeypatch.setattr(module, "gradients_survive_fork", lambda: True)


@pytest.fixture
def workers():
    """Makes workers, and closes them."""
    made = []

    def make(processes=1, handlers=None):
        made.append(TrainingWorkers(handlers or [Handler()], processes))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def forked():
    worker = ForkedWorker(Handler())
    yield worker
    worker.close()


def pids(of):
    return [worker.process.pid for worker in of._workers]


def exit_codes(of):
    return [worker.process.exitcode for worker in of._workers]


class TestSlab:
    def test_round_trip(self):
        slab = Slab()
        assert_same(slab.unpack(slab.pack(message())), message())

    def test_tensors_do_not_travel_in_the_bytes(self):
        slab = Slab()
        assert len(slab.pack({"a": torch.zeros(10**6), "b": torch.zeros(1000, 1000).t()})) < 1000

    def test_unpacked_tensors_are_aligned_views(self):
        """The next message overwrites it: that is why results are copied by `take`."""
        slab = Slab()
        first = slab.unpack(slab.pack([torch.ones(3, dtype=torch.uint8), torch.ones(2)]))
        assert all(tensor.data_ptr() % 64 == 0 for tensor in first)
        slab.pack([torch.zeros(3, dtype=torch.uint8), torch.zeros(2)])
        assert [tensor.sum().item() for tensor in first] == [0, 0]

    @pytest.mark.parametrize("size", [1, 64, 100, 1000, 3000])
    def test_tensors_beyond_the_shared_memory_arrive(self, monkeypatch, size):
        monkeypatch.setattr(slab_module, "SLAB_BYTES", size)
        slab = Slab()
        sent = [message(), torch.arange(30.0), torch.arange(10**4), torch.arange(7)]
        assert_same(slab.unpack(slab.pack(sent)), sent)

    @pytest.mark.oracle
    def test_the_memory_is_smaller_where_the_address_space_ends(self, monkeypatch):
        plain = mmap.mmap

        def limited(number, size_bytes, **options):
            if size_bytes > 2**25:
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            return plain(number, size_bytes, **options)

        monkeypatch.setattr(slab_module.mmap, "mmap", limited)
        slab = Slab()
        sent = [torch.arange(10**7), torch.arange(10**6)]  # one does not fit
        content = slab.pack(sent)
        assert 8 * 10**7 < len(content) < 8 * 10**7 + 10**4
        assert_same(slab.unpack(content), sent)

    def test_a_tensor_that_fits_exactly_does_not_travel_in_the_bytes(self, monkeypatch):
        monkeypatch.setattr(slab_module, "SLAB_BYTES", 2**16)
        slab = Slab()
        fits = torch.randn(2**14)
        beyond = torch.randn(2**14 + 1)
        assert len(slab.pack(fits)) < 1000
        assert len(slab.pack(beyond)) > 2**16
        assert torch.equal(slab.unpack(slab.pack(beyond)), beyond)


class TestForked:
    def test_a_forked_worker_returns_what_an_inline_one_does(self, forked):
        inline = InlineWorker(Handler())
        sent = {"a": torch.randn(4, 5), "b": torch.arange(6).view(2, 3).t()}
        for method, args in [("echo", [message()]), ("double", [sent]), ("full", [3])]:
            assert_same(forked.call(method, args, same), inline.call(method, args, same))
        assert inline.call("pid", [], same) == os.getpid()
        assert forked.call("pid", [], same) == forked.process.pid != os.getpid()

    def test_results_do_not_overwrite_arguments(self, forked):
        """Each direction has memory of its own."""
        left = torch.arange(1000.0)
        right = torch.arange(1000.0, 3000.0)
        assert_same(forked.call("swap", [left, right], same), (right, left))

    @pytest.mark.oracle
    def test_small_shared_memory_changes_nothing(self, monkeypatch):
        monkeypatch.setattr(slab_module, "SLAB_BYTES", 1000)
        worker = ForkedWorker(Handler())
        assert_same(worker.call("echo", [message()], same), message())
        worker.close()

    def test_a_forked_worker_sees_earlier_data(self):
        """Data are shared, not sent."""
        handler = Handler()
        handler.number = 17
        worker = ForkedWorker(handler)
        handler.number = 18
        assert worker.call("__getattribute__", ["number"], same) == 17
        worker.close()

    @pytest.mark.parametrize("kind", [ValueError, MemoryError, torch.OutOfMemoryError, RunError, OSError, EOFError])
    def test_exceptions_come_back(self, forked, kind):
        """With their type, and with the lines in the worker; what the system raises is not the end of the process."""
        with pytest.raises(kind, match="what went wrong") as caught:
            forked.call("fail", [kind], same)
        assert type(caught.value) is kind
        shown = "".join(traceback.format_exception(caught.value))
        assert "in fail" in shown
        assert 'raise kind("what went wrong")' in shown
        assert forked.call("echo", [5], same) == 5

    def test_a_method_that_does_not_exist(self, forked):
        with pytest.raises(AttributeError, match="nothing"):
            forked.call("nothing", [], same)
        assert forked.call("echo", [5], same) == 5

    @pytest.mark.oracle
    @pytest.mark.parametrize("when", ["between calls", "in a call"])
    def test_a_killed_worker_is_named(self, forked, when):
        if when == "between calls":
            os.kill(forked.process.pid, signal.SIGKILL)
        else:
            threading.Timer(0.2, os.kill, [forked.process.pid, signal.SIGKILL]).start()
        text = r"a worker process ended unexpectedly \(exit code -9\).*memory.*fewer workers.*training.width: 1"
        with pytest.raises(RunError, match=text):
            forked.call("sleep", [20], same)
        with pytest.raises(RunError, match=r"exit code -9"):
            forked.call("echo", [1], same)

    @pytest.mark.oracle
    def test_torch_has_one_thread(self, forked):
        before = torch.get_num_threads()
        torch.set_num_threads(2)  # in the parent, of a worker that is there already
        assert forked.call("threads", [], same) == 1
        another = ForkedWorker(Handler())
        assert another.call("threads", [], same) == 1
        another.close()
        assert torch.get_num_threads() == 2
        torch.set_num_threads(before)


class TestWorkers:
    @pytest.mark.oracle
    @pytest.mark.parametrize("processes", [0, 1, 3])
    def test_more_calls_than_workers(self, workers, processes):
        of = workers(processes)
        assert len(of) == max(processes, 1)
        futures = [of.submit("full", lambda k=k: [k], torch.clone) for k in range(20)]
        results = [future.result() for future in futures]
        assert all(torch.equal(result, torch.full((1000,), float(k))) for k, result in enumerate(results))

    @pytest.mark.oracle
    def test_all_workers_work(self, workers):
        together = multiprocessing.get_context("fork").Barrier(2, timeout=30)

        class Meeting(Handler):
            def meet(self):
                together.wait()
                return 1

        of = workers(2, [Meeting()])
        futures = [of.submit("meet", list, same) for _ in range(2)]
        assert [future.result() for future in futures] == [1, 1]
        found = {future.result() for future in [of.submit("pid", list, same) for _ in range(20)]}
        assert found <= set(pids(of))

    def test_handlers_in_this_process_work_at_the_same_time(self, workers):
        """As many GPUs do; each call goes to one that is free."""
        together = threading.Barrier(2, timeout=5)

        class Meeting:
            def meet(self):
                together.wait()
                return id(self)

        handlers = [Meeting(), Meeting()]
        of = workers(0, handlers)
        found = {future.result() for future in [of.submit("meet", list, same) for _ in range(2)]}
        assert found == {id(handler) for handler in handlers}

    @pytest.mark.oracle
    def test_results_are_taken_before_their_memory_is_used_again(self, workers):
        """`take` sees the tensor as it was returned, however slow it is; what is not copied is lost."""
        of = workers(1)

        def slowly(tensor):
            time.sleep(0.02)
            return tensor.clone(), tensor

        results = [future.result() for future in [of.submit("full", lambda k=k: [k], slowly) for k in range(8)]]
        assert [taken.unique().tolist() for taken, _ in results] == [[float(k)] for k in range(8)]
        assert results[0][1].unique().tolist() == [7.0]

    @pytest.mark.oracle
    def test_arguments_are_made_when_a_worker_is_free(self, workers):
        of = workers(1)
        made = []

        def arguments(k):
            made.append(k)
            return [0.2]

        futures = [of.submit("sleep", lambda k=k: arguments(k), same) for k in range(2)]
        assert wait_until(lambda: made, 5)
        assert made == [0]
        assert [future.result() for future in futures] == [0.2, 0.2]
        assert made == [0, 1]

    @pytest.mark.oracle
    @pytest.mark.parametrize("processes", [0, 1])
    def test_an_exception_leaves_the_worker_to_the_next_call(self, workers, processes):
        of = workers(processes)
        for _ in range(3):
            with pytest.raises(ValueError, match="what went wrong"):
                of.submit("fail", lambda: [ValueError], same).result()
            with pytest.raises(ZeroDivisionError):
                of.submit("echo", lambda: [1 / 0], same).result()
            with pytest.raises(ZeroDivisionError):
                of.submit("echo", lambda: [0], lambda result: 1 / result).result()
        assert of.submit("echo", lambda: [5], same).result() == 5

    @pytest.mark.oracle
    def test_other_workers_continue_when_one_is_killed(self, workers):
        of = workers(2)
        os.kill(pids(of)[0], signal.SIGKILL)
        outcomes = [of.submit("echo", lambda: [5], same).exception() for _ in range(2)]
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", "RunError"]


class TestTheEnd:
    @pytest.mark.oracle
    def test_close_ends_the_processes(self, workers):
        of = workers(2)
        before = pids(of)
        assert all(alive(pid) for pid in before)
        of.close()
        assert not any(alive(pid) for pid in before)
        assert exit_codes(of) == [0, 0]  # by themselves, not by force

    @pytest.mark.oracle
    @pytest.mark.parametrize("first", [0, 1])
    def test_close_ends_the_processes_of_one_of_two(self, workers, first):
        """A worker that held the other's pipe would keep it waiting."""
        both = [workers(2), workers(2)]
        closed = both[first]
        other = both[1 - first]
        before = pids(closed)
        theirs = pids(other)
        closed.close()
        assert exit_codes(closed) == [0, 0]
        assert not any(alive(pid) for pid in before)
        assert all(alive(pid) for pid in theirs)
        assert other.submit("echo", lambda: [5], same).result() == 5
        other.close()
        assert not any(alive(pid) for pid in theirs)

    def test_close_does_not_wait_for_long_calls(self, workers):
        of = workers(1)
        running, waiting = (of.submit("sleep", lambda: [30], same) for _ in range(2))
        (pid,) = pids(of)
        assert wait_until(running.running)
        of.close()
        assert not alive(pid)
        assert waiting.cancelled()
        assert isinstance(running.exception(timeout=5), RunError)  # cut short: a call that ends returns 30


SCRIPT = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import edgefl.learning.learner.workers.processes as module
class Handler:
    def pid(self): return os.getpid()
    def sleep(self, seconds): time.sleep(seconds)
first, second = module.TrainingWorkers([Handler()], 2), module.TrainingWorkers([Handler()], 1)
pids = [worker.process.pid for of in (first, second) for worker in of._workers]
for of in (first, second):
    for _ in of._workers:
        of.submit("pid", list, lambda pid: pid).result()
"""


@pytest.fixture
def program():
    """Starts Python with three workers in a process group of its own; gives it and the workers' ids."""
    started = []

    def start(after):
        source = SCRIPT + "print(*pids, flush=True)\ninput()\n" + textwrap.dedent(after)
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", source],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        found = [int(word) for word in started[-1].stdout.readline().split()]
        assert len(found) == 3
        assert all(alive(pid) for pid in found)
        started[-1].stdin.write("\n")
        started[-1].stdin.flush()
        return started[-1], found

    yield start
    for process in started:
        process.kill()
        process.communicate()


class TestThePrograms:
    """Workers of real processes end with their program."""

    @pytest.mark.process
    def test_workers_end_with_their_terminated_parent(self, program):
        process, found = program("time.sleep(60)")
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM
        assert wait_until(lambda: not any(alive(pid) for pid in found))

    @pytest.mark.process
    def test_workers_of_a_killed_parent_say_nothing(self, program):
        process, found = program("""
            first.submit("sleep", lambda: [0.5], lambda result: result)
            time.sleep(0.1)
            os.kill(os.getpid(), 9)
        """)
        assert wait_until(lambda: not any(alive(pid) for pid in found))
        assert process.communicate(timeout=10)[1] == ""

    @pytest.mark.process
    @pytest.mark.parametrize("end", ["pass", "first.close(); raise ValueError"])
    def test_workers_end_with_a_parent_that_does_not_close_them(self, program, end):
        process, found = program(end)
        _, errors = process.communicate(timeout=10)
        assert process.returncode == errors.count("Traceback") == int("raise" in end)
        assert not any(alive(pid) for pid in found)

    @pytest.mark.process
    def test_an_interrupt_is_the_parents_alone(self, program):
        """Ctrl-C reaches the whole process group: workers finish their call and say nothing."""
        process, found = program("""
            running = first.submit("sleep", lambda: [1], lambda result: result)
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                running.result()
                print(*(first.submit("pid", list, lambda pid: pid).result() in pids for _ in range(2)), flush=True)
        """)
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=20)
        assert output.split() == ["True", "True"]
        assert errors == ""
        assert process.returncode == 0
        assert not any(alive(pid) for pid in found)


def test_where_forked_processes_compute_no_gradients_this_process_trains(workers, monkeypatch, caplog):
    monkeypatch.setattr(module, "gradients_survive_fork", lambda: False)
    of = workers(2)
    assert len(of) == 1
    assert "a new program uses all" in caplog.text
