"""Datasets of images: each set's own format gives the right pixels and labels, and damage gives one clear line."""

import gzip
import io
import os
import pickle
import zipfile

import numpy as np
import pytest
from dataset_files import RNG, cifar_batch, idx, png, python2_pickle
from PIL import Image
from scipy.io import savemat

from edgefl.core.errors import InputError
from edgefl.learning.datasets.base import missing_samples
from edgefl.learning.datasets.cifar import BATCHES, Cifar10, Cifar100
from edgefl.learning.datasets.cinic10 import CLASSES as CINIC
from edgefl.learning.datasets.cinic10 import Cinic10
from edgefl.learning.datasets.emnist import Emnist
from edgefl.learning.datasets.image_folder import ImageFolder
from edgefl.learning.datasets.mnist import RAW, FashionMnist
from edgefl.learning.datasets.svhn import Svhn
from edgefl.learning.datasets.tiny_imagenet import TinyImageNet

pytestmark = pytest.mark.usefixtures("home")

SETS = [FashionMnist, Emnist, Cifar10, Cifar100, Cinic10, Svhn, TinyImageNet]


def images(*shape):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def fails(dataset, *parts):
    """Loading fails with one line that has all the parts."""
    with pytest.raises(InputError) as caught:
        dataset.load()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("data.")
    for part in parts:
        assert str(part) in str(caught.value)


def same(data, train, test):
    """Tell if the data are these pairs of samples and labels."""
    got = data.train_x, data.train_y, data.test_x, data.test_y
    return all(np.array_equal(a, b) for a, b in zip(got, (*train, *test), strict=True))


@pytest.mark.parametrize("kind", SETS)
def test_missing_files_are_named_with_where_they_belong(tmp_path, kind):
    fails(kind(), "not found in ", ".cache/edgefl", "into one of these folders")
    (tmp_path / "empty").mkdir()
    fails(kind(path=tmp_path / "empty"), f"not found in {tmp_path}/empty")
    fails(kind(path=tmp_path / "nothing"), f"not found in {tmp_path}/nothing")


