"""The same rounds give the same bytes twice and when resumed: on the CPU, what `test_gpu` checks on a GPU."""

from unittest.mock import patch

import pytest
from repeated_rounds import WAYS, check_same_bytes, fits

from edgefl.learning.learner import learner


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "engine", "graphs"),
    [(name, *way) for name, way in zip(["fcn", "lenet5", "fcn", "lenet5", "fcn"], WAYS, strict=True)],
)
def test_the_same_bytes_twice_and_when_resumed(name, engine, graphs):
    assert fits(name, engine)
    check_same_bytes(name, engine, graphs, "cpu")


@pytest.mark.oracle
def test_a_run_that_depends_on_the_one_before_fails():
    """The check notices a difference in the last round of the second run."""
    counts = iter(range(1000))
    aggregate = learner.Learner.aggregate

    def drifting(self, server, updates):
        after = aggregate(self, server, updates)
        return {**after, "w": after["w"] * (1 + 1e-6 * (next(counts) == 5))}

    with patch.object(learner.Learner, "aggregate", drifting), pytest.raises(AssertionError):
        check_same_bytes("fcn", "layers", "off", "cpu")
