"""Networks of a user's own that look like others, or hold more than parameters: what plain PyTorch trains as they are.

They take samples [2, 4] or, those of `OF_TOKENS`, rows of 6 token ids below 20; all of them tell `classes` apart.
"""

import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, prune, weight_norm

FEATURES = 8
VOCABULARY = 20


class Base(nn.Module):
    def __init__(self, classes, hidden=6):
        super().__init__()
        self.front = nn.Linear(FEATURES, hidden)
        self.back = nn.Linear(hidden, classes)

    def hidden(self, x):
        return torch.relu(self.front(x.flatten(1)))

    def forward(self, x):
        return self.back(self.hidden(x))


# What only looks like a plain stack of layers


class Residual(nn.Sequential):
    def __init__(self, classes):
        super().__init__(nn.Flatten(), nn.Linear(FEATURES, FEATURES), nn.ReLU(), nn.Linear(FEATURES, classes))

    def forward(self, x):
        x = self[0](x)
        return self[3](torch.relu(self[1](x)) + x)


class Shifted(nn.ReLU):
    def forward(self, x):
        return super().forward(x - 0.3)


def with_own_relu(classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 5), Shifted(), nn.Linear(5, classes))


def with_hook(classes):
    stack = nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 5), nn.ReLU(), nn.Linear(5, classes))
    stack[2].register_forward_hook(lambda _layer, _inputs, output: output * 2)
    return stack


def with_pre_hook(classes):
    stack = nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, classes))
    stack.register_forward_pre_hook(lambda _module, inputs: (inputs[0] + 1,))
    return stack


def one_layer_twice(classes):
    layer = nn.Linear(FEATURES, FEATURES)
    return nn.Sequential(nn.Flatten(), layer, nn.ReLU(), layer, nn.Linear(FEATURES, classes))


def one_weight_twice(classes):
    first, second = (nn.Linear(FEATURES, FEATURES) for _ in range(2))
    stack = nn.Sequential(nn.Flatten(), first, nn.ReLU(), second, nn.Linear(FEATURES, classes))
    second.weight = first.weight
    return stack


def with_own_parameter(classes):
    stack = nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, classes))
    stack.register_parameter("unused", nn.Parameter(torch.ones(3)))
    return stack


def normed_weight(classes):
    return nn.Sequential(
        nn.Flatten(), parametrizations.weight_norm(nn.Linear(FEATURES, 5)), nn.ReLU(), nn.Linear(5, classes)
    )


def spectral(classes):
    return nn.Sequential(
        nn.Flatten(), parametrizations.spectral_norm(nn.Linear(FEATURES, 5)), nn.ReLU(), nn.Linear(5, classes)
    )


def pruned(classes):
    stack = nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 6), nn.ReLU(), nn.Linear(6, classes))
    prune.l1_unstructured(stack[1], "weight", amount=0.5)
    return stack


def old_weight_norm(classes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return nn.Sequential(nn.Flatten(), weight_norm(nn.Linear(FEATURES, 5)), nn.ReLU(), nn.Linear(5, classes))


def unscaled(classes):
    """A plain stack but for a layer that has buffers and no parameters."""
    return nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 6), nn.BatchNorm1d(6, affine=False), nn.Linear(6, classes))


def overwriting(classes):
    """The first layer overwrites the samples."""
    return nn.Sequential(nn.LeakyReLU(inplace=True), nn.Flatten(), nn.Linear(FEATURES, classes))


def rows_first(classes):
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6, classes))


def relu_first(classes):
    return nn.Sequential(nn.Flatten(), nn.ReLU(), nn.Linear(FEATURES, classes))


def nothing_left(classes):
    """Dropout of everything, so that the biases alone learn."""
    return nn.Sequential(nn.Flatten(), nn.Dropout(1.0), nn.Linear(FEATURES, classes))


def nested(classes):
    return nn.Sequential(nn.Flatten(), nn.Sequential(nn.Linear(FEATURES, 5), nn.ReLU()), nn.Linear(5, classes))


# Parameters that do not train, or are not used


class LowRank(Base):
    """LoRA by hand: frozen weights, and two trained factors beside them."""

    def __init__(self, classes):
        super().__init__(classes)
        for parameter in self.parameters():
            parameter.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(2, FEATURES) / 4)
        self.up = nn.Parameter(torch.zeros(6, 2))

    def forward(self, x):
        x = x.flatten(1)
        return self.back(torch.relu(self.front(x) + x @ self.down.T @ self.up.T))


