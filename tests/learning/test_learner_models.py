"""Every model of the catalogue in every engine; and what models bring along: batch normalisation, dropout."""

import numpy as np
import pytest
import torch
from learner_cases import make_learner, shuffled_parts, train_round
from model_cases import default, samples
from torch import nn

from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.moon import Moon
from edgefl.learning.datasets import Data
from edgefl.learning.learner.engines.batches import PAD, paired
from edgefl.learning.learner.kernels.layers import layers_of
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.models import MODELS, Model
from edgefl.learning.models.cnn import LeNetFemnist, SvhnCnn
from edgefl.learning.models.fcn import Fcn, Mlp
from edgefl.learning.models.logistic import Logistic

SIZES = [9, 4, 6]
CHAOTIC = (
    "resnet34_feat"  # 34 layers normalised over a handful of samples: rounding reaches the first digit in 20 steps
)
LARGE = 1_000_000  # parameters; the slow tests have the models above
KERNELS = {"layers": Plan("batched", "layers", 8), "vmap": Plan("batched", "vmap", 8)}
PLAIN = {"logistic", "mlp", "fcn", "lenet5", "cnn", "cnn_mnist", "cnn_femnist", "cnn_mifa", "lenet_femnist", "vgg9"}


def small(name):
    """A member as it is by default, but for a small vocabulary; the shape and classes of its data."""
    model, shape, classes = default(name)
    if name == "fasttext":
        model = model.model_copy(update={"vocabulary": 50, "dimension": 8})
    return model, shape, classes


def data(model, shape, classes, dtype, seed=0):
    torch.manual_seed(seed)
    x = samples(model, shape, sum(SIZES)).numpy()
    y = np.random.default_rng(seed).integers(0, max(classes, 1), sum(SIZES))
    return Data(x, y, x[:5], y[:5], classes, dtype=dtype)


def parts():
    return shuffled_parts(SIZES)


def trained(model, shape, classes, plan, algorithm=FedAvg(), *, dtype="float64", **training):  # noqa: B008
    """Deltas [C, d], the mean loss and the statistics after one round of all clients."""
    work = {"batch_size": 4, "lr": 0.05, "local_steps": 6, **training}
    arrays = data(model, shape, classes, dtype)
    of = make_learner(model, algorithm, data=arrays, parts=parts(), seed=3, plan=plan, **work)
    updates, loss = train_round(of, range(len(SIZES)), 2)
    evaluation = of.evaluate(of.initial + updates.vectors["delta"].mean(0)).result()
    of.close()
    return updates.vectors["delta"], loss, of.statistics, evaluation


def assert_alike(expected, got, tolerance):
    """Each client's update, relative to its length; and the other results."""
    for a, b in zip(expected[0], got[0], strict=True):
        assert torch.linalg.norm(a - b) <= tolerance * torch.linalg.norm(a)
    assert got[1] == pytest.approx(expected[1], rel=tolerance)
    assert torch.allclose(expected[2], got[2], rtol=tolerance, atol=tolerance)
    assert got[3].loss == pytest.approx(expected[3].loss, rel=100 * tolerance)


def kernels_of(model, shape, classes):
    with torch.device("meta"):
        network = Network(model.module(shape, classes))
    return [name for name in KERNELS if name == "vmap" or LayersGradient.fits(network, model)]


def is_large(name):
    model, shape, classes = small(name)
    return model.parameters(shape, classes) >= LARGE


# A language model has a label for each token: tests/learning/test_adapters.py trains one.
@pytest.mark.oracle
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if is_large(name) else name
        for name in MODELS.members
        if name != "llama"
    ],
)
def test_every_model_in_every_engine(name):
    """Relative 1e-10 in double precision; 3 steps, for large models a small one on a batch that does not blow up."""
    model, shape, classes = small(name)
    work = {"local_steps": 3}
    if is_large(name):
        work = {"local_steps": 1, "lr": 1e-3, "batch_size": "full"}
    oracle = trained(model, shape, classes, SERIAL, **work)
    for kernel in kernels_of(model, shape, classes):
        assert_alike(oracle, trained(model, shape, classes, KERNELS[kernel], **work), 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS.members if is_large(name) and name != CHAOTIC])
