"""Labels of tokens and pixels: against plain torch, closed forms, and the same samples with one label each."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from learner_cases import learners, parts_in_order, train_round
from plain_torch import PlainFedAvg, tensors_of
from torch import nn
from torch.nn.functional import cross_entropy

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.datasets import Data
from edgefl.learning.datasets.base import IGNORED
from edgefl.learning.learner.kernels.compared import compared, sample_losses
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.memory_needs import memory_needs
from edgefl.learning.models.imported import Imported
from edgefl.learning.models.logistic import Logistic
from edgefl.learning.training_section import Training

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")  # of torch.func.vmap

VOCABULARY = 6
LENGTH = 5
SIZES = [9, 13, 4]
ROUNDS = 2
ENGINES = ["serial", "batched"]
PLANS = [SERIAL, Plan("batched", "vmap", 1), Plan("batched", "vmap", 2)]


class Tagger(nn.Module):
    """Scores of the class of each token, from the token and the mean of its sequence."""

    def __init__(self, classes):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 4)
        self.hidden = nn.Linear(4, 7)
        self.last = nn.Linear(7, classes)

    def scores(self, x):
        tokens = self.embedding(x)
        return self.last(torch.tanh(self.hidden(tokens + tokens.mean(1, keepdim=True))))  # [B, T, classes]

    def forward(self, x):
        return self.scores(x).movedim(-1, 1)


class ClassesLast(Tagger):
    def forward(self, x):
        return self.scores(x)


class Flattened(Tagger):
    def forward(self, x):
        return self.scores(x).flatten(0, 1)


class FirstToken(Tagger):
    def forward(self, x):
        return self.scores(x)[:, 0]


class FourClasses(FirstToken):
    """A network that says itself how many classes it tells apart."""

    def __init__(self):
        super().__init__(4)


class FirstOfOne(Tagger):
    """The same as `FirstToken`, as labels [n, 1] want it."""

    def forward(self, x):
        return self.scores(x)[:, :1].movedim(-1, 1)


class Pixelwise(nn.Module):
    """A convolution of one pixel: the same logistic regression at each pixel."""

    def __init__(self, shape, classes):
        super().__init__()
        self.layer = nn.Conv2d(shape[0], classes, 1)

    def forward(self, x):
        return self.layer(x)


def sequences(count, seed=0, classes=4):
    """Return token ids [n, T] and labels [n, T], padded at their ends; the third sample is all padding."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, VOCABULARY, (count, LENGTH))
    y = (x + x[:, ::-1] + rng.integers(0, 2, x.shape)) % classes
    is_padding = np.arange(LENGTH) >= rng.integers(1, LENGTH + 1, (count, 1))
    is_padding[2] = True
    x[is_padding] = 0
    y[is_padding] = IGNORED
    return x, y


def arrays(count=20, **keys):
    x, y = sequences(count + 10)
    owner = np.arange(count) % 2
    test_owner = np.arange(10) % 2
    return edgefl.arrays(
        x[:count], y[:count], x[count:], y[count:], **{"owner": owner, "test_owner": test_owner, "classes": 4, **keys}
    )


def scenario(net=Tagger, dataset=None, **training):
    return {
        "rounds": 2,
        "data": {"dataset": dataset or arrays(), "partition": "natural", "test_partition": "like_train"},
        "model": {"kind": net},
        "devices": {"count": 2},
        "server": {"participants": 2},
        "training": {"lr": 0.5, "batch_size": "full", "local_steps": 3, "engine": "serial", **training},
    }


def module_with(parameters, net=Tagger):
    module = net(4)
    nn.utils.vector_to_parameters(torch.from_numpy(parameters.copy()), module.parameters())
    return module