def frozen_front(classes):
    stack = nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 5), nn.ReLU(), nn.Linear(5, classes))
    stack[1].requires_grad_(False)
    return stack


class Heads(Base):
    """One of two heads is used."""

    def __init__(self, classes):
        super().__init__(classes)
        self.back = nn.ModuleDict({"used": nn.Linear(6, classes), "unused": nn.Linear(6, 7)})

    def forward(self, x):
        return self.back["used"](self.hidden(x))


class Features(Base):
    """The front is not differentiated."""

    def forward(self, x):
        with torch.no_grad():
            hidden = self.hidden(x)
        return self.back(hidden)


class SometimesUsed(Base):
    """A parameter that only some batches use."""

    def __init__(self, classes):
        super().__init__(classes)
        self.more = nn.Linear(FEATURES, classes)

    def forward(self, x):
        outputs = super().forward(x)
        if self.training and float(x.detach().sum()) > 0:
            outputs = outputs + self.more(x.flatten(1))
        return outputs


class Tied(Base):
    def __init__(self, classes):
        super().__init__(classes, hidden=FEATURES)
        self.middle = nn.Linear(FEATURES, FEATURES)
        self.middle.weight = self.front.weight

    def forward(self, x):
        return self.back(torch.relu(self.middle(self.hidden(x))))


class Temperature(Base):
    """CLIP's temperature, as a parameter and as a buffer without axes."""

    def __init__(self, classes):
        super().__init__(classes)
        self.temperature = nn.Parameter(torch.tensor(0.3))
        self.register_buffer("scale", torch.tensor(1.5))

    def forward(self, x):
        return super().forward(x) * self.temperature.exp() * self.scale


class Positive(Base):
    """Each forward pass sets a bound to weights, in place."""

    def bound(self):
        self.back.weight.clamp_(min=0)

    def forward(self, x):
        with torch.no_grad():
            self.bound()
        return super().forward(x)


class Absolute(Positive):
    def bound(self):
        self.back.weight.data.abs_()


class Query(Base):
    """A parameter is a layer's own input, beside a frozen layer."""

    def __init__(self, classes):
        super().__init__(classes)
        self.front.requires_grad_(False)
        self.query = nn.Parameter(torch.randn(6))
        self.middle = nn.Linear(6, 6)

    def hidden(self, x):
        return super().hidden(x) * self.middle(self.query)


class Latents(nn.Module):
    """Learned latents that attend to the samples."""

    def __init__(self, classes):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(1, 2, 4))
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.back = nn.Linear(FEATURES, classes)

    def forward(self, x):
        outputs, _ = self.attention(self.latents.expand(len(x), -1, -1), x, x)
        return self.back(outputs.flatten(1))


# State in buffers


class InPlace(Base):
    """A running mean that is updated in place."""

    def __init__(self, classes):
        super().__init__(classes)
        self.register_buffer("mean", torch.zeros(6))

    def update(self, new):
        self.mean.copy_(new)

    def forward(self, x):
        hidden = self.hidden(x)
        if self.training:
            self.update(0.9 * self.mean + 0.1 * hidden.detach().mean(0))
        return self.back(hidden + self.mean)


class Assigned(InPlace):
    def update(self, new):
        self.mean = new


class Counting(Base):
    """A whole number that counts steps, and that outputs depend on."""

    def __init__(self, classes):
        super().__init__(classes)
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.steps += 1
        return super().forward(x) / (1 + 0.1 * self.steps)


class Started(Base):
    """A truth value that the first step sets, with the scale that it finds."""

    def __init__(self, classes):
        super().__init__(classes)
        self.register_buffer("started", torch.tensor(False))
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        hidden = self.hidden(x)
        if self.training and not self.started:
            self.scale.copy_(1 + hidden.detach().std())
            self.started.fill_(True)
        return self.back(hidden / self.scale)


class Cumulative(Base):
    """Batch normalisation whose momentum follows from a count of batches."""

    def __init__(self, classes):
        super().__init__(classes)
        self.norm = nn.BatchNorm1d(6, momentum=None)

    def forward(self, x):
        return self.back(torch.relu(self.norm(self.front(x.flatten(1)))))


class Normed(Cumulative):
    def __init__(self, classes):
        super().__init__(classes)
        self.norm = nn.BatchNorm1d(6)


def synchronised(classes):
    """Batch normalisation for several GPUs, which is the usual one in a single process."""
    return nn.SyncBatchNorm.convert_sync_batchnorm(Normed(classes))


