"""Users' networks learn as in plain PyTorch, by every engine; those that cannot are refused in one line."""

import numpy as np
import odd_networks
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from learner_cases import learners, parts_in_order, random_data, train_round
from plain_torch import PlainFedAvg, plain_move, tensors_of
from torch import nn

from edgefl.core.streams import Streams
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets import Data
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.network_trial import network_problem
from edgefl.learning.learner.networks.rebuilt import rebuilt
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.models.imported import Imported
from edgefl.learning.trained_model import TrainedModel

pytestmark = [
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),  # of torch.func.vmap
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated"),
]

SIZES = [9, 13, 7]  # unequal, with short batches, none of which has a single sample
ROUNDS = 2
TOGETHER = Plan("batched", "vmap", 2)

# They draw, branch on values, or let samples see each other.
ONE_BY_ONE = {
    odd_networks.spectral,
    odd_networks.SometimesUsed,
    odd_networks.Absolute,
    odd_networks.InPlace,
    odd_networks.Assigned,
    odd_networks.Started,
    odd_networks.Cumulative,
    odd_networks.OverBatch,
    odd_networks.Unsaved,
    odd_networks.OwnDropout,
    odd_networks.Noisy,
    odd_networks.Channels,
    odd_networks.Attention,
    odd_networks.Recurrent,
    odd_networks.Padded,
    odd_networks.sparse,
}
ALL = odd_networks.OF_NUMBERS + odd_networks.OF_TOKENS
REFUSED = odd_networks.REFUSED
WITH_STATE = [odd_networks.Counting, odd_networks.OwnDropout]
BY_HAND = [odd_networks.rows_first, odd_networks.relu_first]


def model_of(maker):
    model = Imported(import_path=f"odd_networks:{maker.__name__}")
    model._maker = maker
    return model


def name_of(maker):
    return maker.__name__


def data_of(maker, dtype="float64"):
    """Random samples: token ids, whose last two are padding, or numbers."""
    if maker not in odd_networks.OF_TOKENS:
        return random_data(sum(SIZES), dtype, shape=(2, 4))
    rng = np.random.default_rng(3)
    x = rng.integers(0, odd_networks.VOCABULARY, (sum(SIZES) + 30, 6))
    x[:, 4:] = 0
    y = rng.integers(0, 3, len(x))
    count = sum(SIZES)
    return Data(x[:count], y[:count], x[count:], y[count:], classes=3, dtype=dtype)


