"""Regression and losses of one's own: against closed forms, a bare loop and the losses that come with the package."""

from functools import partial

import numpy as np
import pytest
import torch
import yaml

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.losses.imported import ImportedLoss
from edgefl.runs.data_division import divide
from edgefl.scenario import load

RNG = np.random.default_rng(3)
N = 24
FEATURES = 4
STEPS = 7
LR = 0.05
LOSSES = """
import torch
from edgefl.learning.losses import Loss
from torch.nn.functional import cross_entropy

def ce(outputs, labels):
    return cross_entropy(outputs, labels, reduction="none")

def squares(outputs, labels, scale=1.0):
    return scale * (outputs[:, 0] - labels) ** 2

def mean(outputs, labels):
    return cross_entropy(outputs, labels)

def broadcast(outputs, labels):
    return ((outputs - labels) ** 2).mean(1)

def coupled(outputs, labels):
    losses = ce(outputs, labels)
    return losses / losses.mean()

def constant(outputs, labels):
    return torch.ones(len(labels))

def column(outputs, labels):
    return ce(outputs, labels)[:, None]

def text(outputs, labels):
    return "a loss"

def infinite(outputs, labels):
    return ce(outputs, labels) / 0

class Huber(Loss):
    delta: float = 1.0

    def of_samples(self, outputs, labels):
        return torch.nn.functional.huber_loss(outputs[..., 0], labels, reduction="none", delta=self.delta)

def failing(outputs, labels):
    raise ValueError("no loss today")
"""


def linear_data(outputs=None):
    """Samples and numbers of a linear model with noise; labels [n], or [n, outputs]."""
    x = RNG.normal(size=(N + 9, FEATURES)).astype(np.float32)
    y = x @ RNG.normal(size=(FEATURES, outputs or 1)) + 0.5 + 0.1 * RNG.normal(size=(N + 9, outputs or 1))
    if outputs is None:
        y = y[:, 0]
    return x[:N], y[:N], x[N:], y[N:]


def scenario(data, **training):
    return {
        "rounds": 1,
        "data": {"dataset": edgefl.arrays(*data)},
        "model": {"kind": "logistic", "init": {"kind": "zeros"}},
        "devices": {"count": 1},
        "training": {"loss": "mse", "lr": LR, "batch_size": "full", "local_steps": STEPS, **training},
    }


def flat(weights, bias):
    return np.concatenate([weights.T.ravel(), bias])


@pytest.mark.parametrize(("outputs", "engine"), [(None, "serial"), (1, "batched"), (3, "batched")])
def test_linear_regression_takes_the_steps_of_the_closed_form(outputs, engine):
    """The error of least squares shrinks by the matrix I - lr H in each step of full-batch gradient descent."""
    data = linear_data(outputs)
    result = edgefl.run(scenario(data, engine=engine))
    x = np.hstack([data[0].astype(float), np.ones((N, 1))])
    y = data[1].reshape(N, -1)
    hessian = 2 * x.T @ x / (N * y.shape[1])
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    shrunk = np.linalg.matrix_power(np.eye(FEATURES + 1) - LR * hessian, STEPS)
    expected = best - shrunk @ best  # from zeros
    assert result.parameters == pytest.approx(flat(expected[:-1], expected[-1]), abs=2e-6)
    test = np.hstack([data[2], np.ones((9, 1))]) @ expected
    assert result.rounds["test_loss"].iloc[-1] == pytest.approx(np.mean((test - data[3].reshape(9, -1)) ** 2), rel=1e-5)