def held(dataset, which, device):
    """Return the samples and labels of a device, as tensors."""
    data = dataset.load()
    own = getattr(data, "owner" if which == "train" else "test_owner") == device
    return [torch.from_numpy(getattr(data, f"{which}_{name}")[own]) for name in "xy"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.oracle
def test_two_clients_learn_as_in_a_loop_of_plain_torch(engine):
    result = edgefl.run(scenario(engine=engine))
    w = edgefl.run({**scenario(lr=1e-30), "rounds": 1}).parameters  # the initial model
    losses = []
    for _ in range(2):
        trained = []
        for device in range(2):
            module = module_with(w)
            solver = torch.optim.SGD(module.parameters(), lr=0.5)
            x, y = held(arrays(), "train", device)
            for _ in range(3):
                solver.zero_grad()
                loss = cross_entropy(module(x), y)  # over all labels but -100
                loss.backward()
                solver.step()
                losses.append(loss.item())
            trained.append(nn.utils.parameters_to_vector(module.parameters()).detach().numpy())
        w = np.mean(trained, axis=0)  # ten samples each
    assert result.parameters == pytest.approx(w, abs=1e-6)
    assert result.rounds["train_loss"].tolist() == pytest.approx([np.mean(losses[:6]), np.mean(losses[6:])], rel=1e-5)


@pytest.mark.oracle
def test_mini_batches_of_unequal_clients_are_those_of_plain_torch():
    """In float64, with short last batches and clients of unequal sizes: padding and ignored labels weigh nothing."""
    model = Imported(import_path="test_several_labels:Tagger")
    model._maker = Tagger
    x, y = sequences(sum(SIZES) + 10)
    y[2, 0] = 1  # torch's mean over no label would be NaN
    count = sum(SIZES)
    data = Data(x[:count], y[:count], x[count:], y[count:], classes=4, dtype="float64")
    keys = {"batch_size": 4, "local_epochs": 2, "lr": 0.3, "momentum": 0.9}
    y = torch.from_numpy(data.test_y)
    counts = y != IGNORED
    with learners() as make:
        made = [make(model, data=data, parts=parts_in_order(SIZES), plan=plan, **keys) for plan in PLANS]
        plain = PlainFedAvg(made[0].task)
        losses = [plain.round(range(len(SIZES)), index) for index in range(ROUNDS)]
        expected = torch.cat([tensor.flatten() for tensor in tensors_of(plain.module).values()])
        outputs = plain.outputs(torch.from_numpy(data.test_x))
        for learner in made:
            server = learner.begin(ROUNDS, len(SIZES))
            for index in range(ROUNDS):
                updates, loss = train_round(learner, range(len(SIZES)), index, server["w"])
                server = learner.aggregate(server, updates)
                assert loss == pytest.approx(losses[index], rel=1e-9)
            assert torch.allclose(server["w"], expected, rtol=1e-9, atol=1e-12)
            test = learner.evaluate(server["w"]).result()
            assert test.loss == pytest.approx(float(cross_entropy(outputs, y)), rel=1e-9)
            assert test.accuracy == pytest.approx(float((outputs.argmax(1) == y)[counts].double().mean()), rel=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_the_gradient_of_all_samples_weighs_each_label_the_same(plan):
    """SCAFFOLD's option I: one pass over a client's samples in batches, whose padding differs."""
    model = Imported(import_path="test_several_labels:Tagger")
    model._maker = Tagger
    x, y = sequences(sum(SIZES) + 10)
    data = Data(x[:-10], y[:-10], x[-10:], y[-10:], classes=4, dtype="float64")
    with learners() as make:
        learner = make(
            model, Scaffold(option="I"), data=data, parts=parts_in_order(SIZES), plan=plan, batch_size=4, lr=0.3
        )
        server = learner.begin(1, len(SIZES))
        updates, _ = train_round(learner, range(len(SIZES)), 0, server["w"], learner.task.algorithm.downlink(server))
    for device, part in enumerate(parts_in_order(SIZES)):
        module = module_with(server["w"].numpy())
        loss = cross_entropy(module.double()(torch.from_numpy(x[part])), torch.from_numpy(y[part]))
        expected = torch.cat([gradient.flatten() for gradient in torch.autograd.grad(loss, module.parameters())])
        assert torch.allclose(updates.vectors["delta_c"][device], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.oracle
def test_a_sample_of_padding_alone_changes_nothing(engine):
    x, y = sequences(30)
    kept = np.arange(20) != 2
    runs = []
    for rows in (np.arange(20), np.flatnonzero(kept)):
        dataset = edgefl.arrays(x[rows], y[rows], x[20:], y[20:], classes=4)
        wanted = scenario(dataset=dataset, engine=engine)
        wanted["data"] = {"dataset": dataset}
        wanted["devices"] = {"count": 1}
        wanted["server"] = {"participants": 1}
        runs.append(edgefl.run(wanted))
    assert runs[0].parameters == pytest.approx(runs[1].parameters, abs=1e-6)
    for column in ("train_loss", "test_loss", "test_accuracy"):
        assert runs[0].rounds[column].tolist() == pytest.approx(runs[1].rounds[column].tolist(), rel=1e-6)


@pytest.mark.parametrize(("algorithm", "engine"), [("fedavg", "batched"), ("moon", "serial")])
@pytest.mark.oracle
def test_a_device_with_padding_alone_learns_nothing(engine, algorithm):
    x, y = sequences(30)
    y[1:20:2] = IGNORED  # all of device 1
    dataset = edgefl.arrays(x[:20], y[:20], x[20:], y[20:], classes=4, owner=np.arange(20) % 2)
    wanted = scenario(dataset=dataset, engine=engine)
    wanted["data"] = {"dataset": dataset, "partition": "natural"}
    wanted["algorithm"] = {"kind": "moon", "mu": 0.0} if algorithm == "moon" else algorithm
    wanted["rounds"] = 1
    both = edgefl.run(wanted)
    own = held(dataset, "train", 0)
    dataset = edgefl.arrays(own[0], own[1], x[20:], y[20:], classes=4)
    alone = edgefl.run({**wanted, "data": {"dataset": dataset}, "devices": {"count": 1}, "server": {"participants": 1}})
    initial = edgefl.run({**wanted, "training": {**wanted["training"], "lr": 1e-30}}).parameters
    assert both.parameters - initial == pytest.approx((alone.parameters - initial) / 2, abs=1e-6)
    assert both.summary["fairness"]["worst_10_percent"] == 0  # none of its labels counts


@pytest.mark.parametrize(("algorithm", "engine"), [("fedavg", "batched"), ("moon", "serial"), ("scaffold", "batched")])
@pytest.mark.oracle
def test_one_label_a_sample_is_a_row_of_one_bit_for_bit(engine, algorithm):
    x, y = sequences(30)
    y = np.where(y[:, 0] == IGNORED, 0, y[:, 0])
    runs = []
    for net, labels in ((FirstToken, y), (FirstOfOne, y[:, None])):
        dataset = edgefl.arrays(x[:20], labels[:20], x[20:], labels[20:], classes=4, owner=np.arange(20) % 3 // 2)
        wanted = scenario(net, dataset, engine=engine, batch_size=4, momentum=0.5)
        wanted["data"] = {"dataset": dataset, "partition": "natural"}
        wanted["algorithm"] = algorithm
        wanted["report"] = {
            "measures": ["f1", "auc", "calibration", "confusion", "predictions", "device_losses", "gradient_norm"]
        }
        runs.append(edgefl.run(wanted))
    assert (runs[0].parameters == runs[1].parameters).all()
    assert (
        runs[0]
        .rounds.drop(columns="wall_s", errors="ignore")
        .equals(runs[1].rounds.drop(columns="wall_s", errors="ignore"))
    )
    assert runs[0].device_accuracy.equals(runs[1].device_accuracy)
    for table in ("f1", "calibration", "confusion", "predictions", "device_losses"):
        assert runs[0].table(table).equals(runs[1].table(table))
    assert runs[0].summary["fairness"] == runs[1].summary["fairness"]


@pytest.mark.oracle
@pytest.mark.parametrize(("void", "engine"), [(255, "serial"), (IGNORED, "batched")])
def test_segmentation_by_pixels_takes_the_steps_of_softmax_regression(engine, void):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(12, 2, 3, 4)).astype(np.float32)
    y = rng.integers(0, 3, (12, 3, 4))
    y[rng.random(y.shape) < 0.3] = void
    keys = {} if void == IGNORED else {"ignore_index": void}
    labels = y.astype(np.uint8 if void == 255 else np.int64)
    dataset = edgefl.arrays(x[:8], labels[:8], x[8:], labels[8:], **keys)
    wanted = scenario(Pixelwise, dataset, engine=engine)
    wanted["rounds"] = 1
    wanted["data"] = {"dataset": dataset}
    wanted["devices"] = {"count": 1}
    wanted["server"] = {"participants": 1}
    wanted["model"]["init"] = {"kind": "zeros"}
    result = edgefl.run(wanted)
    pixels = np.moveaxis(x, 1, -1)
    w = np.zeros((2, 3))
    b = np.zeros(3)
    counts = y != void
    known = pixels[:8][counts[:8]].astype(float)  # [pixels, channels]
    one_hot = np.eye(3)[y[:8][counts[:8]]]
    for _ in range(3):
        p = np.exp(known @ w + b)
        error = (p / p.sum(1, keepdims=True) - one_hot) / len(known)
        w -= 0.5 * known.T @ error
        b -= 0.5 * error.sum(0)
    assert result.parameters == pytest.approx(np.concatenate([w.T.ravel(), b]), abs=1e-6)
    logits = pixels[8:][counts[8:]] @ w + b
    truths = y[8:][counts[8:]]
    losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(truths)), truths]
    assert result.rounds["test_loss"].iloc[-1] == pytest.approx(losses.mean(), rel=1e-5)
    assert result.rounds["test_accuracy"].iloc[-1] == pytest.approx((logits.argmax(1) == truths).mean(), rel=1e-12)


@pytest.mark.oracle
def test_accuracies_and_measures_count_labels():
    wanted = scenario()
    wanted["report"] = {
        "train_accuracy": "all",
        "gradient_norm": True,
        "device_losses": True,
        "measures": ["f1", {"kind": "confusion", "by_device": True}, "predictions", "calibration", "auc"],
    }
    result = edgefl.run(wanted)
    module = module_with(result.parameters)
    hits = {}
    labels = {}
    for which in ("train", "test"):
        for device in range(2):
            x, y = held(arrays(), which, device)
            counts = y != IGNORED
            hits[which, device] = int((module(x).argmax(1) == y)[counts].sum())
            labels[which, device] = int(counts.sum())
    last = result.rounds.iloc[-1]
    for which, column in (("train", "train_accuracy"), ("test", "test_accuracy")):
        right = hits[which, 0] + hits[which, 1]
        assert last[column] == pytest.approx(right / (labels[which, 0] + labels[which, 1]), rel=1e-12)
    expected = [hits["test", device] / labels["test", device] for device in range(2)]
    assert result.device_accuracy["accuracy"].tolist() == pytest.approx(expected, rel=1e-12)
    confusion = result.table("confusion")
    confusion = confusion[confusion["round"] == 2]
    for device in range(2):
        own = confusion[confusion["device"] == device]
        assert own["samples"].sum() == labels["test", device]
        assert own[own["label"] == own["predicted"]]["samples"].sum() == hits["test", device]
    assert result.table("predictions")["samples"].sum() == 2 * (labels["test", 0] + labels["test", 1])
    for device in range(2):
        x, y = held(arrays(), "train", device)
        losses = result.device_losses[result.device_losses["device"] == device]
        assert losses["next_loss"].iloc[-1] == pytest.approx(cross_entropy(module(x), y).item(), rel=1e-5)
    begin = module_with(edgefl.run({**wanted, "rounds": 1}).parameters)  # the second round's first model
    x, y = (torch.cat(parts) for parts in zip(held(arrays(), "train", 0), held(arrays(), "train", 1), strict=True))
    gradients = torch.autograd.grad(cross_entropy(begin(x), y), list(begin.parameters()))
    squares = sum(float((gradient**2).sum()) for gradient in gradients)
    assert last["squared_gradient_norm"] == pytest.approx(squares, rel=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.oracle
def test_a_users_loss_sees_one_label_after_another(tmp_path, engine):
    text = """
from torch.nn.functional import cross_entropy

def gathered(outputs, labels):  # fails on a label of -100
    return -outputs.log_softmax(-1).gather(1, labels[:, None])[:, 0]
"""
    (tmp_path / "token_losses.py").write_text(text)
    ours = edgefl.run(scenario(engine=engine))
    own = edgefl.run(scenario(engine=engine, loss="token_losses:gathered") | {"import_from": [str(tmp_path)]})
    assert own.parameters == pytest.approx(ours.parameters, abs=1e-6)
    assert own.rounds["test_loss"].tolist() == pytest.approx(ours.rounds["test_loss"].tolist(), rel=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"kind": "fasttext"}}, r"model.kind: fasttext gives the class of a sample, .* gives \[B, 4, 5\]"),
        ({"model": {"kind": ClassesLast}}, r"got \[2, 5, 4\] for B = 2: put the classes .* \.movedim\(-1, 1\)"),
        ({"model": {"kind": Flattened}}, r"got \[10, 4\] for B = 2: keep the labels of a sample together"),
        (
            {"model": {"kind": FirstToken}},
            r"must give \[B, 4, 5\] .* got \[2, 4\] for B = 2; each sample has labels \[5\]",
        ),
        (
            {"data": {"partition": "dirichlet"}},
            "dirichlet divides by classes, .* set it to iid, quantity_skew, natural",
        ),
        ({"data": {"partition": "shards"}}, "data.partition: shards divides by classes"),
        (
            {"data": {"partition": {"kind": "iid", "stratified": True}}},
            "iid stratified needs classes, .* several labels",
        ),
        ({"data": {"augmentation": {}}}, "data.augmentation: each sample has several labels"),
        ({"algorithm": "feddisco"}, "algorithm: feddisco needs the class of a sample"),
        ({"churn": {"kind": "bernoulli", "p_min": 0.5}}, "churn.p_min: .* set churn.probability"),
        ({"server": {"selection": "data_diversity"}}, "data_diversity needs samples with one class each"),
        ({"report": {"labels_by_round": True}}, "report.labels_by_round: needs samples with one class each"),
        ({"training": {"loss": "mse"}}, "training.loss: mse needs floating-point labels"),
    ],
    ids=str,
)
def test_keys_that_need_one_class_a_sample_are_refused(changes, message):
    wanted = scenario()
    for key, value in changes.items():
        wanted[key] = {**wanted.get(key, {}), **value} if isinstance(value, dict) and key != "model" else value
    with pytest.raises(InputError, match=message):
        edgefl.run(wanted, train=False)


