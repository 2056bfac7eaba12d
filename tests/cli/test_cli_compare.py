"""`edgefl compare` as users meet it."""

import csv
import io
import json

import pytest


@pytest.fixture(scope="module")
def several(finished):
    """The folder `out`, and `priced` of the same scenario without learning."""
    done = finished("run", "small.yaml", "-o", "priced", "--no-train", "--quiet", "--set", "seed=2")
    assert done.returncode == 0, done.stderr
    return finished


def test_the_table(several):
    done = several("compare", "out", "out", "priced", "--relative", "0.9", "--last", "2")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith(("Runs", "Accuracy", "To "))][:3] == [
        "Runs",
        "Accuracy",
        "To 20 %",
    ]
    assert any(line.startswith("To 90 % of the reference's best, ") for line in lines)
    assert any(line.endswith("identical") for line in lines)
    assert lines[-1] == "priced: measured no accuracy"
    assert any(line.startswith("priced") and line.endswith("seed") for line in lines)


def test_numbers_for_other_programs(several):
    out = several("compare", "out", "out", "--format", "json", "--last", "2").stdout
    summary = json.loads((several.folder / "out/summary.json").read_text())
    for row in json.loads(out):
        assert row["best_accuracy"] == pytest.approx(summary["best_accuracy"])
        assert row["to_0.2_rounds"] == summary["targets"][0]["round"]
        assert row["last_tests"] == 2
    assert several("compare", "out", "out", "--format", "csv", "-o", "table.csv").stdout == "table.csv\n"
    text = (several.folder / "table.csv").read_text()
    assert len(list(csv.DictReader(io.StringIO(text)))) == 2


def test_wrong_input(several):
    assert several.refused("compare", "nowhere", "out", "no more") == [
        "nowhere: not a result folder: no such folder",
        "no more: not a result folder: no such folder",
    ]
    (line,) = several.refused("compare", "priced", "out", "--relative", "0.9")
    assert line.startswith("priced: no accuracy was measured, so no target can be relative to it; compare with ")
    assert several.refused("compare", "out", "out", "--last", "0") == ["compare: last must be > 0, got 0"]
    (line,) = several.refused("compare", "out")
    assert line.startswith("compare: name a reference and the runs to compare with it")


def test_a_scenario_relative_to_a_folder(several):
    several.write("next.yaml", "rounds: 2\ntargets: [{relative: 0.9, reference: out}]\n")
    assert several("validate", "next.yaml").stdout == "next.yaml: ok\n"
    several.write("wrong.yaml", "rounds: 2\ntargets:\n  - {relative: 0.9, reference: priced}\n")
    (line,) = several.refused("run", "wrong.yaml", "--no-train")
    folder = several.folder / "priced"
    assert line == f"wrong.yaml:3: targets.0.reference: {folder}: that run measured no accuracy: name one that learned"
