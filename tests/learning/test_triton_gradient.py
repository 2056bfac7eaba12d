"""Networks of convolutions by our kernels for GPUs, in Triton's interpreter on the CPU, against autograd."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from learner_cases import make_learner, parts_in_order, train_round
from model_cases import default, samples
from torch import nn
from triton_cases import CLASSES, CLIENTS, IMAGES, NETWORKS, Case, Own, assert_alike, block, ending, no_norm, shape_of

pytest.importorskip("triton")

from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.moon import Moon
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.datasets import Data
from edgefl.learning.learner.kernels.gradients import VmapGradient
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.kernels.pixels import layers as pixel_layers
from edgefl.learning.learner.kernels.pixels.module_layers import layers_of_pixels
from edgefl.learning.learner.kernels.pixels.tiles import ARITHMETIC, Arithmetic
from edgefl.learning.learner.kernels.triton_gradient import TritonGradient
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.plans.plan import SERIAL, CannotBatchError, Plan
from edgefl.learning.models import MODELS

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="the kernels are compiled where there is a GPU"),
    pytest.mark.usefixtures("no_overflow_checks"),
]

TOGETHER = Plan("batched", "triton", 8)
SIZES = [5, 2, 4]
SMALL = ["lenet_femnist", "cnn_femnist"]
LARGE = ["lenet5", "cnn_mnist", "svhn_cnn", "cnn", "cnn_mifa", "vgg9"]
LARGE += ["resnet20", "resnet18", "resnet18_feat", "resnet34", "resnet34_feat"]
CATALOGUE = [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.oracle
def test_gradients_of_networks(name):
    case = Case(name)
    assert TritonGradient.fits(case.network, case.model)
    found = case.gradients(TritonGradient(case.network, case.model, FedAvg(), "float32"))
    assert_alike(found, case.in_double(), 1e-5)


@pytest.mark.parametrize("name", ["group norm, rectified", "residual, batch norm", "gray"])
@pytest.mark.oracle
def test_gradients_with_factors_of_two_bytes(name):
    """The interpreter has no bfloat16; float16 takes the same way, and rounds to a few thousandths."""
    case = Case(name)
    layers = layers_of_pixels(case.network.module, Arithmetic(torch.float16, "tf32"))
    losses, gradients, _ = case.gradients(LayersGradient(case.network, case.model, FedAvg(), layers))
    right = case.in_double()
    assert gradients.dtype == torch.float32
    assert_alike((losses, gradients), right[:2], 0.02)
    assert (gradients - right[1]).norm() > 1e-5 * right[1].norm()  # the factors were rounded


@pytest.mark.timeout(900)  # the interpreter takes minutes for the large ones
@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.oracle
def test_gradients_of_the_catalogue(name):
    """Within 1e-5, or ten times what autograd in single precision has: deep networks with batch norm are chaotic."""
    model, shape, classes = default(name)
    torch.manual_seed(0)
    network = Network(model.module(shape, classes).float())
    assert TritonGradient.fits(network, model)
    case = Case("plain")
    case.model = model
    case.network = network
    images = 8 if network.couples_samples else IMAGES
    w = torch.cat([network.module.get_parameter(name).detach().flatten() for name in network.parameters.names])
    case.w = w.repeat(CLIENTS, 1)
    case.statistics = network.initial_statistics.repeat(CLIENTS, 1)
    case.x = samples(model, shape, CLIENTS * images).unflatten(0, (CLIENTS, images))
    case.y = torch.randint(0, classes, (CLIENTS, images))
    case.weight = torch.full((CLIENTS, images), 1 / images)
    found = case.gradients(TritonGradient(network, model, FedAvg(), "float32"))
    single = case.gradients(VmapGradient(network, model, FedAvg()))
    case.network = Network(network.module)
    right = case.in_double()
    error = float((single[1] - right[1]).norm() / right[1].norm())
    assert error < 0.1  # or the case says nothing
    assert_alike(found, right, max(1e-5, 10 * error))


@pytest.mark.oracle
def test_the_catalogue_is_complete():
    """All that has convolutions is in the list above, and nothing else fits."""
    fitting = []
    for name in MODELS.members:
        model, shape, classes = default(name)
        with torch.device("meta"):
            module = model.module(shape, classes)
        assert any(isinstance(layer, nn.Conv2d) for layer in module.modules()) == (name in [*SMALL, *LARGE])
        if layers_of_pixels(module, ARITHMETIC["float32"]):
            fitting.append(name)
    assert sorted(fitting) == sorted([*SMALL, *LARGE])


class Squared(nn.Conv2d):
    def forward(self, x):
        return super().forward(x) ** 2


def with_hook():
    convolution = nn.Conv2d(3, 4, 3)
    convolution.register_forward_hook(lambda _layer, _inputs, output: 2 * output)
    return nn.Sequential(convolution, *ending(144))


def frozen():
    network = nn.Sequential(nn.Conv2d(3, 4, 3), *ending(144))
    network[0].bias.requires_grad_(requires_grad=False)
    return network


def shared():
    convolution = nn.Conv2d(3, 3, 3, padding=1)
    return nn.Sequential(convolution, convolution, *ending(192))


def tied():
    network = nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1), *ending(192))
    network[1].weight = network[0].weight
    return network


def leaky_block():
    made = block(3, 3, no_norm)
    made.relu = nn.LeakyReLU()
    return nn.Sequential(nn.Conv2d(3, 3, 1), made, *ending(192))


OTHERS = {
    "a subclass": lambda: nn.Sequential(Squared(3, 4, 3), *ending(144)),
    "a hook": with_hook,
    "a frozen parameter": frozen,
    "a layer that occurs twice": shared,
    "a parameter that occurs twice": tied,
    "groups": lambda: nn.Sequential(nn.Conv2d(3, 3, 3, groups=3), *ending(108)),
    "dilation": lambda: nn.Sequential(nn.Conv2d(3, 4, 3, dilation=2), *ending(64)),
    "other padding": lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), *ending(256)),
    "padding by name": lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding="same"), *ending(256)),
    "pooling that rounds up": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(4, ceil_mode=True), *ending(16)),
    "another activation": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), *ending(144)),
    "another activation in a block": leaky_block,
    "norm without gain": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4, affine=False), *ending(144)),
    "norm without means": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, track_running_stats=False), *ending(144)
    ),
    "norm of all rounds": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=None), *ending(144)),
    "norm of instances": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, affine=True), *ending(144)),
    "no flattening": lambda: nn.Sequential(nn.Conv2d(3, 4, 8), nn.ReLU()),
    "no convolution": lambda: nn.Sequential(*ending(192)),
    "pooling before the first convolution": lambda: nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(3, 4, 3), *ending(16)),
    "one dimension": lambda: nn.Sequential(nn.Conv1d(3, 4, 3), *ending(24)),
    "everything dropped": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.Dropout(1.0), *ending(144)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_modules_do_not_fit(name):
    assert layers_of_pixels(OTHERS[name](), ARITHMETIC["float32"]) == []


def test_double_precision_does_not_fit():
    case = Case("plain")
    assert TritonGradient.fits(case.network, case.model)
    assert not TritonGradient.fits(case.network, case.model, several_labels=True)
    assert not TritonGradient.fits(Network(case.network.module.double()), case.model)


@pytest.mark.oracle
def test_statistics_move_as_torchs_over_several_steps():
    """Running means, variances, and the count of steps, which a user's network carries."""
    case = Case("batch norm")
    kernel = TritonGradient(case.network, case.model, FedAvg(), "float32")
    _, _, statistics = case.gradients(kernel, steps=2)
    module = case.network.module.train()
    layout = case.network.parameters
    for client in range(2):
        parameters = dict(zip(layout.names, layout.views(case.w[client]), strict=True))
        buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
        for _ in range(2):
            torch.func.functional_call(module, {**parameters, **buffers}, (case.x[client],))
        for name, view in zip(case.network.statistics.names, case.network.statistics.views(statistics), strict=True):
            assert torch.allclose(view[client], buffers[name].to(view.dtype), rtol=1e-5, atol=1e-6), name


