"""Scenarios of the papers' settings: whole and valid, with the models and devices that the cards name (section 6)."""

from pathlib import Path

import pytest

import edgefl
from edgefl.scenario import load

FOLDER = Path(__file__).parents[2] / "scenarios"
SIZES = {  # parameters, devices, rounds of all sessions together
    "cifar10-fedssg": (797_962, 100, 1000),
    "cifar10-fedar": (62_006, 100, 2000),
    "cifar10-fedar-shapley": (62_006, 5, 9),
    "mnist-exdir-lenet5": (44_426, 500, 1000),
    "fashion-mnist-exdir": (228_586, 500, 1000),
    "cifar10-exdir": (2_308_810, 500, 4000),
    "fashion-mnist-sessions": (7_850, 200, 350),
    "ag-news-sessions": (9_157_804, 200, 700),
    "cifar10-sessions": (11_573_066, 200, 1050),
    "cifar10-fedeve": (11_173_962, 500, 1500),
}
OTHERS = {  # what the comments say that may be set
    "mnist-exdir-lenet5": (["model.kind=logistic", "training.lr=0.01"], 7_850),
    "fashion-mnist-exdir": (["model.kind=lenet5", "training.lr=0.3"], 44_426),
}
FILES = {  # of each dataset, any of them, and one sample
    "Mnist": (["mnist.npz", "MNIST/raw"], (28, 28)),
    "FashionMnist": (["fashion_mnist.npz", "FashionMNIST/raw"], (28, 28)),
    "Cifar10": (["cifar10.npz", "cifar10_12k.npz", "cifar-10-batches-py"], (3, 32, 32)),
    "AgNews": (["ag_news_csv", "ag_news_train.csv", "ag_news_train20k.csv.gz"], (64,)),
}


def dataset(scenario):
    return type(scenario.data.dataset).__name__


def parameters(scenario):
    name = dataset(scenario)
    _, shape = FILES[name]
    classes = 4 if name == "AgNews" else 10
    return scenario.model.parameters(shape, classes)


@pytest.mark.parametrize("name", SIZES)
def test_settings(name):
    path = FOLDER / f"{name}.yaml"
    scenario = load(path)
    comment = path.read_text().splitlines()[:2]
    rounds = scenario.rounds
    if scenario.sessions is not None:
        rounds = scenario.sessions.count * scenario.sessions.rounds
    assert (parameters(scenario), scenario.devices.count, rounds) == SIZES[name]
    assert scenario.name == name
    assert all(line.startswith("# ") for line in comment)
    in_part = dataset(scenario) in {"Cifar10", "AgNews"}
    assert in_part == ("need the whole set" in " ".join(comment))


@pytest.mark.parametrize("name", OTHERS)
def test_other_models(name):
    overrides, size = OTHERS[name]
    assert parameters(load(FOLDER / f"{name}.yaml", overrides=overrides)) == size


@pytest.mark.oracle
@pytest.mark.parametrize("name", SIZES)
def test_data_at_hand_fit(name, data_folder):
    """The world without learning, a round of it or of each session: there is such a partition, the model fits."""
    override = "sessions.rounds=1" if "sessions" in name else "rounds=1"
    scenario = load(FOLDER / f"{name}.yaml", overrides=[override])
    files, _ = FILES[dataset(scenario)]
    if not any((data_folder / file).exists() for file in files):
        pytest.skip(f"EDGEFL_DATA has none of {', '.join(files)}")
    result = edgefl.run(scenario, train=False)
    assert result.status == "finished"
    assert result.rounds["selected"].gt(0).all()
