"""Convolutions by products over patches, against torch's own convolution and its gradients by autograd."""

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn

from edgefl.learning.learner.kernels.layers import Convolution
from edgefl.learning.learner.kernels.patches import Window, gradient_pays

MANY = 64  # input channels, of which patches pay for any kernel


@st.composite
def convolutions(draw, channels):
    """A convolution and the side of images on which it has at least one output."""
    kernel = draw(st.integers(1, 4))
    dilation = draw(st.integers(1, 2))
    layer = nn.Conv2d(
        channels,
        draw(st.integers(1, 5)),
        (kernel, draw(st.integers(1, 4))),
        stride=(draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        padding=(draw(st.integers(0, 2)), draw(st.integers(0, 2))),
        dilation=(dilation, 1),
    )
    return layer.double(), draw(st.integers(7, 10))


def expected(layer, x, dy_of):
    """Output and gradients by autograd, for some gradient in the output."""
    x = x.clone().requires_grad_()
    y = layer(x)
    dy = dy_of(y)
    return y.detach(), dy, torch.autograd.grad(y, [x, layer.weight, layer.bias], dy)


def check(layer, side, *, channels_last):
    torch.manual_seed(1)
    x = torch.randn(3, layer.in_channels, side, side, dtype=torch.float64)
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
    y, dy, (dx, *gradients) = expected(layer, x, torch.randn_like)
    with torch.no_grad():
        own = Convolution(layer)
        p = [layer.weight[None], layer.bias[None]]
        into = [torch.full_like(tensor, torch.nan) for tensor in p]
        own_y, saved = own.forward(x[None], p, None)
        torch.testing.assert_close(own_y[0], y)
        own.gradients(dy[None], saved, p, into)
        for target, gradient in zip(into, gradients, strict=True):
            torch.testing.assert_close(target[0], gradient)
        torch.testing.assert_close(own.backward(dy[None], saved, p)[0], dx)
    return own, saved


@pytest.mark.oracle
@settings(max_examples=40, deadline=None)
@given(convolutions(1))
def test_one_input_channel(made):
    layer, side = made
    _, (_, columns) = check(layer, side, channels_last=False)
    assert columns is not None  # the forward pass was a product, too


@pytest.mark.oracle
@settings(max_examples=40, deadline=None)
@given(convolutions(MANY), st.booleans())
def test_many_input_channels(made, channels_last):
    layer, side = made
    x = torch.zeros(3, MANY, side, side, dtype=torch.float64)
    assume(gradient_pays(x, layer(x), Convolution(layer)._window))
    _, (_, columns) = check(layer, side, channels_last=channels_last)
    assert columns is None


def test_groups_and_several_clients_are_left_to_torch():
    depthwise = nn.Conv2d(MANY, MANY, 3, groups=MANY).double()
    check(depthwise, 8, channels_last=True)
    own = Convolution(nn.Conv2d(1, 6, 5))
    weights = [torch.cat(pair) for pair in zip(conv_parameters(1, 6, 5), conv_parameters(1, 6, 5), strict=True)]
    _, (_, columns) = own.forward(torch.randn(2, 3, 1, 8, 8), weights, None)
    assert columns is None


def test_a_single_channel_leaves_its_output_with_channels_last():
    # the pooling that follows is many times as fast in this layout
    y, _ = Convolution(nn.Conv2d(1, 6, 5)).forward(torch.randn(1, 4, 1, 12, 12), conv_parameters(1, 6, 5), None)
    assert y[0].is_contiguous(memory_format=torch.channels_last)


def conv_parameters(inputs, outputs, kernel):
    return [torch.randn(1, outputs, inputs, kernel, kernel), torch.randn(1, outputs)]


@pytest.mark.parametrize(
    ("channels", "kernel", "side", "pays"),
    [(3, 5, 8, False), (16, 3, 8, False), (64, 3, 16, False), (64, 3, 8, True), (64, 1, 8, True), (512, 3, 2, True)],
)
def test_patches_pay_where_their_runs_are_long_and_maps_small(channels, kernel, side, pays):
    x = torch.zeros(2, channels, side, side)
    window = Window((kernel, kernel), (1, 1), (kernel // 2, kernel // 2), (1, 1))
    assert gradient_pays(x, torch.zeros(2, 5, side, side), window) is pays
