"""Learners on small random data; a test names only what it is about."""

from contextlib import contextmanager

import numpy as np

from edgefl.core.streams import Streams
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets import Data
from edgefl.learning.learner import Learner, LearningTask
from edgefl.learning.learner.plans.plan import SERIAL
from edgefl.learning.models.fcn import Fcn
from edgefl.learning.training_section import Training

SIZES = [7, 40, 23, 64, 1, 50]  # unequal: short batches, one sample, several steps


def random_data(count, dtype="float64", *, shape=(4, 5), classes=3, seed=0):
    """Normal samples with random labels: `count` for training, 30 for testing."""
    rng = np.random.default_rng(seed)
    train_x = rng.normal(size=(count, *shape))
    train_y = rng.integers(0, classes, count)
    test_x = rng.normal(size=(30, *shape))
    test_y = rng.integers(0, classes, 30)
    return Data(train_x, train_y, test_x, test_y, classes=classes, dtype=dtype)


def shuffled_parts(sizes):
    """Samples of each device, of so many each, drawn without replacement."""
    order = np.random.default_rng(1).permutation(sum(sizes))
    return np.split(order, np.cumsum(sizes)[:-1])


def parts_in_order(sizes):
    """Samples of each device, of so many each: the first ones belong to the first device."""
    return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])


def make_learner(
    model=None,
    algorithm=None,
    *,
    data=None,
    parts=None,
    seed=5,
    device="cpu",
    plan=SERIAL,
    processes=0,
    brief=False,
    augmentation=None,
    cut=None,
    **training,
):
    """Return a learner, by default of FedAvg with a small network on six unequal devices, serially in this process.

    Other keys are of the training section: batches of 16, otherwise the section's own defaults.
    """
    task = LearningTask(
        model=model or Fcn(hidden=(8,)),
        algorithm=algorithm or FedAvg(),
        training=Training.model_validate({"batch_size": 16, **training}),
        data=random_data(sum(SIZES)) if data is None else data,
        parts=shuffled_parts(SIZES) if parts is None else parts,
        streams=Streams(seed),
        augmentation=augmentation,
        cut=cut,
    )
    return Learner(task=task, device=device, plan=plan, processes=processes, brief=brief)


@contextmanager
def learners():
    """Give a function that makes learners, as `make_learner` does; close them at the end."""
    made = []

    def make(*args, **keys):
        made.append(make_learner(*args, **keys))
        return made[-1]

    try:
        yield make
    finally:
        for learner in made:
            learner.close()
            # The next test forks its workers: a thread that still computes in this process could hold a lock then,
            # which the fork would never see released. Users have one learner at a time, and it does not wait.
            learner._workers._threads.shutdown(wait=True)


def train_round(learner, devices, index=0, start=None, received=None):
    """Return the updates and the loss of one round; from the initial model, if no other is given."""
    if start is None:
        start = learner.initial
    for device in devices:
        learner.submit(device, index, start, received or {})
    return learner.collect()
