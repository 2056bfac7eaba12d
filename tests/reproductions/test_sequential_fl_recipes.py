"""Recipes of the sequential-FL paper: the authors' rates, the order of their program, the figure of quadratics."""

import numpy as np
import pytest
from recipe_cases import run_with_table

from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import PlannedRun, plan
from edgefl.reproductions.readings.devices import ClassesHeld
from edgefl.reproductions.scenarios import scenario_of

LIBRARY = Library()
# The best rates, from the README of the authors' program: PFL C = 1, C = 2, SFL C = 1, C = 2; each for K = 5, 20, 50
RATES = {
    "table-11": """
        MNIST Logistic .01 .01 .01 .01 .01 .01 .003 .003 .003 .003 .003 .003
        MNIST MLP .1 .1 .1 .1 .1 .1 .01 .003 .003 .01 .003 .003
        MNIST LeNet-5 .1 .1 .3 .1 .1 .1 .03 .01 .01 .01 .01 .01
        FMNIST LeNet-5 .3 .3 .3 .1 .1 .1 .01 .01 .01 .03 .03 .01
        FMNIST CNN .1 .1 .1 .1 .1 .1 .01 .01 .01 .03 .01 .01""",
    "table-3": """
        CIFAR-10 VGG-9 .1 .1 .1 .1 .1 .1 .03 .003 .003 .03 .01 .01
        CIFAR-10 ResNet-18 .3 .1 .1 .3 .3 .3 .03 .03 .01 .03 .03 .03
        CINIC-10 VGG-9 .1 .1 .1 .1 .03 .1 .01 .003 .003 .01 .01 .01
        CINIC-10 ResNet-18 .1 .1 .1 .3 .1 .3 .03 .03 .03 .03 .03 .01""",
}
CELLS = [(method, c, k) for method in ("PFL", "SFL") for c in ("1", "2") for k in ("5", "20", "50")]


@pytest.mark.oracle
@pytest.mark.parametrize("table", RATES)
def test_each_cell_has_the_authors_setting(table):
    found = plan(LIBRARY, LIBRARY.load(f"sequential-fl/{table}"), "full")
    assert len(found.points) == 12 * len(RATES[table].split("\n")[1:])
    for line in RATES[table].split("\n")[1:]:
        dataset, model, *rates = line.split()
        for (method, classes, steps), rate in zip(CELLS, rates, strict=True):
            point = dict(zip(found.axes, (dataset, model, method, classes, steps), strict=True))
            assert point in found.points
            scenario = scenario_of(found, PlannedRun(point, 1))
            training = scenario.training
            assert (training.lr, training.local_steps) == (float(rate), int(steps)), point
            assert (training.batch_size, training.weight_decay) == (20, 1e-4)
            assert training.clip_norm == {"PFL": 10, "SFL": 50}[method]
            assert scenario.server.policy.averages == (method == "PFL")
            assert scenario.devices.count == (1000 if dataset == "CINIC-10" else 500)
            assert scenario.rounds == (1000 if table == "table-11" else 4000)
            assert scenario.data.partition.classes == int(classes)


def test_devices_are_visited_in_the_order_of_the_authors_program():
    recipe = LIBRARY.load("third-party/quadratic-trajectories").recipe
    rng = np.random.RandomState(1)
    expected = [rng.choice(2, 2, replace=False).tolist() for _ in range(500)]
    assert recipe.axes["method"]["SFL"]["server.selection"]["rounds"] == expected


def test_classes_held_by_hand(tmp_path):
    """Device 0 holds two classes, device 2 one, and device 1 none."""
    rows = [(0, 0, 3), (0, 4, 1), (0, 5, 0), (2, 1, 9)]
    run = run_with_table(tmp_path, "labels.csv", ["device", "label", "samples"], rows)
    assert ClassesHeld().read(run) == {"": 2, "_mean": 1.5}
