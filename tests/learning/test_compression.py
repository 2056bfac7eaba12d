"""Codecs in a run: what is sent, what is learned from it, and what error feedback keeps."""

import numpy as np
import pytest
import torch
from learner_cases import make_learner, train_round

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.algorithms.fedasync import FedAsync
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets import Data
from edgefl.learning.models.logistic import Logistic

D = 4 * 3 + 3


def learner(codec, seed=1, algorithm=None):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 4))
    y = rng.integers(0, 3, 12)
    parts = np.split(np.arange(12), 3)
    data = Data(x, y, x[:3], y[:3], 3, dtype="float64")
    work = {"local_steps": 2, "batch_size": 4, "codec": codec}
    return make_learner(Logistic(), algorithm, data=data, parts=parts, seed=seed, **work)


def uploads(of, index):
    updates, _ = train_round(of, range(3), index)
    return updates.vectors["delta"].clone()


def test_error_feedback_loses_nothing_for_ever():
    """Over rounds, what has arrived and what is still kept add up to what was computed."""
    plain = learner("none")
    coded = learner({"kind": "top_k", "part": 0.2})
    computed = sum(uploads(plain, index) for index in range(5))
    arrived = sum(uploads(coded, index) for index in range(5))
    kept = coded._states.compression.lost.gather(np.arange(3))["delta"]
    assert torch.allclose(arrived + kept, computed, rtol=1e-12, atol=1e-12)
    assert float(kept.abs().max()) > 0


def test_without_error_feedback_nothing_is_kept():
    of = learner({"kind": "top_k", "part": 0.2, "error_feedback": False})
    assert (uploads(of, 0) != 0).sum(dim=1).tolist() == [3, 3, 3]
    assert of._states.compression.lost is None


def test_draws_are_those_of_device_and_round():
    """Alone or in company, in any order; another round or seed has other draws."""
    of = learner({"kind": "qsgd", "levels": 2})
    together = uploads(of, 4)
    of.submit(1, 4, of.initial, {})
    assert torch.equal(of.collect()[0].vectors["delta"][0], together[1])
    assert not torch.equal(uploads(of, 5)[1], together[1])
    assert not torch.equal(uploads(learner({"kind": "qsgd", "levels": 2}, seed=2), 4)[1], together[1])


@pytest.mark.parametrize(
    ("codec", "bits"),
    [
        ("float16", 16 * D),
        ({"kind": "qsgd", "levels": 255}, 9 * D + 32),
        ({"kind": "top_k", "part": 0.2}, 3 * (32 + 4)),
    ],
)
def test_the_radio_carries_the_encoded_bits(tmp_path, codec, bits):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 4)).astype(np.float32)
    y = np.arange(40) % 3
    np.savez(tmp_path / "d.npz", train_x=x, train_y=y, test_x=x[:3], test_y=y[:3])
    scenario = {
        "rounds": 1,
        "data": {"dataset": "npz", "path": str(tmp_path / "d.npz")},
        "model": "logistic",
        "devices": {"count": 4},
    }
    coded = edgefl.run({**scenario, "training": {"codec": codec}}, train=False)
    plain = edgefl.run({**scenario, "training": {"codec": "none"}}, train=False)
    assert (coded.devices["bytes_up"] == bits // 8).all()
    assert (coded.devices["bytes_down"] == plain.devices["bytes_down"]).all()
    assert (plain.devices["bytes_up"] == 4 * D).all()


@pytest.mark.parametrize("codec", [{"kind": "top_k", "part": 0.2}, {"kind": "qsgd", "levels": 3}])
def test_fedasync_compresses_the_move_as_fedavg_does(codec):
    """One fresh update and mixing 1: the model of FedAvg, which has lost as much."""
    models = []
    for algorithm in (FedAvg(), FedAsync(mixing=1.0)):
        of = learner(codec, algorithm=algorithm)
        state = of.begin(1, 1.0)
        for index in range(3):
            of.submit(1, index, state["w"], {})
            state = of.aggregate(state, of.collect()[0])
        models.append(state["w"])
    assert torch.allclose(*models, rtol=1e-12)


@pytest.mark.parametrize("codec", ["float16", {"kind": "top_k", "error_feedback": False}])
def test_mifas_devices_keep_no_more_than_has_arrived(codec):
    """Differences from what the server has not got would add up to something else."""
    scenario = {"algorithm": {"kind": "mifa", "state": "client"}, "training": {"codec": codec}}
    message = r"algorithm\.state: .*: set it to server, or set training\.codec\.error_feedback to true$"
    with pytest.raises(InputError, match=message):
        edgefl.load(scenario)
    edgefl.load({**scenario, "algorithm": "mifa"})
    for fine in ("none", {"kind": "top_k"}):
        edgefl.load({**scenario, "training": {"codec": fine}})


@pytest.mark.oracle
def test_scalars_and_several_vectors():
    """SCAFFOLD's two vectors are both encoded; a whole run learns."""
    base = {"rounds": 3, "devices": {"count": 10}, "training": {"codec": {"kind": "uniform", "bits_each": 6}}}
    for algorithm in ("scaffold", "fednova"):
        result = edgefl.run({**base, "algorithm": algorithm}, device="cpu")
        assert result.status == "finished"
        assert result.summary["final_accuracy"] > 0.8
