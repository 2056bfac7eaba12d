"""Arrays in other forms than a dataset's: the message has a piece of Python, and with it the arrays are accepted."""

import re

import numpy as np
import pandas as pd
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.datasets.npz import Npz
from edgefl.learning.datasets.own import own_data
from edgefl.scenario import load

X = np.random.default_rng(0).random((40, 4), dtype=np.float32)
CLASSES = np.arange(40) % 4
NAMES = np.array(["cat", "dog", "eel", "fox"])  # sorted, so that the classes stay as they are
TEXTS = NAMES[CLASSES]

# Samples and labels of both sets, and the classes that they mean.
FORMS = {
    "texts": (X, TEXTS, CLASSES),
    "texts in bytes": (X, TEXTS.astype(bytes), CLASSES),
    "a list of texts": (X, TEXTS.tolist(), CLASSES),
    "texts of pandas": (X, pd.Series(TEXTS), CLASSES),
    "categories of pandas": (X, pd.Series(TEXTS, dtype="category"), CLASSES),
    "texts as objects": (X, TEXTS.astype(object), CLASSES),
    "numbers as texts": (X, CLASSES.astype(str), CLASSES),
    "true and false": (X, CLASSES > 1, CLASSES > 1),
    "minus and plus one": (X, np.where(CLASSES > 1, 1, -1), CLASSES > 1),
    "a column": (X, CLASSES[:, None], CLASSES),
    "one-hot rows": (X, np.eye(4, dtype=int)[CLASSES], CLASSES),
    "one-hot rows of truths": (X, np.eye(4, dtype=bool)[CLASSES], CLASSES),
    "from 1 to 4": (X, CLASSES + 1, CLASSES),
    "hundreds": (X, 100 * CLASSES, CLASSES),
    "samples of 16 bits": ((100 * X).astype(np.int16), CLASSES, CLASSES),
    "samples of truths": (X > 0.5, CLASSES, CLASSES),
    "samples as texts": (X.astype(str), CLASSES, CLASSES),
    "one number a sample": (X[:, 0], CLASSES, CLASSES),
}


def remedied(message, train_x, train_y, test_x, test_y):
    """Return the four arrays after the piece of Python at the end of a message has been run."""
    arrays = {"train_x": train_x, "train_y": train_y, "test_x": test_x, "test_y": test_y}
    if found := re.search(r"together: (train_y, test_y = .*)$", message):
        exec(found[1], {"np": np}, arrays)  # noqa: S102 - what a user would do
    elif found := re.search(r"subtract (\d+)$", message):
        arrays |= {name: arrays[name] - int(found[1]) for name in ("train_y", "test_y")}
    else:
        code = re.search(r"say (.*)$", message)[1]
        letter = "x" if re.search(r"\bx\b", code) else "y"
        for part in ("train", "test"):
            name = f"{part}_{letter}"
            arrays[name] = eval(code, {"np": np, letter: arrays[name]})  # noqa: S307
    return arrays


def halves(values):
    return values[:30], values[30:]


@pytest.mark.parametrize("name", FORMS)
def test_python_in_the_message_makes_classes_of_labels_in_another_form(name):
    x, y, classes = FORMS[name]
    train_x, test_x = halves(x)
    train_y, test_y = halves(y)
    with pytest.raises(InputError) as error:
        edgefl.arrays(train_x, train_y, test_x, test_y)
    (line,) = error.value.faults
    data = own_data(remedied(line, train_x, train_y, test_x, test_y), "here")
    assert np.array_equal(np.append(data.train_y, data.test_y), classes)
    assert data.classes == classes.max() + 1


FLOATS = {
    "whole floats": (CLASSES.astype(np.float32), CLASSES),
    "a column of whole floats": (CLASSES.astype(np.float64)[:, None], CLASSES),
    "one-hot rows of floats": (np.eye(4)[CLASSES], CLASSES),
    "shares of classes": (0.7 * np.eye(4)[CLASSES] + 0.3 * np.eye(4)[(CLASSES + 1) % 4], CLASSES),
}


@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_a_regression_or_become_classes_as_the_message_says(name):
    y, classes = FLOATS[name]
    train_y, test_y = halves(y)
    world = {"rounds": 1, "devices": {"count": 3}, "server": {"participants": 2}}

    def run(train_y, test_y, **training):
        dataset = edgefl.arrays(X[:30], train_y, X[30:], test_y)
        return edgefl.run({**world, "data": {"dataset": dataset}, "training": training}, device="cpu")

    with pytest.raises(InputError, match=r"for a regression set training.loss to mse, for classes say") as error:
        run(train_y, test_y)
    arrays = remedied(error.value.faults[0], X[:30], train_y, X[30:], test_y)
    assert np.array_equal(np.append(arrays["train_y"], arrays["test_y"]), classes)
    assert run(arrays["train_y"], arrays["test_y"]).status == "finished"
    assert run(train_y, test_y, loss="mse").status == "finished"