@pytest.mark.oracle
def test_one_number_has_no_variance():
    case = Case("batch norm")
    case.network = Network(nn.Sequential(nn.Conv2d(3, 2, 6), nn.BatchNorm2d(2), *ending(2)), own_code=True)
    case.w = torch.zeros(2, len(case.network.parameters))
    case.statistics = case.network.initial_statistics.repeat(2, 1)
    case.x = case.x[:, :1]
    with pytest.raises(ValueError, match="more than one number"):
        case.gradients(TritonGradient(case.network, case.model, FedAvg(), "float32"))


def learner(name, plan, algorithm=None, **training):
    """Three devices with one of the networks."""
    rng = np.random.default_rng(0)
    count = sum(SIZES)
    x = rng.normal(size=(count, *shape_of(name))).astype(np.float32)
    y = rng.integers(0, CLASSES, count)
    work = {"batch_size": 2, "lr": 0.05, "local_steps": 2, **training}
    data = Data(x, y, x[:5], y[:5], CLASSES, dtype="float32")
    own = {"data": data, "parts": parts_in_order(SIZES), "seed": 3}
    return make_learner(Own(network=name), algorithm or FedAvg(), **own, plan=plan, **work)


def two_rounds(of):
    """The global model after each of two rounds, in which other devices take part."""
    algorithm = of.task.algorithm
    server = of.begin(3, 2.0)
    models = []
    for number, devices in enumerate([[0, 1, 2], [0, 2]]):
        updates, _ = train_round(of, devices, number, server["w"], algorithm.downlink(server))
        server = of.aggregate(server, updates)
        models.append(server["w"].double())
    of.close()
    return [of.initial.double(), *models]


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", [Scaffold(option="I"), Moon()], ids=repr)
def test_two_rounds(algorithm):
    """Each round's step is that of one client after another, relative to its length.

    Corrections of gradients, a pass over all samples and a loss of representations: all that algorithms want.
    """
    expected = two_rounds(learner("gray", SERIAL, algorithm))
    found = two_rounds(learner("gray", TOGETHER, algorithm))
    assert any((after - before).norm() > 0 for before, after in pairwise(expected))
    for right, model in zip(expected, found, strict=True):
        assert (model - right).norm() <= 1e-4 * max((after - before).norm() for before, after in pairwise(expected))


