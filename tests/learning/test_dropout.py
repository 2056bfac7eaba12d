"""Keyed dropout: the share that is dropped, the mean that is kept, and independence of keys, steps and layers."""

import numpy as np
import pytest
import torch

from edgefl.learning.learner.networks.dropout import KEY, KeyedDropout, replace_dropout, step_keys
from edgefl.learning.learner.networks.flat_vectors import flatten
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.models.cnn import SvhnCnn


def mask(p=0.4, key=1, layer=0, count=100_000):
    module = KeyedDropout(p, layer)
    setattr(module, KEY, torch.tensor(key))
    return module(torch.ones(count))


def test_share_and_scale():
    """The share of zeros within 5 standard deviations of p; what is left keeps the mean."""
    for p in (0.1, 0.4, 0.9):
        kept = mask(p)
        deviation = np.sqrt(p * (1 - p) / len(kept))
        assert abs(float((kept == 0).double().mean()) - p) < 5 * deviation
        assert torch.allclose(kept[kept > 0], torch.tensor(1 / (1 - p)))


@pytest.mark.oracle
def test_masks_of_different_keys_steps_layers_and_positions_are_uncorrelated():
    """|correlation| < 5 / sqrt(n) for each pair; a step's key differs from the next key's."""
    steps = [int(key) for key in step_keys(torch.tensor([7, 7 + 2**40]), 3)]
    masks = [mask(key=key, layer=layer) for key in (1, 2, 1 + 2**32, *steps) for layer in (0, 1)]
    masks += [mask().roll(1), mask().roll(64)]
    correlation = np.corrcoef(torch.stack(masks).numpy())
    assert np.abs(correlation - np.eye(len(masks))).max() < 5 / np.sqrt(100_000)


def test_a_layer_that_is_used_twice_draws_two_masks():
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(()))
            self.drop = torch.nn.Dropout(0.4)

        def forward(self, x):
            return torch.stack([self.drop(x), self.drop(x)]) * self.scale

    network = Network(Twice())
    masks = [network.train([torch.ones(())], [], torch.ones(1000), torch.tensor(1)) for _ in range(2)]
    assert torch.equal(*masks)  # the same key draws them again
    first, second = (masks[0] > 0).numpy()
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(1000)


def test_the_same_key_draws_the_same_mask_and_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(mask(), mask())
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("together", [False, True])
def test_representations_come_before_the_last_dropout(together):
    """A model in training has the representations of the same model that is not, but other outputs."""
    layers = torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Dropout(0.4), torch.nn.Linear(5, 3)
    network = Network(torch.nn.Sequential(*layers))
    w = torch.linspace(-1, 1, 53)
    if together:
        x = torch.randn(2, 7, 6, generator=torch.Generator().manual_seed(0))
        views = network.parameters.views(w.expand(2, -1))
        none = network.statistics.views(w[:0].expand(2, 0))
        keys = [3, 4]
        own = network.many(network.represent, views, none, x, torch.tensor(keys))
        other = network.many(network.represent_reference, views, none, x)
    else:
        x = torch.randn(7, 6, generator=torch.Generator().manual_seed(0))
        views = network.parameters.views(w)
        none = network.statistics.views(w[:0])
        own = network.represent(views, none, x, torch.tensor(3))
        other = network.represent_reference(views, none, x)
    expected = torch.relu(x @ w[:30].view(5, 6).T + w[30:35])
    assert torch.allclose(own.z, expected, atol=1e-6)
    assert torch.equal(own.z, other.z)
    assert not torch.allclose(own.outputs, other.outputs)


def test_representations_of_the_svhn_model_do_not_depend_on_the_mask():
    network = Network(SvhnCnn().module((3, 32, 32), 10))
    w = flatten(list(network.module.parameters()), torch.zeros(1))
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))

    def represented(key):
        statistics = network.statistics.views(network.initial_statistics.clone())
        return network.represent(network.parameters.views(w), statistics, x, torch.tensor(key))

    one = represented(1)
    two = represented(2)
    assert one.z.shape == (2, 256)
    assert torch.equal(one.z, two.z)
    assert not torch.equal(one.outputs, two.outputs)


def test_layers_are_replaced_wherever_they_stand():
    module = torch.nn.Sequential(
        torch.nn.Dropout(0.2), torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.3)), torch.nn.Dropout(0.0)
    )
    assert replace_dropout(module) == [f"0.{KEY}", f"1.1.{KEY}"]
    assert [layer.p for layer in module.modules() if isinstance(layer, KeyedDropout)] == [0.2, 0.3]
