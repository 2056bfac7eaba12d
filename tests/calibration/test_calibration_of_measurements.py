"""Real logs: a Raspberry Pi 4's steps, and the example of the documentation."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from edgefl.calibration.calibration import calibrate, write
from edgefl.calibration.compute_fit import Setting, fit_law
from edgefl.calibration.log import NetworkCounts, read_counts
from edgefl.world.compute_law import ForwardCounts

pytestmark = pytest.mark.oracle

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/calibration.md"
PUBLISHED = ROOT / "edgefl" / "reproductions" / "published"


def test_steps_of_a_raspberry_pi_4_are_predicted_for_networks_left_out():
    found = calibrate(DATA / "pi4-steps.csv", DATA / "counts.csv")
    # Networks whose times differ by a factor of 20, of convolutions and of matrix products.
    assert len(found.errors) == 1 + 14
    assert found.errors[0].mean < 0.1
    assert max(map(abs, found.errors[0].errors)) < 0.25
    law = found.fitted.types["pi4"].law
    # Convolutions with groups are far slower than others, as is known of CPUs.
    assert law.seconds["grouped_flops_per_s"] > 10 * law.seconds["convolution_flops_per_s"]


def pi_5():
    """The settings of ten networks on a Raspberry Pi 5, and what networks compute (federated-embedded-vision)."""
    counts = read_counts(PUBLISHED / "testbed-network-counts.csv")
    with (PUBLISHED / "pi-compute.csv").open(encoding="utf-8") as file:
        steps = [row for row in csv.DictReader(file) if row["pi5"]]
    return [Setting("pi5", row["network"], 16, 16, float(row["pi5"])) for row in steps], counts


def test_convolutions_predict_transformers():
    """Their only matrix product is the small last layer, so they cannot tell its speed."""
    settings, counts = pi_5()
    law = fit_law(settings[:5], counts)
    assert "matmul_flops_per_s" in law.untold
    vit_small = ForwardCounts(57802752, 4541374464, 0, 110713312, 0)
    step_s = law.step_s(NetworkCounts(vit_small), 16)
    assert step_s == pytest.approx(8.25, rel=0.1)  # measured by the same source


def test_more_networks_predict_others_better():
    settings, counts = pi_5()
    generator = np.random.default_rng(1)
    means = []
    for count in (1, 4, 9):
        errors = []
        for _ in range(30):
            order = generator.permutation(len(settings))
            law = fit_law([settings[place] for place in order[:count]], counts)
            others = [settings[place] for place in order[count:]]
            errors += [abs(law.step_s(counts[one.network], 16) / one.step_s - 1) for one in others]
        means.append(np.mean(errors))
    assert means == sorted(means, reverse=True)
    assert means[0] < 0.1


def test_three_networks_on_three_boards_predict_a_fourth(tmp_path):
    """E2FL's steps (scenarios/e2fl-steps.csv, MIT licence), whose networks cannot tell all terms of a law apart."""
    boards = {"pi3b-b", "pi4b", "pi5"}
    with (ROOT / "scenarios" / "e2fl-steps.csv").open(encoding="utf-8") as file:
        steps = [row for row in csv.DictReader(file) if row["device"] in boards]
    log = "device,network,phase,seconds,batch_size,steps\n"
    log += "".join(f"{row['device']},{row['network']},train,{row['step_s']},16,1\n" for row in steps)
    (tmp_path / "log.csv").write_text(log)
    counts = PUBLISHED / "testbed-network-counts.csv"
    errors = calibrate(tmp_path / "log.csv", counts, "mobilenet_v3_small").errors[0]
    assert len(errors.errors) == 3
    assert errors.mean < 0.2
    assert max(map(abs, errors.errors)) < 0.25


def blocks(kind):
    """The blocks of code of one kind on the page."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_example_of_the_page_prints_what_the_page_says(tmp_path):
    log = blocks("csv")[0]
    printed = blocks("yaml")[0]
    (tmp_path / "log.csv").write_text(log)
    assert calibrate(tmp_path / "log.csv").scenario == printed


def test_the_example_with_models_prints_what_the_page_says(tmp_path, monkeypatch):
    log = blocks("csv")[1]
    printed = blocks("yaml")[1]
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(log)
    models = dict(re.findall(r"--model (\w+)=(\S+)", blocks("sh")[1]))
    assert len(models) == 4
    for name, file in models.items():
        Path(file).write_text(f"data: {{dataset: digits}}\nmodel: {name}\n")
    assert calibrate(Path("log.csv"), models=models).scenario == printed


@pytest.fixture
def example():
    """The calibration of a Raspberry Pi 4."""
    return calibrate(DATA / "pi4-steps.csv", DATA / "counts.csv")


def test_the_same_numbers_give_the_same_files(example, tmp_path):
    for name in ("one", "two"):
        write(example, tmp_path / name, overwrite=False, with_picture=True)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["calibration.csv", "calibration.svg", "profile.yaml", "scenario.yaml"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    table = (tmp_path / "one/calibration.csv").read_text().splitlines()
    assert table[0] == "line,device,network,round,phase,quantity,predicted,measured,error,left_out"
    assert len(table) == 1 + 14
    assert sum(line.endswith(",true") for line in table) == 14


def test_the_picture_has_a_mark_for_each_number(example, tmp_path):
    write(example, tmp_path, overwrite=False, with_picture=True)
    picture = (tmp_path / "calibration.svg").read_text()
    assert "train, left out" in picture
    assert "predicted [s]" in picture
    # Marks of a line are uses of one shape; the legend has one more of each kind.
    assert picture.count("<use ") >= 14 + 2