WRONG = {
    "none counts": ({"train_y": np.full((4, 3), IGNORED)}, "train: no label counts: all are -100"),
    "-1": ({"train_y": np.full((4, 3), -1)}, "got -1: if that marks them, give ignore_index=-1"),
    "too many": (
        {"train_y": np.zeros((5, 3), int)},
        r"train: y must be one label a sample, \[4\], or those of its tokens",
    ),
    "true or false": ({"train_y": np.zeros((4, 3), bool)}, r"got bool: say y.astype\(int\)"),
    "too few a sample": ({"train_y": np.zeros((4, 2), int)}, "train and test labels must be of one kind"),
    "255": ({"train_y": np.full((4, 3), 255)}, "give ignore_index=255 if that marks labels .*, or give it classes=256"),
    "a large number": ({"train_y": np.full((4, 3), 100_000)}, "labels must be less than 100000"),
    "one class": ({"classes": 1}, "classes must be a whole number from 2, as the highest label is 1"),
    "a half ignored": ({"ignore_index": 0.5}, "ignore_index must be a whole number, got 0.5"),
    "one label a sample": (
        {"train_y": np.zeros(4, int), "ignore_index": 0},
        r"ignore_index is for the labels of tokens or pixels, .* train_y is int64 \[4\]: leave it out",
    ),
    "numbers of pixels": ({"train_y": np.full((4, 3, 3), 0.5)}, r"say y.reshape\(len\(y\), -1\), or y.astype\(int\)"),
    "unequal lengths": (
        {"train_y": [[0, 1], [0, 1, 1]]},
        "train_y has rows of unequal lengths: pad them .* labels of tokens with -100",
    ),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_wrong_labels_of_tokens_are_refused_in_one_line(changes, message):
    x = np.arange(12).reshape(4, 3)
    given = {"train_x": x, "train_y": x % 2, "test_x": x, "test_y": x % 2, **changes}
    with pytest.raises(InputError, match=message) as refused:
        edgefl.arrays(**given)
    assert "\n" not in str(refused.value)


class Ten(nn.Module):
    """A class of a sample, as most networks give it."""

    def __init__(self, classes=10):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, classes)

    def forward(self, x):
        return self.embedding(x).mean(1)


