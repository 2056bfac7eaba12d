"""Algorithms from outside whose hooks go wrong: exit code 2 before the run, 1 within it; the line says where."""

import csv

import pytest

SOURCE = """
from edgefl.learning.algorithms.fedavg import FedAvg


class Double(FedAvg):
    def finish(self, w, local):
        return {"delta": (w - local.start).double()}


class Later(FedAvg):
    def aggregate(self, server, updates):
        after = super().aggregate(server, updates)
        if updates.index == 2:
            return {**after, "w": after["w"] / 0}
        return after
"""
SCENARIO = """
rounds: 4
data: {dataset: digits}
model: logistic
training: {local_steps: 1, engine: serial}
devices: {count: 4}
server: {participants: 2}
radio: {transfer: fast}
algorithm: my_nova:%s
"""


@pytest.mark.parametrize("command", [("run", "--no-train", "-o", "out"), ("validate", "--import")])
def test_a_wrong_hook_is_refused_before_the_run(edgefl, command):
    edgefl.write("my_nova.py", SOURCE)
    edgefl.write("s.yaml", SCENARIO % "Double")
    verb, *options = command
    (line,) = edgefl.refused(verb, "s.yaml", *options)
    assert line.startswith(
        'my_nova.py:6: algorithm: Double.finish returned "delta" in torch.float64, expected torch.float32'
    )


def test_a_hook_that_makes_nan_within_the_run_leaves_the_finished_rounds(edgefl):
    edgefl.write("my_nova.py", SOURCE)
    edgefl.write("s.yaml", SCENARIO % "Later")
    done = edgefl("run", "s.yaml", "-o", "out", "--quiet", "--device", "cpu")
    assert done.returncode == 1
    assert 'round 3: my_nova.py:11: algorithm: Later.aggregate returned NaN or infinity in "w"' in done.stderr
    assert "learning rate" not in done.stderr
    with (edgefl.folder / "out" / "rounds.csv").open() as file:
        assert [row["round"] for row in csv.DictReader(file)] == ["1", "2"]
