"""Damaged, hostile and endless data files: refused in one line, without taking the memory they speak of."""

import gzip
import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from PIL import Image

from edgefl.core.errors import InputError
from edgefl.learning.datasets.ag_news import read_csv as read_ag_news
from edgefl.learning.datasets.cache import cached
from edgefl.learning.datasets.cifar import read_batches
from edgefl.learning.datasets.femnist import _writers
from edgefl.learning.datasets.idx import read_raw
from edgefl.learning.datasets.images import read_images
from edgefl.learning.datasets.movielens import read_ratings, read_users
from edgefl.learning.datasets.npz import read_arrays, read_npz
from edgefl.scenario import load
from edgefl.world.mobility.trace import Trace
from tests.cases.damaged_files import damaged
from tests.cases.dataset_files import cifar_batch, idx, leaf, python2_pickle

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)
LABELS = np.arange(6, dtype=np.int64) % 3
ARRAYS = {"train_x": IMAGES, "train_y": LABELS, "test_x": IMAGES[:2], "test_y": LABELS[:2]}
MOST_BYTES = 100e6  # of memory for any of these files


def as_npz(save=np.savez_compressed):
    stream = io.BytesIO()
    save(stream, **ARRAYS)
    return stream.getvalue()


def as_png():
    stream = io.BytesIO()
    Image.fromarray(IMAGES[0].transpose(1, 2, 0)).save(stream, format="PNG")
    return stream.getvalue()


def as_batch(path):
    python2_pickle(path, cifar_batch(IMAGES, labels=LABELS))
    return path.read_bytes()


def as_leaf(path):
    leaf(path, {"a": (IMAGES[:2, 0, :28, :28], LABELS[:2]), "b": (IMAGES[2:3, 0, :28, :28], LABELS[2:3])})
    return path.read_bytes()


def scenario(**keys):
    return load({"devices": {"count": 2}, **keys})


def moving(path, form):
    trace = Trace(path=path, format=form)
    return trace._ways(trace._samples())


def partitioned(path):
    return scenario(data={"partition": {"kind": "file", "path": str(path)}}).data.partition._read()


def behaviour():
    entry = {"duration": 1000, "inactive": [10, 300], "active": [5, 200], "finish_time": 1000, "model": "x"}
    return {1: entry, 2: entry}


FCD = "<fcd-export>{}</fcd-export>".format(
    "".join(
        f'<timestep time="{t}"><vehicle id="a" x="{t}" y="1" speed="3"/><person id="b" x="2" y="{t}"/></timestep>'
        for t in range(5)
    )
)
POINTS = "".join(f'<trkpt lat="52.{t}" lon="13.{t}"><time>2024-05-01T12:00:0{t}Z</time></trkpt>' for t in range(5))
GPX = f'<gpx version="1.1"><trk><trkseg>{POINTS}</trkseg></trk><trk><trkseg>{POINTS}</trkseg></trk></gpx>'
NEWS = '"3","Title one","Text, of one"\n"4","Two","More ""text"""\n'
KINDS = {
    # name of the file, its content as bytes or a function of a path that writes it, and what reads it
    "npz": ("d.npz", as_npz(), read_arrays),
    "npz, not packed": ("d.npz", as_npz(np.savez), lambda path: read_npz(path, 10)),
    "idx": ("x", idx(IMAGES[:, 0]), lambda path: read_raw(path.parent, {"x": "x"}, "Put them there")),
    "idx.gz": ("x.gz", gzip.compress(idx(IMAGES[:, 0])), lambda path: read_raw(path.parent, {"x": "x"}, "Put them")),
    "CIFAR": ("batch", as_batch, lambda path: read_batches([path], path, "labels", 10, "Put it there")),
    "AG News": ("train.csv", NEWS.encode(), read_ag_news),
    "AG News, packed": ("train.csv.gz", gzip.compress(NEWS.encode()), read_ag_news),
    "ratings": ("ratings.dat", b"1::2::3::978300760\n1::3::4::978300761\n2::2::5::978300762\n", read_ratings),
    "users": ("users.dat", b"1::F::1::10::48067\n2::M::56::16::70072\n", read_users),
    "LEAF": ("all_data.json", as_leaf, _writers),
    "images": ("a.png", as_png(), lambda path: read_images("d", {"train": [(str(path), 0)], "test": [(str(path), 0)]})),
    "partition": ("p.json", json.dumps({"0": [1, 2, 3], "1": [4, 5]}).encode(), partitioned),
    "stays": (
        "t.csv",
        b"device,on_s,off_s\n0,1,5\n0,7.5,inf\n1,0,3\n",
        lambda path: scenario(churn={"kind": "trace", "path": str(path)}),
    ),
    "FedScale, pickled": (
        "t",
        pickle.dumps(behaviour()),
        lambda path: scenario(churn={"kind": "trace", "format": "fedscale", "path": str(path)}),
    ),
    "FedScale": (
        "t.json.gz",
        gzip.compress(json.dumps(behaviour()).encode()),
        lambda path: scenario(churn={"kind": "trace", "format": "fedscale", "path": str(path)}),
    ),
    "positions": (
        "p.csv",
        b"time_s,device,x_m,y_m\n0,a,1,2\n1,a,2,3\n0,b,5,5\n2,b,5,6\n",
        lambda path: moving(path, "csv"),
    ),
    "FCD": (
        "f.xml",
        FCD.encode(),
        lambda path: moving(path, "fcd"),
    ),
    "GPX": (
        "f.gpx",
        GPX.encode(),
        lambda path: moving(path, "gpx"),
    ),
    "GPX, packed": (
        "f.gpx.gz",
        gzip.compress(GPX.encode()),
        lambda path: moving(path, "gpx"),
    ),
    "devices": (
        "d.csv",
        b"name,cpu_hz\na,1e9\nb,2000000000\nc,1.5e9\n",
        lambda path: scenario(devices={"count": 2, "cpu_hz": {"file": str(path), "column": "cpu_hz"}}),
    ),
}