class Constants(Base):
    """An order, a mask, a hash and an encoding, of which none changes."""

    def __init__(self, classes):
        super().__init__(classes)
        self.register_buffer("order", torch.randperm(FEATURES))
        self.register_buffer("prime", torch.tensor(2_654_435_761))
        self.register_buffer("encoding", torch.linspace(0, 1, FEATURES), persistent=False)
        self.register_buffer("mask", torch.arange(FEATURES) % 3 > 0)

    def forward(self, x):
        x = x.flatten(1)[:, self.order] + self.encoding
        shift = (self.prime * 7 % 11).to(x.dtype) / 11
        return super().forward(torch.where(self.mask, x, shift))


class OverBatch(Base):
    """Batch statistics by hand, with running ones for tests."""

    def __init__(self, classes):
        super().__init__(classes)
        self.register_buffer("center", torch.zeros(6))

    def forward(self, x):
        hidden = self.hidden(x)
        center = self.center
        if self.training:
            center = hidden.mean(0)
            self.center.mul_(0.5).add_(center.detach(), alpha=0.5)
        return self.back(hidden - center)


class Target(Base):
    """A running mean of a layer, in a copy of the layer (BYOL, MoCo)."""

    def __init__(self, classes):
        super().__init__(classes)
        self.target = nn.Linear(FEATURES, 6)
        for name, weight in list(self.target.named_parameters()):
            self.keep(name, weight.detach().clone())

    def keep(self, name, weight):
        delattr(self.target, name)
        self.target.register_buffer(name, weight)

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.target.weight.mul_(0.9).add_(self.front.weight, alpha=0.1)
        return self.back(self.hidden(x) - self.target(x.flatten(1)))


class Unsaved(InPlace):
    """A running mean that no state dict has."""

    def __init__(self, classes):
        super().__init__(classes)
        self.register_buffer("mean", torch.zeros(6), persistent=False)


class MapsInTests(Base):
    """What a layer puts out is kept, for a look at it after a test."""

    always = False

    def forward(self, x):
        hidden = self.hidden(x)
        if self.always or not self.training:
            self.maps = hidden.detach()
        return self.back(hidden)


# Parts of random networks


class RunningMean(nn.Module):
    """Adds the running mean of what it sees; a buffer that is updated in one of two ways."""

    def __init__(self, way):
        super().__init__()
        self.way = way
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x):
        if self.training:
            new = 0.9 * self.mean + 0.1 * x.detach().mean()
            if self.way == "copy":
                self.mean.copy_(new)
            else:
                self.mean = new
        return x + self.mean


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.count += 1
        return x / (1 + 0.1 * self.count)


class LowRankLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.frozen = nn.Linear(width, width)
        self.frozen.requires_grad_(False)
        self.factors = nn.Parameter(torch.randn(2, width) / 2)

    def forward(self, x):
        return self.frozen(x) + x @ self.factors.T @ self.factors


class Around(nn.Module):
    """A body, and a linear layer around it."""

    def __init__(self, body, classes):
        super().__init__()
        self.body = body
        self.around = nn.Linear(FEATURES, classes)

    def forward(self, x):
        return self.body(x) + self.around(x.flatten(1))


class Doubled(nn.Sequential):
    def forward(self, x):
        return 2 * super().forward(x)


# Draws of torch's generator in training


class OwnDropout(Base):
    def forward(self, x):
        return self.back(functional.dropout(self.hidden(x), 0.4, self.training))


class Noisy(Base):
    def forward(self, x):
        hidden = self.hidden(x)
        if self.training:
            hidden = hidden + 0.1 * torch.randn_like(hidden)
        return self.back(hidden)


class DroppedTwice(Base):
    """One dropout layer in two places, which draws two masks."""

    def __init__(self, classes):
        super().__init__(classes, hidden=FEATURES)
        self.drop = nn.Dropout(0.4, inplace=True)

    def forward(self, x):
        return self.back(self.drop(self.front(self.drop(x.clone()).flatten(1))))


class Channels(Base):
    """Dropout of whole channels."""

    def __init__(self, classes):
        super().__init__(classes)
        self.drop = nn.Dropout1d(0.3)

    def forward(self, x):
        return super().forward(self.drop(x))


class Attention(nn.Module):
    """A layer of torch's with dropout inside its attention."""

    def __init__(self, classes):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.layer.self_attn.dropout = 0.3
        self.back = nn.Linear(FEATURES, classes)

    def forward(self, x):
        return self.back(self.layer(x).flatten(1))


