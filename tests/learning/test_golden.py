"""Golden trajectories of algorithms whose memory is at the devices, or kept by device, and of the plain ones.

Algorithm cards, section 11: F_i(x) = a_i/2 (x - b_i)^2, a = (1, 2, 4), b = (1, -1, 3), x0 = 0, lr 0.05, two steps.
"""

import json

import numpy as np
import pytest

import edgefl
from edgefl.core.words import words_of

FUNCTIONS = [[a / 2, -a * b, a * b * b / 2] for a, b in [(1, 1), (2, -1), (4, 3)]]
OPTIMUM = (1 - 2 + 12) / 7
SCHEDULE = [[0, 1], [1, 2], [0, 2], [0, 1, 2]]
GOLDEN = words_of(__file__, "golden.yaml")
WEIGHTED = [-0.094166666667, 0.505330000000, 1.190948481250, 1.374714771326]


def scenario(algorithm, engine="serial", **data):
    return {
        "rounds": 4,
        "data": {"dataset": "quadratic", "coefficients": FUNCTIONS, **data},
        "model": {"init": {"kind": "value", "value": 0.0}},
        "training": {"local_steps": 2, "batch_size": "full", "lr": 0.05, "engine": engine},
        "algorithm": algorithm,
        "server": {"selection": {"kind": "schedule", "rounds": SCHEDULE}},
    }


TOGETHER = ["fedprox_mu=.5", "scaffold_option1", "feddyn_alpha=.1", "fedssg_code_alpha=.1_T=4_act=.75", "fedvarp"]


@pytest.mark.parametrize(
    ("case", "engine"), [*((case, "serial") for case in GOLDEN), *((case, "batched") for case in TOGETHER)]
)
def test_published_values(case, engine):
    algorithm, expected = GOLDEN[case]
    rounds = edgefl.run(scenario(algorithm, engine)).rounds
    assert rounds["parameter"].to_numpy() == pytest.approx(expected, abs=1e-9)
    distances = np.abs(np.array(expected) - OPTIMUM)
    assert rounds["distance_to_optimum"].to_numpy() == pytest.approx(distances, abs=1e-9)


@pytest.mark.parametrize("engine", ["serial", "batched"])
def test_published_values_of_a_walk(engine):
    """sfl_order_as_listed: the model goes from client to client in the listed order."""
    given = scenario({"kind": "fedavg"}, engine)
    given["server"]["policy"] = "sequential"
    expected = [-0.111025000000, 0.900844640000, 1.662727864064, 1.786861207570]
    assert edgefl.run(given).rounds["parameter"].to_numpy() == pytest.approx(expected, abs=1e-9)


def test_published_values_with_sample_weights(tmp_path):
    """n = 1:2:3 by listing a client's function as often: the mean over its copies is the function itself."""
    path = tmp_path / "parts.json"
    path.write_text(json.dumps({i: [i] * (i + 1) for i in range(3)}))
    given = scenario({"kind": "fedavg"}, partition={"kind": "file", "path": str(path)})
    assert edgefl.run(given).rounds["parameter"].to_numpy() == pytest.approx(WEIGHTED, abs=1e-9)


@pytest.mark.oracle
def test_fedssg_takes_participation_from_the_scenario():
    """Without `participation`, m / N is the list's mean, 2.25 of 3; with it, that is what counts."""
    given = scenario({"kind": "fedssg", "alpha": 0.1, "participation": 1.0})
    first = edgefl.run(given).rounds["parameter"].iloc[0]
    moves = np.array([0.0975, -0.19])  # of clients 0 and 1: 1 - 0.95^2 and -(1 - 0.9^2)
    assert first == pytest.approx(moves.mean() + (1 + 1 / 4) * moves.sum() / 3, abs=1e-12)
    given["algorithm"]["participation"] = None
    first = edgefl.run(given).rounds["parameter"].iloc[0]
    assert first == pytest.approx(moves.mean() + (1 + 1 / (4 * 0.75)) * moves.sum() / 3, abs=1e-12)


@pytest.mark.oracle
def test_fedavg_is_takes_availability_from_the_schedule():
    """Three of four rounds list each; then one, four and one of four do, and devices are away half of the time."""
    by_list = edgefl.run(scenario({"kind": "fedavg", "availability": "selection"}))
    named = edgefl.run(scenario({"kind": "fedavg", "availability": [0.75, 0.75, 0.75]}))
    assert by_list.rounds["parameter"].tolist() == named.rounds["parameter"].tolist()
    uneven = scenario({"kind": "fedavg", "availability": "selection"})
    uneven["server"]["selection"]["rounds"] = [[0, 1], [1], [1, 2], [1]]
    uneven["churn"] = {"kind": "bernoulli", "probability": 0.5}
    named = {**uneven, "algorithm": {"kind": "fedavg", "availability": [0.125, 0.5, 0.125]}}
    assert edgefl.run(uneven).rounds["parameter"].tolist() == edgefl.run(named).rounds["parameter"].tolist()
