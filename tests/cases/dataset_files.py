"""Small files as the datasets' own tools write them."""

import gzip
import json
import pickle
import struct
from typing import ClassVar

import numpy as np
from PIL import Image

RNG = np.random.default_rng(0)


def idx(array):
    """The IDX format: 0, 0, type 8 (unsigned byte), number of axes, each axis in 4 big-endian bytes, the data."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


class _Python2(pickle._Pickler):
    """Writes bytes as Python 2 wrote its strings, which is how CIFAR's batches are."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_bytes(self, value):
        length = len(value)
        if length < 256:
            self.write(b"U" + bytes([length]))
        else:
            self.write(b"T" + struct.pack("<i", length))
        self.write(value)
        self.memoize(value)

    dispatch[bytes] = save_bytes


def python2_pickle(path, value):
    with path.open("wb") as stream:
        _Python2(stream, protocol=2).dump(value)
    path.write_bytes(path.read_bytes().replace(b"cnumpy._core.", b"cnumpy.core."))


def cifar_batch(x, **labels):
    """x [n, 3, 32, 32], and lists of labels by name."""
    rows = {name.encode(): [int(label) for label in values] for name, values in labels.items()}
    names = [b"image_%d.png" % number for number in range(len(x))]
    return {b"batch_label": b"a batch", **rows, b"data": x.reshape(len(x), -1), b"filenames": names}


def png(path, pixels, kind="PNG"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, format=kind)


def leaf(path, users):
    """One of LEAF's files: users = {name: (x [n, 28, 28] ink from 0 to 255, y [n])}."""
    data = {
        name: {"x": [(1 - image.ravel() / 255).tolist() for image in x], "y": [int(label) for label in y]}
        for name, (x, y) in users.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"users": list(users), "num_samples": [len(y) for _, y in users.values()], "user_data": data}
    path.write_text(json.dumps(content))


def write(path, text, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
