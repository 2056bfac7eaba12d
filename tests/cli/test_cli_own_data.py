"""Own data, losses and networks on the command line: a run without accuracy, and one line for each fault."""

import io

import numpy as np

CODE = """
import numpy as np
import torch
from torch import nn

def line(n=400, slope=2.0, first=0, broken=False):
    x = np.linspace(-1, 1, n, dtype=np.float32)[:, None]
    y = slope * x[:, 0]
    if broken:
        y[2] = np.nan
    return x[::2], y[::2], x[1::2], y[1::2]

def classes(first=0):
    x = np.linspace(-1, 1, 400, dtype=np.float32)[:, None]
    y = np.arange(400) % 3 + first
    return {"train_x": x[::2], "train_y": y[::2], "test_x": x[1::2], "test_y": y[1::2]}

def drawn():
    x = np.random.default_rng().normal(size=(400, 4))
    y = np.arange(400) % 3
    return x[::2], y[::2], x[1::2], y[1::2]

def failing():
    raise OSError("the disk is away")

def mean(outputs, labels):
    return nn.functional.cross_entropy(outputs, labels)

def scaled():
    return nn.BatchNorm1d(1)

class Images(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Conv2d(1, classes, 3)

    def forward(self, x):
        return self.conv(x).mean((2, 3))
"""
LINE = "data: {dataset: own:line}\nmodel: logistic\ntraining: {loss: mse, engine: serial, lr: 0.3}\nrounds: 2\n"
REFUSED = {
    "data: {dataset: own:classes, first: 1}": "s.yaml:1: data.dataset: own:classes: labels count from 1, must be",
    "data: {dataset: own:line}": "s.yaml:1: data.dataset: labels are floating-point numbers",
    "data: {dataset: own:line, broken: true}": "s.yaml:1: data.dataset: own:line: train: y holds NaN",
    "data: {dataset: own:line, slop: 3}": "s.yaml:1: data.dataset: own:line takes other keys",
    "data: {dataset: own:failing}": "own.py:24: OSError: the disk is away (in data.dataset own:failing)",
    "data: {dataset: own:np}": "s.yaml:1: data.dataset: own:np: np is a module: name a class or function as",
    "data: {dataset: npz, path: from1.npz}": "s.yaml:1: data.path: {folder}/from1.npz: labels count from 1",
    "data: {dataset: arrays, sha256: abc}": "s.yaml:1: data.dataset: these arrays came from Python",
    "training: {loss: own:mean}": "s.yaml:1: training.loss: own:mean must give the loss of each sample",
    "training: {loss: mse}": "s.yaml:1: training.loss: mse needs floating-point labels, these are 10 classes",
    "model: {kind: own:Images}": "s.yaml:1: model.kind: own:Images on samples of shape [8, 8]: RuntimeError",
    "data: {dataset: own:line}\nmodel: {kind: own:scaled}\ntraining: {loss: mse}": (
        "s.yaml:2: model.kind: own:scaled: no matrix product and no convolution is seen in its forward pass; "
        "give its price: model.cost"
    ),
    f"{LINE}targets: [0.9]": "s.yaml:5: targets: labels of a regression are numbers, and no accuracy is measured",
    "data: {dataset: own:line, partition: shards}\ntraining: {loss: mse}": (
        "s.yaml:1: data.partition: shards divides by classes"
    ),
}


def from_1():
    stream = io.BytesIO()
    x = np.zeros((200, 4), np.uint8)
    y = np.arange(200) % 3 + 1
    np.savez(stream, train_x=x, train_y=y, test_x=x, test_y=y)
    return stream.getvalue()


def test_unsuitable_arrays_are_refused_in_one_line_each(edgefl):
    names = []
    for number, content in enumerate(REFUSED):
        names.append(f"{number}/s.yaml")
        edgefl.write(names[-1], content)
        edgefl.write(f"{number}/own.py", CODE)
        edgefl.write(f"{number}/from1.npz", from_1())
    lines = edgefl.refused("validate", "--import", *names)
    for number, message in enumerate(REFUSED.values()):
        own = [line.removeprefix(f"{number}/") for line in lines if line.startswith(f"{number}/")]
        expected = message.replace("{folder}", str(edgefl.folder / str(number)))
        assert own, (message, lines)
        assert own[0].startswith(expected)
        assert len(own) == 1


def test_drawn_data_without_a_seed_are_refused_where_the_run_was_begun_with_others(edgefl):
    edgefl.write("s.yaml", "data: {dataset: own:drawn}\nmodel: logistic\ntraining: {engine: serial}\nrounds: 2\n")
    edgefl.write("own.py", CODE)
    assert edgefl("run", "s.yaml", "-o", "out").returncode == 0
    before = (edgefl.folder / "out" / "manifest.json").read_bytes()
    done = edgefl("run", "s.yaml", "-o", "out", "--resume", "--set", "rounds=3")
    assert done.returncode == 2
    assert done.stderr == (
        "edgefl: out: was begun with other data than data.dataset: own:drawn gives now: if it draws them, "
        "seed its generator; choose another folder with -o, or replace it with --overwrite\n"
    )
    assert (edgefl.folder / "out" / "manifest.json").read_bytes() == before


def test_a_regression_says_its_loss_at_the_end(edgefl):
    edgefl.write("s.yaml", LINE)
    edgefl.write("own.py", CODE)
    done = edgefl("run", "s.yaml", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "\ntest loss     " in done.stdout
    assert "accuracy" not in done.stdout
    page = (edgefl.folder / "out" / "report.html").read_text()
    assert "Final test loss" in page
