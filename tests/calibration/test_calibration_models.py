"""Networks of a log that are models of scenarios."""

import pytest
from calibration_cases import LAW, counts_text, log_text, networks, training

from edgefl.calibration.calibration import calibrate
from edgefl.calibration.log import NetworkCounts
from edgefl.calibration.models import counts_of_models
from edgefl.core.errors import InputError
from edgefl.world.compute_law import USUAL_PASSES, ForwardCounts

HALF_FROZEN = """
from torch import nn

class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Flatten(), nn.Linear(64, 64), nn.Linear(64, 10))
        self[1].requires_grad_(False)
"""
FORWARD = ForwardCounts(
    convolution_macs=2e8, matmul_macs=1e7, grouped_macs=5e6, activation_bytes=3e6, groups=40.0, layers=5.0
)


@pytest.fixture
def files(tmp_path):
    """A folder with scenarios."""
    (tmp_path / "fcn.yaml").write_text("data: {dataset: digits}\nmodel: fcn\n")
    cost = f"{{parameters: 1000, forward: {FORWARD._asdict()}}}".replace("'", "")
    (tmp_path / "priced.yaml").write_text(f"data: {{dataset: digits}}\nmodel: {{kind: fcn, cost: {cost}}}\n")
    return tmp_path


def test_counts_are_those_of_the_model_on_the_data_of_its_scenario(files):
    found = counts_of_models({"a": str(files / "fcn.yaml"), "b": str(files / "priced.yaml")})
    macs = 64 * 200 + 200 * 200 + 200 * 10  # images of digits have 64 pixels
    assert (found["a"].forward.matmul_macs, found["a"].forward.convolution_macs) == (macs, 0)
    assert found["b"] == NetworkCounts(FORWARD, USUAL_PASSES, "other")


@pytest.mark.oracle
def test_frozen_layers_train_in_fewer_passes(files, monkeypatch):
    (files / "half_frozen_net.py").write_text(HALF_FROZEN)
    (files / "half.yaml").write_text('data: {dataset: digits}\nmodel: "half_frozen_net:Net"\n')
    monkeypatch.chdir(files)
    counts = counts_of_models({"half": "half.yaml"})
    # The first layer has a forward pass alone, and the last has no inputs to differentiate in.
    macs = (64 * 64, 64 * 10)
    assert counts["half"].passes == pytest.approx((macs[0] + 2 * macs[1]) / sum(macs))
    # `training` prices three passes, so the counts are scaled to fewer.
    forward = ForwardCounts(*(count * counts["half"].passes / USUAL_PASSES for count in counts["half"].forward))
    forward = forward._replace(layers=2.0)
    rows = training(LAW, {"half": NetworkCounts(forward)}, batch_sizes=(8, 16))
    (files / "log.csv").write_text(log_text(rows))
    found = calibrate(files / "log.csv", models={"half": "half.yaml"})
    assert found.fitted.types["pi"].law.seconds == pytest.approx(LAW, rel=1e-5)


def test_a_table_and_models_complete_each_other(files):
    counts = networks(2)
    rows = training(LAW, counts | counts_of_models({"fcn": str(files / "fcn.yaml")}))
    (files / "log.csv").write_text(log_text(rows))
    (files / "counts.csv").write_text(counts_text(counts))
    found = calibrate(files / "log.csv", files / "counts.csv", models={"fcn": str(files / "fcn.yaml")})
    assert max(abs(number.error) for number in found.compared) < 1e-5


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ({"fcn": "fcn.yaml", "net0": "fcn.yaml"}, '--model net0: "net0" has a row in {}/counts.csv already: leave'),
        ({"fnc": "fcn.yaml"}, '--model fnc: {}/log.csv has no network "fnc" (did you mean "fcn"?)'),
        ({}, '{}/log.csv:3: network: "fcn" has no counts: add --model fcn=SCENARIO.yaml, or a row to {}/counts.csv'),
        ({"fcn": "wrong.yaml"}, "wrong.yaml:2: model.kind: needs larger images"),
    ],
)
def test_faults_have_one_line_each(files, monkeypatch, models, told):
    counts = networks(1)
    rows = training(LAW, counts | counts_of_models({"fcn": str(files / "fcn.yaml")}))
    (files / "log.csv").write_text(log_text(rows))
    (files / "counts.csv").write_text(counts_text(counts))
    (files / "wrong.yaml").write_text("data: {dataset: digits}\nmodel: lenet5\n")
    monkeypatch.chdir(files)
    with pytest.raises(InputError) as refused:
        calibrate(files / "log.csv", files / "counts.csv", models=models)
    (line,) = refused.value.faults
    assert told.format(files, files) in line
