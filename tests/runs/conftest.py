"""Fixtures that tests of runs share."""

from collections import Counter

import pytest

from edgefl.learning.learner import Learner


@pytest.fixture
def jobs(monkeypatch):
    """Count the devices that have been trained, by round."""
    counts = Counter()
    submit = Learner.submit

    def counting(self, device, index, *args, **more):
        counts[index] += 1
        return submit(self, device, index, *args, **more)

    monkeypatch.setattr(Learner, "submit", counting)
    return counts
