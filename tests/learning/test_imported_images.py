"""A user's network on images: published modules run unchanged, and are priced by their products."""

import numpy as np
import pytest
import yaml

import edgefl
from edgefl.core.errors import InputError

# PyTorch's own MNIST example, as it stands in pytorch/examples/mnist/main.py.
MNIST_EXAMPLE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = self.conv1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = F.relu(x)
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = self.fc1(x)
        x = F.relu(x)
        x = self.dropout2(x)
        x = self.fc2(x)
        output = F.log_softmax(x, dim=1)
        return output
"""
# Many programs flatten images by `view`, which fails if channels are last in memory.
VIEWING = """

class Viewing(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(3 * 16 * 16, 10)

    def forward(self, x):
        return self.dense(x.view(len(x), -1))
"""
MNIST_EXAMPLE_PARAMETERS = 320 + 18_496 + 1_179_776 + 1_290
# kernel weights times output pixels, then dense layers
MNIST_EXAMPLE_MULTIPLICATIONS = 9 * 32 * 26**2 + 9 * 32 * 64 * 24**2 + 9_216 * 128 + 128 * 10
SMALL = {
    "name": "images",
    "rounds": 1,
    "cost": "paper",
    "devices": {"count": 3},
    "server": {"participants": 2},
    "training": {"local_steps": 1, "batch_size": 4, "engine": "serial"},
}


def write_images(path, *shape):
    rng = np.random.default_rng(0)
    arrays = {}
    for part, count in (("train", 12), ("test", 10)):
        arrays[f"{part}_x"] = rng.integers(0, 256, (count, *shape), dtype=np.uint8)
        arrays[f"{part}_y"] = np.arange(count) % 10
    np.savez(path / "images.npz", **arrays)


@pytest.fixture
def run(tmp_path, request):
    """Run a scenario on images of some shape; `kind` is of a module beside it."""
    module = f"images_{abs(hash(request.node.name))}_{id(request)}"
    (tmp_path / f"{module}.py").write_text(MNIST_EXAMPLE + VIEWING)

    def call(shape, kind, data=None, *overrides, train=True, **keys):
        write_images(tmp_path, *shape)
        scenario = {
            **SMALL,
            "data": {"dataset": "npz", "path": "images.npz", **(data or {})},
            "model": {"kind": kind.replace("HERE", module), **keys},
        }
        file = tmp_path / "images.yaml"
        file.write_text(yaml.safe_dump(scenario))
        return edgefl.run(file, overrides=overrides, train=train)

    return call


@pytest.mark.oracle
def test_the_mnist_example_of_pytorch_runs_unchanged(run):
    result = run((28, 28), "HERE:Net", {"channel_axis": True})
    priced = run(
        (28, 28),
        "cnn_mnist",
        {"channel_axis": True},
        train=False,
        cost={
            "parameters": MNIST_EXAMPLE_PARAMETERS,
            "flops_per_parameter": 6 * MNIST_EXAMPLE_MULTIPLICATIONS / MNIST_EXAMPLE_PARAMETERS,
        },
    )
    assert len(result.parameters) == MNIST_EXAMPLE_PARAMETERS
    assert np.isfinite(result.rounds["test_loss"]).all()
    assert result.devices["compute_s"].to_numpy() == pytest.approx(priced.devices["compute_s"].to_numpy(), rel=1e-12)
    assert (result.rounds["bytes_up"] == priced.rounds["bytes_up"]).all()


def test_a_network_that_flattens_images_by_view_is_trained_and_tested(run):
    result = run((3, 16, 16), "HERE:Viewing")
    assert result.status == "finished"
    assert np.isfinite(result.rounds["test_loss"]).all()


def test_gray_images_without_a_channel_are_refused_with_the_key(run):
    with pytest.raises(InputError, match=r"\[28, 28\]: RuntimeError: .*data.channel_axis: true .* \[1, 28, 28\]"):
        run((28, 28), "HERE:Net")


def test_a_channel_changes_no_byte_for_a_model_that_adds_it_itself(run):
    with_channel = run((28, 28), "lenet5", {"channel_axis": True, "augmentation": {}})
    without = run((28, 28), "lenet5", {"augmentation": {}})
    assert (with_channel.parameters == without.parameters).all()
    assert with_channel.rounds.equals(without.rounds)
    assert with_channel.devices.equals(without.devices)


def test_images_with_channels_keep_them(run):
    with_key = run((3, 16, 16), "mlp", {"channel_axis": True})
    assert (with_key.parameters == run((3, 16, 16), "mlp").parameters).all()


def test_a_channel_needs_images(run):
    with pytest.raises(InputError, match=r"data.channel_axis: needs images, got samples of shape \[7\]: remove it"):
        run((7,), "mlp", {"channel_axis": True})


def test_split_learning_cuts_images_with_a_channel(run):
    split = ("server.policy=split", "cost=full")
    with_channel = run((28, 28), "lenet_femnist", {"channel_axis": True}, *split)
    without = run((28, 28), "lenet_femnist", {}, *split)
    assert with_channel.devices.equals(without.devices)
    assert (with_channel.parameters == without.parameters).all()