def test_samples_along_the_last_axis_get_a_remedy():
    images = np.zeros((8, 8, 30), np.uint8)
    with pytest.raises(InputError) as error:
        own_data({"train_x": images, "train_y": CLASSES[:30], "test_x": images, "test_y": CLASSES[:30]}, "here")
    arrays = remedied(error.value.faults[0], images, CLASSES[:30], images, CLASSES[:30])
    assert arrays["train_x"].shape == (30, 8, 8)
    assert own_data(arrays, "here").classes == 4


BYTES = np.random.default_rng(1).integers(0, 256, (40, 8, 8, 3), np.uint8)
IMAGES = {
    "bytes with channels last": (BYTES, (3, 8, 8)),
    "bytes with channels first": (np.moveaxis(BYTES, -1, 1), (3, 8, 8)),
    "gray without a channel": (BYTES[..., 0], (8, 8)),
    "gray with a channel": (BYTES[..., :1], (1, 8, 8)),
    "floats from 0 to 1": (BYTES / 255, (3, 8, 8)),
    "rows of pixels": (BYTES.reshape(40, -1), (192,)),
}


@pytest.mark.parametrize("name", IMAGES)
def test_images_in_usual_layouts_are_taken(name):
    x, shape = IMAGES[name]
    data = own_data({"train_x": x[:30], "train_y": CLASSES[:30], "test_x": x[30:], "test_y": CLASSES[30:]}, "here")
    assert data.train_x.shape == (30, *shape)
    if x.ndim == 4 and x.shape[-1] in {1, 3}:
        assert np.array_equal(data.train_x, np.moveaxis(x[:30], -1, 1))


def test_whole_numbers_as_samples_get_a_remedy():
    dataset = edgefl.arrays(BYTES[:30].astype(int), CLASSES[:30], BYTES[30:].astype(int), CLASSES[30:])
    with pytest.raises(InputError, match=r"the samples are int64: say x.astype\(np.uint8\) for the bytes of images"):
        edgefl.run({"rounds": 1, "devices": {"count": 3}, "data": {"dataset": dataset}}, device="cpu")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("single", "it is a single array: save all with np.savez(train_x=..."),
        ("pickle", "it is a pickle, such as of torch.save: load it in a function of your own"),
        ("csv", "it is text: read it in a function of your own, such as with pandas.read_csv"),
        ("objects", "train_y has Python objects: save numbers, or texts with train_y.astype(str)"),
    ],
)
def test_a_file_in_another_format_is_refused_with_a_remedy(tmp_path, name, words):
    path = tmp_path / "data.npz"
    if name == "single":
        with path.open("wb") as stream:
            np.save(stream, X)
    elif name == "pickle":
        torch = pytest.importorskip("torch")
        torch.save({"x": torch.zeros(3)}, path)
    elif name == "csv":
        path.write_text("pixel0,pixel1,label\n0,1,cat\n")
    else:
        np.savez(path, train_x=X, train_y=TEXTS.astype(object), test_x=X, test_y=TEXTS)
    with pytest.raises(InputError) as error:
        Npz(path=path).load()
    (line,) = error.value.faults
    assert line.startswith(f"data.path: {path}: ")
    assert words in line


def test_arrays_by_other_names_are_told(tmp_path):
    np.savez(tmp_path / "mnist.npz", images=X, labels=CLASSES, images_2=X, labels_2=CLASSES)
    with pytest.raises(InputError, match=r"needed: train_x, .*; rename those that it has: images, labels"):
        Npz(path=tmp_path / "mnist.npz").load()


def remedy(call):
    """Return what a message tells to say."""
    with pytest.raises(InputError) as error:
        call()
    return str(error.value).partition(": say ")[2]


OWNERS = np.array(["user_7", "user_9", "user_7", "user_1"])