def written(kind, folder):
    """Return the path of an undamaged file, its content, and what reads it."""
    name, content, reader = KINDS[kind]
    path = folder / name
    if callable(content):
        content = content(path)
    path.write_bytes(content)
    return path, content, reader


def refusals(kind, folder, seeds):
    """Read damaged files; return how many were refused, and check that each refusal is one line."""
    path, content, reader = written(kind, folder)
    reader(path)
    refused = 0
    for seed in seeds:
        path.write_bytes(damaged(content, seed))
        lines = []
        try:
            reader(path)
        except InputError as error:
            lines = str(error).splitlines()
        assert len(lines) <= 1, (kind, seed, lines)
        refused += len(lines)
    return refused


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_in_one_line(kind, tmp_path, home):
    assert refusals(kind, tmp_path, range(20)) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_damaged_files(kind, tmp_path, home):
    tracemalloc.start()
    try:
        assert refusals(kind, tmp_path, range(1000)) >= 100
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("endless", ["pipe", "/dev/zero"])
def test_pipes_and_device_files_are_refused(kind, endless, tmp_path, home):
    path, _, reader = written(kind, tmp_path)
    path.unlink()
    if endless == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(endless)
    with pytest.raises(InputError, match=r"is a pipe or a device, not a file|cannot be read as an image"):
        reader(path)


def promising(shape, dtype="<f4", content=b"1234", **options):
    """An archive whose `train_x` has a header with any shape."""
    stream = io.BytesIO()
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    with zipfile.ZipFile(stream, "w", **options) as archive:
        archive.writestr("train_x.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + content)
    return stream.getvalue()


def patched(offset, value):
    """A good archive with two bytes of each member's headers changed; offsets are those of the local header."""
    content = bytearray(as_npz())
    for signature, more in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
        place = content.find(signature)
        while place >= 0:
            content[place + offset + more : place + offset + more + 2] = value.to_bytes(2, "little")
            place = content.find(signature, place + 1)
    return bytes(content)


HOSTILE = {
    "more than int64 holds": (promising((2**62, 2**62)), "is damaged: train_x is not as long as its header says"),
    "7 EiB": (promising((7 * 2**58,)), "is damaged: train_x is not as long as its header says"),
    "12.5 GiB": (promising((3_355_443_200,)), "is damaged: train_x is not as long as its header says"),
    "12.5 GiB, packed": (
        promising((3_355_443_200,), compression=zipfile.ZIP_DEFLATED),
        "is damaged: train_x is not as long as its header says",
    ),
    "32 MiB of zeros": (
        promising((2**25,), "|u1", bytes(2**25), compression=zipfile.ZIP_DEFLATED),
        "train_x unpacks to more than 50 times its size: if that is right, save the arrays with np.savez",
    ),
    "negative": (promising((-1, -4)), "is damaged: train_x is not as long as its header says"),
    "of objects": (promising((1,), "|O"), "is not a .npz file of plain arrays"),
    "packed by LZMA": (
        promising((1,), compression=zipfile.ZIP_LZMA),
        "train_x is packed in an unknown way: use np.savez or np.savez_compressed",
    ),
    "encrypted": (patched(6, 1), "train_x is encrypted: save the arrays without a password"),
    "unknown compression": (patched(8, 77), "train_x is packed in an unknown way"),
    "unknown version of zip": (patched(4, 255), "is not a .npz file of plain arrays"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives(name, tmp_path):
    content, reason = HOSTILE[name]
    path = tmp_path / "d.npz"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read_arrays(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(f"data.path: {path}: {reason}")


def test_sizes_in_the_directory_of_an_archive_are_not_believed(tmp_path):
    # Both the array's header and the zip's directory promise 4 GB less one byte, and the file holds 200 bytes.
    content = bytearray(promising((2**32 - 2 - 128,), "|u1", compression=zipfile.ZIP_DEFLATED))
    for signature, place in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        begin = content.find(signature) + place
        content[begin : begin + 4] = struct.pack("<I", 2**32 - 2)
    path = tmp_path / "d.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="train_x unpacks to more than 50 times its size"):
        read_arrays(path)


def test_a_pickle_that_numbers_a_value_beyond_memory(tmp_path):
    path = tmp_path / "batch"
    path.write_bytes(b"\x80\2N" + b"r\xff\xff\xff\x7f" + b".")
    with pytest.raises(InputError, match="names more values than it has bytes"):
        read_batches([path], path, "labels", 10, "Put it there")


@pytest.mark.parametrize("names", ["", "x", "x y z", "x ../other/y", "\0"])
def test_a_cache_with_a_damaged_list_of_names_is_made_again(names, home):
    def made():
        return cached("d", None, [], lambda: {"x": np.arange(3), "y": np.arange(4)})

    made()
    (listed,) = home.rglob("names.txt")
    assert listed.read_text() == "x y"
    listed.write_text(names)
    arrays = made()
    assert {name: array.tolist() for name, array in arrays.items()} == {"x": [0, 1, 2], "y": [0, 1, 2, 3]}
    assert listed.read_text() == "x y"
