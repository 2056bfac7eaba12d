"""What attackers send, who they are, and what that does to a mean and to rules that resist them."""

import numpy as np
import pytest
import torch
from edgefl_threats.attacks import Gaussian, LabelFlip, SignFlip
from edgefl_threats.rules import Krum, Median

import edgefl
from edgefl.learning.algorithms import LocalContext, RunInfo
from edgefl.testing import check_algorithm

RUN = RunInfo(population=10, seed=3, labels=(5, 5, 5))


def local(devices, **more):
    ids = torch.tensor(devices, dtype=torch.float32)[:, None]
    return LocalContext(torch.zeros(len(devices), 4), 0.1, run=RUN, device_id=ids, index=0 * ids, **more)


def run(algorithm, rounds=12):
    """The final accuracy in a small cell of 20 devices with alike data, all of which take part."""
    scenario = {
        "rounds": rounds,
        "data": {"dataset": "digits", "partition": "iid"},
        "training": {"local_steps": 10, "batch_size": 20, "lr": 0.1},
        "algorithm": algorithm,
        "devices": {"count": 20},
        "report": {"eval_every": rounds},
    }
    return edgefl.run(scenario).rounds


@pytest.mark.parametrize("attack", [LabelFlip, SignFlip, Gaussian])
def test_each_attack_passes_the_check_of_algorithms(attack):
    check_algorithm(attack, attackers=[0, 3])


def test_a_share_of_the_devices_is_drawn_by_the_seed():
    assert len(SignFlip(attackers=0.3).ids(RUN)) == 3
    assert SignFlip(attackers=0.3).ids(RUN) == LabelFlip(attackers=0.3).ids(RUN)
    drawn = {tuple(SignFlip(attackers=0.3).ids(RunInfo(population=10, seed=seed))) for seed in range(20)}
    assert len(drawn) > 10
    assert SignFlip(attackers=[7, 2]).ids(RUN) == [2, 7]
    of_session = RunInfo(population=4, seed=3, devices=(3, 5, 8, 9))
    assert set(SignFlip(attackers=0.5).ids(of_session)) < {3, 5, 8, 9}


def test_attackers_send_what_their_attack_says():
    w = torch.arange(12.0).reshape(3, 4)
    context = local([1, 2, 4])
    flipped = SignFlip(attackers=[2], scale=3.0).finish(w, context)["delta"]
    assert torch.equal(flipped, torch.stack([w[0], -3 * w[1], w[2]]))
    noisy = Gaussian(attackers=[1, 4], scale=2.0).finish(w, context)["delta"]
    assert torch.equal(noisy[1], w[1])
    expected = RUN.generator("gaussian delta", 4, 0).normal(0.0, 2.0, 4)
    assert torch.equal(noisy[2], torch.tensor(expected, dtype=torch.float32))
    y = torch.tensor([[0, 1, 2], [0, 1, 2], [2, 2, 0]])
    assert LabelFlip(attackers=[2, 4]).labels(y, context).tolist() == [[0, 1, 2], [2, 1, 0], [0, 0, 2]]
    one = LabelFlip(attackers=[4], source=2, target=1)
    assert one.labels(y, context).tolist() == [[0, 1, 2], [0, 1, 2], [1, 1, 0]]


def test_the_norm_of_gaussian_updates_is_its_scale():
    context = local(range(10))
    big = LocalContext(torch.zeros(10, 10_000), 0.1, run=RUN, device_id=context.device_id, index=context.index)
    sent = Gaussian(attackers=1.0, scale=0.5).finish(torch.ones(10, 10_000), big)["delta"]
    assert sent.std().item() == pytest.approx(0.5, rel=0.02)


def test_an_attack_hurts_the_mean_and_krum_resists():
    clean = run("fedavg").test_accuracy.iloc[-1]
    attacked = run(SignFlip(attackers=0.25, scale=6.0))
    krum = run(SignFlip(attackers=0.25, scale=6.0, base=Krum(malicious=5)))
    assert (attacked.attackers == 5).all()
    assert (krum.tolerated == 5).all()
    assert clean > 0.8
    assert attacked.test_accuracy.iloc[-1] < 0.3
    assert krum.test_accuracy.iloc[-1] > clean - 0.1


def test_flipped_labels_hurt_the_mean_more_than_the_median():
    share = 0.4
    mean = run(LabelFlip(attackers=share), rounds=8).test_accuracy.iloc[-1]
    median = run(LabelFlip(attackers=share, base=Median()), rounds=8).test_accuracy.iloc[-1]
    assert mean < run("fedavg", rounds=8).test_accuracy.iloc[-1]
    assert np.isfinite(median)
