"""The mini-batches of clients that train together: the right samples at every step, gathered once where they repeat."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from edgefl.learning.learner.engines.batches import PAD
from edgefl.learning.learner.engines.samples import Samples
from edgefl.learning.learner.engines.stacked_batches import StackedBatches


class CountedSamples(Samples):
    """Counts how often samples are gathered."""

    gathered = 0

    def batch(self, rows, draws=None):
        self.gathered += 1
        return super().batch(rows, draws)


def stacked(*clients, couples_samples=False):
    """Return the mini-batches of clients [K_i, B_i], those with the most steps first, and their samples."""
    x = np.arange(40, dtype=np.float32).reshape(20, 2)
    samples = CountedSamples(x=x, y=np.arange(20), mean=0.0, std=1.0, device="cpu", dtype=torch.float32)
    batches = [np.array(client, dtype=np.int64) for client in clients]
    cohort = SimpleNamespace(batches=batches, draws=None, keys=None, start=torch.zeros(len(batches), 3))
    return StackedBatches(cohort, samples, couples_samples=couples_samples), samples


def check(batches, clients, step):
    """Check samples, labels and weights of a step, of each client that has one."""
    active = [client for client in clients if len(client) > step]
    assert batches.active(step) == len(active)
    found = list(batches.mini_batches(step))
    assert [row for batch in found for row in range(batch.group.start, batch.group.stop)] == list(range(len(active)))
    for batch in found:
        for row, client in enumerate(active[batch.group]):
            wanted = [number for number in client[step] if number != PAD]
            size = len(wanted)
            assert batch.y[row, :size].tolist() == wanted
            assert batch.x[row, :size, 0].tolist() == [2 * number for number in wanted]
            assert batch.weight[row].tolist() == pytest.approx([1 / size] * size + [0.0] * (batch.x.shape[1] - size))


CHANGING = ([[1, 2], [3, 4], [3, 4], [1, 2]], [[5, 6], [7, PAD], [7, PAD], [5, 6]], [[8, 9], [10, 11]])


@pytest.mark.parametrize("couples_samples", [False, True])
@pytest.mark.parametrize("clients", [CHANGING, CHANGING[:2], CHANGING[:1]])
@pytest.mark.parametrize("steps", [(0, 1, 2, 3), (0, 2, 3), (3, 2, 1, 0), (1, 1, 3, 2), (2, 3, 0)])
def test_each_step_has_its_samples_in_any_order_of_calls(steps, clients, couples_samples):
    """Steps that are replayed from a recording are not asked for."""
    batches, _ = stacked(*clients, couples_samples=couples_samples)
    for step in steps:
        check(batches, clients, step)


def test_full_batches_are_gathered_once():
    clients = ([[1, 2, 3]] * 5, [[4, 5, PAD]] * 5)
    batches, samples = stacked(*clients)
    for step in range(5):
        check(batches, clients, step)
    assert samples.gathered == 1


def test_a_client_that_is_done_leaves_the_batch():
    clients = ([[1, 2, 3]] * 4, [[4, 5, 6]] * 2)
    batches, samples = stacked(*clients)
    for step in range(4):
        check(batches, clients, step)
    assert samples.gathered == 2


def test_full_steps_have_all_clients_and_the_largest_batch():
    batches, _ = stacked([[1, 2], [3, 4], [5, PAD], [6, 7]], [[8, 9], [10, PAD], [11, PAD]])
    assert [batches.is_full(step) for step in range(4)] == [True, True, False, False]
    assert batches.full_steps() == 2
