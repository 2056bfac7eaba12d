"""Losses of PyTorch, by class or function: each sample's loss is PyTorch's, and edgefl takes the mean."""

import numpy as np
import pytest
import torch
import yaml
from torch import nn
from torch.nn import functional

import edgefl
from edgefl.core.errors import InputError
from edgefl.scenario import load

RNG = np.random.default_rng(5)
N = 60
X = RNG.normal(size=(N + 20, 4)).astype(np.float32)
CLASSES = RNG.integers(0, 3, N + 20)
CLASSES[:3] = CLASSES[N : N + 3] = range(3)
YES = (X[:, 0] > 0).astype(np.float32)
WEIGHT = [1.0, 2.0, 5.0]
LR = 0.3
STEPS = 3


def keys(labels, loss, **training):
    data = edgefl.arrays(X[:N], labels[:N], X[N:], labels[N:])
    return {
        "rounds": 1,
        "data": {"dataset": data},
        "model": {"kind": "logistic", "init": {"kind": "zeros"}},
        "devices": {"count": 1},
        "training": {"loss": loss, "lr": LR, "batch_size": "full", "local_steps": STEPS, **training},
    }


CASES = {
    "smoothed": (CLASSES, {"kind": "torch.nn:CrossEntropyLoss", "label_smoothing": 0.2}, 3),
    "weighted": (CLASSES, {"kind": "torch.nn:CrossEntropyLoss", "weight": WEIGHT}, 3),
    "weighted function": (CLASSES, {"kind": "torch.nn.functional:cross_entropy", "weight": WEIGHT}, 3),
    "yes or no": (YES, {"kind": "torch.nn:BCEWithLogitsLoss", "pos_weight": [3.0]}, 1),
    "several yes or no": (np.stack([YES, 1 - YES], 1), {"kind": "torch.nn:BCEWithLogitsLoss"}, 2),
    "Huber": (X[:, 1], {"kind": "torch.nn:HuberLoss", "delta": 0.5}, 1),
}
LOSSES = {
    "smoothed": nn.CrossEntropyLoss(label_smoothing=0.2, reduction="none"),
    "weighted": nn.CrossEntropyLoss(weight=torch.tensor(WEIGHT), reduction="none"),
    "weighted function": nn.CrossEntropyLoss(weight=torch.tensor(WEIGHT), reduction="none"),
    "yes or no": nn.BCEWithLogitsLoss(pos_weight=torch.tensor([3.0]), reduction="none"),
    "several yes or no": nn.BCEWithLogitsLoss(reduction="none"),
    "Huber": nn.HuberLoss(delta=0.5, reduction="none"),
}


@pytest.mark.parametrize(("name", "engine"), [*zip(CASES, ["serial", "batched"] * 3, strict=True)])
@pytest.mark.oracle
def test_training_takes_the_steps_of_plain_torch(name, engine):
    labels, loss, outputs = CASES[name]
    result = edgefl.run(keys(labels, loss, engine=engine), device="cpu")
    y = torch.from_numpy(labels)
    module = nn.Linear(4, outputs)
    nn.init.zeros_(module.weight)
    nn.init.zeros_(module.bias)
    optimizer = torch.optim.SGD(module.parameters(), lr=LR)

    def mean_loss(begin, end):
        found = module(torch.from_numpy(X[begin:end]))
        return LOSSES[name](found if y.ndim > 1 or outputs > 1 else found[:, 0], y[begin:end]).mean()

    for _ in range(STEPS):
        optimizer.zero_grad()
        mean_loss(0, N).backward()
        optimizer.step()
    expected = nn.utils.parameters_to_vector(module.parameters()).detach().numpy()
    assert result.parameters == pytest.approx(expected, abs=1e-6)
    assert result.rounds["test_loss"].iloc[-1] == pytest.approx(mean_loss(N, N + 20).item(), rel=1e-5)


@pytest.mark.oracle
def test_class_without_keys_is_the_default_loss():
    plain = edgefl.run(keys(CLASSES, "cross_entropy"), device="cpu")
    torchs = edgefl.run(keys(CLASSES, nn.CrossEntropyLoss), device="cpu")
    assert torchs.parameters == pytest.approx(plain.parameters, abs=1e-6)


