"""Members from outside that draw from a global random generator: one line with their file and line."""

import csv

SCENARIO = """
rounds: 3
data: {dataset: synthetic, owners: 4, features: 5, classes: 3}
model: logistic
training: {local_steps: 1, batch_size: 4, engine: serial}
devices: {count: 4}
server: {participants: 2}
radio: {transfer: fast}
"""
ALGORITHM = """
import torch

from edgefl.learning.algorithms.fedavg import FedAvg


class Noisy(FedAvg):
    def finish(self, w, local):
        return {"delta": w - local.start + 0 * torch.randn_like(w)}


class Later(FedAvg):
    def aggregate(self, server, updates):
        if updates.index == 2:
            torch.rand(1)
        return super().aggregate(server, updates)
"""
SELECTION = """
import random

import numpy as np

from edgefl.coordination.selection.base import Selection


class Shuffled(Selection):
    def choose(self, present, participants, index, streams, view):
        if index == 1:
            return np.random.permutation(present)[:participants]
        return present[:participants]


class Python(Selection):
    def choose(self, present, participants, index, streams, view):
        random.random()
        return present[:participants]
"""
DATA = """
import numpy as np


def drawn():
    x = np.random.normal(size=(40, 5)).astype("float32")
    y = np.arange(40) % 3
    return x, y, x, y


def seeded():
    np.random.seed(4)
    return drawn()
"""


def a_run_of(edgefl, more, *options, **modules):
    edgefl.write("s.yaml", SCENARIO + more)
    for name, text in modules.items():
        edgefl.write(f"{name}.py", text)
    return ("run", "s.yaml", "-o", "out", "--quiet", "--device", "cpu", *options)


def test_an_algorithm_that_draws_is_refused_before_the_run(edgefl):
    (line,) = edgefl.refused(*a_run_of(edgefl, "algorithm: mine:Noisy\n", "--no-train", mine=ALGORITHM))
    assert line.startswith("mine.py:8: algorithm: Noisy.finish draws from torch's global generator: results would")


def test_a_hook_that_draws_later_ends_the_run_and_leaves_its_finished_rounds(edgefl):
    done = edgefl(*a_run_of(edgefl, "algorithm: mine:Later\n", mine=ALGORITHM))
    assert done.returncode == 1
    assert "mine.py:13: algorithm: Later.aggregate draws from torch's global generator" in done.stderr
    with (edgefl.folder / "out" / "rounds.csv").open() as file:
        assert [row["round"] for row in csv.DictReader(file)] == ["1", "2"]


def test_a_selection_that_draws_ends_the_run_and_leaves_its_finished_rounds(edgefl):
    kind = "server: {participants: 2, selection: mine:Shuffled}\n"
    edgefl.write("s.yaml", SCENARIO.replace("server: {participants: 2}\n", kind))
    edgefl.write("mine.py", SELECTION)
    done = edgefl("run", "s.yaml", "-o", "out", "--quiet", "--no-train")
    assert done.returncode == 1
    assert "mine.py:10: Shuffled.choose draws from numpy.random's global generator: results would" in done.stderr
    assert "Traceback" not in done.stderr
    with (edgefl.folder / "out" / "rounds.csv").open() as file:
        assert [row["round"] for row in csv.DictReader(file)] == ["1"]


def test_data_may_come_from_a_seed_but_not_from_what_the_program_has_drawn(edgefl):
    data = "data: {dataset: mine:NAME, partition: {kind: iid}}\n"
    base = SCENARIO.replace("data: {dataset: synthetic, owners: 4, features: 5, classes: 3}\n", data)
    edgefl.write("mine.py", DATA)
    edgefl.write("drawn.yaml", base.replace("NAME", "drawn"))
    edgefl.write("seeded.yaml", base.replace("NAME", "seeded"))
    (line,) = edgefl.refused("run", "drawn.yaml", "--no-train")
    assert line.startswith("mine.py:5: data.dataset: mine:drawn draws from numpy.random's global generator: draw from")
    done = edgefl("run", "seeded.yaml", "--no-train", "-o", "seeded")
    assert done.returncode == 0, done.stderr
