"""`edgefl measure` as users meet it."""

import pytest

from edgefl.calibration.log import read_log, read_provenance

NET = """
from torch import nn

class Net(nn.Sequential):
    def __init__(self, shape, classes):
        super().__init__(nn.Flatten(), nn.Linear(shape[0] * shape[1], classes))

    def forward(self, x):
        if len(x) == 16:
            raise RuntimeError("only small batches")
        return super().forward(x)
"""


@pytest.fixture
def shell(edgefl):
    edgefl.write("my_nets.py", NET)
    edgefl.write("volts.csv", "time,volts\n1,5\n")
    edgefl.write("noon.csv", "time,watts\nnoon,5\n")
    return edgefl


@pytest.mark.process
def test_a_board_is_measured_and_calibrated(shell):
    options = ["--model", "lenet5", "my_nets:Net", "--input", "28x28", "--batch", "2", "4", "--seconds", "0.05"]
    done = shell("measure", *options, "--device-name", "box/a", "--power", "none")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "power: none"
    assert lines[-3:-1] == ["written    measured/log.csv", "written    measured/counts.csv"]
    rows = read_log(shell.folder / "measured/log.csv")
    assert len(rows) == 8 * 5
    assert {row.device for row in rows} == {"box/a"}
    assert {(row.network, row.batch_size) for row in rows} == {
        (name, size) for name in ("lenet5", "my_nets:Net") for size in (2, 4)
    }
    facts = read_provenance(shell.folder / "measured/log.csv")
    keys = "edgefl board processor measured_on torch python threads device power throttling"
    assert list(facts) == keys.split()
    assert (facts["device"], facts["power"]) == ("cpu", "none")
    done = shell(*lines[-1].removeprefix("next       edgefl ").split())
    assert (done.returncode, done.stderr) == (0, "")
    assert "    convolution_flops_per_s: " in (shell.folder / "measured/calibrated/scenario.yaml").read_text()
    shell.write("meter.csv", "time,watts\n1,5\n")
    done = shell(
        "measure", "--model", "mlp", "--input", "28x28", "--seconds", "0.01", "--power", "meter.csv", "-o", "b"
    )
    assert "power: its readings do not cover 21 of 21 rows" in done.stdout
    assert shell.refused("measure") == ["measured/log.csv: exists: choose another folder, or add --overwrite"]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--model lenet6", '--model lenet6: neither edgefl nor torchvision has it (did you mean "lenet5"?); or write '),
        ("--model my_nets:Nett", "--model my_nets:Nett: my_nets.py has no Nett"),
        ("--model lenet5 --input 28y28", "--input 28y28: must be the sizes of a sample, such as 3x32x32, each above 0"),
        ("--model lenet5 --input 4x4", "--model lenet5: needs larger images, got samples of shape [4, 4]"),
        ("--model resnet18 --input 10", "--model resnet18: needs images"),
        ("--model llama --input 28", "--model llama: takes token ids, or has its own loss: "),
        ("--input 28x28", "--input 28x28: the ladder has sizes of its own: add --model NAME"),
        ("--batch 0", "--batch 0: must be at least 1"),
        ("--seconds 0", "--seconds 0: must be above 0"),
        ("--device-name /a", "--device-name '/a': must be a type, or type/unit, such as pi4 or pi4/a"),
        ("--model lenet5 --input 28x28 --power rapl", "--power rapl: "),
        ("--model lenet5 --input 28x28 --power usb", "--power usb: must be none, auto, ina3221, "),
        ("--model lenet5 --input 28x28 --power no.csv", "no.csv: cannot be read: No such file or directory"),
        ("--model lenet5 --input 28x28 --power volts.csv", "volts.csv: needs a column watts, or volts and amperes"),
        ("--model lenet5 --input 28x28 --power noon.csv", "noon.csv:2: time: must be a timestamp with its zone, or "),
        (
            "--model my_nets:Net --input 4x4 --power none --seconds 0.01",
            "--model my_nets:Net, batch 16, train: RuntimeError: only",
        ),
    ],
)
def test_wrong_options_are_told_and_nothing_is_written(shell, options, told):
    (line,) = shell.refused("measure", *options.split())
    assert line.startswith(told)
    assert not (shell.folder / "measured").exists()
