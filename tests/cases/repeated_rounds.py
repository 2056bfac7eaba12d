"""The same rounds twice, and resumed in the middle: their bytes."""

import io
from functools import partial

import numpy as np
import torch
from learner_cases import make_learner, parts_in_order, train_round
from model_cases import default, samples

from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.datasets import Data
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.plans.plan import SERIAL, Plan

PLANS = {"serial": SERIAL, "vmap": Plan("batched", "vmap", 8), "layers": Plan("batched", "layers", 8)}
# Engines, and whether their steps are recorded on a GPU; the serial one records none.
WAYS = [("serial", "off"), ("vmap", "off"), ("vmap", "auto"), ("layers", "off"), ("layers", "auto")]
SIZES = [20, 20, 12]  # six steps of all three devices, and later ones of two
ROUNDS = 3


def fits(name, engine):
    """Whether an engine trains a model of the catalogue."""
    model, shape, classes = default(name)
    return engine != "layers" or LayersGradient.fits(Network(model.module(shape, classes)), model)


def learner_of(name, engine, graphs, device):
    """A learner of SCAFFOLD, whose devices keep states, in single precision."""
    model, shape, classes = default(name)
    torch.manual_seed(0)
    x = samples(model, shape, sum(SIZES)).numpy()
    y = np.random.default_rng(0).integers(0, max(classes, 1), sum(SIZES))
    own = {"data": Data(x, y, x[:5], y[:5], classes, dtype="float32"), "parts": parts_in_order(SIZES), "seed": 3}
    work = {"batch_size": 4, "local_epochs": 2, "lr": 0.05, "momentum": 0.5, "graphs": graphs}
    return make_learner(model, Scaffold(), **own, device=device, plan=PLANS[engine], **work)


def check_same_bytes(name, engine, graphs, device):
    """Train some rounds twice, and once more with an interruption; the models and what is kept are equal."""
    make = partial(learner_of, name, engine, graphs, device)
    whole = result(make())
    assert np.isfinite(np.frombuffer(whole[0], np.float32)).all()
    assert result(make()) == whole
    for begun in range(1, ROUNDS):
        assert result(make(), begun, make) == whole


def result(learner, begun=ROUNDS, again=None):
    """The bytes of the model, of the statistics and of the test after all rounds, with another learner after some."""
    server = rounds(learner, learner.task.algorithm.server_state(learner.initial), range(begun))
    if begun < ROUNDS:
        file = io.BytesIO()
        learner.save(file, {"server": server})
        learner.close()
        file.seek(0)
        learner = again()
        server = rounds(learner, learner.restore(file)["server"], range(begun, ROUNDS))
    loss = learner.evaluate(server["w"]).result().loss
    found = [value.cpu().numpy().tobytes() for value in (server["w"], learner.statistics)]
    learner.close()
    return [*found, loss]


def rounds(learner, server, indices):
    """The server's state after some rounds with changing participants."""
    algorithm = learner.task.algorithm
    for index in indices:
        devices = ([0, 1, 2], [0, 2])[index % 2]
        updates, _ = train_round(learner, devices, index, server["w"], algorithm.downlink(server))
        server = learner.aggregate(server, updates)
    return server