SOLVERS = {
    "momentum": {"momentum": 0.9},
    "adam": {"optimizer": "adam", "lr": 0.01},
    "decay and clipping": {"weight_decay": 0.1, "clip_norm": 0.5},
}


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "solver"),
    [("gray", "momentum"), ("dropout", "adam"), ("gray", "decay and clipping")],
)
def test_solvers_on_networks(name, solver):
    batches = {"batch_size": 2, "local_steps": 2, **SOLVERS[solver]}
    expected = two_rounds(learner(name, SERIAL, **batches))
    found = two_rounds(learner(name, TOGETHER, **batches))
    length = (expected[-1] - expected[0]).norm()
    assert length > 0
    # Adam divides by the size of a gradient: where that is rounding, so is the step.
    assert (found[-1] - expected[-1]).norm() <= (0.02 if solver == "adam" else 1e-4) * length


def rehearsed(of):
    with pytest.raises(CannotBatchError) as caught:
        of._workers._workers[0].handler.rehearse(Plan("batched", "triton", 1), of._first_inputs())
    of.close()
    return str(caught.value)


@pytest.mark.oracle
def test_a_wrong_gradient_is_found_before_the_first_round(monkeypatch):
    right = pixel_layers.weight_gradient
    monkeypatch.setattr(pixel_layers, "weight_gradient", lambda *args: 1.1 * right(*args))
    assert "differs from torch's" in rehearsed(learner("gray", SERIAL))


def test_errors_of_the_compiler_are_refusals(monkeypatch):
    from triton.runtime.errors import OutOfResources

    def fail(*_args):
        raise OutOfResources(2**20, 2**17, "shared memory")

    monkeypatch.setattr(pixel_layers, "convolve", fail)
    assert "shared memory" in rehearsed(learner("plain", SERIAL))


@pytest.mark.oracle
def test_a_right_gradient_is_accepted():
    of = learner("batch norm", SERIAL)
    of._workers._workers[0].handler.rehearse(Plan("batched", "triton", 1), of._first_inputs())
    of.close()
