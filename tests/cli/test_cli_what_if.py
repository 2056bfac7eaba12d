"""`edgefl what-if` as users meet it."""

import json
import shutil

import pytest

BAND = "radio.bandwidth_hz=1e6..20e6:3"


@pytest.fixture
def shell(finished, edgefl):
    """A shell with a copy of a finished run in its folder `out`."""
    shutil.copytree(finished.folder / "out", edgefl.folder / "out")
    return edgefl


def test_a_table_a_file_and_the_page(shell):
    done = shell("what-if", "out", "--over", BAND, "--over", "devices.tx_power_dbm=10,17")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["time", "energy", "time", "to", "20", "%", "energy", "to", "20", "%", "updates"]
    assert lines[1].startswith("this run")
    names = ["radio.bandwidth_hz=1", "radio.bandwidth_hz=4.47", "radio.bandwidth_hz=20"]
    names += ["devices.tx_power_dbm=10", "devices.tx_power_dbm=17"]
    assert [line.split()[0] for line in lines[2:7]] == names
    assert lines[-2:] == ["table         out/what_if.csv", "report        out/report.html"]
    assert "<h2>What if?</h2>" in (shell.folder / "out/report.html").read_text()


def test_rows_for_other_programs(shell):
    done = shell("what-if", "out", "--over", BAND, "--json", "-o", "elsewhere.csv", "--quiet")
    rows = json.loads(done.stdout)
    assert [row["value"] for row in rows] == [None, "1000000", "4472000", "20000000"]
    assert rows[0]["time_s"] == json.loads((shell.folder / "out/summary.json").read_text())["time_s"]
    assert len((shell.folder / "elsewhere.csv").read_text().splitlines()) == 5
    assert not (shell.folder / "out/what_if.csv").exists()
    assert shell("what-if", "out", "--over", BAND, "--quiet").stdout == ""


def test_wrong_input_is_refused_in_one_line_each(shell):
    reason = "changes what is learned, so it needs another run: use `edgefl sweep`"
    (line,) = shell.refused("what-if", "out", "--over", "algorithm.kind=fedprox")
    assert line == f"--over algorithm.kind=fedprox: algorithm.kind: {reason}"
    assert shell.refused("what-if", "out", "--over", BAND, "--over", "radio.bandwidth_hz=0", "--over", "seed=3") == [
        "--over radio.bandwidth_hz=0: radio.bandwidth_hz: must be >= 1, got 0",
        f"--over seed=3: seed: {reason}",
    ]
    assert shell.refused("what-if", "nowhere", "--over", BAND) == ["nowhere: not a result folder: no such folder"]
    assert shell.refused("what-if", "out", "--over", "radio.bandwidth_hz=20e6..1e6") == [
        "--over radio.bandwidth_hz=20e6..1e6: 20e6..1e6: must lead from a smaller number to a larger one"
    ]
    (line,) = shell.refused("what-if", "out", "--over", BAND, "--workers", "0")
    assert line == "--workers 0: must be >= 1"
    (line,) = shell.refused("what-if", "out")
    assert "--over" in line


def test_a_key_of_the_scenario_names_its_line(shell):
    shell.write("asks.yaml", "rounds: 2\nreport:\n  eval_every: 1\n  what_if: {training.lr: [0.2]}\n")
    (line,) = shell.refused("run", "asks.yaml", "-o", "new", "--no-train")
    assert line.startswith("asks.yaml:4: report.what_if: training.lr: changes what is learned")
    (line,) = shell.refused("validate", "asks.yaml")
    assert line.startswith("asks.yaml:4: report.what_if: training.lr: changes what is learned")


def test_workers_change_no_byte(shell):
    many = ("what-if", "out", "--over", "radio.bandwidth_hz=1e6..100e6:60", "--quiet", "-o")
    assert shell(*many, "one.csv", "--workers", "1").returncode == 0
    assert shell(*many, "two.csv", "--workers", "2").returncode == 0
    assert (shell.folder / "one.csv").read_bytes() == (shell.folder / "two.csv").read_bytes()
