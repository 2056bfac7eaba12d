"""Our kernels for GPUs, in Triton's interpreter on the CPU, against autograd in double precision."""

import pytest
import torch
from torch.nn import functional

pytest.importorskip("triton")

from edgefl.learning.learner.kernels.patches import Window
from edgefl.learning.learner.kernels.pixels.convolution import (
    convolve,
    input_gradient,
    pack,
    unpack,
    weight_gradient,
)
from edgefl.learning.learner.kernels.pixels.norm import Grouping, norm_gradients, normalise
from edgefl.learning.learner.kernels.pixels.pooling import pool, pool_gradient
from edgefl.learning.learner.kernels.pixels.tiles import ARITHMETIC, block, convolution_tiles, weight_tiles

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="the kernels are compiled where there is a GPU"),
    pytest.mark.usefixtures("no_overflow_checks"),
]

EXACT = ARITHMETIC["float32"]
WINDOWS = {
    "point": Window((1, 1), (1, 1), (0, 0), (1, 1)),
    "usual": Window((3, 3), (1, 1), (1, 1), (1, 1)),
    "halving": Window((3, 3), (2, 2), (1, 1), (1, 1)),
    "stem": Window((5, 5), (2, 2), (2, 2), (1, 1)),
    "pair": Window((1, 2), (2, 2), (0, 1), (1, 1)),
    "uneven": Window((2, 3), (3, 1), (1, 2), (1, 1)),
    "past the edge": Window((4, 4), (3, 3), (0, 0), (1, 1)),  # the last pixels are in no window
}
# input and output channels: fewer than a block, one block, no multiple of a block, and many blocks
PAIRS = [
    ("point", (1, 1)),
    ("usual", (16, 32)),
    ("halving", (33, 17)),
    ("stem", (1, 1)),
    ("uneven", (33, 17)),
    ("past the edge", (1, 1)),
    ("pair", (130, 140)),
]
CLIENTS = 2
IMAGES = 2
SIDES = (7, 8)


def normal(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def to_torch(x):
    """Images [K, B, H, W, C] as torch's in double precision [K * B, C, H, W]."""
    return x.double().flatten(0, 1).permute(0, 3, 1, 2)


def from_torch(x):
    return x.permute(0, 2, 3, 1).unflatten(0, (CLIENTS, -1))


def close(found, right, tolerance=2e-6):
    assert found.shape == right.shape
    return float((found.double() - right).norm()) <= tolerance * float(right.norm())


@pytest.mark.parametrize(("window", "channels"), PAIRS)
@pytest.mark.oracle
def test_convolutions_and_their_gradients(window, channels):
    window = WINDOWS[window]
    inputs, outputs = channels
    x = normal(CLIENTS, IMAGES, *SIDES, inputs)
    weight = normal(CLIENTS, outputs, inputs, *window.kernel)
    bias = normal(CLIENTS, outputs)
    dy = normal(CLIENTS, IMAGES, *window.sides_after(SIDES), outputs)
    packed = pack(weight, torch.float32)
    found = convolve(x, packed, bias, window, EXACT)
    dx = input_gradient(dy, packed, x, window, EXACT)
    dw = torch.empty_like(weight)
    unpack(weight_gradient(x, dy, window, EXACT), dw)
    for client in range(CLIENTS):
        leaves = [to_torch(x[client : client + 1]), weight[client].double()]
        for leaf in leaves:
            leaf.requires_grad_()
        y = functional.conv2d(*leaves, bias[client].double(), window.stride, window.padding)
        right = torch.autograd.grad(y, leaves, to_torch(dy[client : client + 1]))
        assert close(found[client], y.detach().permute(0, 2, 3, 1))
        assert close(dx[client], right[0].permute(0, 2, 3, 1))
        assert close(dw[client], right[1])


def test_weights_are_packed_out_of_a_flat_vector():
    flat = normal(CLIENTS, 100)
    weight = flat[:, 7:61].view(CLIENTS, 3, 2, 3, 3)
    packed = pack(weight, torch.float32)
    assert torch.equal(packed, weight.flatten(3).permute(0, 3, 2, 1))
    into = torch.zeros(CLIENTS, 100)
    unpack(packed, into[:, 7:61].view(weight.shape))
    assert torch.equal(into[:, 7:61], flat[:, 7:61])
    assert into[:, :7].abs().sum() == 0
    assert into[:, 61:].abs().sum() == 0


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("channels", "groups", "with_residual", "relu"),
    [
        (8, 1, False, False),
        (8, 2, True, False),
        (3, 3, False, True),
        (96, 1, True, True),
        (5, 0, False, True),
        (70, 0, True, False),
    ],
)
def test_norms_and_their_gradients(channels, groups, with_residual, relu):
    """Group norm, and batch norm for 0 groups."""
    x = 3 + 2 * normal(CLIENTS, IMAGES, *SIDES, channels)
    gain = normal(CLIENTS, channels + 3)[:, 3:]  # as parts of flat vectors
    shift = normal(CLIENTS, channels + 5)[:, 5:]
    residual = normal(CLIENTS, IMAGES, *SIDES, channels).flip(0) if with_residual else None
    dy = normal(CLIENTS, IMAGES, *SIDES, channels).flip(1)
    grouping = Grouping(groups, 1e-3)
    y, moments = normalise(x, gain, shift, grouping, residual=residual, relu=relu)
    found = norm_gradients(dy, x, y, gain, moments, grouping, residual=with_residual, relu=relu)
    for client in range(CLIENTS):
        own = slice(client, client + 1)
        leaves = [to_torch(x[own]), gain[client].double(), shift[client].double()]
        if residual is not None:
            leaves.append(to_torch(residual[own]))
        for leaf in leaves:
            leaf.requires_grad_()
        if groups:
            right = functional.group_norm(leaves[0], groups, leaves[1], leaves[2], grouping.eps)
        else:
            right = functional.batch_norm(leaves[0], None, None, leaves[1], leaves[2], training=True, eps=grouping.eps)
        if residual is not None:
            right = right + leaves[3]
        if relu:
            right = right.relu()
        gradients = torch.autograd.grad(right, leaves, to_torch(dy[own]))
        assert close(y[client], right.detach().permute(0, 2, 3, 1))
        assert close(found.x[client], gradients[0].permute(0, 2, 3, 1), 1e-5)
        assert close(found.gain[client], gradients[1])
        assert close(found.shift[client], gradients[2])
        if residual is not None:
            assert close(found.residual[client], gradients[3].permute(0, 2, 3, 1))
    if not groups:
        flat = x.double().flatten(1, 3)
        assert close(moments.mean, flat.mean(1))
        assert close(moments.variance, flat.var(1, correction=0))