@pytest.mark.parametrize(
    ("labels", "remedy"),
    [
        (np.arange(20)[:, None] % 10, r"say np.ravel\(y\)"),
        (np.eye(10, dtype=int)[np.arange(20) % 10], r"say np.argmax\(y, axis=1\)"),
        (np.eye(10, dtype=bool)[np.arange(20) % 10], r"say np.argmax\(y, axis=1\)"),
    ],
    ids=["a column", "one-hot", "one-hot truths"],
)
def test_labels_that_mean_one_class_a_sample_are_refused_with_a_remedy(labels, remedy):
    x, _ = sequences(20)
    with pytest.raises(InputError, match=rf"y must be one label a sample, \[20\], .* got \(20, 10?\): {remedy}$"):
        edgefl.arrays(x, labels, x, labels)
    # Labels of tokens may have the same form: then the number of classes is given.
    if labels.dtype == int:
        assert edgefl.arrays(x, labels, x, labels, classes=10).load().several_labels


def test_a_column_of_labels_is_refused_by_a_network_that_gives_one_class_a_sample():
    x, _ = sequences(20)
    labels = np.arange(20)[:, None] % 10
    dataset = edgefl.arrays(x, labels, x, labels, classes=10)
    for kind in (Ten, "fasttext"):
        with pytest.raises(InputError, match=r"without it, y.squeeze\(1\), they are \[n\]"):
            edgefl.run({"data": {"dataset": dataset}, "model": {"kind": kind}, "devices": {"count": 2}}, train=False)


