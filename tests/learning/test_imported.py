"""A user's network: equal to a shipped one with the same layers, and refused in one line if it does not fit."""

import textwrap
from functools import cache

import numpy as np
import pytest
import yaml

import edgefl
from edgefl.cli import main
from edgefl.core.errors import InputError
from edgefl.scenario import load

NETWORKS = """
import torch
from torch import nn
from edgefl.learning.models.fcn import Fcn

def stack(shape, classes, hidden=8):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, classes))

class Net(nn.Module):
    def __init__(self, classes, hidden=8, branch=False):
        super().__init__()
        self.a, self.b, self.branch = nn.Linear(64, hidden), nn.Linear(hidden, classes), branch
    def forward(self, x):
        x = torch.relu(self.a(x.flatten(1)))
        if self.branch and x.sum().item() < 0:
            x = -x
        return self.b(x)

class Narrow(Fcn):
    hidden: tuple[int, ...] = (8,)

def words(classes):
    return nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(8, classes))

def nothing(shape, classes):
    return nn.Flatten()

def text():
    return "a network"

def logarithms(classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, classes), nn.LogSoftmax(dim=1))

class Counter(Net):
    calls = 0
    def forward(self, x):
        self.calls += 1
        return super().forward(x)

constant = 3
"""

SMALL = {
    "name": "own",
    "rounds": 2,
    "data": {"dataset": "digits"},
    "devices": {"count": 4},
    "server": {"participants": 2},
    "training": {"local_steps": 2, "engine": "serial"},
}


@pytest.fixture
def run(tmp_path, request):
    """Run a scenario with a model, beside which the user's module lies."""
    module = f"networks_{request.node.name.translate(str.maketrans('[]-:. ,{}*', '_' * 10))[:60]}_{id(request)}"
    (tmp_path / f"{module}.py").write_text(textwrap.dedent(NETWORKS))

    def call(name, *overrides, **keys):
        file = tmp_path / "own.yaml"
        file.write_text(yaml.safe_dump({**SMALL, "model": {"kind": f"{module}:{name}", **keys}}))
        return edgefl.run(file, overrides=overrides)

    call.file = tmp_path / "own.yaml"
    return call


@cache
def shipped():
    return edgefl.run({**SMALL, "model": {"kind": "fcn", "hidden": [8]}})


@pytest.mark.parametrize("name", ["stack", "Net", "Narrow"])
@pytest.mark.oracle
def test_the_same_network_trains_to_the_same_bytes_as_ours(run, name):
    ours = shipped()
    own = run(name)
    assert (own.parameters == ours.parameters).all()
    assert own.devices.equals(ours.devices)
    # A plain stack is tested by the layers that we have written out, any other module as it is. The losses differ by
    # the rounding of sums of 64 products, and in nothing else.
    assert own.rounds.drop(columns="test_loss").equals(ours.rounds.drop(columns="test_loss"))
    room = 64 * np.finfo(np.float32).eps
    assert np.allclose(own.rounds["test_loss"], ours.rounds["test_loss"], rtol=room, atol=0)


@pytest.mark.oracle
def test_its_keys_stand_beside_kind_and_are_kept_in_the_scenario(run):
    result = run("stack", hidden=5)
    assert len(result.parameters) == 64 * 5 + 5 + 5 * 10 + 10
    assert result.scenario["model"]["hidden"] == 5
    assert load(result.scenario).model == load(run.file).model


@pytest.mark.oracle
def test_a_forward_pass_that_cannot_be_batched_is_trained_one_by_one(run):
    result = run("Net", "training.engine=auto", branch=True)
    assert result.status == "finished"
    assert result.rounds["train_loss"].notna().all()


@pytest.mark.oracle
def test_asking_for_what_cannot_be_batched_is_refused(run):
    with pytest.raises(InputError, match=r"training.engine: .* cannot be batched"):
        run("Net", "training.engine=batched", branch=True)


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        ("Missing", {}, r"model: .*py has no Missing"),
        ("Net", {"hiden": 3}, r"model: .* takes other keys: got an unexpected keyword argument 'hiden'"),
        ("constant", {}, r"is not a subclass of .*Model, nor a class or function that makes a torch.nn.Module"),
        ("nothing", {}, r"has no parameters to train"),
        ("text", {}, r"gives a str, must give a torch.nn.Module"),
        ("words", {}, r"on samples of shape \[8, 8\]: RuntimeError"),
        ("stack", {"hidden": -1}, r"on samples of shape \[8, 8\]: RuntimeError"),
    ],
)
def test_misfits_are_refused_in_one_line(run, name, keys, message):
    with pytest.raises(InputError, match=message):
        run(name, **keys)


LIKELIHOOD = {"kind": "torch.nn.functional:nll_loss", "reduction": "none"}


@pytest.mark.oracle
def test_the_negative_log_likelihood_of_logarithms_is_the_cross_entropy(run):
    likelihood = run("logarithms", f"training.loss={LIKELIHOOD}").rounds["train_loss"]
    cross_entropy = run("logarithms").rounds["train_loss"]
    assert likelihood.to_numpy() == pytest.approx(cross_entropy.to_numpy())


@pytest.mark.oracle
def test_the_negative_log_likelihood_of_anything_else_is_refused(run):
    with pytest.raises(InputError, match=r"no logarithms of probabilities, as \S+:nll_loss takes them \(it falls"):
        run("stack", f"training.loss={LIKELIHOOD}")


@pytest.mark.oracle
def test_validate_and_run_refuse_what_the_trial_finds_and_write_nothing(run, capsys):
    with pytest.raises(InputError, match="changes its attribute calls in the forward pass"):
        run("Counter")
    before = sorted(run.file.parent.rglob("*"))
    for verb in (["validate", "--import"], ["run", "--quiet", "-o", str(run.file.parent / "out")]):
        assert main([*verb, str(run.file)]) == 2
        assert "changes its attribute calls in the forward pass" in capsys.readouterr().err
    assert sorted(path for path in run.file.parent.rglob("*") if "__pycache__" not in path.parts) == before


def test_a_token_id_above_the_vocabulary_is_the_networks_fault(run, tmp_path):
    x = np.arange(40).reshape(20, 2) % 10
    x[17, 1] = 10
    y = np.arange(20) % 2
    np.savez(tmp_path / "ids.npz", train_x=x, train_y=y, test_x=x[:10], test_y=y[:10])
    data = [f"data={{dataset: npz, path: {tmp_path / 'ids.npz'}}}", "devices.count=2"]
    text = r"model.kind: .*:words .*IndexError.*its largest embedding has 10 rows, .* hold token ids up to 10"
    with pytest.raises(InputError, match=text):
        run("words", *data)


def test_a_missing_module_is_reported_with_its_line(tmp_path):
    file = tmp_path / "scenario.yaml"
    file.write_text("name: x\nmodel: {kind: 'nowhere.to_be:Found'}\n")
    with pytest.raises(InputError, match=r"scenario.yaml:2: model: there is no module nowhere, neither in"):
        load(file)