class Recurrent(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layers = nn.LSTM(4, 5, num_layers=2, dropout=0.3, batch_first=True)
        self.back = nn.Linear(5, classes)

    def forward(self, x):
        outputs, _ = self.layers(x)
        return self.back(outputs[:, -1])


# Token ids


class Padded(nn.Module):
    """An embedding whose row for padding has no gradient."""

    def __init__(self, classes, *, sparse=False):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 5, padding_idx=0, sparse=sparse)
        with torch.no_grad():
            self.words.weight[0] = 0.7  # it counts in the mean of the outputs, so that a change would be seen
        self.back = nn.Linear(5, classes)

    def forward(self, x):
        return self.back(self.words(x).mean(1))


def sparse(classes):
    return Padded(classes, sparse=True)


class Bags(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.words = nn.EmbeddingBag(VOCABULARY, 5, padding_idx=0)
        self.back = nn.Linear(5, classes)

    def forward(self, x):
        return self.back(self.words(x))


OF_TOKENS = [Padded, sparse, Bags]
OF_NUMBERS = [
    Residual,
    with_own_relu,
    with_hook,
    with_pre_hook,
    one_layer_twice,
    one_weight_twice,
    with_own_parameter,
    normed_weight,
    spectral,
    pruned,
    old_weight_norm,
    unscaled,
    overwriting,
    rows_first,
    relu_first,
    nothing_left,
    nested,
    LowRank,
    frozen_front,
    Heads,
    Features,
    SometimesUsed,
    Tied,
    Temperature,
    Positive,
    Absolute,
    Query,
    Latents,
    InPlace,
    Assigned,
    Counting,
    Started,
    Cumulative,
    Normed,
    Constants,
    OverBatch,
    Target,
    Unsaved,
    MapsInTests,
    OwnDropout,
    Noisy,
    DroppedTwice,
    Channels,
    Attention,
    Recurrent,
]


# What would learn something else than the module by itself, or fails in training only


class Auxiliary(Base):
    """More outputs in training, as GoogLeNet has them."""

    def forward(self, x):
        outputs = super().forward(x)
        if self.training:
            return outputs, outputs
        return outputs


class FailsInTraining(Base):
    def forward(self, x):
        if self.training:
            raise ValueError("only half a network")
        return super().forward(x)


class Counter(Base):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x)


class FirstBatch(Base):
    """Whatever batch comes first gives the scale."""

    scale = None

    def forward(self, x):
        if self.scale is None:
            self.scale = x.detach().abs().max()
        return super().forward(x / self.scale)


class OwnGenerator(Base):
    def __init__(self, classes):
        super().__init__(classes)
        self.generator = torch.Generator().manual_seed(1)

    def forward(self, x):
        noise = 0.0
        if self.training:
            noise = torch.rand(1, generator=self.generator)
        return super().forward(x) + noise


class Queue(Base):
    def __init__(self, classes):
        super().__init__(classes)
        self.seen = []

    def forward(self, x):
        self.seen.append(float(x.sum()))
        return super().forward(x)


class InAList(Base):
    """Parameters that the forward pass takes from a list."""

    def __init__(self, classes):
        super().__init__(classes)
        self.weights = [self.front.weight, self.back.weight]

    def forward(self, x):
        first, last = self.weights
        return torch.relu(x.flatten(1) @ first.T + self.front.bias) @ last.T + self.back.bias


class Checkpointed(Base):
    """The activations of the front are computed once more in the backward pass."""

    def hidden(self, x):
        return torch.tanh(self.front(x.flatten(1)))

    def forward(self, x):
        return self.back(torch.utils.checkpoint.checkpoint(self.hidden, x, use_reentrant=False))


class FrozenTarget(Target):
    def keep(self, name, weight):
        getattr(self.target, name).requires_grad_(False)


class Maps(MapsInTests):
    always = True


class MapsInABuffer(Maps):
    def __init__(self, classes):
        super().__init__(classes)
        self.register_buffer("maps", torch.zeros(4, 6))


class Replaced(Positive):
    """Gives a parameter another tensor, of which only the module knows."""

    def bound(self):
        self.back.weight.data = self.back.weight.data.abs()


def hooked(classes):
    network = Base(classes)
    network.front.weight.register_hook(lambda gradient: gradient * 0.5)
    return network


class DecaysInTests(Positive):
    def bound(self):
        self.back.weight.mul_(0.9)


class NumpyNoise(Base):
    def forward(self, x):
        noise = 0.0
        if self.training:
            noise = float(np.random.normal())  # noqa: NPY002
        return super().forward(x) + noise