def test_large_models_in_every_engine_for_20_steps(name):
    """Clients with more than four samples are compared: normalised over fewer, rounding grows tenfold a step."""
    model, shape, classes = default(name)
    work = {"lr": 1e-4, "batch_size": "full", "local_steps": 20}
    oracle = trained(model, shape, classes, SERIAL, **work)[0]
    for kernel in kernels_of(model, shape, classes):
        for a, b, size in zip(oracle, trained(model, shape, classes, KERNELS[kernel], **work)[0], SIZES, strict=True):
            assert size <= 4 or torch.linalg.norm(a - b) <= 1e-8 * torch.linalg.norm(a)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["mlp", "lenet5", "fasttext", "din"])
def test_engines_agree_in_single_precision(name):
    """Relative 1e-5 after 6 steps, at a learning rate that does not amplify rounding."""
    model, shape, classes = small(name)
    work = {"dtype": "float32", "lr": 0.01}
    oracle = trained(model, shape, classes, SERIAL, **work)
    for kernel in kernels_of(model, shape, classes):
        assert_alike(oracle, trained(model, shape, classes, KERNELS[kernel], **work), 1e-5)


@pytest.mark.oracle
def test_the_plain_stacks_have_gradients_by_hand():
    assert {name for name in MODELS.members if "layers" in kernels_of(*default(name))} == PLAIN


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Flatten(), nn.Linear(4, 2), nn.Tanh()),
        nn.Sequential(nn.Flatten(), nn.Linear(4, 2, bias=False)),
        nn.Sequential(nn.Conv2d(1, 2, 3, padding="same"), nn.Flatten(), nn.Linear(8, 2)),
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2, ceil_mode=True), nn.Flatten(), nn.Linear(8, 2)),
        nn.Sequential(nn.Conv2d(1, 2, 3, padding_mode="circular", padding=1), nn.Flatten(), nn.Linear(8, 2)),
        nn.Linear(4, 2),
    ],
)
def test_layers_without_gradients_by_hand_use_autograd(module):
    assert layers_of(module) == []


