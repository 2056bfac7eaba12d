"""Clipping as Flower's, noise of the stated size, and epsilon as dp-accounting has it."""

import numpy as np
import pytest
import torch
from edgefl_threats.privacy import CentralDp, clipped, epsilon

import edgefl
from edgefl.learning.algorithms import RunInfo, Updates

WITHOUT = "epsilon needs dp-accounting, a dependency of this package: pip install dp-accounting"


def unchecked(**keys):
    """The algorithm without a look for dp-accounting, which only its columns need."""
    return CentralDp.model_construct(**keys)


def test_clipping_is_that_of_flower():
    privacy = pytest.importorskip("flwr.supercore.differential_privacy", reason="clipping is held against flwr's")
    vectors = np.random.default_rng(1).normal(size=(6, 50)).astype(np.float32) * np.arange(1, 7)[:, None] / 10
    vectors = vectors.astype(np.float32)
    expected = vectors.copy()
    for vector in expected:
        privacy.clip_inputs_inplace([vector], 2.0)
    assert clipped(vectors, 2.0) == pytest.approx(expected, rel=1e-6)
    assert np.array_equal(clipped(0 * vectors, 2.0), 0 * vectors)


def test_noise_has_the_stated_size_and_follows_the_seed():
    d, participants = 20_000, 8
    delta = torch.zeros(participants, d)

    def move(seed, index):
        run = RunInfo(population=40, participants=participants, seed=seed)
        ids = np.arange(participants)
        updates = Updates({"delta": delta}, ids, np.ones(participants, dtype=np.int64), 40, index=index, run=run)
        return unchecked(clip=0.5, noise_multiplier=2.0).aggregate({"w": torch.zeros(d)}, updates)["w"]

    assert move(1, 0).std().item() == pytest.approx(2.0 * 0.5 / participants, rel=0.02)
    assert torch.equal(move(1, 0), move(1, 0))
    assert abs(np.corrcoef(move(1, 0), move(1, 1))[0, 1]) < 0.03
    assert abs(np.corrcoef(move(1, 0), move(2, 0))[0, 1]) < 0.03


def test_one_device_moves_the_mean_by_at_most_clip_over_participants():
    run = RunInfo(population=40, participants=8)
    vectors = np.random.default_rng(2).normal(size=(8, 30)).astype(np.float32) * 100
    rule = unchecked(clip=0.5, noise_multiplier=0.0)

    def mean(rows):
        updates = Updates({}, np.arange(rows), np.ones(rows, dtype=np.int64), 40, run=run)
        return rule.combine(vectors[:rows], updates)

    assert np.linalg.norm(mean(8) - mean(7)) == pytest.approx(0.5 / 8, rel=1e-5)


def test_epsilon_without_sampling_is_the_closed_form():
    """Each order gives T a / (2 z^2) + log((a-1)/a) - (log delta + log a)/(a-1) (Canonne et al., 2020)."""
    pytest.importorskip("dp_accounting", reason=WITHOUT)
    z, rounds, delta = 4.0, 30, 1e-5
    a = np.linspace(1.05, 60, 200_000)
    conversion = np.log1p(-1 / a) - np.log(delta * a) / (a - 1)
    best = (rounds * a / (2 * z * z) + conversion).min()
    assert epsilon(rounds, 50, 50, z, delta, "poisson") == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("how", ["poisson", "fixed"])
@pytest.mark.parametrize(("rounds", "sample", "z"), [(1, 10, 1.0), (60, 10, 1.1), (200, 5, 0.8)])
def test_epsilon_is_that_of_dp_accounting(how, rounds, sample, z):
    accounting = pytest.importorskip("dp_accounting", reason=WITHOUT)
    relation = accounting.NeighboringRelation
    noisy_sum = accounting.GaussianDpEvent(z if how == "poisson" else z / 2)
    event = accounting.PoissonSampledDpEvent(sample / 100, noisy_sum)
    neighbours = relation.ADD_OR_REMOVE_ONE
    if how == "fixed":
        event = accounting.SampledWithoutReplacementDpEvent(100, sample, noisy_sum)
        neighbours = relation.REPLACE_ONE
    accountant = accounting.rdp.RdpAccountant(neighboring_relation=neighbours)
    for _ in range(rounds):
        accountant.compose(event)
    assert epsilon(rounds, sample, 100, z, 1e-5, how) == pytest.approx(accountant.get_epsilon(1e-5), abs=1e-3)


def test_a_run_shows_epsilon_and_more_noise_costs_accuracy():
    pytest.importorskip("dp_accounting", reason=WITHOUT)

    def run(noise):
        scenario = {
            "rounds": 15,
            "data": {"dataset": "digits", "partition": "iid"},
            "training": {"local_steps": 10, "batch_size": 20, "lr": 0.2},
            "algorithm": CentralDp(clip=0.5, noise_multiplier=noise),
            "devices": {"count": 40},
            "server": {"participants": 10, "selection": "bernoulli"},
        }
        return edgefl.run(scenario).rounds

    little, much = run(0.1), run(4.0)
    assert much.epsilon.tolist() == pytest.approx([epsilon(n, 10, 40, 4.0, 1e-5, "poisson") for n in range(1, 16)])
    assert (little.epsilon > much.epsilon).all()
    assert little.test_accuracy.iloc[-1] > much.test_accuracy.iloc[-1] + 0.2
    assert little.clipped.between(0, 1).all()


def test_without_dp_accounting_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr("edgefl_threats.privacy.find_spec", lambda _name: None)
    with pytest.raises(edgefl.InputError, match="central_dp needs the package dp-accounting: pip install dp-acc"):
        edgefl.run({"rounds": 1, "algorithm": {"kind": "edgefl_threats.privacy:CentralDp"}}, train=False)
