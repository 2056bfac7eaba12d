"""What is wrong with a log, or with a table of counts, is told in one line each."""

import pytest
from calibration_cases import counts_text, networks

from edgefl.calibration.calibration import calibrate
from edgefl.calibration.log import read_counts, read_log
from edgefl.core.data_files import NOT_UTF_8
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
        ("pi,a,train,,,,16,1,", "seconds: is empty: write how long the phase took"),
        ("pi,a,train,-1,,,16,1,", "seconds: must be > 0 and at most 1e+18, got -1"),
        ("pi,a,train,nan,,,16,1,", "seconds: must be > 0 and at most 1e+18, got nan"),
        ("pi,a,train,fast,,,16,1,", 'seconds: must be a number, got "fast"'),
        ("pi,a,train,1,,-2,16,1,", "joules: must be from 0 to 1e+18, got -2"),
        ("pi,,train,1,,,16,1,", "network: is empty in a row of phase train: write the network's name"),
        ("pi,a,train,1,,,16,,", "steps: a row of phase train needs two of batch_size, steps and samples"),
        ("pi,a,download,1,,,,,", "bytes: is empty in a row of phase download: write the bytes of the message"),
        ("pi,a,train,1,,,16,1", "has 8 cells, the header has 9: write one for each column"),
        (f"{'p' * 101},a,idle,1,,,,,", "device: must be at most 100 characters in one line: write a shorter name"),
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


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "log.csv:1: has no column device; must have device, phase, seconds, got nothing"),
        (
            b"device,phase,second\n",
            (
                'log.csv:1: has no column seconds (did you mean "second"?); must have device, phase, seconds, '
                'got "device,phase,second"'
            ),
        ),
        (b"device,phase,seconds,seconds\n", "log.csv:1: has the column seconds twice: remove one"),
        (b"device,phase,seconds\n", "log.csv: has no rows: write one for each measured phase"),
        (b"device,phase,seconds\n\xff,idle,1\n", f"log.csv:2: {NOT_UTF_8}"),
    ],
)
def test_files(tmp_path, content, fault):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    assert faults(read_log, path) == [fault]


def test_missing_file_is_refused(tmp_path):
    assert faults(read_log, tmp_path / "log.csv") == ["log.csv: cannot be read: No such file or directory"]


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
        ("net1,", ",", "3: network: is empty: write one row for each network"),
        ("network,macs", "network,mac", "1: has no column macs"),
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