def test_moments_of_large_numbers_keep_their_digits():
    """Means a thousand times the deviation, where the difference of two sums of squares has no digit left."""
    x = 1000 + normal(1, 2, 16, 16, 4)
    _, moments = normalise(x, torch.ones(1, 4), torch.zeros(1, 4), Grouping(0, 1e-5))
    assert close(moments.variance, x.double().flatten(1, 3).var(1, correction=0), 1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("window", ["halving", "uneven", "past the edge", "stem"])
def test_maxima_and_their_gradients(window):
    """To the last bit, and with many equal numbers, of which torch takes the first."""
    window = WINDOWS[window]
    if 2 * max(window.padding) > min(window.kernel):
        window = Window(window.kernel, window.stride, (0, 0), window.dilation)  # as torch has it
    x = torch.randint(0, 3, (CLIENTS, IMAGES, *SIDES, 5), generator=torch.Generator().manual_seed(1)).float()
    y, winners = pool(x, window)
    dy = torch.randint(-9, 9, y.shape, generator=torch.Generator().manual_seed(2)).float()
    dx = pool_gradient(dy, winners, x, window)
    leaf = to_torch(x).requires_grad_()
    right = functional.max_pool2d(leaf, window.kernel, window.stride, window.padding)
    assert torch.equal(y, from_torch(right.detach()).float())
    assert torch.equal(dx, from_torch(torch.autograd.grad(right, leaf, to_torch(dy))[0]).float())


def test_a_maximum_of_nothing_finite_is_torchs():
    x = torch.full((1, 1, 2, 2, 1), torch.nan)
    y, _ = pool(x, Window((2, 2), (2, 2), (0, 0), (1, 1)))
    assert y.isnan().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("inner", [1, 27, 64, 128, 512])
@pytest.mark.parametrize("outer", [6, 64, 96, 512])
def test_blocks_hold_what_tensor_cores_multiply(inner, outer, dtype):
    for tiles in (convolution_tiles(inner, outer, dtype), weight_tiles(inner, outer, dtype)):
        for size in (tiles.rows, tiles.columns, tiles.depth):
            assert size >= 16
            assert size.bit_count() == 1
        # Two factors in each stage: what the smallest of the supported cards has of shared memory, 99 KiB.
        assert (tiles.rows + tiles.columns) * tiles.depth * dtype.itemsize * tiles.stages <= 99 * 1024


def test_a_block_is_no_larger_than_what_it_holds():
    assert [block(size, 64) for size in (1, 16, 17, 33, 64, 500)] == [16, 16, 32, 64, 64, 64]
