"""Torch's flags and contexts while learners compute on GPUs, on a machine without one."""

import gc
import threading
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import pytest
import torch
from fake_gpu import CUDA, fake_device, task_on
from learner_cases import random_data

from edgefl.core.errors import RunError
from edgefl.learning.learner import Learner
from edgefl.learning.learner.plans.plan import Plan
from edgefl.learning.learner.workers import gpu
from edgefl.learning.learner.workers.processes import TrainingWorkers
from edgefl.learning.models.fcn import Fcn

LAYERS = Plan("batched", "layers", 8)


def flags():
    cudnn = torch.backends.cudnn
    sections = [section.fp32_precision for section in gpu._sections()]
    return [
        cudnn.deterministic,
        cudnn.benchmark,
        cudnn.allow_tf32,
        gpu._if_told(torch.get_float32_matmul_precision),
        *sections,
    ]


@contextmanager
def own_flags():
    """Give the flags of a program that has set some, and must get them back."""
    found = gpu._Flags.now()
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("medium")
    try:
        yield flags()
    finally:
        found.restore()


def learner(device=CUDA, plan=LAYERS, **training):
    task = task_on(Fcn(hidden=(8,)), random_data(19).train_x, 3, **training)
    with fake_device():
        return Learner(task=task, device=device, plan=plan)


@pytest.mark.own_process
@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_a_learner_on_a_gpu_sets_the_flags_until_it_is_closed(precision):
    with own_flags() as before:
        with_flags = learner(precision=precision)
        rounds = precision == "tf32"
        assert flags()[:3] == [True, False, rounds]
        assert torch.backends.cuda.matmul.allow_tf32 == rounds
        with_flags.close()
        assert flags() == before
        with_flags.close()
        assert flags() == before


@pytest.mark.own_process
def test_a_learner_on_the_cpu_leaves_them_alone():
    with own_flags() as before:
        on_cpu = Learner(task=task_on(Fcn(hidden=(8,)), random_data(19).train_x, 3), device="cpu", processes=0)
        assert flags() == before
        on_cpu.close()


@pytest.mark.own_process
def test_a_failed_construction_restores_them():
    with own_flags() as before, patch("edgefl.learning.learner.learner.choose_plan", side_effect=KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt) as caught:
            learner(plan=None)
        assert flags() == before
        del caught


@pytest.mark.own_process
def test_the_last_of_two_learners_restores_them():
    with own_flags() as before:
        first, second = learner(), learner()
        first.close()
        assert flags()[:3] == [True, False, False]
        second.close()
        assert flags() == before


@pytest.mark.own_process
def test_a_learner_that_is_dropped_restores_them():
    with own_flags() as before:
        dropped = learner()
        assert flags() != before
        del dropped
        gc.collect()
        assert flags() == before


@pytest.mark.own_process
def test_two_precisions_at_once_are_refused():
    with own_flags() as before:
        first = learner()
        with pytest.raises(RunError, match="close that run first"):
            learner(precision="tf32")
        assert flags()[:3] == [True, False, False]
        first.close()
        learner(precision="tf32").close()
        assert flags() == before


@pytest.mark.own_process
def test_flags_of_newer_names_come_back():
    sections = gpu._sections()
    found = [section.fp32_precision for section in sections]
    try:
        sections[1].fp32_precision = "ieee"  # after this torch refuses to tell the older flag
        sections[0].fp32_precision = "tf32"
        changed = [section.fp32_precision for section in sections]
        with_flags = learner()
        assert not torch.backends.cuda.matmul.allow_tf32
        with_flags.close()
        assert [section.fp32_precision for section in sections] == changed
    finally:
        for section, precision in zip(sections, found, strict=True):
            section.fp32_precision = precision


@contextmanager
def recorded_devices():
    """Note which devices become current in which thread, and which get a context; torch computes on the CPU."""
    current = []
    begun = []
    ones = torch.ones

    def on_cpu(count, *, device, requires_grad):
        begun.append((threading.get_ident(), str(device)))
        return ones(count, requires_grad=requires_grad)

    def entered(device):
        current.append(str(device))
        return nullcontext()

    with patch.object(torch.cuda, "device", entered), patch.object(gpu.torch, "ones", on_cpu):
        yield current, begun


def test_a_thread_that_computes_on_a_gpu_has_its_context_first():
    class Gpu:
        def thread(self):
            return threading.get_ident()

    of = TrainingWorkers([Gpu(), Gpu()], 0, devices=["cuda:0", "cuda:1"])
    with recorded_devices() as (current, begun):
        threads = {of.submit("thread", list, int).result() for _ in range(10)}
    assert set(current) == {"cuda:0", "cuda:1"}
    assert len(current) == 10
    assert {thread for thread, _ in begun} == threads
    assert len(set(begun)) == len(begun)  # once for each thread and device
    of.close()


def test_a_worker_on_the_cpu_asks_for_no_gpu():
    of = TrainingWorkers([object()], 0)
    with recorded_devices() as (current, begun):
        of.submit("__hash__", list, int).result()
    assert not current
    assert not begun
    of.close()
