"""Your own data: a function, a file or arrays of Python give the same run, and what is wrong is one line."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.datasets import Data, Dataset
from edgefl.learning.datasets.own import own_data

RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (40, 3, 5), dtype=np.uint8)
Y = np.arange(40) % 4
FOUR = {"train_x": X[:30], "train_y": Y[:30], "test_x": X[30:], "test_y": Y[30:]}
SMALL = {
    "name": "own",
    "rounds": 2,
    "model": "logistic",
    "devices": {"count": 3},
    "server": {"participants": 2},
    "training": {"local_steps": 2, "engine": "serial"},
}

LOADERS = """
import numpy as np
from edgefl.learning.datasets.digits import Digits

def digits():
    data = Digits().load()
    return {name: getattr(data, name) for name in ("train_x", "train_y", "test_x", "test_y", "mean", "std")}

def standardised():
    data = Digits().load()
    train_x, test_x = ((x - np.float32(data.mean)) / np.float32(data.std) for x in (data.train_x, data.test_x))
    return train_x, data.train_y, test_x, data.test_y

def whole():
    return Digits().load()

def failing(n=3):
    return 1 / 0

def two():
    return 1, 2

def of_path(path, rows=4):
    with np.load(path) as file:
        return {name: file[name][:rows] for name in file.files}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "loaders.py").write_text(LOADERS)
    return tmp_path


def run(folder, data, **changes):
    file = folder / "own.yaml"
    file.write_text(yaml.safe_dump({**SMALL, **changes, "data": data}))
    return edgefl.run(file)


@pytest.mark.parametrize("name", ["digits", "standardised", "whole"])
@pytest.mark.oracle
def test_a_loader_of_the_digits_gives_their_bytes(folder, name):
    ours = run(folder, {"dataset": "digits"})
    own = run(folder, {"dataset": f"loaders:{name}"})
    assert (own.parameters == ours.parameters).all()
    assert own.rounds.equals(ours.rounds)
    assert own.devices.equals(ours.devices)


@pytest.mark.oracle
def test_function_file_and_arrays_of_the_same_samples_are_the_same_run(folder):
    np.savez(folder / "four.npz", **FOUR)
    from_file = run(folder, {"dataset": "npz", "path": "four.npz"})
    from_function = run(folder, {"dataset": "loaders:of_path", "path": "four.npz", "rows": 30})
    from_python = edgefl.run({**SMALL, "data": {"dataset": edgefl.arrays(**FOUR)}})
    for other in (from_function, from_python):
        assert (other.parameters == from_file.parameters).all()
        assert other.rounds.equals(from_file.rounds)


@pytest.mark.oracle
def test_keys_of_a_loader_stay_in_the_scenario_which_runs_again(folder):
    np.savez(folder / "four.npz", **FOUR)
    data = {"dataset": "loaders:of_path", "path": "four.npz", "rows": 12}
    file = folder / "own.yaml"
    file.write_text(yaml.safe_dump({**SMALL, "data": data}))
    first = edgefl.run(file, out=folder / "first")
    again = edgefl.run(folder / "first" / "scenario.yaml", out=folder / "again")
    assert first.scenario["data"]["rows"] == 12
    assert first.scenario["data"]["path"] == str(folder / "four.npz")
    assert (again.parameters == first.parameters).all()


def test_a_loader_is_called_when_data_are_needed_and_its_error_names_its_line(folder):
    file = folder / "own.yaml"
    file.write_text(yaml.safe_dump({**SMALL, "data": {"dataset": "loaders:failing"}}))
    scenario = edgefl.load(file)
    line = LOADERS.splitlines().index("    return 1 / 0") + 1
    with pytest.raises(
        InputError, match=rf"loaders.py:{line}: ZeroDivisionError: .* \(in data.dataset loaders:failing\)"
    ):
        edgefl.run(scenario)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"dataset": "loaders:failing", "m": 3}, "loaders:failing takes other keys: .* 'm'"),
        ({"dataset": "loaders:of_path"}, "takes other keys: missing a required argument: 'path'"),
        ({"dataset": "loaders:two"}, r"data.dataset: loaders:two: must return \(train_x, .* got a tuple of 2"),
        ({"dataset": "loaders:np"}, r"loaders:np: np is a module: name a class or function as numpy:MyClass"),
    ],
)
def test_an_unsuitable_loader_is_refused(folder, data, message):
    with pytest.raises(InputError, match=message):
        run(folder, data)