# Real files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dataset", "sizes", "shape", "classes", "accuracy"),
    [
        (FashionMnist(), (60_000, 10_000), (28, 28), 10, 0.677),
        (Emnist(split="byclass"), (14_880, 3_720), (28, 28), 62, 0.454),
        (Cifar10(), (49_941, 9_977), (3, 32, 32), 10, 0.28),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.oracle
def test_real_files(data_folder, monkeypatch, dataset, sizes, shape, classes, accuracy):
    """The nearest class mean is right as often as the makers of the files found; pixels are standardised."""
    monkeypatch.setenv("EDGEFL_DATA", str(data_folder))
    data = dataset.load()
    assert (len(data.train_x), len(data.test_x)) == sizes
    assert (data.shape, data.classes, data.train_x.dtype) == (shape, classes, np.uint8)
    assert set(data.train_y.tolist()) == set(data.test_y.tolist()) == set(range(classes))
    values = (0, 2, 3) if len(shape) == 3 else (0, 1, 2)  # of each channel, or of the only one
    assert data.train_x.mean(axis=values) == pytest.approx(np.ravel(data.mean), rel=0.015)
    assert data.train_x.std(axis=values) == pytest.approx(np.ravel(data.std), rel=0.015)
    train, test = (x.reshape(len(x), -1).astype(np.float32) for x in (data.train_x, data.test_x))
    means = np.stack([train[data.train_y == label].mean(0) for label in range(classes)])
    nearest = ((means**2).sum(1) - 2 * test @ means.T).argmin(1)
    assert (nearest == data.test_y).mean() == pytest.approx(accuracy, abs=0.01)


@pytest.mark.oracle
def test_ten_letters_as_in_fedssg(data_folder, monkeypatch):
    monkeypatch.setenv("EDGEFL_DATA", str(data_folder))
    whole = Emnist(split="byclass").load()
    ten = Emnist(split="byclass", first_classes=10).load()
    assert (ten.classes, ten.train_y.max(), ten.test_y.max()) == (10, 9, 9)
    assert np.array_equal(ten.train_x, whole.train_x[whole.train_y < 10])
    assert np.array_equal(ten.test_y, whole.test_y[whole.test_y < 10])
    assert (ten.mean, ten.std) == pytest.approx((ten.train_x.mean(), ten.train_x.std()))


# MNIST's relatives ----------------------------------------------------------------------------------------------------


def test_fashion_mnist_raw(tmp_path):
    arrays = {"train_x": images(20, 28, 28), "train_y": RNG.integers(0, 10, 20, dtype=np.uint8)}
    arrays |= {"test_x": images(5, 28, 28), "test_y": RNG.integers(0, 10, 5, dtype=np.uint8)}
    raw = tmp_path / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    for name, file in RAW.items():
        (raw / file).write_bytes(idx(arrays[name]))
    data = FashionMnist(path=tmp_path).load()
    assert same(data, (arrays["train_x"], arrays["train_y"]), (arrays["test_x"], arrays["test_y"]))
    assert (data.mean / 255, data.std / 255) == pytest.approx((0.2861, 0.3530))
    (raw / RAW["test_y"]).unlink()
    fails(
        FashionMnist(path=tmp_path),
        "FashionMNIST/raw: not the four whole files",
        "FashionMNIST/raw with the four files",
    )


def write_emnist(folder, split, packed):
    """Upright images and labels from 0, written on their side, letters from 1."""
    raw = folder / "EMNIST" / "raw"
    raw.mkdir(parents=True)
    first, classes, suffix = (1, 26, ".gz") if split == "letters" else (0, 62, "")
    parts = {}
    for part, count in (("train", 70), ("test", 65)):
        x = images(count, 28, 28)
        y = np.arange(count) % classes
        for kind, array in (("images-idx3", x.transpose(0, 2, 1)), ("labels-idx1", (y + first).astype(np.uint8))):
            content = idx(array)
            path = raw / f"emnist-{split}-{part}-{kind}-ubyte{suffix if packed else ''}"
            path.write_bytes(gzip.compress(content) if packed and suffix else content)
        parts[part] = x, y
    return parts


@pytest.mark.parametrize(("split", "classes"), [("letters", 26), ("byclass", 62)])
@pytest.mark.parametrize("packed", [False, True])
def test_emnist_raw_stands_upright(tmp_path, split, classes, packed):
    parts = write_emnist(tmp_path, split, packed)
    for _ in range(2):  # read, then from the cache
        data = Emnist(path=tmp_path, split=split).load()
        assert same(data, parts["train"], parts["test"])
        assert data.classes == classes
    np.savez(tmp_path / f"emnist_{split}.npz", **{f"{p}_{a}": parts[p][a == "y"] for p in parts for a in "xy"})
    assert same(Emnist(path=tmp_path / f"emnist_{split}.npz", split=split).load(), parts["train"], parts["test"])


def test_damaged_emnist(tmp_path):
    write_emnist(tmp_path, "byclass", packed=False)
    raw = tmp_path / "EMNIST" / "raw"
    fails(Emnist(path=tmp_path), "not found", "emnist-letters-train-images-idx3-ubyte")
    labels = raw / "emnist-byclass-train-labels-idx1-ubyte"
    labels.write_bytes(idx(np.full(70, 62, np.uint8)))
    fails(Emnist(path=tmp_path, split="byclass"), "labels must be less than 62")
    labels.write_bytes(idx(np.zeros(70, np.uint8))[:-1])
    fails(Emnist(path=tmp_path, split="byclass"), "labels-idx1-ubyte has 77 bytes, not 78")
    labels.unlink()
    fails(Emnist(path=tmp_path, split="byclass"), labels)


# CIFAR ----------------------------------------------------------------------------------------------------------------


def python3_pickle(path, value):
    path.write_bytes(pickle.dumps({key.decode(): item for key, item in value.items()}))


@pytest.fixture(params=[python2_pickle, python3_pickle])
def dump(request):
    return request.param


def write_cifar10(folder, dump=python2_pickle):
    folder.mkdir()
    batches = {name: (images(8, 3, 32, 32), np.arange(8) % 10) for name in (*BATCHES, "test_batch")}
    for name, (x, y) in batches.items():
        dump(folder / name, cifar_batch(x, labels=y))
    return [np.concatenate([batches[name][axis] for name in BATCHES]) for axis in (0, 1)], batches["test_batch"]


def test_cifar10_batches(tmp_path, dump):
    folder = tmp_path / "cifar-10-batches-py"
    train, test = write_cifar10(folder, dump)
    for path in (tmp_path, folder, folder / BATCHES[0]):
        data = Cifar10(path=path).load()
        assert same(data, train, test)
        assert (data.shape, data.classes) == ((3, 32, 32), 10)


def test_cifar10_npz(tmp_path, caplog):
    x = images(9, 32, 32, 3)
    y = np.arange(9)
    np.savez(tmp_path / "cifar10_12k.npz", train_x=x, train_y=y, test_x=x[:4], test_y=y[:4])
    moved = x.transpose(0, 3, 1, 2)
    data = Cifar10(path=tmp_path).load()
    assert same(data, (moved, y), (moved[:4], y[:4]))
    assert data.lacks == "49,991 of 50,000 training samples and 9,996 of 10,000 test samples"
    assert caplog.messages == [f"data: {tmp_path / 'cifar10_12k.npz'} lacks {data.lacks} of CIFAR-10"]


def tiles(count):
    """Images [count, 32, 32, 3]: the n-th has the colour n, and white in its second column."""
    numbers = np.arange(count)
    x = np.zeros((count, 32, 32, 3), np.uint8)
    x += np.stack([numbers % 256, numbers // 256, 0 * numbers], axis=-1)[:, None, None].astype(np.uint8)
    x[:, :, 1] = 255
    return x


def write_mosaics(path, labels, mosaics=(4000, 2000)):
    """Write an archive of mosaics of 2,000 images, and labels.npz."""
    with zipfile.ZipFile(path, "w") as archive:
        for part, count in zip(("train", "test"), mosaics, strict=True):
            for begin in reversed(range(0, count, 2000)):  # names, not places in the archive, order them
                grid = tiles(count)[begin : begin + 2000].reshape(40, 50, 32, 32, 3).transpose(0, 2, 1, 3, 4)
                encoded = io.BytesIO()
                Image.fromarray(grid.reshape(1280, 1600, 3)).save(encoded, "webp", lossless=True, method=0)
                archive.writestr(f"{part}/{begin:05}.webp", encoded.getvalue())
        content = io.BytesIO()
        np.savez(content, **labels)
        archive.writestr("labels.npz", content.getvalue())


@pytest.mark.oracle
def test_cifar10_mosaics(tmp_path):
    """Found before a part, and after whole sets."""
    labels = {"train_y": np.arange(3990) % 10, "test_y": np.arange(7)}
    write_mosaics(tmp_path / "cifar10_webp.zip", labels)
    (tmp_path / "cifar10_12k.npz").write_bytes(b"never read")
    train, test = (tiles(count).transpose(0, 3, 1, 2) for count in (3990, 7))
    for _ in range(2):  # decoded, then mapped
        data = Cifar10(path=tmp_path).load()
        assert same(data, (train, labels["train_y"]), (test, labels["test_y"]))
        assert data.lacks == "46,010 of 50,000 training samples and 9,993 of 10,000 test samples"
    np.savez(tmp_path / "cifar10.npz", train_x=test, train_y=labels["test_y"], test_x=test, test_y=labels["test_y"])
    assert len(Cifar10(path=tmp_path).load().train_y) == 7


@pytest.mark.oracle
def test_wrong_mosaics(tmp_path):
    path = tmp_path / "cifar10_webp.zip"
    labels = {"train_y": np.zeros(2001, int), "test_y": np.zeros(7, int)}
    write_mosaics(path, labels, (2000, 2000))
    fails(Cifar10(path=tmp_path), path, "train: y must be one label a sample, [2000], got (2001,)")
    write_mosaics(path, {"train_y": labels["test_y"]}, (2000, 0))
    fails(Cifar10(path=tmp_path), path, "labels.npz with train_y and test_y, and mosaics of 40 x 50 images", "test_y")
    path.write_bytes(path.read_bytes()[:1000])
    fails(Cifar10(path=tmp_path), path, "is not a zip file")


def test_a_whole_set_lacks_nothing():
    arrays = {"train_y": np.zeros(5), "test_y": np.zeros(2)}
    assert missing_samples(arrays, 5, 2) == missing_samples(arrays, 5, 1) == ""
    assert missing_samples(arrays, 6, 2) == "1 of 6 training samples and 0 of 2 test samples"


@pytest.mark.parametrize(("labels", "classes"), [("fine", 100), ("coarse", 20)])
def test_cifar100_batches(tmp_path, dump, labels, classes):
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    parts = {}
    for part in ("train", "test"):
        x = images(100, 3, 32, 32)
        fine = np.arange(100)
        coarse = np.arange(100) // 5
        dump(folder / part, cifar_batch(x, fine_labels=fine, coarse_labels=coarse))
        parts[part] = x, fine if labels == "fine" else coarse
    data = Cifar100(path=tmp_path, labels=labels).load()
    assert same(data, parts["train"], parts["test"])
    assert data.classes == classes


class Evil:
    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def test_code_named_by_a_pickle_does_not_run(tmp_path):
    write_cifar10(folder := tmp_path / "cifar-10-batches-py")
    batch = cifar_batch(images(8, 3, 32, 32), labels=np.arange(8))
    for evil in (Evil(os.mkdir, str(tmp_path / "run")), Evil(eval, "1"), Evil(np.zeros, 3), Evil(os.getenv, "HOME")):
        (folder / BATCHES[2]).write_bytes(pickle.dumps({**batch, b"data": evil}))
        fails(Cifar10(path=tmp_path), f"{BATCHES[2]}: is not a whole batch of CIFAR (names ")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({b"labels": [0] * 7 + [10]}, "labels must be from 0 to 9"),
        ({b"labels": [0] * 7 + [-1]}, "labels must be from 0 to 9"),
        ({b"labels": [0] * 7 + [1.0]}, "labels must be from 0 to 9"),
        ({b"labels": [0] * 7}, "must hold data, 3072 bytes an image, and labels"),
        ({b"labels": b"01234567"}, "must hold data"),
        ({b"data": b"0" * 8 * 3072}, "must hold data"),
        ({b"data": np.zeros((8, 3071), np.uint8)}, "must hold data"),
        ({b"data": np.zeros((8, 3072))}, "must hold data"),
        ({b"data": np.zeros((0, 3072), np.uint8), b"labels": []}, "must hold data"),
    ],
)
def test_wrong_cifar(tmp_path, change, reason):
    write_cifar10(folder := tmp_path / "cifar-10-batches-py")
    python2_pickle(folder / "test_batch", {**cifar_batch(images(8, 3, 32, 32), labels=range(8)), **change})
    fails(Cifar10(path=tmp_path), folder / "test_batch", reason, "cifar-10-python.tar.gz")


def test_damaged_cifar(tmp_path):
    write_cifar10(folder := tmp_path / "cifar-10-batches-py")
    path = folder / "test_batch"
    whole = path.read_bytes()
    for content in [b"", b"junk", pickle.dumps([1]), *(whole[:size] for size in range(1, len(whole), 977))]:
        path.write_bytes(content)
        fails(Cifar10(path=tmp_path), path)
    path.unlink()
    fails(Cifar10(path=tmp_path), path, "No such file", "cifar-10-python.tar.gz")


# SVHN -----------------------------------------------------------------------------------------------------------------


def write_svhn(folder, **changes):
    parts = {}
    for part, count in (("train", 12), ("test", 11)):
        x = images(count, 3, 32, 32)
        digits = np.arange(count) % 10
        arrays = {"X": x.transpose(2, 3, 1, 0), "y": np.where(digits, digits, 10).astype(np.uint8)[:, None]}
        savemat(folder / f"{part}_32x32.mat", {**arrays, **changes}, do_compression=True)
        parts[part] = x, digits
    return parts


def test_svhn(tmp_path):
    """The digit 0 is labelled 10 in the files."""
    parts = write_svhn(tmp_path)
    for _ in range(2):
        data = Svhn(path=tmp_path).load()
        assert same(data, parts["train"], parts["test"])
    assert data.shape == (3, 32, 32)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"y": np.full((12, 1), 11, np.uint8)}, "y [n] from 1 to 10"),
        ({"y": np.full((3, 1), 1, np.uint8)}, "must hold X [32, 32, 3, n]"),
        ({"X": np.zeros((32, 32, 3, 12))}, "must hold X [32, 32, 3, n]"),
        ({"X": np.zeros((32, 12), np.uint8)}, "must hold X [32, 32, 3, n]"),
    ],
)
def test_wrong_svhn(tmp_path, changes, reason):
    write_svhn(tmp_path, **changes)
    fails(Svhn(path=tmp_path), "train_32x32.mat", reason)


