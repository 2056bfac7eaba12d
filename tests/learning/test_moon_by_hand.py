"""MOON's contrast differentiated by hand, against autograd."""

import pytest
import torch

from edgefl.learning.algorithms.base import Batch, ForwardPass
from edgefl.learning.algorithms.feddisco import FedDisco
from edgefl.learning.algorithms.moon import Moon
from edgefl.learning.algorithms.properties import has_loss_by_hand


def passes(count):
    generator = torch.Generator().manual_seed(count)
    z = torch.randn(count, 3, 5, 4, generator=generator, dtype=torch.float64)
    return [ForwardPass(each, each) for each in z]


@pytest.mark.parametrize("moon", [Moon(), Moon(mu=3.0, temperature=0.1), Moon(mu=0.0)])
def test_the_contrast_and_its_gradient_are_those_of_autograd(moon):
    own, near, far = passes(3)
    z = own.z.clone().requires_grad_()
    references = {"received": near, "previous": far}
    batch = Batch(torch.zeros(3, 5), torch.ones(3, 5), {})
    losses = moon.loss(torch.zeros(3, 5, dtype=torch.float64), ForwardPass(z, z), references, batch)
    (gradient,) = torch.autograd.grad(losses.sum(), z)
    added = moon.added_loss(own, references, batch)
    torch.testing.assert_close(added.losses, losses.detach(), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(added.z_gradient, gradient, rtol=1e-10, atol=1e-13)


def test_representations_of_zeros_give_finite_numbers():
    zero = ForwardPass(torch.zeros(2, 3), torch.zeros(2, 3))
    added = Moon().added_loss(zero, {"received": zero, "previous": zero}, None)
    assert added.losses.isfinite().all()
    assert (added.z_gradient == 0).all()


class OtherLoss(Moon):
    """MOON with a loss of its own, about which the base's gradient says nothing."""

    def loss(self, losses, own, references, batch):
        return losses + 0.5 * own.z.square().sum(dim=-1)


def test_a_derived_class_with_another_loss_is_left_to_autograd():
    assert has_loss_by_hand(Moon())
    assert not has_loss_by_hand(OtherLoss())


def test_a_wrapper_says_what_its_base_says():
    assert has_loss_by_hand(FedDisco(base=Moon()))
    assert not has_loss_by_hand(FedDisco(base=OtherLoss()))