class Four(NamedTuple):
    train_x: object
    train_y: object
    test_x: object
    test_y: object


@pytest.mark.oracle
def test_a_function_from_python_may_return_a_named_tuple():
    def load(rows=30):
        return Four(X[:rows], Y[:rows].tolist(), X[30:], Y[30:])

    own = edgefl.run({**SMALL, "data": {"dataset": load}})
    ours = edgefl.run({**SMALL, "data": {"dataset": edgefl.arrays(**FOUR)}})
    assert (own.parameters == ours.parameters).all()


@pytest.mark.oracle
def test_arrays_from_python_are_named_by_their_digest_and_cannot_run_from_a_file(tmp_path):
    dataset = edgefl.arrays(**FOUR)
    result = edgefl.run({**SMALL, "data": {"dataset": dataset}}, out=tmp_path / "out")
    assert result.scenario["data"]["dataset"] == "arrays"
    assert result.scenario["data"]["sha256"] == dataset.sha256
    with pytest.raises(
        InputError, match=rf"came from Python, .*\(sha256 {dataset.sha256}\): run from Python .* or save"
    ):
        edgefl.load(tmp_path / "out" / "scenario.yaml")
    changed = X.copy()
    changed[0, 0, 0] += 1
    assert edgefl.arrays(**FOUR).sha256 == dataset.sha256
    assert edgefl.arrays(**{**FOUR, "train_x": changed[:30]}).sha256 != dataset.sha256
    assert edgefl.arrays(**FOUR, classes=9).sha256 != dataset.sha256


@pytest.mark.oracle
def test_a_loaded_scenario_with_arrays_runs_with_another_seed():
    scenario = edgefl.load({**SMALL, "data": {"dataset": edgefl.arrays(**FOUR), "partition": "shards"}})
    again = edgefl.run(scenario, seed=3)
    fresh = edgefl.run({**SMALL, "seed": 3, "data": {"dataset": edgefl.arrays(**FOUR), "partition": "shards"}})
    assert (again.parameters == fresh.parameters).all()


def test_more_that_arrays_may_say(tmp_path):
    x = RNG.integers(0, 256, (40, 4, 4, 3), dtype=np.uint8)
    owner = np.arange(30) % 3
    dataset = edgefl.arrays(x[:30], Y[:30], x[30:], Y[30:], classes=7, mean=[1, 2, 3], std=2.5, owner=owner)
    data = dataset.load()
    assert data.shape == (3, 4, 4)
    assert (data.classes, data.std) == (7, 2.5)
    assert data.mean.shape == (3, 1, 1)
    result = edgefl.run({**SMALL, "data": {"dataset": dataset, "partition": "natural"}})
    assert result.status == "finished"


CLIENTS = (
    (X[:3], Y[:3]),
    (X[3:20], Y[3:20].tolist()),
    (torch.from_numpy(X[20:30]), torch.from_numpy(Y[20:30])),
)
OWNER = np.repeat([0, 1, 2], [3, 17, 10])


@pytest.mark.oracle
def test_arrays_of_clients_make_a_device_of_each_with_its_samples():
    clients = edgefl.run({**SMALL, "devices": {}, "data": {"dataset": edgefl.client_arrays(CLIENTS, X[30:], Y[30:])}})
    assert clients.scenario["devices"]["count"] == 3
    joined = {"dataset": edgefl.arrays(**FOUR, owner=OWNER), "partition": "natural"}
    assert (clients.parameters == edgefl.run({**SMALL, "data": joined}).parameters).all()
    fewer = {"dataset": edgefl.client_arrays(CLIENTS, X[30:], Y[30:]), "partition": "iid"}
    equal = {"dataset": edgefl.arrays(**FOUR), "partition": "iid"}
    given = [edgefl.run({**SMALL, "devices": {"count": 2}, "data": data}).parameters for data in (fewer, equal)]
    assert (given[0] == given[1]).all()


