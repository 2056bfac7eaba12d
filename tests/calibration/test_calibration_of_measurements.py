"""Real logs: a Raspberry Pi 4's steps, and the example of the documentation."""

import csv
import re
from pathlib import Path

import pytest

from edgefl.calibration.calibration import calibrate, write
from edgefl.calibration.comparison import mean_error

pytestmark = pytest.mark.oracle

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/calibration.md"


def test_steps_of_a_raspberry_pi_4_are_predicted_for_networks_left_out():
    found = calibrate(DATA / "pi4-steps.csv", DATA / "counts.csv")
    (errors,) = found.errors
    assert len(errors.left_out) == 3
    # Networks whose times differ by a factor of 20, of convolutions and of matrix products.
    assert mean_error(errors.left_out) < 0.1
    assert max(map(abs, errors.left_out)) < 0.15
    law = found.fitted.types["pi4"].law
    assert law.left_out_error < 0.1
    # Convolutions with groups are far slower than others, as is known of CPUs.
    assert law.speeds["grouped"] < law.speeds["convolution"] / 10


def test_three_networks_on_three_boards_predict_a_fourth(tmp_path):
    """E2FL's steps (scenarios/e2fl-steps.csv, MIT licence), whose networks cannot tell all terms of a law apart."""
    boards = {"pi3b-b", "pi4b", "pi5"}
    with (ROOT / "scenarios" / "e2fl-steps.csv").open(encoding="utf-8") as file:
        steps = [row for row in csv.DictReader(file) if row["device"] in boards]
    log = "device,network,phase,seconds,batch_size,steps\n"
    log += "".join(f"{row['device']},{row['network']},train,{row['step_s']},16,1\n" for row in steps)
    (tmp_path / "log.csv").write_text(log)
    counts = ROOT / "edgefl" / "reproductions" / "published" / "testbed-network-counts.csv"
    (errors,) = calibrate(tmp_path / "log.csv", counts, "mobilenet_v3_small").errors
    assert len(errors.left_out) == 3
    assert mean_error(errors.left_out) < 0.17
    assert max(map(abs, errors.left_out)) < 0.25


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
    assert names == ["calibration.csv", "calibration.svg", "scenario.yaml"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    table = (tmp_path / "one/calibration.csv").read_text().splitlines()
    assert table[0] == "line,device,network,round,phase,quantity,predicted,measured,error,left_out"
    assert len(table) == 1 + 14
    assert sum(line.endswith(",true") for line in table) == 3


def test_the_picture_has_a_mark_for_each_number(example, tmp_path):
    write(example, tmp_path, overwrite=False, with_picture=True)
    picture = (tmp_path / "calibration.svg").read_text()
    assert "train, left out" in picture
    assert "predicted [s]" in picture
    # Marks of a line are uses of one shape; the legend has one more of each kind.
    assert picture.count("<use ") >= 14 + 2