def test_damaged_svhn(tmp_path):
    write_svhn(tmp_path)
    path = tmp_path / "test_32x32.mat"
    whole = path.read_bytes()
    new = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF" * 99
    for content in (b"", b"junk", b"x" * 500, new, whole[:200], whole[: len(whole) // 2], whole[:-9]):
        path.write_bytes(content)
        fails(Svhn(path=tmp_path), path, "is not a whole MATLAB file with X and y")
    savemat(path, {"Z": np.zeros(3)})
    fails(Svhn(path=tmp_path), path, "is not a whole MATLAB file with X and y")
    path.unlink()
    fails(Svhn(path=tmp_path), path, "No such file")


# Folders of images ----------------------------------------------------------------------------------------------------


def write_folders(root, names, count, side=32):
    """`count` images of each class; they and their labels."""
    x = images(len(names) * count, side, side, 3)
    y = np.repeat(np.arange(len(names)), count)
    for number, (pixels, label) in enumerate(zip(x, y, strict=True)):
        png(root / names[label] / f"{number:05d}.png", pixels)
    return x.transpose(0, 3, 1, 2), y


def test_cinic10(tmp_path):
    root = tmp_path / "CINIC-10"
    parts = {
        part: write_folders(root / part, CINIC, count) for part, count in (("train", 3), ("valid", 1), ("test", 2))
    }
    for path in (tmp_path, root):
        data = Cinic10(path=path).load()
        assert same(data, parts["train"], parts["test"])
    assert (data.shape, data.classes) == ((3, 32, 32), 10)
    (root / "test" / "cat").rename(root / "test" / "lion")
    fails(Cinic10(path=tmp_path), root / "test", "must hold the folders airplane")


def test_a_changed_image_is_read_again(tmp_path):
    x, _ = write_folders(tmp_path, ["a", "b"], 5, side=8)
    first = ImageFolder(path=tmp_path).load()
    png(tmp_path / "a" / "00001.png", np.zeros((8, 8, 3), np.uint8))
    second = ImageFolder(path=tmp_path).load()
    assert np.array_equal(first.train_x[1], x[1])
    assert not second.train_x[1].any()
    (tmp_path / "a" / "00004.png").rename(tmp_path / "b" / "00099.png")
    assert ImageFolder(path=tmp_path).load().train_y.tolist() == [0] * 4 + [1] * 5


def test_image_folder_without_test_images(tmp_path):
    """Every fifth of each class; "train" may be a class, and there may be a folder of training images alone."""
    x, y = write_folders(tmp_path / "a", ["car", "train"], 6, side=8)
    test = np.array([4, 10])
    train = np.setdiff1d(np.arange(12), test)
    assert same(ImageFolder(path=tmp_path / "a").load(), (x[train], y[train]), (x[test], y[test]))
    (tmp_path / "b").mkdir()
    (tmp_path / "a").rename(tmp_path / "b" / "train")
    assert same(ImageFolder(path=tmp_path / "b").load(), (x[train], y[train]), (x[test], y[test]))
    fails(ImageFolder(path=tmp_path / "b" / "train" / "car"), "holds no folders")


@pytest.mark.parametrize("name", ["test", "val", "valid"])
def test_image_folder_with_test_images(tmp_path, name):
    train = write_folders(tmp_path / "train", ["a", "b", "c"], 2, side=8)
    x, _ = write_folders(tmp_path / name, ["a", "c"], 1, side=8)
    data = ImageFolder(path=tmp_path).load()
    assert same(data, train, (x, np.array([0, 2])))
    assert data.classes == 3
    assert (data.mean, data.std) == pytest.approx((train[0].mean(), train[0].std()))
    write_folders(tmp_path / name, ["d"], 1, side=8)
    fails(ImageFolder(path=tmp_path), tmp_path / name / "d", "no such class in")


def test_image_folder_resized_and_gray(tmp_path):
    x, _ = write_folders(tmp_path, ["a", "b"], 5, side=8)
    data = ImageFolder(path=tmp_path, side_px=4, gray=True).load()
    expected = Image.fromarray(x[0].transpose(1, 2, 0)).convert("L").resize((4, 4), Image.Resampling.BILINEAR)
    assert data.shape == (4, 4)
    assert np.array_equal(data.train_x[0], np.asarray(expected))
    assert ImageFolder(path=tmp_path, gray=True).load().shape == (8, 8)
    png(tmp_path / "a" / "deep" / "6.jpeg", images(5, 7), "JPEG")  # another size, gray, in a folder below
    assert ImageFolder(path=tmp_path, side_px=4).load().shape == (3, 4, 4)
    fails(ImageFolder(path=tmp_path), "6.jpeg: has 7x5 pixels, the first image 8x8")


def test_damaged_images(tmp_path):
    write_folders(tmp_path, ["a", "b"], 5, side=8)
    path = tmp_path / "a" / "00002.png"
    whole = path.read_bytes()
    for content in (b"", b"junk", whole[:20], whole[:60], whole[:-30], whole[:40] + b"\0" * 20 + whole[60:]):
        path.write_bytes(content)
        fails(ImageFolder(path=tmp_path), path, "cannot be read as an image")
    for file in (tmp_path / "a").iterdir():
        file.unlink()
    (tmp_path / "a" / "notes.txt").write_text("nothing")
    fails(ImageFolder(path=tmp_path), tmp_path / "a", "holds no images")
    fails(ImageFolder(path=tmp_path / "nothing"), "No such file")
    for number in range(4):
        png(tmp_path / "few" / "a" / f"{number}.png", images(8, 8))
    fails(ImageFolder(path=tmp_path / "few"), "needs five images in a class")


# Tiny ImageNet --------------------------------------------------------------------------------------------------------


def write_tiny(root, *, flat=True):
    """PNG content under the archive's names: decoders go by content, and tests want exact pixels."""
    names = ["n01443537", "n01629819", "n02999410"]
    parts = {}
    x = images(9, 64, 64, 3)
    y = np.repeat(np.arange(3), 3)
    for number, label in enumerate(y):
        png(root / "train" / names[label] / "images" / f"{names[label]}_{number}.JPEG", x[number])
    (root / "train" / names[0] / f"{names[0]}_boxes.txt").write_text("box")
    parts["train"] = x, y
    x = images(5, 64, 64, 3)
    y = np.array([2, 0, 1, 0, 2])
    for number, label in enumerate(y):
        folder = root / "val" / ("images" if flat else names[label])
        png(folder / f"val_{number}.JPEG", x[number])
    rows = [f"val_{number}.JPEG\t{names[label]}\t0\t0\t9\t9\n" for number, label in enumerate(y)]
    (root / "val" / "val_annotations.txt").write_text("".join(rows))
    parts["test"] = x, y
    return {part: (x.transpose(0, 3, 1, 2), y) for part, (x, y) in parts.items()}


@pytest.mark.parametrize("flat", [True, False])
def test_tiny_imagenet(tmp_path, flat):
    root = tmp_path / "tiny-imagenet-200"
    parts = write_tiny(root, flat=flat)
    for path in (tmp_path, root):
        data = TinyImageNet(path=path).load()
        assert same(data, parts["train"], parts["test"])
    assert (data.shape, data.classes) == ((3, 64, 64), 3)


def test_jpeg_and_gray_images(tmp_path):
    """Some of Tiny ImageNet's are gray; JPEG is decoded as PIL does."""
    write_tiny(root := tmp_path / "tiny-imagenet-200")
    stream = io.BytesIO()
    gray = images(64, 64)
    Image.fromarray(gray).save(stream, format="JPEG")
    (root / "val" / "images" / "val_0.JPEG").write_bytes(stream.getvalue())
    pixels = TinyImageNet(path=tmp_path).load().test_x[0]
    assert np.array_equal(pixels[0], np.asarray(Image.open(stream)))
    assert np.array_equal(pixels[0], pixels[1])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"val_0.JPEG\tn09999999\t0\n", ":1: must be a file and one of the classes in train"),
        (b"val_0.JPEG n01443537\n", ":1: must be a file and one of the classes in train"),
        (b"", ": is empty"),
        (b"\xff\xfe", ": is not a text file"),
        (b"val_9.JPEG\tn01443537\t0\n", "val_9.JPEG: No such file"),
        (None, ": No such file"),
    ],
)
def test_damaged_tiny_imagenet(tmp_path, content, reason):
    write_tiny(root := tmp_path / "tiny-imagenet-200")
    path = root / "val" / "val_annotations.txt"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    fails(TinyImageNet(path=tmp_path), root / "val", reason)
