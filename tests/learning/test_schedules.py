"""Learning-rate schedules that follow from constants of the loss (FedAR paper, theorem 1)."""

import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.scenario import dump
from edgefl.scenario.load import load

MU = 0.5  # strong convexity
L = 2.0  # smoothness
A = 100 * (L / MU) ** 1.5
THEOREM = {"kind": "strongly_convex", "strong_convexity": MU, "smoothness": L}


def scenario(schedule=THEOREM, **training):
    """One step a round on x^2 (gradient 2 x) from x = 1."""
    return {
        "rounds": 4,
        "data": {"dataset": "quadratic", "coefficients": [[1.0, 0.0, 0.0]]},
        "model": {"init": {"kind": "value", "value": 1.0}},
        "training": {
            "local_steps": 1,
            "batch_size": "full",
            "engine": "serial",
            "lr_schedule": schedule,
            **training,
        },
    }


def test_the_rate_of_theorem_1():
    """eta_t = 4 / (mu (t + a)) with a = 100 (L / mu)^1.5 = 800, t from 1."""
    x = 1.0
    for t, found in enumerate(edgefl.run(scenario()).rounds["parameter"], 1):
        x -= 4 / (MU * (t + A)) * 2 * x
        assert found == pytest.approx(x, rel=1e-12)


def test_a_resolved_scenario_has_the_first_rate_and_runs_again(tmp_path):
    resolved = load(scenario())
    assert resolved.training.lr == pytest.approx(4 / (MU * (1 + A)), rel=1e-15)
    path = tmp_path / "again.yaml"
    path.write_text(dump(resolved))
    assert load(path).training == resolved.training


def test_another_first_rate_is_refused():
    with pytest.raises(
        InputError, match=r"training.lr: follows from the keys of lr_schedule: strongly_convex, as 0.00998"
    ):
        load(scenario(lr=0.1))


def test_smoothness_is_at_least_strong_convexity():
    schedule = THEOREM | {"smoothness": 0.4}
    with pytest.raises(InputError, match=r"training.lr_schedule.smoothness: must be at least strong_convexity \(0.5\)"):
        load(scenario(schedule))


def test_both_constants_are_needed():
    with pytest.raises(InputError, match="strong_convexity"):
        load(scenario("strongly_convex"))