def test_a_network_takes_the_steps_of_a_bare_torch_loop():
    data = linear_data(2)
    changes = {"model": {"kind": "fcn", "hidden": [5], "init": {"kind": "value", "value": 0.1}}}
    result = edgefl.run({**scenario(data, engine="serial"), **changes})
    module = torch.nn.Sequential(torch.nn.Linear(FEATURES, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    for parameter in module.parameters():
        torch.nn.init.constant_(parameter, 0.1)
    solver = torch.optim.SGD(module.parameters(), lr=LR)
    x = torch.from_numpy(data[0])
    y = torch.from_numpy(data[1]).float()
    for _ in range(STEPS):
        solver.zero_grad()
        torch.nn.functional.mse_loss(module(x), y).backward()
        solver.step()
    expected = torch.nn.utils.parameters_to_vector(module.parameters()).detach().numpy()
    assert result.parameters == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("algorithm", "more"), [("fedavg", {"dropout": 0.3}), ("moon", {"dropout": 0.3}), ("scaffold", {})]
)
@pytest.mark.oracle
def test_clients_of_unequal_sizes_learn_together_as_one_by_one(algorithm, more):
    changes = {
        "rounds": 2,
        "model": {"kind": "fcn", "hidden": [6], **more},
        "algorithm": algorithm,
        "devices": {"count": 4},
        "server": {"participants": 4},
    }
    runs = []
    for engine in ("serial", "batched"):
        of_engine = {**scenario(linear_data_fixed(), engine=engine, batch_size=3, width=None), **changes}
        of_engine["data"]["partition"] = "quantity_skew"
        runs.append(edgefl.run(of_engine))
    assert runs[1].parameters == pytest.approx(runs[0].parameters, abs=1e-5)
    assert runs[1].rounds["train_loss"].tolist() == pytest.approx(runs[0].rounds["train_loss"].tolist(), rel=1e-4)


def linear_data_fixed():
    global RNG  # noqa: PLW0603 - both runs need the same samples
    RNG = np.random.default_rng(5)
    return linear_data(2)


@pytest.fixture
def own_loss(tmp_path):
    """Run a scenario with a loss of the file beside it."""
    (tmp_path / "own_losses.py").write_text(LOSSES)

    def call(loss, *overrides, **changes):
        file = tmp_path / "own.yaml"
        content = {
            "rounds": 2,
            "devices": {"count": 4},
            "server": {"participants": 3},
            "training": {"loss": loss, "local_steps": 3, "engine": "serial"},
            **changes,
        }
        file.write_text(yaml.safe_dump(content))
        return edgefl.run(file, overrides=overrides)

    return call


@pytest.mark.parametrize(("algorithm", "engine"), [("fedavg", "serial"), ("moon", "batched")])
@pytest.mark.oracle
def test_a_users_cross_entropy_equals_the_shipped_one(own_loss, engine, algorithm):
    changes = (f"training.engine={engine}", f"algorithm={algorithm}")
    ours = own_loss(None, *changes)
    named = own_loss("cross_entropy", *changes)
    own = own_loss("own_losses:ce", *changes)
    assert (named.parameters == ours.parameters).all()
    assert own.parameters == pytest.approx(ours.parameters, abs=1e-6)
    assert own.rounds["test_loss"].tolist() == pytest.approx(ours.rounds["test_loss"].tolist(), rel=1e-6)
    if engine == "serial":
        assert (own.parameters == ours.parameters).all()


@pytest.mark.oracle
def test_keys_of_a_loss_are_the_functions(own_loss, tmp_path):
    np.savez(tmp_path / "d.npz", **dict(zip(("train_x", "train_y", "test_x", "test_y"), linear_data(), strict=True)))
    data = {"dataset": "npz", "path": "d.npz"}
    ours = own_loss("mse", data=data, model="logistic")
    own = own_loss("own_losses:squares", data=data, model="logistic")
    doubled = own_loss({"kind": "own_losses:squares", "scale": 2.0}, "training.lr=0.05", data=data, model="logistic")
    assert own.parameters == pytest.approx(ours.parameters, abs=1e-6)
    assert doubled.parameters == pytest.approx(ours.parameters, abs=1e-6)  # half the rate on twice the loss
    assert doubled.rounds["test_loss"].iloc[-1] == pytest.approx(2 * ours.rounds["test_loss"].iloc[-1], rel=1e-5)
    class_of_ones_own = {"kind": "own_losses:Huber", "delta": 1e6}  # squares halved, up to such an error
    halved = own_loss(class_of_ones_own, "training.lr=0.2", data=data, model="logistic")
    assert halved.parameters == pytest.approx(ours.parameters, abs=1e-6)
    assert doubled.scenario["training"]["loss"] == {"kind": "own_losses:squares", "scale": 2.0}


class Doubled(FedAvg):
    """A loss of the algorithm's own that compares no models."""

    def loss(self, losses, own, others, batch):  # names of its own
        return 2 * losses


@pytest.mark.parametrize("engine", ["serial", "batched"])
@pytest.mark.parametrize("loss", ["mse", None])
@pytest.mark.oracle
def test_an_algorithms_own_loss_comes_on_top_of_the_tasks(engine, loss):
    data = list(linear_data())
    if loss is None:
        data[1] = np.arange(N) % 3
        data[3] = np.arange(9) % 3
    doubled = edgefl.run({**scenario(data, engine=engine, loss=loss), "algorithm": Doubled()})
    faster = edgefl.run(scenario(data, engine=engine, loss=loss, lr=2 * LR))
    assert doubled.parameters == pytest.approx(faster.parameters, abs=1e-6)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("own_losses:mean", r"must give the loss of each sample, \[B\], got a single number: leave out its mean"),
        ("own_losses:column", r"must give the loss of each sample, \[B\], got \[4, 1\] for B = 4"),
        ("own_losses:text", r"must give the loss of each sample, \[B\], got a str"),
        ("own_losses:coupled", "must compute a sample's loss from its own outputs and label"),
        ("own_losses:constant", "must compute the losses from the outputs with torch"),
        ("own_losses:infinite", "gives NaN or infinite losses"),
        ("own_losses:failing", r"own_losses.py:\d+: ValueError: no loss today \(in training.loss own_losses:failing\)"),
        ({"kind": "own_losses:ce", "gamma": 2}, "takes other keys besides outputs and labels: .* 'gamma'"),
        ("own_losses:torch", "torch is a module: name a class or function as torch:MyClass"),
        ("hinge", 'unknown loss "hinge"; known: cross_entropy, ctc, dice, mse, soft_iou'),
        ("mse", "mse needs floating-point labels, these are 10 classes"),
    ],
)
def test_an_unsuitable_loss_is_refused(own_loss, loss, message):
    with pytest.raises(InputError, match=rf"training.loss.*{message}"):
        own_loss(loss)


