"""Errors for users say the same when they have come from another process."""

import pickle

import pytest

from edgefl.core.errors import DivergedError, InputError, RunError, Taken, Unavailable
from edgefl.runs.known_learning import LearnsOtherwise

ERRORS = [
    InputError("a.yaml:3: rounds: must be > 0", "a.yaml:4: name: two\nlines"),
    InputError(),
    Taken("results: another process is running there"),
    Unavailable("mnist.npz: is missing"),
    RunError("all batteries are empty"),
    DivergedError("round 8: device 17: diverged", "lower training.learning_rate"),
    LearnsOtherwise("other"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "passed_on",
    [
        lambda error: pickle.loads(pickle.dumps(error)),  # noqa: S301 - our own
        lambda error: type(error)(error),
    ],
)
def test_errors_survive_the_way_from_another_process(passed_on, error):
    """Also `type(error)(error)`, as Gymnasium raises the errors of its workers."""
    found = passed_on(error)
    assert type(found) is type(error)
    assert str(found) == str(error)
    for name in ("faults", "what", "remedy"):
        assert getattr(found, name, None) == getattr(error, name, None)
