"""Draws from global random generators are found where a run calls a member from outside."""

import random

import numpy as np
import pytest
import torch
from plugin_cases import PRICED, fault_of, placed, written
from run_cases import SWEEP_BASE
from test_plugin_returns import CLASSES

import edgefl
from edgefl.coordination.selection.uniform import UniformSelection
from edgefl.core.errors import InputError

# The key, the shipped class to derive from, and the hook that draws.
DRAWING = [
    ("server.selection", "UniformSelection", "choose"),
    ("data.partition", "Iid", "split"),
    ("radio.fading", "BlockFading", "hold_slots"),
    ("radio.propagation", "Umi", "large_scale"),
    ("radio.rate", "ShannonRate", "efficiency"),
    ("training.codec", "Float16", "decoded"),
]
MODULE = """
import random

from {module} import {shipped}


class Mine({shipped}):
    def {hook}(self, *args, **options):
        random.random()
        return super().{hook}(*args, **options)
"""


@pytest.mark.oracle
@pytest.mark.parametrize("case", DRAWING, ids=lambda case: case[2])
def test_a_draw_of_a_plug_in_is_found(case, tmp_path):
    key, shipped, hook = case
    learned = key == "training.codec"
    text = MODULE.format(module=CLASSES[shipped], shipped=shipped, hook=hook)
    scenario = placed(SWEEP_BASE if learned else PRICED, key, "mine:Mine")
    if learned:
        scenario = placed(scenario, "model", {"kind": "logistic"})
    file = written(tmp_path, scenario, mine=text)
    line = fault_of(file, train=learned, out=tmp_path / "out")
    assert f"mine.py:8: Mine.{hook} draws from Python's module random: results would depend on" in line


NETS = """
import numpy as np
import torch
from torch import nn


class Noisy(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.last = nn.Linear(shape[0], classes)

    def forward(self, x):
        return self.last(x) * (1 + self.training * np.random.normal())


class Numpy(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.last = nn.Linear(shape[0], classes)
        self.last.bias.data += torch.tensor(np.random.normal(size=classes)).float()

    def forward(self, x):
        return self.last(x)


class Layer(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Dropout(0.2), nn.Linear(shape[0], classes))

    def forward(self, x):
        return self.layers(x)


def noisy_loss(outputs, labels):
    return nn.functional.cross_entropy(outputs, labels, reduction="none") + 0 * torch.rand(1)
"""
LOGISTIC = placed(SWEEP_BASE, "model", {"kind": "logistic"})


@pytest.mark.parametrize(
    ("key", "path", "line"),
    [
        ("model", "nets:Noisy", "nets:Noisy: draws from numpy.random's global generator in training: draw with torch"),
        ("model", "nets:Numpy", "nets.py:16: nets:Numpy draws from numpy.random's global generator: draw parameters"),
        ("training.loss", "nets:noisy_loss", "nets.py:35: nets:noisy_loss draws from torch's global generator: a loss"),
    ],
)
def test_models_and_losses_are_tried_before_the_run(key, path, line, tmp_path):
    file = written(tmp_path, placed(LOGISTIC, key, path), nets=NETS)
    with pytest.raises(InputError) as refusal:
        edgefl.run(file)
    assert line in str(refusal.value)


@pytest.mark.oracle
def test_dropout_layers_have_keyed_draws(tmp_path):
    result = edgefl.run(written(tmp_path, placed(SWEEP_BASE, "model", "nets:Layer"), nets=NETS))
    assert result.status == "finished"


@pytest.mark.oracle
def test_a_tracker_may_draw(tmp_path):
    """Only what a member does is looked at, not what happens beside it in the same run."""

    def progress(_):
        random.random()  # noqa: S311
        np.random.random()  # noqa: NPY002
        torch.rand(1)

    module = MODULE.format(module=CLASSES["UniformSelection"], shipped="UniformSelection", hook="choose")
    quiet = module.replace("        random.random()\n", "")
    file = written(tmp_path, placed(LOGISTIC, "server.selection", "mine:Mine"), mine=quiet)
    assert edgefl.run(file, progress=progress).status == "finished"


class Mine(UniformSelection):
    @staticmethod
    def choose():
        return 3

    @classmethod
    def candidates(cls):
        return 3