def test_clients_may_have_test_samples_of_their_own():
    tests = ((X[30:34], Y[30:34]), ([], []), (X[34:], Y[34:]))
    clients = [(*train, *test) for train, test in zip(CLIENTS, tests, strict=True)]
    data = edgefl.client_arrays(clients, classes=9).load()
    for name, value in {**FOUR, "owner": OWNER, "test_owner": [0] * 4 + [2] * 6, "classes": 9}.items():
        assert np.array_equal(getattr(data, name), value), name


WRONG_CLIENTS = {
    "a mapping": (dict(enumerate(CLIENTS)), r": clients must be a list .*: say list\(clients.values\(\)\)$"),
    "no client": ([], ": clients must be a list"),
    "one client": (CLIENTS[0], r": clients\[0\] must be \(x, y\) or .*, got a ndarray$"),
    "a dataset of torch": ([torch.utils.data.TensorDataset(torch.eye(3))], r": clients\[0\] must be .* say x, y = "),
    "no test samples": (CLIENTS, ": test_x is missing"),
    "test samples of some": ([CLIENTS[0], (*CLIENTS[1], X, Y)], r": clients\[0\] lacks test_x, .*: give it to all"),
    "test samples of none": ([(*CLIENTS[0], [], [])], ": test: x must be .*: hold some samples back for it"),
    "a client without samples": ([CLIENTS[0], ([], [])], r": clients\[1\] has no training samples: leave"),
    "labels that are lacking": (
        [CLIENTS[0], (X, Y[:7])],
        r": clients\[1\]: train_y must have one .*got \[7\] and \[40,",
    ),
    "samples of another shape": (
        [CLIENTS[0], (X[:, 0], Y)],
        r": clients\[1\]: train_x must be of one kind .*\[40, 5\] af",
    ),
    "samples of another type": (
        [CLIENTS[0], (X / 255, Y)],
        r": clients\[1\]: train_x .* float64 \[40, 3, 5\] after uint8",
    ),
}


@pytest.mark.parametrize(("clients", "message"), WRONG_CLIENTS.values(), ids=WRONG_CLIENTS)
def test_wrong_arrays_of_clients_are_refused_in_one_line(clients, message):
    with pytest.raises(InputError, match=rf"^edgefl\.client_arrays{message}"):
        edgefl.client_arrays(clients)


def test_test_samples_are_given_once_and_a_bare_list_of_clients_is_answered():
    with pytest.raises(InputError, match="test_x excludes test samples of the clients"):
        edgefl.client_arrays([(*CLIENTS[0], X, Y)], X, Y)
    with pytest.raises(InputError, match=r": give edgefl\.client_arrays\(clients, test_x, test_y\)$"):
        edgefl.load({"data": {"dataset": list(CLIENTS)}})


def test_statistics_of_bytes_are_measured_and_numbers_are_taken_as_they_are():
    data = own_data(FOUR, "here")
    assert (data.mean, data.std) == pytest.approx((X[:30].mean(), X[:30].std()))
    floats = {name: value.astype(np.float32) if name.endswith("x") else value for name, value in FOUR.items()}
    assert (own_data(floats, "here").mean, own_data(floats, "here").std) == (0.0, 1.0)


