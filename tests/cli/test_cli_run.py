"""Runs from the command line: what is printed, written, interrupted and repeated."""

import csv
import io
import json
import signal
import subprocess

import pytest
from terminals import shown_by

from edgefl.results.report.run.bottleneck import sentence
from edgefl.results.report.run.plausibility import line, plausibility
from edgefl.results.report.shared.read import load

FILES = {"scenario.yaml", "manifest.json", "rounds.csv", "devices.csv", "events.parquet", "summary.json", "report.html"}


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_folder(finished):
    out = finished.folder / "out"
    assert {path.name for path in out.iterdir()} >= FILES
    assert not list(out.glob(".*"))
    assert json.loads((out / "manifest.json").read_text())["status"] == "finished"


def test_the_resolved_scenario_gives_the_same_bytes(finished):
    done = finished("run", "out/scenario.yaml", "-o", "again", "--device", "cpu", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for name in ("scenario.yaml", "rounds.csv", "devices.csv"):
        first, second = ((finished.folder / folder / name).read_bytes() for folder in ("out", "again"))
        assert first == second


def test_a_finished_run_is_not_overwritten_unless_asked(finished):
    (line,) = finished.refused("run", "small.yaml", "-o", "out", "--no-train")
    assert "--overwrite" in line
    for name in ("rounds.csv", "devices.csv"):  # two of them make a folder a run's
        header = (finished.folder / "out" / name).read_text().splitlines()[0]
        finished.write(f"third/{name}", f"{header}\n")
    done = finished("run", "small.yaml", "-o", "third", "--no-train", "--overwrite", "--quiet")
    assert done.returncode == 0
    assert len(rows((finished.folder / "third/rounds.csv").read_text())) == 3
    assert not (finished.folder / "third/model.safetensors").exists()


def test_default_folder_and_overrides(edgefl):
    edgefl.write("odd name!.yaml", "rounds: 5\n")
    done = edgefl("run", "odd name!.yaml", "--no-train", "--seed", "7", "--set", "rounds=2", "--set", "churn=none")
    assert done.returncode == 0, done.stderr
    assert len(rows((edgefl.folder / "results/odd-name-/seed-7/rounds.csv").read_text())) == 2


def test_piped_output_is_plain_lines(edgefl):
    edgefl.write("s.yaml", "rounds: 3\ntargets: [0.5]\n")
    done = edgefl("run", "s.yaml", "--no-train", "-o", "out")
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert done.stderr.startswith("round 1/3  ")
    assert "round 3/3  " in done.stderr
    table = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert table["rounds"] == "3"
    assert table["report"] == "out/report.html"
    made = load(edgefl.folder / "out")
    printed = " ".join(done.stdout.split())
    assert "bottleneck " + sentence(made) in printed
    assert "plausible " + line(plausibility(made)) in printed


def test_a_terminal_gets_a_bar(edgefl):
    edgefl.write("s.yaml", "rounds: 3\n")
    run = ("run", "s.yaml", "--no-train", "-o", "out")
    code, shown = shown_by(edgefl.start, *run, streams=["stderr"], stdout=subprocess.DEVNULL)
    assert code == 0
    assert b"\r" in shown
    assert b"100%|" in shown
    assert b"3/3 rounds" in shown


def test_interrupted(edgefl):
    edgefl.write("s.yaml", "rounds: 1e6\ndevices: {count: 10}\n")
    arguments = ("run", "s.yaml", "--no-train", "-o", "out")
    with edgefl.start(*arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith("round 1/1000000")
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert "interrupted" in error.splitlines()[-1]
    out = edgefl.folder / "out"
    assert json.loads((out / "manifest.json").read_text())["status"] == "interrupted"
    finished = rows((out / "rounds.csv").read_text())
    assert [row["round"] for row in finished] == [str(number) for number in range(1, len(finished) + 1)]
    assert json.loads((out / "summary.json").read_text())["rounds"] == len(finished) >= 1
    assert len(rows((out / "devices.csv").read_text())) == 10 * len(finished)


def test_closed_pipe_is_not_a_fault(edgefl):
    with edgefl.start("list", "algorithms", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        error = process.stderr.read()
    assert error == b""


def test_export_csv_adds_up(finished):
    done = finished("export", "out", "--format", "csv")
    phases = rows(done.stdout)
    rounds = rows((finished.folder / "out/rounds.csv").read_text())
    assert len(phases) == 4 * sum(int(row["received"]) for row in rounds)
    for row in rounds:
        own = [phase for phase in phases if phase["round"] == row["round"]]
        assert sum(float(phase["energy_j"]) for phase in own) == pytest.approx(float(row["round_energy_j"]), rel=1e-9)
        count = {
            name: sum(int(phase["bytes"]) for phase in own if phase["phase"] == name) for name in ("download", "upload")
        }
        assert count == {"download": int(row["bytes_down"]), "upload": int(row["bytes_up"])}
        ends = [float(phase["start_s"]) + float(phase["duration_s"]) for phase in own if phase["phase"] == "wait"]
        assert ends == pytest.approx([float(row["time_s"])] * len(ends), rel=1e-9)


def test_export_json_adds_up_and_goes_to_a_file(finished):
    done = finished("export", "out", "--format", "json", "-o", "all.json")
    assert done.stdout == "all.json\n"
    value = json.loads((finished.folder / "all.json").read_text())
    spent = sum(row[key] for row in value["devices"] for key in ("rx_energy_j", "cpu_energy_j", "tx_energy_j"))
    assert spent == pytest.approx(value["summary"]["energy_j"], rel=1e-9)
    for way in ("bytes_down", "bytes_up"):
        assert sum(row[way] for row in value["devices"]) == value["summary"][way]
    assert value["rounds"][-1]["energy_j"] == pytest.approx(value["summary"]["energy_j"], rel=1e-9)
    assert {row["los"] for row in value["devices"]} == {True}


def test_export_into_nowhere_is_refused(finished):
    """Below a file, and instead of a folder; a folder that is only missing is made."""
    finished.write("folder/file", "")
    (line,) = finished.refused("export", "out", "--format", "csv", "-o", "folder/file/where.csv")
    assert line.startswith("folder/file/where.csv: cannot be written")
    (line,) = finished.refused("export", "out", "--format", "csv", "-o", "folder")
    assert line.startswith("folder: cannot be written")


def test_list_names_every_member_with_its_source(edgefl):
    listed = edgefl("list").stdout
    kinds = listed.split()
    assert ["policies", "server.policy", "8"] in [line.split()[:3] for line in listed.splitlines()]
    assert {"algorithms", "datasets", "models", "partitions", "mobility", "churn", "selection"} <= set(kinds)
    algorithms = edgefl("list", "algorithms").stdout
    assert "fedprox" in algorithms
    assert "MLSys 2020" in algorithms


def test_help_and_version(edgefl):
    assert "exit codes: 0 done" in edgefl("--help").stdout
    assert edgefl("--version").stdout.startswith("edgefl ")