@pytest.mark.oracle
def test_tensors_among_the_keys_are_written_as_lists():
    loss = {"kind": nn.CrossEntropyLoss, "weight": torch.tensor(WEIGHT)}
    result = edgefl.run(keys(CLASSES, loss), device="cpu")
    written = yaml.safe_load(yaml.safe_dump(result.scenario["training"]["loss"]))
    assert written["weight"] == WEIGHT
    again = edgefl.run(keys(CLASSES, written), device="cpu")
    assert np.array_equal(again.parameters, result.parameters)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("labels", "loss", "message"),
    [
        (CLASSES, "torch.nn:BCEWithLogitsLoss", r"takes floating-point labels, these are classes: say y\.astype"),
        (YES, "torch.nn:CrossEntropyLoss", r"takes classes, these labels are floating-point numbers: say y\.astype"),
        (CLASSES, {"kind": "torch.nn:CrossEntropyLoss", "weight": [1.0, 2.0]}, "for all 3 classes or no classes"),
        (CLASSES, {"kind": "torch.nn:CrossEntropyLoss", "weigth": WEIGHT}, "its arguments: weight, ignore_index"),
        (CLASSES, {"kind": "torch.nn:CrossEntropyLoss", "reduction": "sum"}, r"reduction: must be 'none'"),
        (CLASSES, "torch.nn:NLLLoss", "needs logarithms of probabilities .* which logistic does not return"),
        (CLASSES, {"kind": "cross_entropy", "weight": WEIGHT}, r"write training\.loss: \{kind: cross_entropy, class_w"),
    ],
    ids=["classes", "numbers", "weights", "argument", "mean", "logarithms", "own member"],
)
def test_loss_that_does_not_suit_is_refused(labels, loss, message):
    with pytest.raises(InputError, match=message):
        edgefl.run(keys(labels, loss), device="cpu")


class Positive(nn.Module):
    def __init__(self, end=torch.sigmoid):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.end = end

    def forward(self, x):
        return self.end(self.layer(x))


class Counting(Positive):
    def __init__(self):
        super().__init__(functional.softplus)  # which may also exceed 1


class Linear(Positive):
    def __init__(self):
        super().__init__(torch.clone)


def likelihood(outputs, labels):
    found = outputs[:, 0]
    return -(labels * torch.log(found) + (1 - labels) * torch.log(1 - found))


COUNTS = RNG.poisson(np.exp(X[:, 0])).astype(np.float32)
POISSON = {"kind": "torch.nn:PoissonNLLLoss", "log_input": False}


@pytest.mark.parametrize(
    ("network", "labels", "loss", "own", "engine"),
    [
        (Positive, YES, "torch.nn:BCELoss", nn.BCELoss(), "batched"),
        (Positive, YES, likelihood, nn.BCELoss(), "serial"),
        (Counting, COUNTS, POISSON, nn.PoissonNLLLoss(log_input=False), "batched"),
    ],
    ids=["probabilities", "function", "rates"],
)
@pytest.mark.oracle
def test_loss_of_positive_outputs_learns_as_in_plain_torch(network, labels, loss, own, engine):
    content = keys(labels, loss, engine=engine) | {"model": {"kind": network, "init": {"kind": "zeros"}}}
    result = edgefl.run(content, device="cpu")
    module = network()
    nn.init.zeros_(module.layer.weight)
    nn.init.zeros_(module.layer.bias)
    optimizer = torch.optim.SGD(module.parameters(), lr=LR)
    y = torch.from_numpy(labels)
    for _ in range(STEPS):
        optimizer.zero_grad()
        own(module(torch.from_numpy(X[:N]))[:, 0], y[:N]).backward()
        optimizer.step()
    assert result.parameters == pytest.approx(
        nn.utils.parameters_to_vector(module.parameters()).detach().numpy(), abs=1e-6
    )
    tested = own(module(torch.from_numpy(X[N:]))[:, 0], y[N:]).item()
    assert result.rounds["test_loss"].iloc[-1] == pytest.approx(tested, rel=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("model", "loss", "message"),
    [
        (
            "logistic",
            "torch.nn:BCELoss",
            "takes no outputs below 0, which logistic may return: .* torch.nn:BCEWithLogitsLoss",
        ),
        (
            Linear,
            "torch.nn:BCELoss",
            r"gives outputs such as -\S+, which the loss does not take: end with torch.sigmoid",
        ),
        (Linear, POISSON, r"gives outputs such as -\S+, .* or with softplus for positive numbers"),
    ],
    ids=["model", "network", "rates"],
)
def test_outputs_below_0_are_refused_where_the_loss_takes_none(model, loss, message):
    with pytest.raises(InputError, match=message):
        edgefl.run(keys(YES, loss) | {"model": model}, device="cpu")


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("torch.nn:GaussianNLLLoss", "var"),
        ("torch.nn:CTCLoss", "input_lengths and target_lengths"),
        ("torch.nn.functional:triplet_margin_loss", "negative"),
    ],
)
def test_losses_that_compare_more_than_outputs_with_labels_are_refused(name, needed):
    with pytest.raises(InputError, match=f"{name} also needs {needed}, and a loss gets only outputs and labels"):
        load({"training": {"loss": name}})


