"""What is wrong with a log, or with a table of counts, is told in one line each."""

import pytest
from calibration_cases import counts_text, networks

from edgefl.calibration.calibration import calibrate
from edgefl.calibration.log import read_counts, read_log
from edgefl.core.errors import InputError

HEADER = "device,network,phase,seconds,bytes,joules,batch_size,steps,samples\n"


def faults(read, path):
    with pytest.raises(InputError) as refused:
        read(path)
    return [line.replace(str(path), path.name) for line in refused.value.faults]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (",a,train,1,,,16,1,", "device: has no type: write one, such as pi4 or pi4/a"),
        (
            "pi,a,trian,1,,,16,1,",
            'phase: must be one of setup, download, train, evaluate, upload, idle, got "trian" (did you mean "train"?)',
        ),
        ("pi,a,train,-1,,,16,1,", "seconds: must be > 0 and at most 1e+18, got -1"),
        ("pi,a,train,1,,,16,,", "steps: a row of phase train needs two of batch_size, steps and samples"),
        ("pi,a,download,1,,,,,", "bytes: is empty in a row of phase download: write the bytes of the message"),
    ],
)
def test_rows(tmp_path, row, fault):
    path = tmp_path / "log.csv"
    path.write_text(f"{HEADER}pi,a,train,1,,,16,1,\n{row}\n")
    assert faults(read_log, path) == [f"log.csv:3: {fault}"]


def test_up_to_twenty_faults_of_a_log_are_listed(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "pi,a,sleep,0,,,,,\n" * 30)
    assert len(faults(read_log, path)) == 20


def test_third_of_batch_size_steps_and_samples_may_be_empty(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(f"{HEADER}pi,a,train,1,,,16,,33\npi,a,train,1,,,,4,32\n\npi,a,idle,1,,,,,\n")
    first, second, idle = read_log(path)
    assert (first.steps, second.batch_size, idle.steps) == (3, 8, None)
    assert (second.line, idle.line) == (3, 5)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("net1,", "net0,", '3: network: "net0" has a row already: write one row for each network'),
        ("net0,", "net0,1", "2: macs: must be matmul_macs + conv1x1_macs + convkxk_macs"),
    ],
)
def test_counts(tmp_path, old, new, fault):
    path = tmp_path / "counts.csv"
    path.write_text(counts_text(networks(2)).replace(old, new, 1))
    (line,) = faults(read_counts, path)
    assert line.startswith(f"counts.csv:{fault}")


def test_a_network_without_counts_is_named(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(f"{HEADER}pi,a,train,1,,,16,1,\n")
    counts = tmp_path / "counts.csv"
    counts.write_text(counts_text(networks(2)))
    with pytest.raises(InputError) as refused:
        calibrate(log, counts)
    told = f'network: "a" has no counts: add --model a=SCENARIO.yaml, or a row to {counts}'
    assert str(refused.value) == f"{log}:2: {told}"
