"""Scenarios of the papers' settings whose data users bring: each runs on small files in the publishers' formats."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import stand_ins

import edgefl
from edgefl.scenario import load

FOLDER = Path(__file__).parents[2] / "scenarios"


class Case(NamedTuple):
    """A scenario of the user's own data: what its text says, and how it is made small."""

    write: object  # its data's files
    parameters: int
    shape: tuple[int, ...]
    classes: int
    devices: int
    rounds: int  # of all sessions together
    smaller: tuple[str, ...]


CASES = {
    "emnist-l-fedssg": Case(stand_ins.emnist_letters, 89_610, (28, 28), 10, 100, 300, ("devices.count=8",)),
    "cifar100-fedssg": Case(stand_ins.cifar100, 815_332, (3, 32, 32), 100, 100, 1000, ("devices.count=20",)),
    "svhn-fedar": Case(
        stand_ins.svhn,
        11_181_642,
        (3, 32, 32),
        10,
        100,
        2000,
        ("devices.count=5", "data.partition.chunks=2", "training.local_steps=1", "training.batch_size=4"),
    ),
    "svhn-sessions": Case(stand_ins.svhn, 667_178, (3, 32, 32), 10, 200, 1400, ("devices.count=4",)),
    "cinic10-exdir": Case(
        stand_ins.cinic10,
        2_308_810,
        (3, 32, 32),
        10,
        1000,
        4000,
        ("devices.count=10", "server.participants=2", "training.local_steps=1", "report.eval_every=1"),
    ),
    "tinyimagenet-sessions": Case(
        stand_ins.tiny_imagenet,
        21_730_056,
        (3, 64, 64),
        200,
        200,
        1400,
        ("devices.count=4", "model.kind=logistic"),  # ResNet-34 takes ten seconds; its tests are others
    ),
    "femnist-fedeve": Case(
        stand_ins.femnist,
        48_846,
        (28, 28),
        62,
        3400,
        1500,
        ("devices.count=6", "server.participants=4"),
    ),
    "movielens-fedeve": Case(
        stand_ins.movielens,
        205_398,
        (26,),
        2,
        6040,
        1000,
        ("devices.count=8", "server.participants=4"),
    ),
}
ALL = pytest.mark.parametrize("name", CASES)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data folder with nothing in it, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("EDGEFL_DATA", str(data))
    return data


@ALL
def test_the_settings_are_those_of_the_card(name):
    scenario = load(FOLDER / f"{name}.yaml")
    case = CASES[name]
    rounds = scenario.rounds if scenario.sessions is None else scenario.sessions.count * scenario.sessions.rounds
    assert scenario.name == name
    assert (scenario.devices.count, rounds) == (case.devices, case.rounds)
    # without a price that the scenario names, parameters are counted
    counted = scenario.model.model_copy(update={"cost": None})
    assert counted.parameters(case.shape, case.classes) == case.parameters
    if scenario.model.cost:
        assert scenario.model.cost.parameters == case.parameters
    comment = " ".join(line for line in (FOLDER / f"{name}.yaml").read_text().splitlines() if line.startswith("# "))
    assert "docs/datasets.md)." in comment
    assert "Table" in comment or "Fig." in comment


@pytest.mark.oracle
@ALL
def test_scenario_runs_on_files_of_its_format(name, home):
    case = CASES[name]
    case.write(home)
    short = ("sessions.rounds=1", "sessions.count=3") if "sessions" in name else ("rounds=2",)
    plan = ("training.engine=serial", "report.eval_every=1")
    result = edgefl.run(FOLDER / f"{name}.yaml", overrides=[*short, *case.smaller, *plan], device="cpu")
    assert result.status == "finished", result.error
    rounds = result.rounds[result.rounds["round"] > 0]
    assert len(rounds) == (3 if "sessions" in name else 2)
    assert np.isfinite(rounds["test_loss"]).all()
    assert rounds["received"].sum() > 0
    if name == "movielens-fedeve":
        assert rounds[["test_auc", "hr_10", "ndcg_10"]].notna().all(axis=None)