@pytest.mark.oracle
def test_classes_that_occur_in_no_label_are_named_by_the_networks_outputs():
    """The vocabulary of a network is often larger than that of a small data set."""
    x, y = sequences(30)
    with pytest.raises(InputError, match=r"got \[2, 4\] for B = 2; give classes: 4 with the data if the last classes"):
        edgefl.run(
            {
                "data": {"dataset": edgefl.arrays(x, np.arange(30) % 3, x, np.arange(30) % 3)},
                "model": {"kind": FourClasses},
                "devices": {"count": 2},
            },
            train=False,
        )
    dataset = edgefl.arrays(x[:20], y[:20], x[20:], y[20:], classes=VOCABULARY)
    wanted = scenario(dataset=dataset)
    wanted["data"] = {"dataset": dataset}
    assert edgefl.run({**wanted, "rounds": 1}).parameters.shape == (4 * VOCABULARY + 35 + 8 * VOCABULARY,)


@pytest.mark.oracle
def test_npz_files_have_owners_and_an_ignored_label(tmp_path):
    x, y = sequences(30)
    padded = np.where(y == IGNORED, 9, y)
    owner = np.arange(20) % 2
    np.savez(tmp_path / "d.npz", train_x=x[:20], train_y=padded[:20], test_x=x[20:], test_y=padded[20:], owner=owner)
    wanted = scenario(dataset="npz")
    data = {"partition": "natural", "test_partition": "like_train"}
    named = edgefl.run(
        {**wanted, "data": {"dataset": "npz", "path": str(tmp_path / "d.npz"), "ignore_index": 9, **data}}
    )
    given = edgefl.run(
        {**wanted, "data": {"dataset": edgefl.arrays(x[:20], y[:20], x[20:], y[20:], owner=owner), **data}}
    )
    assert (named.parameters == given.parameters).all()
    assert named.device_accuracy.equals(given.device_accuracy)


