"""Keyed dropout: the share that is dropped, the mean that is kept, and independence of keys, steps and layers."""

import numpy as np
import torch

from edgefl.learner.dropout import KEY, KeyedDropout, replace_dropout, step_keys


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


def test_masks_of_different_keys_steps_layers_and_positions_are_uncorrelated():
    """|correlation| < 5 / sqrt(n) for each pair; a step's key differs from the next key's."""
    steps = [int(key) for key in step_keys(torch.tensor([7, 7 + 2**40]), 3)]
    masks = [mask(key=key, layer=layer) for key in (1, 2, 1 + 2**32, *steps) for layer in (0, 1)]
    masks += [mask().roll(1), mask().roll(64)]
    correlation = np.corrcoef(torch.stack(masks).numpy())
    assert np.abs(correlation - np.eye(len(masks))).max() < 5 / np.sqrt(100_000)


def test_the_same_key_draws_the_same_mask_and_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(mask(), mask())
    assert torch.equal(torch.rand(3), expected)


def test_layers_are_replaced_wherever_they_stand():
    module = torch.nn.Sequential(
        torch.nn.Dropout(0.2), torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.3)), torch.nn.Dropout(0.0)
    )
    assert replace_dropout(module) == [f"0.{KEY}", f"1.1.{KEY}"]
    assert [layer.p for layer in module.modules() if isinstance(layer, KeyedDropout)] == [0.2, 0.3]
