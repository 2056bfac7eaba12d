"""Multiplications of any module against closed forms: fused kernels hide none, and nothing counts as 0."""

import numpy as np
import odd_networks
import pytest
import torch
from torch import nn
from torch.nn.utils import weight_norm

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.models.count import multiplications, training_multiplications
from edgefl.learning.models.imported import Imported
from edgefl.learning.models.module_copy import copied

T = 28  # steps of a sequence
F = 28  # features of each of them
H = 64  # hidden units
D = 16  # width of a transformer's layer
HEADS = 4
FF = 64  # hidden units of a transformer's layer
N = 8  # tokens
ATTENTION = 4 * N * D**2 + 2 * N**2 * D  # three projections in and one out; scores and weighted sums
LAYER = ATTENTION + 2 * N * D * FF


class First(nn.Module):
    """A recurrent layer, or another one with several outputs."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class Attention(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.attention = nn.MultiheadAttention(D, HEADS, batch_first=True)
        self.weights = weights

    def forward(self, x):
        return self.attention(x, x, x, need_weights=self.weights)[0]


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Bilinear(5, 5, 4)

    def forward(self, x):
        return self.layer(x, x)


class Vector(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(5))

    def forward(self, x):
        return (x @ self.w)[:, None]


class Branching(nn.Module):
    """An LSTM that torch's meta device cannot run, as its way depends on values."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(F, H, batch_first=True)
        self.attention = nn.TransformerEncoderLayer(H, HEADS, FF, batch_first=True)

    def forward(self, x):
        x = self.attention(self.lstm(x)[0])
        if x.sum().item() < 0:
            x = -x
        return x


class Through(nn.Module):
    """Takes its samples through NumPy, which the meta device refuses."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(7, 3)

    def forward(self, x):
        return self.layer(torch.from_numpy(np.flip(x.numpy(), 0).copy()))


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("module", "shape", "expected"),
    [
        (nn.Linear(7, 3), (7,), 21),
        (nn.Conv2d(3, 8, 3), (3, 10, 10), 3 * 8 * 9 * 64),
        (nn.Conv2d(4, 8, 3, groups=2), (4, 10, 10), 2 * 8 * 9 * 64),
        (nn.ConvTranspose2d(3, 8, 3), (3, 10, 10), 3 * 8 * 9 * 100),
        (First(nn.LSTM(F, H, batch_first=True)), (T, F), 4 * T * H * (F + H)),
        (First(nn.LSTM(F, H, 2, batch_first=True, bidirectional=True)), (T, F), 8 * T * H * (F + H + 2 * H + H)),
        (First(nn.GRU(F, H, batch_first=True)), (T, F), 3 * T * H * (F + H)),
        (First(nn.RNN(F, H, batch_first=True)), (T, F), T * H * (F + H)),
        (First(nn.LSTMCell(5, 7)), (5,), 4 * 7 * (5 + 7)),
        (Attention(weights=True), (N, D), ATTENTION),
        (Attention(weights=False), (N, D), ATTENTION),
        (nn.TransformerEncoderLayer(D, HEADS, FF, batch_first=True), (N, D), LAYER),
        (nn.TransformerEncoder(nn.TransformerEncoderLayer(D, HEADS, FF, batch_first=True), 3), (N, D), 3 * LAYER),
        (Pair(), (5,), 4 * (5 * 5 + 5)),
        (Vector(), (5,), 5),
        (Through(), (7,), 21),
        (Branching(), (T, F), 4 * T * H * (F + H) + 4 * T * H**2 + 2 * T**2 * H + 2 * T * H * FF),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_closed_forms(module, shape, expected):
    before = torch.get_rng_state()
    assert multiplications(module.eval(), shape, tokens=False) == expected
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.backends.mha.get_fastpath_enabled()
    assert torch.backends.mkldnn.enabled
    assert next(module.parameters()).device.type == "cpu"


@pytest.mark.parametrize(
    ("maker", "expected"),
    [
        (odd_networks.Query, 8 * 6 + 6 * 6 + 6 * 3),
        (odd_networks.Latents, 4 * 2 * 4**2 + 2 * 2 * 2 * 4 + 8 * 3),  # four projections, scores and sums
        (odd_networks.pruned, 8 * 6 + 6 * 3),
        (odd_networks.old_weight_norm, 8 * 5 + 5 * 3),
    ],
)
def test_parameters_as_inputs_and_computed_weights_are_counted(maker, expected):
    assert multiplications(maker(3), (2, 4), tokens=False) == expected


def test_gradients_of_a_layers_own_input_are_counted():
    """Backward: 18 in weights and 18 in inputs of the last layer, 36 and 36 of the query's; the front is frozen."""
    assert training_multiplications(odd_networks.Query(3), (2, 4), tokens=False) == 102 + 2 * 18 + 2 * 36


