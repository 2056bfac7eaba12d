"""Learning-rate schedules: those that follow from constants of the loss (FedAR paper, theorem 1), and torch's."""

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, PolynomialLR, StepLR

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


@pytest.mark.parametrize(
    ("schedule", "torchs"),
    [
        ({"kind": "cosine"}, lambda optimizer: CosineAnnealingLR(optimizer, T_max=12)),
        ({"kind": "cosine", "ratio": 0.25}, lambda optimizer: CosineAnnealingLR(optimizer, T_max=12, eta_min=0.05)),
        ({"kind": "step", "every": 5, "decay": 0.5}, lambda optimizer: StepLR(optimizer, step_size=5, gamma=0.5)),
        ({"kind": "exponential", "decay": 0.9}, lambda optimizer: ExponentialLR(optimizer, gamma=0.9)),
        ({"kind": "polynomial", "power": 2, "ratio": 0}, lambda optimizer: PolynomialLR(optimizer, 12, power=2)),
    ],
    ids=["cosine", "cosine to a floor", "step", "exponential", "polynomial"],
)
def test_rates_are_those_of_torch(schedule, torchs):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.2)
    scheduler = torchs(optimizer)
    training = load(scenario(schedule, lr=0.2)).training
    for index in range(12):
        assert training.rate(index, 12) == pytest.approx(scheduler.get_last_lr()[0], rel=1e-12)
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize("name", ["plateau", "ReduceLROnPlateau"])
def test_schedule_that_sees_losses_is_refused(name):
    with pytest.raises(InputError, match=r"write a function of the round, .* no schedule sees losses \(stop\.patience"):
        load(scenario(name))


def test_smoothness_is_at_least_strong_convexity():
    schedule = THEOREM | {"smoothness": 0.4}
    with pytest.raises(InputError, match=r"training.lr_schedule.smoothness: must be at least strong_convexity \(0.5\)"):
        load(scenario(schedule))


def test_both_constants_are_needed():
    with pytest.raises(InputError, match="strong_convexity"):
        load(scenario("strongly_convex"))
