"""The rule for forking processes to train: only if they pay, or if the user says how many."""

from dataclasses import replace

import numpy as np
import pytest
from learner_cases import learners, random_data, shuffled_parts

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.learner.workers import rule
from edgefl.learning.learner.workers.rule import messages_each, pays_for_processes
from edgefl.learning.models.cnn import Cnn
from edgefl.learning.models.fcn import Fcn
from edgefl.learning.report_section import ReportSection

SMALL = {"rounds": 2, "devices": {"count": 6}, "server": {"participants": 3}, "training": {"local_steps": 4}}


@pytest.fixture
def task(monkeypatch):
    """Makes learning tasks, for a user who says nothing about processes."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("EDGEFL_SHARED_CORES", raising=False)
    with learners() as make:
        yield lambda *arguments, **keys: make(*arguments, **keys).task


def test_a_short_run_trains_in_its_own_process_and_a_long_one_does_not(task):
    of = task(Fcn(hidden=(8,)), local_steps=10)
    # Six devices of ten steps: 1.8 ms a round, besides the few operations of so small a network.
    assert not pays_for_processes(of, 80)
    assert pays_for_processes(of, 120)


def test_operations_count(task):
    parts = shuffled_parts([40] * 5)
    images = random_data(200, "float32", shape=(1, 28, 28))
    assert not pays_for_processes(task(Fcn(), data=images, parts=parts, local_steps=1), 2)
    # Some 40 million operations a sample: 16 samples of five devices take 0.16 s, beside the test.
    assert pays_for_processes(task(Cnn(), data=images, parts=parts, local_steps=1), 2)


def test_an_extra_device_or_step_never_takes_processes_away(task):
    seconds = [
        rule._training_s(task(parts=shuffled_parts([20] * count), local_steps=steps), 3)
        for count, steps in ((2, 1), (4, 1), (4, 5), (9, 5))
    ]
    assert (np.diff(seconds) > 0).all()


def test_a_user_who_says_how_many_gets_them(task, monkeypatch):
    of = task(local_steps=1)
    assert not pays_for_processes(of, 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert pays_for_processes(of, 1)
    monkeypatch.setenv("EDGEFL_SHARED_CORES", "1")  # as a sweep sets both
    assert not pays_for_processes(of, 1)


def test_workers_get_a_short_round_in_one_message_and_a_long_one_in_two(task):
    # Six devices of ten steps take 1.8 ms, a thousand times as many 1.8 s.
    assert messages_each(task(Fcn(hidden=(8,)), local_steps=10)) == 1
    assert messages_each(task(Fcn(hidden=(8,)), local_steps=10_000)) == 2


def test_contributions_test_the_model_very_often(task):
    of = task(local_steps=1)
    assert not pays_for_processes(of, 1)
    asked = replace(of, report=ReportSection(contributions={"every": 1}))
    assert pays_for_processes(asked, 1)


def test_uncountable_operations_are_worth_processes(task, monkeypatch):
    def refuse(*_arguments, **_keys):
        raise InputError("cannot be counted")

    of = task(local_steps=1)
    monkeypatch.setattr(Fcn, "multiplications_on", refuse)
    assert pays_for_processes(of, 1)


@pytest.mark.oracle
def test_no_byte_depends_on_it(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    alone = edgefl.run(SMALL, device="cpu")
    monkeypatch.setattr(rule, "LEAST_S", 0.0)
    with_processes = edgefl.run(SMALL, device="cpu")
    assert alone.manifest["learner"]["workers"] == 1
    assert (alone.parameters == with_processes.parameters).all()
    assert alone.rounds.equals(with_processes.rounds)
    assert alone.devices.equals(with_processes.devices)