@pytest.mark.filterwarnings("ignore:.torch.nn.utils.weight_norm. is deprecated")
def test_a_copy_of_a_recurrent_layer_has_its_computed_weights():
    layer = weight_norm(nn.LSTM(3, 4), "weight_hh_l0")
    x = torch.ones(2, 1, 3)
    assert torch.equal(copied(layer)(x)[0], layer(x)[0])


@pytest.mark.parametrize("groups", [1, 4])
def test_gradients_of_a_convolution_take_its_products_twice(groups):
    """Once for the weights and once for the inputs, but for the first layer, whose inputs are the samples."""
    module = nn.Sequential(nn.Conv2d(4, 4, 3, groups=groups), nn.ConvTranspose2d(4, 8, 3, stride=2, groups=groups))
    first = 36 * 4 * 9 * 4 // groups
    second = 36 * 4 * 9 * 8 // groups
    assert multiplications(module, (4, 8, 8), tokens=False) == first + second
    assert training_multiplications(module, (4, 8, 8), tokens=False) == 2 * first + 3 * second


def test_token_ids_are_whole_numbers():
    pooled = nn.Sequential(nn.EmbeddingBag(10, 4), nn.Linear(4, 2))
    each = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2))
    assert multiplications(pooled.eval(), (7,), tokens=True) == 8
    assert multiplications(each.eval(), (7,), tokens=True) == 7 * 8
    with pytest.raises(RuntimeError):  # not `each`: without values, torch 2.11 looks floats up in it
        multiplications(pooled, (7,), tokens=False)


def test_a_module_that_counts_nothing_is_refused_with_the_remedy():
    model = Imported(import_path="torch.nn:BatchNorm1d", num_features=7)
    with pytest.raises(InputError, match=r"torch.nn:BatchNorm1d: no matrix product .*; give its price: model.cost"):
        model.flops_per_sample((7,), 7)
    priced = Imported(
        import_path="torch.nn:BatchNorm1d", num_features=7, cost={"parameters": 14, "flops_per_parameter": 3}
    )
    assert priced.flops_per_sample((7,), 7) == 42


def test_operations_that_cannot_be_counted_are_an_error_with_the_remedy():
    model = Imported(import_path="torch.nn:Linear", in_features=3, out_features=4)
    with pytest.raises(InputError, match=r"its operations cannot be counted: RuntimeError: .*; give its price"):
        model.multiplications((7,), 4)
    frozen = nn.Linear(7, 4).requires_grad_(requires_grad=False)
    frozen.register_parameter("unused", nn.Parameter(torch.ones(1)))
    model._maker = lambda **_: frozen
    with pytest.raises(InputError, match=r"its operations cannot be counted: RuntimeError: .*; give its price"):
        model.training_passes((7,), 4)  # there is nothing to differentiate


class Words(nn.Module):
    """An LSTM on rows of token ids."""

    def __init__(self, classes):
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.lstm = nn.LSTM(4, 8, batch_first=True)
        self.last = nn.Linear(8, classes)

    def forward(self, ids):
        states, _ = self.lstm(self.embedding(ids))
        return self.last(states[:, -1])


@pytest.mark.oracle
def test_an_lstm_on_token_ids_is_trained_and_priced():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, (40, 7))
    y = np.arange(40) % 3
    scenario = {
        "rounds": 1,
        "cost": "paper",
        "data": {"dataset": edgefl.arrays(x[:30], y[:30], x[30:], y[30:])},
        "devices": {"count": 3},
        "server": {"participants": 2},
        "training": {"local_steps": 2},
    }
    own = edgefl.run({**scenario, "model": {"kind": Words}})
    parameters = 10 * 4 + 4 * 8 * (4 + 8) + 2 * 4 * 8 + 8 * 3 + 3
    multiplications = 7 * 4 * 8 * (4 + 8) + 8 * 3
    price = {"parameters": parameters, "flops_per_parameter": 6 * multiplications / parameters}
    priced = edgefl.run({**scenario, "model": {"kind": Words, "cost": price}}, train=False)
    assert len(own.parameters) == parameters
    assert own.devices["compute_s"].tolist() == pytest.approx(priced.devices["compute_s"].tolist(), rel=1e-12)
    assert (own.rounds["bytes_up"] == priced.rounds["bytes_up"]).all()
    assert np.isfinite(own.rounds["test_loss"]).all()