def test_a_loss_that_broadcasts_outputs_over_labels_is_refused(own_loss, tmp_path):
    """Outputs [B, 1] minus labels [B] are [B, B]: the mean of a row looks like a loss, and mixes all samples."""
    np.savez(tmp_path / "d.npz", **dict(zip(("train_x", "train_y", "test_x", "test_y"), linear_data(), strict=True)))
    with pytest.raises(InputError, match="must compute a sample's loss from its own outputs and label"):
        own_loss("own_losses:broadcast", data={"dataset": "npz", "path": "d.npz"}, model="logistic")


def loss_of(function):
    loss = ImportedLoss(import_path="own:loss")
    loss._function = function
    return loss


def likelihood(outputs, labels):
    return -outputs.gather(1, labels[:, None])[:, 0]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (likelihood, True),  # then weighted, the cross-entropy, of probabilities, and a critic's
        (lambda outputs, labels: (1 + labels) * likelihood(outputs, labels), True),
        (lambda outputs, labels: likelihood(outputs.log_softmax(1), labels), False),
        (lambda outputs, labels: likelihood(outputs.log(), labels), False),
        (lambda outputs, labels: outputs[:, 0] * (2.0 * labels - 1), False),
    ],
)
def test_a_likelihood_of_logarithms_is_told_by_its_fall(function, expected):
    """On other outputs it would fall without limit, and the accuracy with it."""
    loss = loss_of(function)
    labels = np.array([0, 0, 0, 0, 0, 1])
    assert loss.refusal(2, labels) is None
    assert loss.takes_log_probabilities(2, labels) is expected


def yes(outputs, labels):
    numbers = labels.reshape(-1, 1).float()
    return torch.nn.functional.binary_cross_entropy_with_logits(outputs, numbers, reduction="none")[:, 0]


def test_a_loss_of_one_output_is_told_that_two_classes_have_two():
    """Both remedies work."""
    classes = np.array([0, 1, 1])
    assert "takes one output, and a network gives one for each of the two classes" in loss_of(yes).refusal(2, classes)
    of_differences = loss_of(lambda outputs, labels: yes(outputs[:, 1:] - outputs[:, :1], labels))
    assert of_differences.refusal(2, classes) is None
    assert loss_of(yes).refusal(1, classes.astype(np.float32)) is None


def test_models_with_a_separate_loss_take_no_other():
    quadratic = {"dataset": "quadratic", "coefficients": [[1, 0, 0], [2, 1, 0]]}
    with pytest.raises(InputError, match=r"training.loss: the model quadratic has its own loss: leave it out"):
        edgefl.run({"data": quadratic, "training": {"loss": "cross_entropy"}})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"training": {"loss": None}},
            "data.dataset: labels are floating-point .* for a regression set training.loss to mse",
        ),
        ({"training": {"loss": "cross_entropy"}}, "training.loss: labels are floating-point numbers"),
        ({"targets": [0.5]}, "targets: labels of a regression are numbers, and no accuracy is measured"),
        ({"stop": {"accuracy": 0.5}}, "stop.accuracy: labels of a regression"),
        ({"algorithm": "feddisco"}, "algorithm: feddisco needs classes"),
        ({"churn": {"kind": "bernoulli", "p_min": 0.5}}, "churn.p_min: .* set churn.probability"),
        (
            {"report": {"contributions": {"value": "accuracy"}}},
            "report.contributions: the value accuracy needs",
        ),
        ({"data": {"partition": "dirichlet"}}, "data.partition: dirichlet divides by classes, .* iid, quantity_skew"),
        ({"data": {"partition": "shards"}}, "data.partition: shards divides by classes"),
        ({"data": {"partition": {"kind": "iid", "stratified": True}}}, "data.partition: iid stratified needs classes"),
    ],
    ids=str,
)
def test_keys_that_need_classes_are_refused(changes, message):
    wanted = scenario(linear_data())
    for key, value in changes.items():
        wanted[key] = {**wanted.get(key, {}), **value} if isinstance(value, dict) else value
    with pytest.raises(InputError, match=message):
        edgefl.run(wanted, train=False)


