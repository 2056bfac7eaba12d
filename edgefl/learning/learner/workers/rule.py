"""The number of worker processes, and of their messages in a round, by rule.

Forking two processes and ending them takes a tenth of a second, and messages take some milliseconds in every round.
Results have the same bytes for any number, so rough estimates do.
"""

import numpy as np

from edgefl.core.errors import InputError
from edgefl.core.machine import user_divides_cores
from edgefl.learning.learner.task import LearningTask
from edgefl.learning.workload import local_samples, local_steps

LEAST_S = 0.2  # least training in one process for others to help
SHORT_ROUND_S = 0.1  # of training in one process, up to which the time of messages counts
STEP_S = 30e-6  # of a client's step, however small
FLOPS_PER_S = 2e10  # of one core, in products of small matrices
FORWARD_SHARE = 1 / 3  # of the operations of a training step


def pays_for_processes(task: LearningTask, rounds: int) -> bool:
    """Return whether so many rounds of training are worth additional processes, or the user asks for them."""
    return user_divides_cores() or _training_s(task, rounds) >= LEAST_S


def messages_each(task: LearningTask) -> int:
    """Return in how many messages each worker gets its part of a round.

    A message costs a millisecond or two, which counts in rounds of a few hundredths of a second. In longer rounds each
    worker gets two messages, so that all end together: the first to finish takes the next one.
    """
    if _training_s(task, 1) <= SHORT_ROUND_S:
        return 1
    return 2


def _training_s(task: LearningTask, rounds: int) -> float:
    """Return about how long one process trains and tests in all rounds [s]; inf if that is not known."""
    data = task.data
    if task.report.contributions is not None:  # a test of the model for each of very many subsets of devices
        return float("inf")
    try:
        products = task.model.multiplications_on(data.shape, data.outputs, tokens=data.tokens)
    except InputError:  # a model from outside whose operations cannot be counted
        return float("inf")
    sample_s = 3 * 2 * products / FLOPS_PER_S  # a backward pass takes twice as long as a forward pass
    steps = float(np.mean(local_steps(task.sizes, *task.training.work)))
    samples = float(np.mean(local_samples(task.sizes, *task.training.work)))
    participants = task.participants or len(task.parts)
    round_s = participants * (steps * STEP_S + samples * sample_s)
    test_s = len(data.test_y) * sample_s * FORWARD_SHARE / task.report.eval_every
    return rounds * (round_s + test_s)
