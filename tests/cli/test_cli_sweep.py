"""`edgefl sweep` as a process of its own: swept keys that are columns, silence, interruption, repeated values."""

import csv
import os
import signal
import subprocess
from dataclasses import replace

WORLD = "devices: {count: 6}\nserver: {participants: 3}\n"


def index(folder):
    with (folder / "index.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_swept_key_may_have_the_name_of_a_result_column(edgefl):
    """`rounds` is a key of the scenario and a column of the index: both are there, in the statistics as well."""
    edgefl.write("base.yaml", WORLD)
    edgefl.write(
        "sweep.yaml", "base: base.yaml\ngrid: {rounds: [2, 3], radio.bandwidth_hz: [1e6, 2e6]}\nseeds: [1, 2]\n"
    )
    done = edgefl("sweep", "sweep.yaml", "-o", "out", "--no-train", "--workers", "1", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    rows = index(edgefl.folder / "out")
    assert [row["scenario.rounds"] for row in rows] == ["2"] * 4 + ["3"] * 4
    assert [row["rounds"] for row in rows] == ["2"] * 4 + ["3"] * 4
    assert {row["radio.bandwidth_hz"] for row in rows} == {"1000000", "2000000"}
    with (edgefl.folder / "out" / "statistics.csv").open(encoding="utf-8") as file:
        statistics = list(csv.DictReader(file))
    assert [(row["scenario.rounds"], row["rounds_mean"]) for row in statistics] == [("2", "2")] * 2 + [("3", "3")] * 2
    page = (edgefl.folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "rounds 2 to 3" in page
    table = edgefl("export", "out", "--format", "csv", "--table", "rounds").stdout.splitlines()
    assert table[0].startswith("run,scenario.rounds,radio.bandwidth_hz,seed,session,round,")
    assert len(table) == 1 + 4 * 2 + 4 * 3
    (fault,) = edgefl.refused("export", "out", "--format", "csv", "--over", "rounds", "-o", "table.csv")
    assert fault == "export: --over rounds: only with a sweep's figures and tables for papers: leave it out"


def test_warnings_of_runs_are_shown_unless_quiet(edgefl):
    """Runs are processes of their own, which must know of --quiet."""
    starts_python = replace(edgefl, forks_sweeps=False)
    edgefl.write("base.yaml", "rounds: 3\ndevices: {count: 6}\nserver: {participants: 6}\n")
    edgefl.write("sweep.yaml", "base: base.yaml\nset: {churn: {kind: bernoulli, probability: 0.5}}\nseeds: [1]\n")
    command = ("sweep", "sweep.yaml", "-o", "out", "--no-train", "--workers", "1", "--overwrite")
    loud = starts_python(*command)
    assert [line for line in loud.stderr.splitlines() if line.startswith("edgefl: ")], loud.stderr
    quiet = starts_python(*command, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_an_interrupted_sweep_says_how_to_go_on(edgefl):
    edgefl.write("base.yaml", WORLD)
    # The second run would take minutes: it is interrupted, and two are never begun.
    edgefl.write("sweep.yaml", "base: base.yaml\ngrid: {rounds: [1, 1000000, 2, 3]}\n")
    command = ("sweep", "sweep.yaml", "-o", "my out", "--no-train", "--workers", "1")
    process = edgefl.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert "finished" in process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the sweep and to its runs
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    statuses = [row["status"] for row in index(edgefl.folder / "my out")]
    assert statuses in (["finished", "interrupted", "pending", "pending"], ["finished", *["pending"] * 3])
    *_, last = stdout.splitlines()
    assert last.split(maxsplit=3)[3] == "edgefl sweep sweep.yaml -o 'my out' --no-train --workers 1 --resume"
    assert "1 of 4 runs finished (" in stdout


SAME_POINTS = [
    ("grid: {rounds: [20, 3, 20]}", "grid.rounds.2: 20 gives the same scenario as 20 before it: leave one out"),
    ("grid: {radio.bandwidth_hz: [20, 20.0]}", "grid.radio.bandwidth_hz.1: 20 gives the same scenario as 20"),
    ("grid: {algorithm: [fedavg, {kind: fedavg}]}", "grid.algorithm.1: fedavg gives the same scenario as fedavg"),
    ("zip: {rounds: [1, 1], server.participants: [3, 3]}", "zip.rounds.1: 1 gives the same scenario as 1"),
    ("points: [{rounds: 4}, {rounds: 4}]", "points.1: 4 gives the same scenario as 4"),
]
SAME_BY_OPTION = [
    ("rounds=4", "grid.rounds.1: 2 gives the same scenario as 1 before it: leave one out, or one of --set rounds=4"),
    ("seed=3", "--set seed=3: sweep.yaml has its own seeds: leave it out, or change seeds there"),
]


def test_the_same_point_twice_is_refused(edgefl):
    edgefl.write("base.yaml", WORLD)
    for keys, line in SAME_POINTS:
        edgefl.write("sweep.yaml", f"base: base.yaml\n{keys}\nseeds: [1, 2]\n")
        (fault,) = edgefl.refused("sweep", "sweep.yaml", "-o", "out")
        assert fault.startswith(f"sweep.yaml:2: {line}")
    edgefl.write("sweep.yaml", "base: base.yaml\ngrid: {rounds: [1, 2]}\nseeds: [1, 2]\n")
    for override, line in SAME_BY_OPTION:
        (fault,) = edgefl.refused("sweep", "sweep.yaml", "-o", "out", "--set", override)
        assert fault.endswith(line)