@pytest.mark.oracle
def test_results_of_a_regression_have_a_loss_and_no_accuracy(tmp_path):
    result = edgefl.run({**scenario(linear_data()), "rounds": 3, "name": "reg"}, out=tmp_path / "out")
    assert result.rounds["test_accuracy"].isna().all()
    assert (np.diff(result.rounds["test_loss"]) < 0).all()
    assert result.summary["final_accuracy"] is None
    assert not (tmp_path / "out" / "labels.csv").exists()
    page = edgefl.report([tmp_path / "out"], out=tmp_path / "page.html")
    assert "Final test loss" in page.read_text()


def test_labels_of_a_regression_are_priced_as_floats():
    """In split learning each label goes up with its activations: a byte for a class, 32 bits for a number."""
    data = linear_data(3)
    split = {"model": {"kind": "fcn", "hidden": [5]}, "server": {"policy": "split"}}
    numbers = edgefl.run({**scenario(data), **split}, train=False)
    classes = [data[0], np.arange(N) % 3, data[2], np.arange(9) % 3]
    of_classes = edgefl.run({**scenario(classes, loss=None), **split}, train=False)
    more_bits = STEPS * N * (3 * 32 - 8)
    assert numbers.rounds["bytes_up"].sum() - of_classes.rounds["bytes_up"].sum() == more_bits / 8


@pytest.mark.parametrize("outputs", [None, 2])
def test_errors_by_device_are_those_on_its_owners_test_samples(outputs):
    train_x, train_y, test_x, test_y = linear_data(outputs)
    owner = np.arange(N) % 3
    test_owner = np.array([2, 0, 1, 0, 2, 2, 1, 0, -1])
    wanted = scenario((train_x, train_y, test_x, test_y))
    wanted["data"] = {
        "dataset": edgefl.arrays(train_x, train_y, test_x, test_y, owner=owner, test_owner=test_owner),
        "partition": "natural",
        "test_partition": "like_train",
    }
    wanted["devices"] = {"count": 3}
    wanted["server"] = {"participants": 3}
    wanted["report"] = {"measures": [{"kind": "r2", "by_device": True}, {"kind": "mae", "by_device": True}]}
    result = edgefl.run(wanted)
    width = outputs or 1
    weights = result.parameters[: FEATURES * width].reshape(width, FEATURES)
    guesses = test_x @ weights.T + result.parameters[FEATURES * width :]
    truths = test_y.reshape(-1, width)
    r2 = result.table("r2").set_index("device")
    mae = result.table("mae").set_index("device")
    for device in range(3):
        own = test_owner == device
        errors = truths[own] - guesses[own]
        deviations = truths[own] - truths[own].mean(axis=0)
        expected = np.mean(1 - (errors**2).sum(axis=0) / (deviations**2).sum(axis=0))
        assert r2.loc[device, "r2"] == pytest.approx(expected, rel=1e-5)
        assert mae.loc[device, "mae"] == pytest.approx(np.abs(errors).mean(), rel=1e-5)
        assert mae.loc[device, "samples"] == own.sum()
    assert result.rounds["mae"].iloc[-1] == pytest.approx(np.abs(truths - guesses).mean(), rel=1e-5)
    assert result.summary["fairness"] is None  # it is one of accuracies


@pytest.mark.parametrize("partition", ["iid", "quantity_skew"])
def test_test_samples_of_a_regression_are_divided_in_proportion_to_training_samples(partition):
    wanted = scenario(linear_data())
    wanted["data"] |= {"partition": partition, "test_partition": "like_train"}
    wanted["devices"] = {"count": 4}
    wanted["server"] = {"participants": 4}
    divided = divide(load(wanted))
    sizes = np.array([len(part) for part in divided.parts])
    tested = np.array([len(part) for part in divided.test_parts])
    assert sorted(np.concatenate(divided.test_parts)) == list(range(9))
    assert (abs(tested - sizes * 9 / N) <= 1).all()


@pytest.mark.parametrize("loss", [torch.nn.MSELoss(), partial(torch.nn.functional.mse_loss)])
def test_an_object_that_is_not_a_function_is_refused_as_a_loss(loss):
    with pytest.raises(InputError, match=r"training\.loss: "):
        edgefl.run(scenario(linear_data(), loss=loss), train=False)