def test_labels_of_pixels_count_as_memory():
    data = Data(
        np.zeros((10, 3, 4, 5), np.uint8),
        np.zeros((10, 4, 5), np.int64),
        np.zeros((6, 3, 4, 5), np.uint8),
        np.zeros((6, 4, 5), np.int64),
        classes=7,
    )
    model = Imported(import_path="test_several_labels:Pixelwise")
    model._maker = Pixelwise
    found = {need.what: need.bytes for need in memory_needs(model, FedAvg(), Training(), data, 2, 2).needs}
    assert found["the samples"] == 16 * 20 * (3 + 8)
    assert found["testing"] == 250 * 7 * 20 * 4


@pytest.mark.oracle
def test_a_run_without_learning_and_its_files(tmp_path):
    """Costs are those of the network, and no file counts the labels of devices."""
    wanted = scenario()
    priced = edgefl.run(wanted, train=False)
    learned = edgefl.run(wanted, out=tmp_path / "out")
    assert priced.rounds["bytes_up"].tolist() == learned.rounds["bytes_up"].tolist()
    assert priced.rounds["duration_s"].tolist() == learned.rounds["duration_s"].tolist()
    assert not (tmp_path / "out" / "labels.csv").exists()
    page = edgefl.report([tmp_path / "out"], out=tmp_path / "page.html")
    assert "accuracy" in page.read_text().lower()