@pytest.mark.parametrize("both", [False, True])
def test_texts_as_owners_are_numbered_as_the_message_says(both):
    owner = OWNERS
    test_owner = OWNERS[:2] if both else None
    x = np.zeros((4, 2), dtype=np.float32)
    y = np.array([0, 1, 0, 1])

    def arrays():
        return edgefl.arrays(x, y, x[:2], y[:2], owner=owner, test_owner=test_owner)

    said = remedy(arrays)
    if both:
        names = {"np": np, "owner": owner, "test_owner": test_owner}
        exec(said, names)  # noqa: S102 - the line that a user would copy
        owner, test_owner = names["owner"], names["test_owner"]
        assert test_owner.tolist() == [1, 2]
    else:
        owner = eval(said, {"np": np, "owner": owner})  # noqa: S307
    assert owner.tolist() == [1, 2, 1, 0]
    arrays()


def test_datasets_and_loaders_of_torch_become_arrays_as_the_message_says():
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(6, 2)
    y = torch.tensor([0, 1, 0, 1, 0, 1])
    whole = torch.utils.data.TensorDataset(x, y)
    for given in (whole, torch.utils.data.Subset(whole, range(6)), torch.utils.data.DataLoader(whole, batch_size=4)):
        said = remedy(lambda given=given: edgefl.arrays(given, y, x, y))
        names = {"torch": torch, "dataset": given, "loader": given}
        exec(said, names)  # noqa: S102
        assert torch.equal(names["x"], x)
        assert torch.equal(names["y"], y)
        with pytest.raises(InputError, match=r"data\.dataset: must be a name, .*: give edgefl\.arrays\(train_x"):
            load({"data": {"dataset": given}})


def test_sparse_matrices_become_dense_as_the_message_says():
    sparse = pytest.importorskip("scipy.sparse")
    given = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    said = remedy(lambda: edgefl.arrays(given, [0, 1, 0], given, [0, 1, 0]))
    assert said == ".toarray()"
    edgefl.arrays(given.toarray(), [0, 1, 0], given.toarray(), [0, 1, 0])


def test_columns_of_texts_become_numbers_as_the_message_says():
    train_x = pd.DataFrame({"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]})
    test_x = pd.DataFrame({"size": [4.0], "colour": ["red"]})
    with pytest.raises(InputError, match="to give each text a column of its own say ") as error:
        edgefl.arrays(train_x, [0, 1, 0], test_x, [1])
    names = {"np": np, "pd": pd, "train_x": train_x, "test_x": test_x}
    exec(str(error.value).partition(" say ")[2], names)  # noqa: S102
    assert names["train_x"].tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]
    assert names["test_x"].tolist() == [[4, 0, 1]]
    edgefl.arrays(names["train_x"], [0, 1, 0], names["test_x"], [1])


def pairs():
    return (X, CLASSES), (X, CLASSES)


def test_pairs_are_joined_as_the_message_says():
    with pytest.raises(InputError, match=r"got a tuple of 2: join the two pairs, return \(\*train, \*test\)$"):
        load({"data": {"dataset": pairs}}).data.load()

    def joined():
        train, test = pairs()
        return (*train, *test)

    assert len(load({"data": {"dataset": joined}}).data.load().train_y) == len(X)


def test_mapping_with_kind_is_written_beside_its_keys():
    with pytest.raises(InputError, match=r"got \{'kind': 'digits'\}: write data: .dataset: digits.$"):
        load({"data": {"dataset": {"kind": "digits"}}})
    four = {"train_x": X, "train_y": CLASSES, "test_x": X, "test_y": CLASSES}
    for given in (four, tuple(four.values())):
        with pytest.raises(InputError, match=r"data\.dataset: must be a name, .*: give edgefl\.arrays\(train_x"):
            load({"data": {"dataset": given}})


def test_archive_without_test_samples_is_told_to_hold_some_back(tmp_path):
    np.savez(tmp_path / "d.npz", x=X, y=CLASSES)
    with pytest.raises(InputError, match=r"; it has x, y: hold some samples back for tests, and save the four arrays$"):
        Npz(path=tmp_path / "d.npz").load()


@pytest.mark.parametrize("names", [("val_x", "val_y"), ("x_val", "y_val"), ("valid_images", "valid_labels")])
def test_archive_with_validation_samples_of_its_own_warns(tmp_path, caplog, names):
    four = {"train_x": X, "train_y": CLASSES, "test_x": X, "test_y": CLASSES}
    np.savez(tmp_path / "d.npz", **four, values=X, **dict(zip(names, (X, CLASSES), strict=True)))
    Npz(path=tmp_path / "d.npz").load()
    assert f"{' and '.join(names)} are not read: join them with the training samples" in caplog.text
    caplog.clear()
    np.savez(tmp_path / "d.npz", **four, values=X)
    Npz(path=tmp_path / "d.npz").load()
    assert not caplog.text
