"""Operations of networks, counted on the meta device, against counts made independently and by hand."""

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
import torchvision
from torch import nn

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.models.cnn import LeNet5
from edgefl.learning.models.forward_counts import forward_counts
from edgefl.learning.models.imported import Imported
from edgefl.learning.models.logistic import Logistic
from edgefl.learning.models.resnet import ResNet20

REFERENCE = Path(edgefl.__file__).parent / "reproductions" / "published" / "testbed-network-counts.csv"
"""29 networks, counted at PyTorch's dispatcher on the meta device, by other code."""


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def for_grey_images(name, classes=10):
    network = getattr(torchvision.models, name)(num_classes=classes)
    if name == "squeezenet1_0":
        network.features[0] = nn.Conv2d(1, 96, 7, 2, 3, bias=False)
    elif name == "shufflenet_v2_x1_0":
        network.conv1[0] = nn.Conv2d(1, 24, 3, 2, 1, bias=False)
    else:
        network.features[0][0] = nn.Conv2d(1, 16, 3, 2, 1, bias=False)
    return network


NETWORKS = {
    "resnet50": torchvision.models.resnet50,
    "lenet": lenet,
    "squeezenet1_0": lambda: for_grey_images("squeezenet1_0"),
    "shufflenet_v2_x1_0": lambda: for_grey_images("shufflenet_v2_x1_0"),
    "mobilenet_v3_small": lambda: for_grey_images("mobilenet_v3_small"),
}


@pytest.fixture(scope="module")
def reference():
    with REFERENCE.open(encoding="utf-8") as stream:
        return {row["network"]: row for row in csv.DictReader(stream)}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.oracle
def test_counts_of_published_networks(reference, name):
    row = reference[name]
    shape = tuple(map(int, row["input"].split("x")))
    counts = forward_counts(NETWORKS[name](), shape)
    assert counts.convolution_macs == int(row["conv1x1_macs"]) + int(row["convkxk_macs"])
    assert counts.matmul_macs == int(row["matmul_macs"])
    assert counts.grouped_macs == int(row["depthwise_macs"])
    assert counts.groups == int(row["conv_groups"])
    assert counts.layers == int(row["layers"])
    # A few numbers for each channel are counted in one and not in the other.
    assert counts.activation_bytes == pytest.approx(int(row["activation_bytes"]), rel=1e-3)


def test_kinds_by_hand():
    network = nn.Sequential(nn.Conv2d(4, 8, 3, groups=2, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(32, 5))
    counts = forward_counts(network, (4, 4, 4))
    assert counts.convolution_macs == 0
    assert counts.grouped_macs == 2 * 2 * 8 * 9 * 2  # pixels, channels, filter, inputs of a group
    assert counts.groups == 2
    assert counts.layers == 2
    assert counts.matmul_macs == 32 * 5
    assert counts.activation_bytes == 4 * (32 + 32 + 5)  # the flat view writes nothing


def test_transposed_convolutions_meet_each_input():
    """By hand: each of 9 pixels in 4 channels meets 2 filters of 3 x 3."""
    assert forward_counts(nn.ConvTranspose2d(4, 2, 3), (4, 3, 3)).convolution_macs == 9 * 4 * 2 * 9


def test_attention_is_matrix_products():
    """By hand, for 6 tokens of 8 numbers: four projections, and two products of all pairs of tokens."""

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x):
            return self.attention(x, x, x)[0]

    assert forward_counts(Attention(), (6, 8)).matmul_macs == 4 * 6 * 8 * 8 + 2 * 6 * 6 * 8


@pytest.mark.parametrize(("model", "shape"), [(LeNet5(), (1, 28, 28)), (ResNet20(), (3, 32, 32)), (Logistic(), (60,))])
def test_shipped_models_have_the_products_that_they_are_priced_with(model, shape):
    counts = model.forward_counts(shape, 10)
    products = counts.convolution_macs + counts.matmul_macs + counts.grouped_macs
    assert products == model.multiplications(shape, 10)


def test_counting_leaves_the_module_unchanged():
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    state = torch.random.get_rng_state()
    forward_counts(network, (3,))
    assert not network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert torch.equal(torch.random.get_rng_state(), state)


class Branching(nn.Module):
    """Looks at values, which the meta device has not."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        return self.layer(x) if float(x.sum()) == 0 else x


def test_a_forward_pass_that_looks_at_values_is_counted():
    assert forward_counts(Branching(), (3,)).matmul_macs == 12


class Failing(nn.Module):
    """Has no forward pass."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        raise RuntimeError("no such thing\nbut for this line")


def test_uncountable_networks_are_refused_in_one_line():
    model = Imported(import_path=f"{__name__}:Failing")
    with pytest.raises(InputError, match="RuntimeError: no such thing; measure it, and give the times") as failed:
        model.forward_counts((3,), 2)
    assert "\n" not in str(failed.value)
    assert np.isfinite(forward_counts(Branching(), (3,))).all()