def check_rounds(maker, *plans, processes=0, lr=0.3):
    """Two rounds have the parameters, buffers and losses of ten lines of PyTorch, to rounding (float64)."""
    keys = {"lr": lr, "batch_size": 5, "local_epochs": 1, "weight_decay": 0.02, "momentum": 0.5}
    if maker is odd_networks.sparse:  # torch's SGD decays no sparse gradients
        keys |= {"weight_decay": 0.0, "momentum": 0.0}
    algorithm = FedAvg(weighting="samples")
    data = data_of(maker)
    parts = parts_in_order(SIZES)
    devices = range(len(SIZES))
    plain = None
    for plan in plans:
        with learners() as make:
            learner = make(model_of(maker), algorithm, data=data, parts=parts, plan=plan, processes=processes, **keys)
            if plain is None:
                plain = PlainFedAvg(learner.task)
                losses = [plain.round(devices, index) for index in range(ROUNDS)]
                expected = tensors_of(plain.module)
                outputs = plain.outputs(torch.from_numpy(data.test_x))
                test_loss = torch.nn.functional.cross_entropy(outputs, torch.from_numpy(data.test_y))
            server = learner.begin(ROUNDS, len(SIZES))
            for index in range(ROUNDS):
                updates, loss = train_round(learner, devices, index, server["w"])
                server = learner.aggregate(server, updates)
                assert loss == pytest.approx(losses[index], rel=1e-9)
            for name, tensor in learner.trained(server["w"], learner.statistics).tensors.items():
                assert tensor == pytest.approx(expected[name].detach().numpy(), rel=1e-9, abs=1e-12), name
            assert learner.evaluate(server["w"]).result().loss == pytest.approx(float(test_loss), rel=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("maker", ALL, ids=name_of)
def test_a_users_network_learns_as_in_plain_pytorch(maker):
    """One client after another; two of the three together, and then the third; and with gradients by hand."""
    plans = [SERIAL]
    if maker not in ONE_BY_ONE:
        plans.append(TOGETHER)
    if maker in BY_HAND:
        plans += [Plan("batched", "layers", width) for width in (1, 2)]
    assert bool(refusal(maker)) == (maker in ONE_BY_ONE)
    check_rounds(maker, *plans)


def refusal(maker):
    """Return why two clients cannot be trained together."""
    with learners() as make:
        return make(model_of(maker), data=data_of(maker), parts=parts_in_order(SIZES)).refusal(TOGETHER)


@pytest.mark.oracle
@pytest.mark.parametrize("maker", WITH_STATE, ids=name_of)
def test_workers_do_not_share_state(maker):
    check_rounds(maker, SERIAL, processes=2)


@pytest.mark.parametrize("maker", [odd_networks.Constants, odd_networks.pruned], ids=name_of)
def test_buffers_that_no_client_changes_stay_bit_for_bit(maker):
    with learners() as make:
        learner = make(model_of(maker), data=data_of(maker, "float32"), parts=parts_in_order(SIZES))
        for _ in range(ROUNDS):
            train_round(learner, range(len(SIZES)))
        assert torch.equal(learner.statistics, learner._network.initial_statistics)


@pytest.mark.parametrize("maker", [odd_networks.Positive, odd_networks.Absolute], ids=name_of)
def test_a_test_in_a_thread_leaves_the_global_model_as_it_is(maker):
    """Training and saving read the same vector meanwhile."""
    with learners() as make:
        learner = make(model_of(maker), data=data_of(maker), parts=parts_in_order(SIZES), processes=0)
        w = learner.initial.clone()
        assert learner.evaluate(w).result().loss > 0
        assert torch.equal(w, learner.initial)


def test_synchronised_batch_normalisation_takes_a_batch_of_one_as_the_usual_one_does():
    losses = []
    for maker in (odd_networks.Normed, odd_networks.synchronised):
        with learners() as make:
            learner = make(model_of(maker), data=data_of(maker), parts=parts_in_order(SIZES), batch_size=1, processes=0)
            losses.append(train_round(learner, range(len(SIZES)))[1])
    assert losses[0] == losses[1]


def test_the_saved_model_is_the_tested_one_with_buffers_that_no_state_dict_has():
    maker = odd_networks.Unsaved
    data = data_of(maker)
    with learners() as make:
        learner = make(model_of(maker), data=data, parts=parts_in_order(SIZES), processes=0)
        updates, _ = train_round(learner, range(len(SIZES)))
        w = learner.aggregate(learner.begin(1, len(SIZES)), updates)["w"]
        trained = TrainedModel.from_bytes(learner.trained(w, learner.statistics).to_bytes())
        with torch.no_grad():
            outputs = rebuilt(model_of(maker), trained)(torch.from_numpy(data.test_x))
        loss = nn.functional.cross_entropy(outputs, torch.from_numpy(data.test_y))
        assert float(loss) == pytest.approx(learner.evaluate(w).result().loss, rel=1e-12)


def test_the_random_draws_of_a_step_leave_torchs_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    assert problem_of(odd_networks.Noisy) is None
    with learners() as make:
        learner = make(model_of(odd_networks.Noisy), data=data_of(odd_networks.Noisy), parts=parts_in_order(SIZES))
        train_round(learner, range(3))
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.oracle
@pytest.mark.parametrize("maker", ALL, ids=name_of)
def test_good_networks_pass_the_trial(maker):
    assert problem_of(maker) is None


@pytest.mark.parametrize(("maker", "text"), REFUSED.items(), ids=map(name_of, REFUSED))
def test_networks_that_would_learn_something_else_are_refused(maker, text):
    assert text in problem_of(maker)


def test_probabilities_under_the_cross_entropy_are_reported_once(caplog):
    assert problem_of(odd_networks.probabilities) is None
    (record,) = caplog.records
    assert "outputs are probabilities" in record.message


# Random networks: every part of them may be what another one would not be


PARTS = {
    "linear": lambda: nn.Linear(WIDTH, WIDTH),
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "layer norm": lambda: nn.LayerNorm(WIDTH),
    "batch norm": lambda: nn.BatchNorm1d(WIDTH),
    "cumulative": lambda: nn.BatchNorm1d(WIDTH, momentum=None),
    "dropout": lambda: nn.Dropout(0.3),
    "alpha dropout": lambda: nn.AlphaDropout(0.2),
    "in place": lambda: odd_networks.RunningMean("copy"),
    "assigned": lambda: odd_networks.RunningMean("assign"),
    "counting": odd_networks.Steps,
    "low rank": lambda: odd_networks.LowRankLayer(WIDTH),
    "own relu": odd_networks.Shifted,
}
WIDTH = 4
parts = st.lists(st.sampled_from(sorted(PARTS)), min_size=1, max_size=5)
residuals = st.sampled_from(["none", "around all", "own Sequential"])


@pytest.mark.oracle
@settings(max_examples=8, deadline=None, derandomize=True)
@given(parts, st.sets(st.integers(0, 4)), st.booleans(), residuals)
@example(["counting", "assigned", "counting"], set(), False, "around all")  # counts hid that a running mean differs
def test_random_networks_learn_as_plain_pytorch_has_them(names, frozen, is_shared, residual):
    def random_network(classes):
        layers = [PARTS[name]() for name in names]
        if is_shared:
            layers.append(layers[0])
        for number in frozen & set(range(len(names))):
            layers[number].requires_grad_(False)
        body = nn.Sequential(nn.Flatten(), nn.Linear(odd_networks.FEATURES, WIDTH), *layers, nn.Linear(WIDTH, classes))
        if residual == "around all":
            return odd_networks.Around(body, classes)
        if residual == "own Sequential":
            return odd_networks.Doubled(*body)
        return body

    plans = [SERIAL]
    with learners() as make:
        learner = make(model_of(random_network), data=data_of(random_network), parts=parts_in_order(SIZES))
        plans += [plan for plan in (TOGETHER,) if learner.refusal(plan) is None]
        if LayersGradient.fits(learner._network, learner.task.model):
            plans.append(Plan("batched", "layers", 2))
    check_rounds(random_network, *plans, lr=0.02)  # of some of them a higher rate makes no finite model
    assert problem_of(random_network) is None


def problem_of(maker):
    return network_problem(model_of(maker), data_of(maker, "float32"), Streams(1), "nets:Net")


class WithLoss(torch.autograd.Function):
    """As docs/models.md has it."""

    @staticmethod
    def forward(_ctx, outputs, _loss):
        return outputs.clone()

    @staticmethod
    def backward(_ctx, gradient):
        return gradient, gradient.new_ones(())


class Balanced(nn.Module):
    """A network with a loss of its hidden outputs."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(20, 6)
        self.last = nn.Linear(6, 3)

    def both(self, x):
        z = self.first(x.flatten(1)).tanh()
        return self.last(z), 0.3 * z.square().mean()

    def forward(self, x):
        return WithLoss.apply(*self.both(x))


@pytest.mark.oracle
def test_a_loss_from_inside_a_network_is_minimised_as_in_plain_torch_by_the_engine_that_auto_takes():
    with learners() as make:
        learner = make(Imported(import_path=f"{__name__}:Balanced"), plan=None, lr=0.5, local_epochs=2)
        assert learner.plan.engine == "serial"
        updates, _ = train_round(learner, [1])

        def sum_of_losses(module, x, y):
            outputs, other = module.both(x)
            return nn.functional.cross_entropy(outputs, y) + other

        assert (updates.vectors["delta"][0] - plain_move(learner.task, 1, sum_of_losses)).abs().max() < 1e-12
