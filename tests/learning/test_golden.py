"""Golden trajectories of algorithms whose memory is at the devices, or kept by device, and of the plain ones.

Algorithm cards, section 11: F_i(x) = a_i/2 (x - b_i)^2, a = (1, 2, 4), b = (1, -1, 3), x0 = 0, lr 0.05, two steps.
"""

import json

import numpy as np
import pytest

import edgefl

FUNCTIONS = [[a / 2, -a * b, a * b * b / 2] for a, b in [(1, 1), (2, -1), (4, 3)]]
OPTIMUM = (1 - 2 + 12) / 7
SCHEDULE = [[0, 1], [1, 2], [0, 2], [0, 1, 2]]
ALL_AGES = {"cutoff": 1e9}
GOLDEN = {
    "fedavg_uniform": (
        {"kind": "fedavg", "weighting": "uniform"},
        [-0.046250000000, 0.411468750000, 0.906095273438, 1.039696376921],
    ),
    "fedavg_is_p=.5:.8:.4": (
        {"kind": "fedavg", "availability": [0.5, 0.8, 0.4]},
        [-0.014166666667, 0.812038194444, 1.480644253472, 1.708824764222],
    ),
    "fedprox_mu=.5": (
        {"kind": "fedprox", "mu": 0.5, "weighting": "uniform"},
        [-0.045625000000, 0.405500781250, 0.894634667480, 1.028735369529],
    ),
    "scaffold_option2": (
        {"kind": "scaffold"},
        [-0.046250000000, 0.473197916667, 0.726312174479, 0.912432213777],
    ),
    "scaffold_option1": (
        {"kind": "scaffold", "option": "I"},
        [-0.046250000000, 0.475635416667, 0.710930690104, 0.900626297638],
    ),
    "feddyn_alpha=.1": (
        {"kind": "feddyn", "alpha": 0.1},
        [-0.076875000000, 0.668592875000, 1.663617505299, 2.159681877535],
    ),
    "feddyn_alpha=0": (
        {"kind": "feddyn", "alpha": 0.0},
        [-0.077083333333, 0.669079861111, 1.675208441840, 2.180840730071],
    ),
    "fedvra_g=.1_a=7_d=10": (
        {"kind": "fedvra", "gamma": 0.1, "a": 7.0, "d": 10.0},
        [-0.048277500000, 0.434463870038, 0.925273196863, 1.065173539517],
    ),
    "feddc_alpha=.1": (
        {"kind": "feddc", "alpha": 0.1},
        [-0.076875000000, 0.770940791667, 1.392546187266, 1.907405042572],
    ),
    "fedssg_code_alpha=.1_T=4_act=.75": (
        {"kind": "fedssg", "alpha": 0.1},
        [-0.087361111111, 0.918603410494, 1.574237663947, 2.110842740741],
    ),
    "fedssg_main_identity": (
        {"kind": "fedssg", "alpha": 0.1, "variant": "paper_main"},
        [-0.075000000000, 0.551350543352, 1.378700057225, 1.777062916958],
    ),
    "fedssg_main_logistic": (
        {"kind": "fedssg", "alpha": 0.1, "variant": "paper_main", "phi": "logistic"},
        [-0.048585979738, 0.425949974948, 0.956135574205, 1.127442742310],
    ),
    "fedssg_algorithm_1": (
        {"kind": "fedssg", "alpha": 0.1, "variant": "algorithm_1"},
        [-0.061666666667, 0.579450694444, 1.451681986979, 2.040149841214],
    ),
    "mifa_no_wait_const_eta": (
        {"kind": "mifa"},
        [-0.030833333333, 0.303986111111, 0.588747673611, 0.790842967390],
    ),
    "mifa_with_its_state_at_the_clients": (
        {"kind": "mifa", "state": "client"},
        [-0.030833333333, 0.303986111111, 0.588747673611, 0.790842967390],
    ),
    "fedvarp": (
        {"kind": "fedvarp"},
        [-0.046250000000, 0.475635416667, 0.696154648437, 0.875067936816],
    ),
    "fedar_rho=.5_g=inf": (
        {"kind": "fedar", "rho": 0.5, **ALL_AGES},
        [-0.046250000000, 0.304857774110, 0.565442571835, 0.772567883414],
    ),
    "fedar_rho=.5_g=1": (
        {"kind": "fedar", "rho": 0.5, "cutoff": 1.0, "cutoff_slope": 0.0},
        [-0.046250000000, 0.411468750000, 0.906095273437, 1.039696376921],
    ),
    "fedar_rho=0_g=inf": (
        {"kind": "fedar", "rho": 0.0, **ALL_AGES},
        [-0.046250000000, 0.291395833333, 0.579053802083, 0.783241356467],
    ),
}
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
