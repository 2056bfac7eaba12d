"""Calls in forked processes: the same answers in the same order, and an error is that of the call."""

import os

import pytest

from edgefl.runs import side_by_side


@pytest.mark.parametrize("workers", [1, 2])
def test_answers_come_in_order(workers):
    assert list(side_by_side.each(lambda number: number * number, 7, workers)) == [0, 1, 4, 9, 16, 25, 36]


def test_calls_are_made_elsewhere():
    assert os.getpid() not in set(side_by_side.each(lambda _: os.getpid(), 3, 2))


def test_an_error_ends_all():
    with pytest.raises(ZeroDivisionError):
        list(side_by_side.each(lambda number: 1 // (number - 1), 3, 2))


def test_a_little_work_stays_here():
    assert side_by_side.processes(8, 3, 0.001) == 1
    assert side_by_side.processes(1, 1000, 10.0) == 1