class Everything(Model):
    """One of each layer that has a gradient by hand, with unusual sizes."""

    def module(self, shape, classes):
        return nn.Sequential(
            nn.Unflatten(1, (1, shape[0])),
            nn.Conv2d(1, 4, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
            nn.Conv2d(4, 6, 3, padding=2, dilation=2, groups=2),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(6, 40),
            nn.ReLU(),
            nn.Linear(40, classes),
        )

    def parameters(self, shape, classes):
        return 40 + 114 + 280 + 41 * classes

    def multiplications(self, shape, classes):
        return 0


class PooledElsewhere(Model):
    """Max-pooling of the samples themselves, and of what a ReLU still needs for its gradient."""

    def module(self, shape, classes):
        return nn.Sequential(
            nn.Unflatten(1, (1, shape[0])),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(shape[0] * shape[1] // 4, 36),
            nn.ReLU(),
            nn.Unflatten(1, (1, 6, 6)),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(9, classes),
        )

    def parameters(self, shape, classes):
        return (shape[0] * shape[1] // 4 + 1) * 36 + 10 * classes

    def multiplications(self, shape, classes):
        return 0


class Held(FedAvg):
    """Holds outputs and representations near those of another model; a loss of its own."""

    by: str

    def references(self, local):
        return {"other": -local.start}

    def loss(self, losses, own, references, batch):
        return losses + 0.1 * (getattr(own, self.by) - getattr(references["other"], self.by)).square().mean(dim=-1)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("width", "algorithm"), [(1, Held(by="z")), (2, FedAvg()), (2, Held(by="outputs")), (8, Held(by="z"))], ids=repr
)
def test_each_layer_by_hand_is_autograd(width, algorithm):
    shape = (14, 18)
    classes = 5
    oracle = trained(Everything(), shape, classes, SERIAL, algorithm)
    assert_alike(oracle, trained(Everything(), shape, classes, Plan("batched", "layers", width), algorithm), 1e-10)
    if isinstance(algorithm, Held):
        free = trained(Everything(), shape, classes, SERIAL)[0]
        assert torch.linalg.norm(free - oracle[0]) > 1e-3 * torch.linalg.norm(free)


@pytest.mark.parametrize(("width", "batch_size"), [(1, 16), (2, "full")])
def test_pooling_takes_no_memory_that_others_still_need(width, batch_size):
    shape = (14, 18)
    work = {"batch_size": batch_size}
    oracle = trained(PooledElsewhere(), shape, 5, SERIAL, **work)
    assert_alike(oracle, trained(PooledElsewhere(), shape, 5, Plan("batched", "layers", width), **work), 1e-10)


@pytest.mark.usefixtures("narrow_svhn_cnn")
class TestBatchNorm:
    """Statistics are not parameters: they follow the samples, and the server averages them by samples."""

    model = SvhnCnn(dropout=0.0)
    shape = (8, 8)
    classes = 3

    def test_one_step_of_one_client_against_torch(self):
        torch.manual_seed(0)
        arrays = data(self.model, self.shape, self.classes, "float64")
        own = {"data": arrays, "parts": [np.arange(6)], "plan": KERNELS["vmap"]}
        of = make_learner(self.model, **own, seed=3, local_steps=1, batch_size="full", lr=0.1)
        module = self.model.module(self.shape, self.classes).double()
        nn.utils.vector_to_parameters(of.initial.clone(), module.parameters())
        of.submit(0, 0, of.initial, {})
        updates, _ = of.collect()
        x = torch.from_numpy(arrays.train_x[:6])
        y = torch.from_numpy(arrays.train_y[:6])
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        nn.functional.cross_entropy(module(x.double()), y).backward()
        optimizer.step()
        expected = nn.utils.parameters_to_vector(module.parameters())
        assert torch.allclose(of.initial + updates.vectors["delta"][0], expected, rtol=1e-9, atol=1e-12)
        buffers = torch.cat([b.flatten() for b in module.buffers() if b.is_floating_point()])
        assert torch.allclose(of.statistics, buffers, rtol=1e-9)
        module.eval()
        outputs = module(torch.from_numpy(arrays.test_x).double())
        loss = nn.functional.cross_entropy(outputs, torch.from_numpy(arrays.test_y)).item()
        assert of.evaluate(expected.detach()).result().loss == pytest.approx(loss, rel=1e-8)
        of.close()

    def statistics(self, participants, **training):
        work = {"local_steps": 3, "batch_size": 4, **training}
        arrays = data(self.model, self.shape, self.classes, "float64")
        of = make_learner(self.model, data=arrays, parts=parts(), seed=3, plan=KERNELS["vmap"], **work)
        for number, devices in enumerate(participants):
            train_round(of, devices, number)
        store = of._states.store
        states = store.gather(np.arange(3))["statistics"] if store else None
        of.close()
        return of.statistics, states

    @pytest.mark.oracle
    def test_the_server_averages_by_samples(self):
        alone = [self.statistics([[device]])[0] for device in range(3)]
        together, _ = self.statistics([[0, 1, 2]])
        expected = sum(n * s for n, s in zip(SIZES, alone, strict=True)) / sum(SIZES)
        assert torch.allclose(together, expected, rtol=1e-9)

    @pytest.mark.oracle
    def test_local_statistics_stay_with_their_device(self):
        """Device 0 goes on from its own, whatever others did meanwhile; averaged ones it would have received."""
        _, twice = self.statistics([[0], [0]], batch_norm="local")
        _, others = self.statistics([[0, 1], [0, 2]], batch_norm="local")
        assert torch.allclose(twice[0], others[0], rtol=1e-9)
        averaged, _ = self.statistics([[0, 1], [0]])
        assert not torch.allclose(averaged, twice[0], rtol=1e-3)

    def test_a_single_sample_at_the_end_of_an_epoch_gets_company(self):
        batches = np.array([[3, 1], [4, 5], [9, PAD], [1, 4], [3, 9], [5, PAD]])
        assert paired(batches).tolist() == [[3, 1], [4, 5], [9, 3], [1, 4], [3, 9], [5, 3]]
        assert paired(np.array([[7], [7]])).tolist() == [[7, 7], [7, 7]]


@pytest.mark.usefixtures("narrow_svhn_cnn")
class TestDropout:
    """Masks are keyed by client, round, step and layer."""

    model = SvhnCnn(dropout=0.5)
    shape = (8, 8)
    classes = 3

    @pytest.mark.oracle
    def test_engines_and_widths_draw_the_same_masks(self):
        oracle = trained(self.model, self.shape, self.classes, SERIAL, local_steps=2)
        for width in (2, 8):
            plan = Plan("batched", "vmap", width)
            assert_alike(oracle, trained(self.model, self.shape, self.classes, plan, local_steps=2), 1e-10)

    @pytest.mark.oracle
    @pytest.mark.parametrize("algorithm", [FedAvg(), Moon(first_previous="random")])
    @pytest.mark.parametrize("model", [Mlp(hidden=(6,), dropout=0.5), Fcn(hidden=(7, 6), dropout=0.3)])
    def test_layers_by_hand_draw_the_same_masks(self, model, algorithm):
        """Also under a loss of representations, which are those before a dropout that the last layer follows."""
        assert layers_of(model.module((4,), 3))
        oracle = trained(model, (4,), 3, SERIAL, algorithm, local_steps=4)
        for width in (2, 8):
            plan = Plan("batched", "layers", width)
            assert_alike(oracle, trained(model, (4,), 3, plan, algorithm, local_steps=4), 1e-10)

    @pytest.mark.oracle
    def test_representations_before_the_last_dropout_by_hand(self):
        oracle = trained(LeNetFemnist(), (28, 28), 3, SERIAL, Moon(first_previous="random"), local_steps=2)
        by_hand = trained(LeNetFemnist(), (28, 28), 3, KERNELS["layers"], Moon(first_previous="random"), local_steps=2)
        assert_alike(oracle, by_hand, 1e-10)

    def test_other_dropout_layers_draw_from_torch_with_the_key(self):
        network = Network(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Dropout2d(0.5), nn.Flatten()), own_code=True)
        x = torch.ones(9, 1, 3, 3)
        parameters = network.parameters.views(torch.ones(20))

        def outputs(number):
            key = torch.tensor(number)
            with network.drawing(key, key.device):
                return network.train(parameters, [], x, key)

        assert torch.equal(outputs(1), outputs(1))
        assert not torch.equal(outputs(1), outputs(2))


class SquaredOutputs(Moon):
    """MOON with a loss of its own, about which the gradient by hand that it inherits says nothing."""

    def loss(self, losses, own, references, batch):
        return losses + 0.5 * own.z.square().sum(dim=-1)


@pytest.mark.parametrize("algorithm", [Moon(first_previous="random"), Moon(), SquaredOutputs()])
@pytest.mark.parametrize("model", [Logistic(), Mlp(hidden=(6,)), Fcn(hidden=(7, 6))])
def test_a_contrast_by_hand_is_that_of_autograd(model, algorithm):
    """Also of dense layers whose references are computed by one product, and where outputs are representations."""
    oracle = trained(model, (4,), 3, SERIAL, algorithm, local_steps=4)
    for width in (2, 8):
        assert_alike(oracle, trained(model, (4,), 3, Plan("batched", "layers", width), algorithm, local_steps=4), 1e-10)