@pytest.mark.parametrize(
    ("loss", "key", "value", "message"),
    [
        ("CrossEntropyLoss", "weight", "balanced", 'must be a list of numbers, got "balanced"$'),
        ("CrossEntropyLoss", "weight", {0: 1.0, 1: 5.0}, r"write \[1\.0, 5\.0\], in the order of the classes$"),
        ("BCEWithLogitsLoss", "pos_weight", 3.0, r"must be a list of numbers, got 3\.0: write \[3\.0\]$"),
        ("MSELoss", "size_average", False, "edgefl takes the mean over samples itself: leave it out$"),
    ],
)
def test_arguments_in_other_forms_are_refused(loss, key, value, message):
    with pytest.raises(InputError, match=rf"training\.loss\.{key}: .*{message}"):
        load({"training": {"loss": {"kind": f"torch.nn:{loss}", key: value}}})


@pytest.mark.oracle
@pytest.mark.filterwarnings("error")
def test_refusals_name_no_place_in_torch():
    with pytest.raises(InputError, match="BCELoss does not suit these outputs and labels: ") as caught:
        edgefl.run(keys(CLASSES, "torch.nn:BCELoss"), device="cpu")
    assert ".py" not in str(caught.value)
    with pytest.raises(InputError, match=r"L1Loss takes floating-point labels, .* say y\.astype\(np\.float32\)"):
        edgefl.run(keys(CLASSES, "torch.nn:L1Loss"), device="cpu")


@pytest.mark.parametrize("name", ["CrossEntropyLoss", "torch.nn.CrossEntropyLoss", "nn.CrossEntropyLoss()"])
def test_losses_named_as_in_programs_get_the_path_to_write(name):
    with pytest.raises(InputError, match=r"is an unknown loss: write torch\.nn:CrossEntropyLoss$"):
        load({"training": {"loss": name}})
    load({"training": {"loss": "torch.nn:CrossEntropyLoss"}})


@pytest.mark.parametrize("key", ["model", "training.loss"])
def test_object_instead_of_a_class_is_named(key):
    section, _, inner = key.partition(".")
    given = {"model": nn.Linear(4, 3), "training.loss": nn.CrossEntropyLoss()}[key]
    for value in (given, {"kind": given}):
        with pytest.raises(InputError, match=rf"{key}: .*: give its class or function, with its arguments as keys"):
            load({section: {inner: value} if inner else value})


@pytest.mark.oracle
def test_functions_keep_their_reduction_of_none():
    loss = {"kind": functional.cross_entropy, "reduction": "none", "label_smoothing": 0.2}
    function = edgefl.run(keys(CLASSES, loss), device="cpu")
    by_class = edgefl.run(keys(CLASSES, CASES["smoothed"][1]), device="cpu")
    assert np.array_equal(function.parameters, by_class.parameters)