class NoisyInTests(Base):
    def forward(self, x):
        return super().forward(x) + torch.randn(1)


class BatchNormed(Base):
    """Batch normalisation that keeps no statistics, so that a test depends on the batch."""

    def __init__(self, classes):
        super().__init__(classes)
        self.norm = nn.BatchNorm1d(6, track_running_stats=False)

    def forward(self, x):
        return self.back(self.norm(self.hidden(x)))


class Squeezed(Base):
    def forward(self, x):
        return super().forward(x).squeeze()


class Detached(Base):
    def forward(self, x):
        return super().forward(x).detach()


class HalfLayer(Base):
    def __init__(self, classes):
        super().__init__(classes)
        self.front.half()

    def hidden(self, x):
        return torch.relu(self.front(x.flatten(1).half())).float()


class DoubleBuffer(Base):
    def __init__(self, classes):
        super().__init__(classes)
        self.register_buffer("scale", torch.from_numpy(np.ones(6)))

    def forward(self, x):
        return self.back((self.hidden(x) * self.scale).float())


class ComplexWeights(Base):
    def __init__(self, classes):
        super().__init__(classes)
        self.waves = nn.Parameter(torch.ones(5, dtype=torch.complex64))

    def forward(self, x):
        x = torch.fft.irfft(torch.fft.rfft(x.flatten(1)) * self.waves)
        return super().forward(x)


class HalfOutputs(Base):
    def forward(self, x):
        return super().forward(x).bfloat16()


class LazySize(Base):
    def __init__(self, classes):
        super().__init__(classes)
        self.front = nn.LazyLinear(6)


class LargeCounter(Base):
    """A whole number that no float32 holds, and that training changes."""

    def __init__(self, classes):
        super().__init__(classes)
        self.register_buffer("seen", torch.tensor(2**40))

    def forward(self, x):
        self.seen += 1
        return super().forward(x)


def own_forward(classes):
    """A layer's forward is replaced by a function that knows this very layer."""
    layer = nn.Linear(FEATURES, 6)
    layer.forward = lambda x: functional.linear(x * x, layer.weight, layer.bias)
    return nn.Sequential(nn.Flatten(), layer, nn.ReLU(), nn.Linear(6, classes))


def scripted(classes):
    return torch.jit.script(nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, classes)))


def parallel(classes):
    return nn.DataParallel(Base(classes))


def probabilities(classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, classes), nn.Softmax(dim=1))


REFUSED = {
    Auxiliary: "in training must give [B, 3], got tuple for B = 4: switch auxiliary outputs off",
    FailsInTraining: "ValueError: only half a network",
    Counter: "changes its attribute calls in the forward pass",
    FirstBatch: "changes its attribute scale in the forward pass",
    OwnGenerator: "changes its attribute generator in the forward pass",
    Queue: "changes its attribute seen in the forward pass",
    InAList: "its outputs in training differ from those of the plain module",
    Checkpointed: "the gradient of front.weight differs from that of the plain module: leave out torch.utils",
    FrozenTarget: "changes its frozen parameter target.weight in the forward pass, which all clients share: make it a",
    Maps: "changes its attribute maps in the forward pass, which all clients share: keep it only in evaluation",
    MapsInABuffer: "the buffer maps is [3, 6] after a step, and must keep its shape: if it is of a batch, keep it only",
    Replaced: "puts other tensors in the places of its parameters: write .data.copy_(...), not .data =",
    hooked: "the gradient of front.weight differs from that of the plain module: it has a hook (register_hook)",
    DecaysInTests: "changes itself in evaluation, as a second forward pass gives other outputs",
    NumpyNoise: "draws from numpy.random's global generator in training",
    NoisyInTests: "draws from torch's global generator in evaluation",
    BatchNormed: "in evaluation the outputs of a sample depend on the others of its batch",
    Squeezed: "gives [3] for a single sample, must give [1, 3]",
    Detached: "its outputs depend on no parameter that is trained",
    HalfLayer: "the parameter front.weight is float16, and models learn in float32: make it float32",
    DoubleBuffer: "the buffer scale is float64, and models learn in float32: make it float32",
    ComplexWeights: "the parameter waves is complex64, and models learn in float32: keep its real and imaginary part",
    HalfOutputs: "in training gives bfloat16 outputs, and models learn in float32",
    LazySize: "the parameter front.weight has no size yet",
    LargeCounter: "the buffer seen does not keep what training writes",
    own_forward: "differ",
    scripted: "is a TorchScript module",
    parallel: "is a DataParallel around a network: give the network itself (.module)",
}