MASKED = np.ma.masked_equal(X, X[0, 0, 0])
WRONG = {
    "negative labels": ({"train_y": Y[:30] - 1}, "train: labels count from 0, got a negative one"),
    "float and whole labels": ({"test_y": Y[30:] / 2}, "train and test labels must be of one kind, got int64"),
    "numbers that are NaN": ({"train_y": np.full(30, np.nan), "test_y": Y[30:] / 2}, "train: y holds NaN"),
    "a cube of numbers": (
        {"train_y": np.zeros((30, 2, 2))},
        r"train: y must be one number a sample, \[30\], or several",
    ),
    "NaN samples": ({"train_x": np.full((30, 3, 5), np.nan)}, "train: x holds NaN"),
    "lengths that differ": ({"train_y": Y[:29]}, r"train: y must be one label a sample, \[30\], got \(29,\)"),
    "rows of unequal lengths": ({"train_x": [[1, 2], [3]]}, "train_x has rows of unequal lengths: pad them"),
    "objects": ({"train_x": [{}] * 30}, "train_x must be an array of numbers, got a list"),
    "no test set": (
        {"test_x": X[:0], "test_y": Y[:0]},
        r"test: x must be .* with at least one sample, got shape \(0, 3, 5\): hold some samples back for it$",
    ),
    "no test labels": ({"test_y": None}, "test_y is missing, got None: give samples and labels for training and for t"),
    "owners as numbers with a point": ({"owner": np.ones(30)}, r"owner must be .* \[30\]: say owner.astype\(int\)$"),
    "owners between numbers": ({"owner": np.full(30, 0.5)}, r"owner must be .*, got float64 \[30\]$"),
    "text": ({"train_x": np.full((30, 2), "a")}, "train: x must be uint8"),
    "two types": ({"test_x": X[30:] / 255}, "train and test samples must be of one kind, got uint8"),
    "too few classes": ({"classes": 3}, "classes must be a whole number from 4, as the highest label is 3"),
    "no spread": ({"std": 0}, "std must be a number or one for each channel, above 0"),
    "a mean that fits nothing": ({"mean": np.zeros(4)}, "mean must be a number or one for each channel"),
    "owners of others": ({"owner": np.zeros(29, int)}, r"owner must be a whole number from 0 for each sample, \[30\]"),
    "another name": ({"labels": Y}, "has an unknown labels; known: train_x"),
    "bfloat16": ({"train_x": torch.ones(30, 15, dtype=torch.bfloat16)}, "train_x is a tensor that NumPy cannot hold"),
    "a sparse tensor": ({"train_x": torch.eye(30).to_sparse()}, r"train_x is .* Use Tensor.to_dense\(\)"),
    "a tensor without values": ({"train_x": torch.ones(30, 15, device="meta")}, "train_x is .* meta tensor; no data"),
    "a complex tensor": ({"train_x": torch.ones(30, 15, dtype=torch.complex64)}, "train_x holds complex numbers: give"),
    "complex numbers": ({"train_y": Y[:30] * 1j}, "train_y holds complex numbers: give .real and .imag"),
    "masked samples": ({"train_x": MASKED[:30]}, r"train_x has masked values: fill them with .filled\(...\), or leave"),
    "masked labels": ({"test_y": np.ma.masked_equal(Y[30:], 2)}, "test_y has masked values"),
    "a list of masked samples": ({"train_x": list(MASKED[:30])}, "train_x has masked values"),
    "named labels": (
        {"train_y": Y[:30] * 100, "test_y": Y[30:] * 100},
        (
            r"labels must be 0 to K-1, got 4 numbers between 0 and 300, such as 0, 100, 200: return a mapping with "
            r"classes: 301 if most classes have no sample, or number those of both sets together: train_y, test_y = "
        ),
    ),
    "named labels from 100": (
        {"train_y": Y[:30] * 100 + 100, "test_y": Y[30:] * 100 + 100},
        "labels must be 0 to K-1, got 4 numbers between 100 and 400, such as 100, 200, 300: return",
    ),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_wrong_arrays_are_refused_in_one_line(changes, message):
    with pytest.raises(InputError, match=rf"^here: {message}") as caught:
        own_data({**FOUR, **changes}, "here")
    assert "\n" not in str(caught.value)


FLOATS = X.astype(np.float32)
IMAGINARY = torch.complex(torch.zeros(X.shape), torch.from_numpy(FLOATS))
TAKEN = {
    "tensors": (torch.from_numpy(FLOATS), torch.from_numpy(Y)),
    "a tensor with gradients": (torch.from_numpy(FLOATS).requires_grad_(), torch.from_numpy(Y)),
    "lists of tensors": (list(torch.from_numpy(FLOATS)), list(torch.from_numpy(Y))),
    "a tensor that is a view": (IMAGINARY.imag, Y),
    "a tensor that is negated when it is read": ((-IMAGINARY).conj().imag, Y),
    "a masked array without masked values": (np.ma.masked_array(FLOATS, mask=False), np.ma.masked_array(Y)),
    "tables": (pd.DataFrame(FLOATS.reshape(40, -1)), pd.Series(Y, dtype="Int64", index=range(7, 47))),
    "labels of 16 bits": (FLOATS, Y.astype(np.uint16)),
    "labels in another order of bytes": (FLOATS, Y.astype(">i4")),
}


@pytest.mark.parametrize(("x", "y"), TAKEN.values(), ids=TAKEN)
def test_arrays_of_other_libraries_are_taken(x, y):
    data = own_data({"train_x": x[:30], "train_y": y[:30], "test_x": x[30:], "test_y": y[30:]}, "here")
    assert np.array_equal(data.train_x.reshape(30, -1), FLOATS[:30].reshape(30, -1))
    assert np.array_equal(data.test_y, Y[30:])
    assert data.train_x.dtype == np.float32
    assert data.train_y.dtype == np.int64


def test_a_set_may_lack_classes():
    """Half of the classes and ten more may have no sample; beyond that the number of classes must be given."""
    changes = {"train_y": np.append(Y[:29], 19), "test_y": Y[30:]}
    assert own_data({**FOUR, **changes}, "here").classes == 20
    changes["train_y"] = np.append(Y[:29], 20)
    for given in (21, np.array(21), torch.tensor(21)):
        assert own_data({**FOUR, **changes, "classes": given}, "here").classes == 21
    with pytest.raises(InputError, match=r"got 5 numbers between 0 and 20, such as 0, 1, 2: return"):
        own_data({**FOUR, **changes}, "here")


@pytest.mark.oracle
def test_each_kind_of_own_data_says_how_classes_are_given(folder):
    sparse = {**FOUR, "train_y": 100 * Y[:30], "test_y": 100 * Y[30:]}
    np.savez(folder / "sparse.npz", **sparse)
    with pytest.raises(InputError, match=r": give it classes=301 if"):
        edgefl.arrays(**sparse)
    assert edgefl.arrays(**sparse, classes=301).load().classes == 301
    data = {"dataset": "npz", "path": "sparse.npz"}
    with pytest.raises(InputError, match=r": set data.classes to 301 if"):
        run(folder, data)
    assert run(folder, {**data, "classes": 301}).status == "finished"
    data = {"dataset": "loaders:of_path", "path": "sparse.npz", "rows": 30}
    with pytest.raises(InputError, match=r": return a mapping with classes: 301 if"):
        run(folder, data)
    np.savez(folder / "sparse.npz", **sparse, classes=301)
    with np.load(folder / "sparse.npz") as file:
        assert own_data(file, "here").classes == 301


class Wave(Dataset):
    """A dataset of one's own as a class."""

    shift: int = 0

    def load(self):
        return Data(X[:30] / 255, Y[:30] + self.shift, X[30:] / 255, Y[30:], classes=4, mean=0.5, std=0.25)


@pytest.mark.oracle
def test_data_of_a_users_class_are_checked_like_arrays():
    own = edgefl.run({**SMALL, "data": {"dataset": Wave()}})
    four = {name: value / 255 if name.endswith("x") else value for name, value in FOUR.items()}
    ours = edgefl.run({**SMALL, "data": {"dataset": edgefl.arrays(**four, mean=0.5, std=0.25)}})
    assert (own.parameters == ours.parameters).all()
    with pytest.raises(InputError, match=r"test_own_data:Wave: train: labels count from 0, got a negative one"):
        edgefl.run({**SMALL, "data": {"dataset": Wave(shift=-1)}})
    with pytest.raises(InputError, match=r"test_own_data:Wave: classes must be a whole number from 6, as the highest"):
        edgefl.run({**SMALL, "data": {"dataset": Wave(shift=2)}})