LOSSES = """
from torch import nn
from torch.nn.functional import cross_entropy, multi_margin_loss

def padding(outputs, labels):
    return cross_entropy(outputs, labels, ignore_index=0, reduction="none")

def margin(outputs, labels):  # 0 wherever the margin is kept
    return multi_margin_loss(outputs, labels, reduction="none")

def over_the_image(outputs, labels):
    return cross_entropy(outputs, labels, reduction="none").mean((1, 2))

class Padding(nn.CrossEntropyLoss):
    pass

made = nn.CrossEntropyLoss(ignore_index=0, reduction="none")
"""


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("padded_losses:padding", "padding gives the label 0 no loss, .*: give ignore_index=0 with the data"),
        (
            "padded_losses:over_the_image",
            r"Dimension out .* it gets one token or pixel after another, outputs \[B, 4\] and labels \[B\]",
        ),
        ("padded_losses:Padding", "is a module of torch, and a loss is a function: name one that calls it"),
        ("padded_losses:made", "is a module of torch, and a loss is a function: name one that calls it"),
    ],
)
def test_a_loss_with_an_ignored_label_of_its_own_is_refused(tmp_path, loss, message):
    """The zeros of a label that it ignores would count in the means, and its labels in the accuracy."""
    (tmp_path / "padded_losses.py").write_text(LOSSES)
    with pytest.raises(InputError, match=message):
        edgefl.run(scenario(loss=loss) | {"import_from": [str(tmp_path)]}, train=False)


@pytest.mark.oracle
def test_a_loss_that_may_be_zero_does_not_count_as_one_that_ignores_labels(tmp_path):
    (tmp_path / "padded_losses.py").write_text(LOSSES)
    wanted = scenario(loss="padded_losses:margin") | {"import_from": [str(tmp_path)]}
    assert np.isfinite(edgefl.run({**wanted, "rounds": 1}).rounds["test_loss"].iloc[-1])


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((12, 1, 4, 5), r"without it, y.squeeze\(1\), they are \[n, 4, 5\]"),
        ((12, 4, 5, 1), r"without it, y.squeeze\(3\), they are \[n, 4, 5\]"),
        ((12, 4, 5, 3), "a mask in colours must become the number of a class for each pixel"),
    ],
    ids=str,
)
def test_masks_of_another_shape_are_refused_with_a_remedy(shape, message):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (12, 3, 4, 5), dtype=np.uint8)
    y = rng.integers(0, 2, shape, dtype=np.uint8)
    wanted = {"data": {"dataset": edgefl.arrays(x, y, x, y)}, "model": {"kind": Pixelwise}, "devices": {"count": 2}}
    with pytest.raises(InputError, match=message):
        edgefl.run(wanted, train=False)


@pytest.mark.oracle
@settings(max_examples=30)
@given(
    clients=st.integers(1, 3),
    samples=st.integers(1, 4),
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
)
def test_losses_and_hits_of_samples_are_those_of_torch(clients, samples, shape, seed):
    """A sample's loss is torch's mean over its labels; weighted by labels, samples give the mean over all."""
    rng = np.random.default_rng(seed)
    outputs = torch.from_numpy(rng.normal(size=(clients, samples, 3, *shape)))
    y = torch.from_numpy(rng.integers(-1, 3, (clients, samples, *shape)))
    y[y < 0] = IGNORED
    losses = sample_losses(Logistic(), outputs, y, leading=2)
    assert losses.shape == (clients, samples)
    for client in range(clients):
        counts = (y[client] != IGNORED).flatten(1).sum(1)
        sums = cross_entropy(outputs[client], y[client], reduction="none").flatten(1).sum(1)
        assert torch.allclose(losses[client] * counts, sums)
        found = compared(Logistic(), outputs[client], y[client], classes=True)
        assert torch.allclose(found.losses, sums)
        assert torch.equal(found.labels, counts)
        assert torch.equal(found.hits, (outputs[client].argmax(1) == y[client]).flatten(1).sum(1))


@pytest.mark.oracle
def test_workers_test_and_train_as_one_process():
    model = Imported(import_path="test_several_labels:Tagger")
    model._maker = Tagger
    x, y = sequences(sum(SIZES) + 10)
    data = Data(x[:-10], y[:-10], x[-10:], y[-10:], classes=4)
    found = []
    with learners() as make:
        for processes in (0, 2):
            learner = make(model, FedAvg(), data=data, parts=parts_in_order(SIZES), batch_size=4, processes=processes)
            server = learner.begin(1, len(SIZES))
            updates, loss = train_round(learner, range(len(SIZES)), 0, server["w"])
            w = learner.aggregate(server, updates)["w"]
            test = learner.evaluate(w).result()
            own = learner.evaluator.accuracies(w, learner.statistics)
            found.append((w.tolist(), loss, test.loss, test.accuracy, own.tolist()))
    assert found[0] == found[1]
