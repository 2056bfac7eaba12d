"""Results name their training plan; repeated and resumed runs keep it."""

import itertools
import json
import shutil
from typing import get_args

import pytest
import yaml
from resume_cases import BASE
from run_cases import content
from test_resume import killed

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.learner import Learner
from edgefl.learning.learner.engines.engine import TrainingEngine
from edgefl.learning.learner.plans.plan import Plan
from edgefl.learning.learner.plans.rule import plan_by_rule
from edgefl.learning.training_engines import AUTO, ENGINES, EngineName
from edgefl.runs.plan_keys import PlanKeys, keys_of_plan

pytestmark = pytest.mark.oracle

OPEN = {**BASE, "training": {"local_steps": 2, "batch_size": 4, "lr": 0.1}}

PLANS = [Plan("serial", "autograd", 1), Plan("batched", "layers", 1), Plan("batched", "vmap", 2)]


@pytest.fixture
def noise(monkeypatch):
    """A rule that finds another plan each time, as versions of edgefl may."""
    plans = itertools.cycle(PLANS)

    def ruled(engine, *rest):
        return next(plans) if engine == "auto" else plan_by_rule(engine, *rest)

    monkeypatch.setattr("edgefl.learning.learner.plans.choice.plan_by_rule", ruled)


def run(keys, out, **more):
    return edgefl.run(keys, out=out, device="cpu", **more)


def learner_of(folder):
    described = json.loads((folder / "manifest.json").read_text())["learner"]
    return Plan(described["engine"], described["kernel"], described["width"])


def keys_in(folder):
    training = yaml.safe_load((folder / "scenario.yaml").read_text())["training"]
    return PlanKeys(training["engine"], training["width"])


def test_each_engine_has_a_row_and_the_keys_of_its_plans_select_them():
    assert get_args(EngineName) == (AUTO, *ENGINES)
    for row in ENGINES.values():
        assert issubclass(row.imported(), TrainingEngine)
        for kernel in row.kernels:
            found = ENGINES[keys_of_plan(vars(Plan(row.module, kernel, 2))).engine]
            assert row.includes(found)
            assert kernel in found.kernels


def test_a_result_names_its_plan_and_runs_again_by_it(tmp_path, noise):
    for number, plan in enumerate(PLANS):
        folder = tmp_path / str(number)
        result = run(OPEN, folder)
        assert learner_of(folder) == plan
        assert keys_in(folder) == keys_of_plan(vars(plan))
        assert result.scenario["training"]["engine"] == keys_in(folder).engine
        again = tmp_path / f"{number} again"
        edgefl.run(folder / "scenario.yaml", out=again, device="cpu")
        assert learner_of(again) == plan
        assert content(again) == content(folder)
        assert (again / "scenario.yaml").read_bytes() == (folder / "scenario.yaml").read_bytes()


@pytest.mark.parametrize("journal", ["kept", "lost"])
def test_a_killed_run_goes_on_by_its_plan(tmp_path, noise, journal):
    for number in range(2):
        folder = tmp_path / str(number)
        killed(OPEN, folder)
        begun = keys_in(folder)
        edgefl.run(folder / "scenario.yaml", out=tmp_path / f"{number} whole", device="cpu")
        if journal == "lost":
            shutil.rmtree(folder / "checkpoints")
        run(OPEN, folder, resume=True)
        assert keys_in(folder) == begun
        assert content(folder) == content(tmp_path / f"{number} whole")


def test_the_record_counts_for_the_scenario_of_the_result(tmp_path, noise, monkeypatch):
    """The folder's own scenario.yaml names the plan that the user's left open, and goes on where that has been."""
    killed(OPEN, tmp_path / "cut")
    submitted = []
    submit = Learner.submit

    def counting(self, device, index, *args, **more):
        submitted.append(index)
        return submit(self, device, index, *args, **more)

    monkeypatch.setattr(Learner, "submit", counting)
    shutil.copy(tmp_path / "cut" / "scenario.yaml", tmp_path / "own.yaml")
    edgefl.run(tmp_path / "own.yaml", out=tmp_path / "cut", device="cpu", resume=True)
    assert min(submitted) == 4  # the last checkpoint


def test_an_extended_run_keeps_its_plan(tmp_path, noise):
    for number in range(2):
        folder = tmp_path / str(number)
        run({**OPEN, "rounds": 3}, folder)
        begun = keys_in(folder)
        longer = {**OPEN, "rounds": 6}
        run(longer, folder, resume=True)
        assert keys_in(folder) == begun
        whole = tmp_path / f"{number} whole"
        run({**longer, "training": {**OPEN["training"], **begun._asdict()}}, whole)
        assert content(folder) == content(whole)


def test_another_plan_that_is_asked_for_is_another_scenario(tmp_path):
    run(OPEN, tmp_path)
    for other in ({"engine": "serial"}, {"engine": "batched", "width": 3}, {"width": 1}, {"engine": "vmap"}):
        with pytest.raises(InputError, match="was begun with another scenario"):
            run({**OPEN, "training": {**OPEN["training"], **other}}, tmp_path, resume=True)
    run({**OPEN, "training": {**OPEN["training"], "engine": "batched"}}, tmp_path, resume=True)


@pytest.mark.parametrize(
    "keys",
    [
        {"model": {"kind": "fcn", "hidden": [300, 200]}},
        {"model": "logistic", "algorithm": "scaffold"},
        {"model": "mlp", "algorithm": "moon"},
        {"training": {**OPEN["training"], "codec": "qsgd", "minimal_uploads": False}, "model": "mlp"},
    ],
    ids=["a large model", "states", "a loss of its own", "a codec"],
)
def test_bytes_do_not_depend_on_the_number_of_workers(keys, tmp_path, monkeypatch):
    """Cohorts do not depend on the process that trains them."""
    folders = []
    for workers in (0, 1, 3):
        monkeypatch.setattr("edgefl.learning.learner.learner.cores", lambda workers=workers: workers)
        folders.append(tmp_path / str(workers))
        run({**OPEN, "rounds": 3, **keys}, folders[-1])
    contents = [content(folder) for folder in folders]
    assert contents[1:] == contents[:-1]
