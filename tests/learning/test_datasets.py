"""Datasets: the same arrays from every layout, and wrong files told from right ones."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from dataset_files import idx

from edgefl.core.errors import InputError
from edgefl.learning.datasets.base import generator, measured, standardisation
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.datasets.mnist import RAW, Mnist
from edgefl.learning.datasets.npz import Npz
from edgefl.learning.datasets.quadratic import Quadratic

pytestmark = pytest.mark.usefixtures("home")

RNG = np.random.default_rng(0)
ARRAYS = {
    "train_x": RNG.integers(0, 256, (30, 28, 28), dtype=np.uint8),
    "train_y": RNG.integers(0, 10, 30, dtype=np.uint8),
    "test_x": RNG.integers(0, 256, (7, 28, 28), dtype=np.uint8),
    "test_y": RNG.integers(0, 10, 7, dtype=np.uint8),
}


def write_raw(folder):
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, file in RAW.items():
        (raw / file).write_bytes(idx(ARRAYS[name]))
    return raw


def write_npz(path, **changes):
    np.savez(path, **{**ARRAYS, **changes})
    return path


def same(data, arrays=ARRAYS):
    return all(np.array_equal(getattr(data, name), array) for name, array in arrays.items())


def test_digits():
    """Class counts as the UCI repository publishes them; the first image is its well-known zero."""
    data = Digits().load()
    counts = np.bincount(data.train_y) + np.bincount(data.test_y)
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert data.train_x[0, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert data.train_y[:4].tolist() == [0, 1, 2, 3]
    assert data.test_y[0] == 4  # the fifth image
    assert (data.train_x.min(), data.train_x.max()) == (0, 16)
    assert data.train_x.shape == (1438, 8, 8)
    assert data.test_x.shape == (359, 8, 8)
    assert set(data.train_y.tolist()) == set(data.test_y.tolist()) == set(range(10))
    standard = (data.train_x - data.mean) / data.std
    assert (standard.mean(), standard.std()) == pytest.approx((0, 1), abs=1e-4)
    assert np.bincount(data.train_y).min() > 120


def test_mnist_from_raw_files_and_from_npz(tmp_path):
    write_raw(tmp_path / "raw")
    (tmp_path / "npz").mkdir()
    write_npz(tmp_path / "npz" / "mnist.npz")
    raw, npz = (Mnist(path=tmp_path / name).load() for name in ("raw", "npz"))
    assert same(raw)
    assert same(npz)
    assert raw.train_y.dtype == npz.train_y.dtype == np.int64
    assert (raw.mean, raw.std, raw.classes) == (npz.mean, npz.std, npz.classes) == (0.1307 * 255, 0.3081 * 255, 10)


@pytest.mark.oracle
def test_real_mnist(data_folder):
    data = Mnist(path=data_folder).load()
    assert data.train_x.shape == (60000, 28, 28)
    assert data.test_x.shape == (10000, 28, 28)
    assert data.train_x.mean() == pytest.approx(data.mean, rel=1e-3)
    assert data.train_x.std() == pytest.approx(data.std, rel=1e-3)
    assert np.bincount(data.train_y).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


def test_datasets_are_found_in_path_then_environment_then_cache(tmp_path, home, monkeypatch):
    """In data.path and nowhere else; else in EDGEFL_DATA; else in ~/.cache/edgefl; raw files before mnist.npz."""
    with pytest.raises(
        InputError,
        match=r"\.cache/edgefl: `edgefl data fetch mnist` downloads it\. Put mnist\.npz .* train-images-idx3-ubyte",
    ):
        Mnist().load()
    folders = {name: tmp_path / name for name in ("path", "named")} | {"cache": home / ".cache" / "edgefl"}
    for label, folder in enumerate(folders.values()):
        folder.mkdir(parents=True)
        write_npz(folder / "mnist.npz", train_y=np.full(30, label))
    assert Mnist().load().train_y[0] == 2
    monkeypatch.setenv("EDGEFL_DATA", str(folders["named"]))
    assert Mnist().load().train_y[0] == 1
    assert Mnist(path=folders["path"]).load().train_y[0] == 0
    assert Mnist(path=folders["path"] / "mnist.npz").load().train_y[0] == 0
    (folders["path"] / "mnist.npz").unlink()
    with pytest.raises(InputError, match=f"data.dataset: not found in {folders['path']}. "):
        Mnist(path=folders["path"]).load()
    (folders["named"] / "MNIST" / "raw").mkdir(parents=True)  # an empty folder hides nothing
    assert Mnist().load().train_y[0] == 1
    (folders["named"] / "MNIST" / "raw").rmdir()
    (folders["named"] / "MNIST").rmdir()
    write_raw(folders["named"])
    assert same(Mnist().load())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"junk",
        b"\0\0\x08",
        b"\0\0\x08\x03\0\0",
        idx(ARRAYS["train_x"])[:-1],
        idx(ARRAYS["train_x"]) + b"\0",
        idx(ARRAYS["train_x"][:0]),
        b"\0\0\x0d\x01",
    ],
)
def test_wrong_raw_files(tmp_path, content):
    raw = write_raw(tmp_path)
    (raw / RAW["train_x"]).write_bytes(content)
    with pytest.raises(InputError, match="MNIST/raw: not the four whole files"):
        Mnist(path=tmp_path).load()


def test_raw_files_as_they_were_downloaded(tmp_path):
    """Still packed: the plain file counts where both are there."""
    raw = write_raw(tmp_path)
    for file in RAW.values():
        (raw / f"{file}.gz").write_bytes(gzip.compress((raw / file).read_bytes()))
        (raw / file).unlink()
    assert same(Mnist(path=tmp_path).load())
    assert same(Mnist(path=raw).load())
    (raw / RAW["test_x"]).write_bytes(idx(255 - ARRAYS["test_x"]))
    assert same(Mnist(path=tmp_path).load(), {**ARRAYS, "test_x": 255 - ARRAYS["test_x"]})
    (raw / f"{RAW['test_y']}.gz").write_bytes(gzip.compress(b"0" * 99)[:-4])
    with pytest.raises(InputError, match="is not a whole gzip file"):
        Mnist(path=tmp_path).load()


def test_raw_files_that_do_not_belong_together(tmp_path):
    raw = write_raw(tmp_path)
    (raw / RAW["test_y"]).write_bytes(idx(ARRAYS["train_y"]))
    with pytest.raises(InputError, match="test: y must be one label a sample"):
        Mnist(path=tmp_path).load()
    (raw / RAW["test_y"]).unlink()
    with pytest.raises(InputError, match="MNIST/raw: not the four whole files"):
        Mnist(path=tmp_path).load()


def test_npz(tmp_path):
    path = write_npz(tmp_path / "d.npz", train_y=np.arange(30) % 4, test_y=np.arange(7) % 6)
    data = Npz(path=path).load()
    assert data.classes == 6
    assert (data.mean, data.std) == pytest.approx((ARRAYS["train_x"].mean(), ARRAYS["train_x"].std()))
    floats = {name: ARRAYS[name].astype(np.float32) for name in ("train_x", "test_x")}
    data = Npz(path=write_npz(tmp_path / "f.npz", **floats)).load()
    assert (data.mean, data.std) == (0, 1)
    assert same(data, floats)


@pytest.mark.parametrize(
    ("stored", "loaded"),
    [
        ((6, 5, 3), (3, 6, 5)),
        ((6, 5, 1), (1, 6, 5)),
        ((3, 6, 5), (3, 6, 5)),
        ((1, 6, 3), (1, 6, 3)),
        ((6, 5, 4), (6, 5, 4)),
        ((6, 3), (6, 3)),
    ],
)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_channels_come_first(tmp_path, stored, loaded, dtype):
    x = {
        f"{part}_x": RNG.integers(0, 256, (count, *stored)).astype(dtype)
        for part, count in (("train", 30), ("test", 7))
    }
    data = Npz(path=write_npz(tmp_path / "d.npz", **x)).load()
    assert data.shape == loaded
    assert data.train_x.flags.c_contiguous
    moved = stored != loaded
    assert np.array_equal(data.test_x, np.moveaxis(x["test_x"], -1, 1) if moved else x["test_x"])


def test_measured_statistics_are_exact():
    x = RNG.integers(0, 200, (2345, 3, 5), dtype=np.uint8)
    assert measured(x) == pytest.approx({"mean": x.mean(), "std": x.std()}, rel=1e-12)
    assert measured(np.full((3, 2), 7, np.uint8)) == {"mean": 7, "std": 1}  # nothing to divide by


def test_channels_have_separate_statistics():
    """On the scale of bytes, and of the shape that a sample [3, H, W] is divided by."""
    x = RNG.normal([0.5, 0.2, 0.4], [0.2, 0.3, 0.1], (500, 3))
    by_channel = standardisation(tuple(x.mean(0)), tuple(x.std(0)))
    normalised = (255 * x[:, :, None, None] - by_channel["mean"]) / by_channel["std"]
    assert normalised.mean(axis=(0, 2, 3)) == pytest.approx(np.zeros(3), abs=1e-12)
    assert normalised.std(axis=(0, 2, 3)) == pytest.approx(np.ones(3))


def test_random_numbers_of_datasets_are_keyed():
    draws = [generator(*key).random(3).tolist() for key in ((0, "a", 0), (0, "a", 1), (0, "b", 0), (1, "a", 0))]
    assert len({tuple(draw) for draw in draws}) == 4
    assert generator(0, "a", 0).random(3).tolist() == draws[0]


WRONG = {
    "labels from -1": ({"train_y": np.full(30, -1)}, "train: labels count from 0"),
    "float labels": ({"train_y": np.zeros(30)}, "train and test labels must be of one kind, got float32 [30]"),
    "text labels": ({"test_y": np.array(["a"] * 7)}, "test: y must hold integer labels"),
    "too many classes": ({"test_y": np.full(7, 2**40)}, "test: labels must be less than 100000"),
    "beyond int64": ({"test_y": np.full(7, 2**63, np.uint64)}, "test: labels must be less than 100000"),
    "labels of another number": ({"train_y": np.zeros(29, int)}, "train: y must be one label a sample"),
    "labels in a column": ({"train_y": np.zeros((30, 1), int)}, "train: y must be one label a sample"),
    "scalar samples": ({"train_x": np.zeros(30, np.uint8)}, "train: x must be [samples, ...]"),
    "a number": ({"train_x": np.uint8(3)}, "train: x must be [samples, ...]"),
    "no samples": ({"test_x": np.zeros((0, 28, 28), np.uint8), "test_y": np.zeros(0, int)}, "test: x must be"),
    "no features": ({"train_x": np.zeros((30, 0), np.uint8)}, "train: x must be [samples, ...]"),
    "whole numbers": ({"train_x": np.zeros((30, 4), np.int16)}, "train: x must be uint8, floating point"),
    "long doubles": ({"train_x": np.zeros((30, 4), np.longdouble)}, "train: x must be uint8, floating point"),
    "other byte order": ({"train_x": np.zeros((30, 4), ">f4")}, "train: x must be uint8, floating point"),
    "NaN": ({"train_x": np.full((30, 4), np.nan)}, "train: x holds NaN"),
    "infinite": ({"test_x": np.full((7, 4), np.inf)}, "test: x holds NaN or values that are too large"),
    "too large": ({"test_x": np.full((7, 4), 1e300)}, "test: x holds NaN or values that are too large"),
    "other shape": ({"test_x": np.zeros((7, 27, 28), np.uint8)}, "train and test samples differ in shape"),
    "objects": ({"train_x": np.array([{}] * 30)}, "is not a .npz file of plain arrays"),
}


@pytest.mark.parametrize(("changes", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_npz(tmp_path, changes, reason):
    path = write_npz(tmp_path / "d.npz", **changes)
    with pytest.raises(InputError) as caught:
        Npz(path=path).load()
    assert str(caught.value).startswith(f"data.path: {path}: {reason}")


def zipped(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name in ARRAYS:
            file.writestr(f"{name}.npy", content)
    return stream.getvalue()


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"text", b"PK\x03\x04", saved(ARRAYS["train_y"]), saved(np.array([{}])), zipped(b"\x93NUMPY\x01\x00junk")],
)
def test_files_that_are_not_npz_are_refused(tmp_path, content):
    path = tmp_path / "d.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"^data.path: {path}: is not a .npz file of plain arrays"):
        Npz(path=path).load()


def test_names_of_keras_are_read(tmp_path):
    np.savez(tmp_path / "ours.npz", **ARRAYS)
    np.savez(tmp_path / "keras.npz", **{"_".join(reversed(name.split("_"))): array for name, array in ARRAYS.items()})
    with np.load(tmp_path / "keras.npz") as found:
        assert sorted(found) == ["x_test", "x_train", "y_test", "y_train"]
    assert Npz(path=tmp_path / "keras.npz").load().digest == Npz(path=tmp_path / "ours.npz").load().digest


def test_missing_npz_and_missing_arrays(tmp_path):
    np.savez(tmp_path / "d.npz", train_x=ARRAYS["train_x"], train_y=ARRAYS["train_y"])
    with pytest.raises(InputError, match="lacks test_x, test_y; needed: train_x, train_y, test_x, test_y"):
        Npz(path=tmp_path / "d.npz").load()
    for path in (tmp_path / "nothing.npz", tmp_path):
        with pytest.raises(InputError, match=r"No such file|Is a directory"):
            Npz(path=path).load()


def test_mnist_npz_has_ten_classes(tmp_path):
    path = write_npz(tmp_path / "mnist.npz", test_y=np.full(7, 10))
    with pytest.raises(InputError, match="test: labels must be less than 10, the number of classes"):
        Mnist(path=path).load()


def test_quadratic():
    data = Quadratic(coefficients=((0.5, 1, 0), (1.5, -3, 2))).load()
    assert data.optimum == pytest.approx(0.5)  # of x^2 - x + 1
    assert data.train_x.dtype == np.float64
    assert Quadratic(coefficients=((-1.0, 1, 0),)).load().optimum is None
