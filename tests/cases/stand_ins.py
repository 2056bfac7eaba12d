"""Small stand-ins for datasets that users bring, in the files of the datasets' publishers."""

import gzip

import numpy as np
from dataset_files import cifar_batch, idx, leaf, png, python2_pickle, write
from scipy.io import savemat

CINIC = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
PARTS = {"train": 4, "test": 1}  # images of each class; the writers below take multiples


def images(labels, *shape, seed=0):
    """Noise, brighter for later classes: there is something to learn."""
    rng = np.random.default_rng(seed)
    brightness = 100 * labels / max(labels.max(), 1)
    noise = rng.integers(0, 100, (len(labels), *shape))
    return (noise + brightness.reshape(-1, *[1] * len(shape))).astype(np.uint8)


def emnist_letters(folder):
    """NIST's gzip folder: images on their side, letters from 1."""
    raw = folder / "EMNIST" / "raw"
    raw.mkdir(parents=True)
    for part, count in PARTS.items():
        labels = np.repeat(np.arange(26), 5 * count)
        x = images(labels, 28, 28)
        contents = {"images-idx3": idx(x.transpose(0, 2, 1)), "labels-idx1": idx((labels + 1).astype(np.uint8))}
        for kind, content in contents.items():
            (raw / f"emnist-letters-{part}-{kind}-ubyte.gz").write_bytes(gzip.compress(content))


def cifar100(folder):
    """The python version: pickles of Python 2."""
    root = folder / "cifar-100-python"
    root.mkdir(parents=True)
    for part, count in PARTS.items():
        fine = np.repeat(np.arange(100), count)
        batch = cifar_batch(images(fine, 3, 32, 32), fine_labels=fine, coarse_labels=fine // 5)
        python2_pickle(root / part, batch)


def svhn(folder):
    """MATLAB's files; the digit 0 has the label 10."""
    for part, count in PARTS.items():
        labels = np.repeat(np.arange(1, 11), 5 * count)
        x = images(labels, 32, 32, 3).transpose(1, 2, 3, 0)
        savemat(folder / f"{part}_32x32.mat", {"X": x, "y": labels[:, None].astype(np.uint8)}, do_compression=True)


def cinic10(folder):
    """A folder for each class."""
    for part, count in PARTS.items():
        labels = np.repeat(np.arange(10), 10 * count)
        for number, image in enumerate(images(labels, 32, 32, 3)):
            png(folder / "CINIC-10" / part / CINIC[labels[number]] / f"{number:05d}.png", image)


def tiny_imagenet(folder):
    """Folders by WordNet id, and a list for the validation set, which stands in for the test set."""
    root = folder / "tiny-imagenet-200"
    names = [f"n0144{number:04d}" for number in range(4)]
    labels = np.repeat(np.arange(4), 4)
    for number, image in enumerate(images(labels, 64, 64, 3)):
        png(root / "train" / names[labels[number]] / "images" / f"{names[labels[number]]}_{number}.JPEG", image)
    labels = np.repeat(np.arange(4), 2)
    rows = []
    for number, image in enumerate(images(labels, 64, 64, 3, seed=1)):
        png(root / "val" / "images" / f"val_{number}.JPEG", image)
        rows.append(f"val_{number}.JPEG\t{names[labels[number]]}\t0\t0\t9\t9\n")
    (root / "val" / "val_annotations.txt").write_text("".join(rows))


def femnist(folder):
    """LEAF's JSON, split by samples."""
    rng = np.random.default_rng(0)
    for part, count in PARTS.items():
        users = {}
        for writer in range(6):
            labels = rng.integers(0, 62, 5 * count + writer)
            users[f"f{writer:04d}_00"] = (images(labels, 28, 28, seed=writer), labels)
        leaf(folder / "femnist" / part / "all_data_0.json", users)


def movielens(folder):
    """Ratings and users of MovieLens-1M; six users of few films, and two of a hundred each."""
    rng = np.random.default_rng(0)
    ratings = []
    users = []
    for user in range(1, 7):
        users.append(f"{user}::{'FM'[user % 2]}::25::{user}::{10000 + user}\n")
        films = rng.choice(120, 4 + user, replace=False) + 1
        ratings += [f"{user}::{film}::5::{1000 + number}\n" for number, film in enumerate(films)]
    # two who like other films, so that each user left 99 unrated
    for user, first in ((7, 121), (8, 221)):
        users.append(f"{user}::M::25::7::{10000 + user}\n")
        ratings += [f"{user}::{film}::4::{2000 + film}\n" for film in range(first, first + 100)]
    write(folder / "ml-1m" / "ratings.dat", "".join(ratings), "latin-1")
    write(folder / "ml-1m" / "users.dat", "".join(users), "latin-1")
