"""Answers to what-if: a point costs what a run with that value costs, or is refused; nothing is learned for it."""

import csv
import json
import re
import shutil
import subprocess
import sys
from contextlib import suppress

import pytest
import yaml

import edgefl
from edgefl.core.plugin_import import Access, NotImported
from edgefl.learning.record import Pace
from edgefl.records.quantities import WHAT_IF_COLUMNS
from edgefl.results import writer
from edgefl.results.integrity import check_all
from edgefl.results.what_if_table import read_table
from edgefl.runs.assembly import rehearse
from edgefl.runs.known_learning import RowsOfRun
from edgefl.runs.what_if_points import parse_over
from edgefl.scenario import load

BASE = {
    "name": "small",
    "rounds": 6,
    "targets": [0.3, 0.6, 0.99],
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.5}},
    "model": {"kind": "logistic"},
    "training": {"local_steps": 3, "batch_size": 20, "lr": 0.3},
    "devices": {"count": 12, "cpu_hz": {"uniform": [1e9, 2e9]}},
    "server": {"participants": 4},
    "mobility": "random_waypoint",
    "churn": {"kind": "bernoulli", "probability": 0.8},
}
COSTS = ("rounds", "time_s", "energy_j")
POINTS = {
    "radio.bandwidth_hz": [1e6, 20e6],
    "devices.tx_power_dbm": [10, 17],
    "devices.cpu_hz": [5e8],
    "radio.noise_figure_db": [7],
    "radio.allocation": ["proportional"],
    "cost": ["paper"],
    "mobility.speed_mps": [1],
}


def cells(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run; tests do not change it."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    assert edgefl.run(BASE, out=folder, device="cpu").status == "finished"
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the folder."""
    return shutil.copytree(finished, tmp_path / "run")


@pytest.mark.process
@pytest.mark.usefixtures("forked_sweeps")
def test_every_point_equals_a_sweep_to_the_byte(run, tmp_path):
    edgefl.what_if(run, POINTS)
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(BASE))
    points = [{key: value} for key, values in POINTS.items() for value in values]
    sweep = {"base": "base.yaml", "name": "sweep", "points": points}
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(sweep))
    edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "sweep", device="cpu", workers=1)
    rows = cells(run / "what_if.csv")
    index = cells(tmp_path / "sweep" / "index.csv")
    assert len(rows) - 1 == len(index) == len(points)
    declared = {column.name for column in WHAT_IF_COLUMNS}
    assert {re.sub(r"^target_[^_]+", "target_<A>", name) for name in rows[0]} <= declared
    compared = [name for name in rows[0] if name in COSTS or name.startswith("target_")]
    assert len(compared) == len(COSTS) + 9
    for row, swept in zip(rows[1:], index, strict=True):
        assert swept[row["key"]] == row["value"]
        assert {name: row[name] for name in compared} == {name: swept[name] for name in compared}
    assert len({row["time_s"] for row in rows}) >= 6  # the keys matter


@pytest.mark.oracle
def test_the_first_row_is_the_run(run):
    frame = edgefl.what_if(run, {"radio.bandwidth_hz": "1e6..20e6:3"})
    summary = json.loads((run / "summary.json").read_text())
    assert frame.loc[0, list(COSTS)].tolist() == [summary[name] for name in COSTS]
    assert frame["value"].tolist() == ["", "1000000", "4472000", "20000000"]
    assert frame.loc[0, "target_0.3_time_s"] == summary["targets"][0]["time_s"]


@pytest.mark.process
def test_torch_is_not_loaded(run):
    program = (
        "import sys, edgefl; "
        f"edgefl.what_if({str(run)!r}, {{'radio.bandwidth_hz': [1e6]}}); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=120).returncode == 0


# What is refused


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("algorithm", "fedprox", "changes what is learned"),
        ("training.codec", "float16", "vary model.cost.parameters"),
        ("churn.probability", 0.5, "changes what is learned"),
        ("rounds", 7, "decides when the run ends"),
        ("targets", [0.5], "only changes the report"),
        ("radio.bandwith_hz", 5e6, 'did you mean "bandwidth_hz"'),
        ("name.first", 1, "is only a name"),
        ("model.cost.parameters", 5, "does not fit the scenario"),
    ],
)
def test_keys_and_values_that_are_refused(run, key, value, reason):
    before = files(run)
    with pytest.raises(edgefl.InputError) as caught:
        edgefl.what_if(run, {key: [value]})
    (line,) = caught.value.faults
    assert reason in line
    assert line.startswith(f"what_if: {key}: ")
    assert "\n" not in line
    assert files(run) == before


@pytest.mark.parametrize(
    "text",
    [
        "radio.bandwidth_hz",
        "radio.bandwidth_hz=",
        "k=5]",
        "k={a: 1",
    ],
)
def test_text_without_values_is_refused(text):
    with pytest.raises(edgefl.InputError) as caught:
        parse_over(text)
    (line,) = caught.value.faults
    assert line.startswith(f"--over {text}: ")


def test_names_and_mappings_as_values():
    assert parse_over("radio.fading={kind: rician, k_db: 3}, rayleigh") == (
        "radio.fading",
        [{"kind": "rician", "k_db": 3}, "rayleigh"],
    )
    assert parse_over("radio.bandwidth_hz=5e6,10e6") == ("radio.bandwidth_hz", [5e6, 10e6])


@pytest.mark.oracle
def test_value_that_changes_arrivals_at_a_deadline_is_refused(tmp_path):
    deadline = {"participants": 4, "policy": "deadline", "deadline_s": 0.01}
    scenario = BASE | {"server": deadline}
    result = edgefl.run(scenario, out=tmp_path / "run", device="cpu")
    frame = edgefl.what_if(tmp_path / "run", {"radio.bandwidth_hz": [1e6, 99e6], "devices.rx_power_w": [0.2]})
    assert frame["refused"].map(bool).tolist() == [False, True, False, False]
    assert frame.loc[1, "refused"].startswith("from round 2 on, other updates arrive than in the run")
    assert "server.policy: deadline" in frame.loc[1, "refused"]
    assert frame.loc[1, list(COSTS)].isna().all()
    # A run with learning agrees: with the narrow band fewer updates arrive, with the other one the same.
    for bandwidth_hz, same in ((1e6, False), (99e6, True)):
        other = edgefl.run(scenario, overrides=[f"radio.bandwidth_hz={bandwidth_hz}"], device="cpu")
        assert (other.rounds["received"].tolist() == result.rounds["received"].tolist()) == same


@pytest.mark.oracle
def test_key_without_any_priced_value_is_refused(tmp_path):
    asynchronous = {"participants": 4, "policy": "asynchronous"}
    scenario = BASE | {"server": asynchronous, "algorithm": "fedasync", "churn": "none", "rounds": 12}
    edgefl.run(scenario, out=tmp_path / "run", device="cpu")
    before = files(tmp_path / "run")
    with pytest.raises(edgefl.InputError) as caught:
        edgefl.what_if(tmp_path / "run", {"radio.bandwidth_hz": [1e5, 1e6]})
    (line,) = caught.value.faults
    assert "other updates arrive than in the run (server.policy: asynchronous, " in line
    assert files(tmp_path / "run") == before


@pytest.mark.oracle
def test_value_that_ends_the_run_earlier_is_refused(tmp_path):
    scenario = BASE | {"stop": {"time_s": 0.02}, "rounds": 40, "radio": {"bandwidth_hz": 2e6}}
    rounds = edgefl.run(scenario, out=tmp_path / "run", device="cpu").summary["rounds"]
    assert rounds < 40
    with pytest.raises(edgefl.InputError, match=f"ends after . rounds instead of {rounds} "):
        edgefl.what_if(tmp_path / "run", {"radio.bandwidth_hz": [1e6]})
    with pytest.raises(edgefl.InputError, match=f"from round {rounds + 1} on, other updates"):
        edgefl.what_if(tmp_path / "run", {"radio.bandwidth_hz": [20e6]})


# Folders of all kinds


@pytest.mark.oracle
def test_any_key_of_a_run_without_learning_may_vary(tmp_path):
    """Also what would be learned, how many devices take part, and which updates arrive: each row is its own run."""
    keys = {**BASE, "server": {"policy": "deadline", "deadline_s": 0.05, "participants": 4}}
    edgefl.run(keys, out=tmp_path / "run", train=False)
    over = {
        "radio.bandwidth_hz": [1e6],
        "server.participants": [2],
        "server.deadline_s": [0.5],
        "rounds": [2],
        "training.local_steps": [7],
        "devices.count": [5],
    }
    frame = edgefl.what_if(tmp_path / "run", over)
    assert len(set(frame["received"])) > 2
    for row in frame.iloc[1:].to_dict("records"):
        other = edgefl.run(keys, overrides=[f"{row['key']}={row['value']}"], train=False).summary
        assert [row[name] for name in (*COSTS, "received")] == [other[name] for name in (*COSTS, "received")]


@pytest.mark.oracle
def test_selection_by_losses_needs_a_record(tmp_path):
    scenario = BASE | {"server": {"participants": 3, "selection": {"kind": "power_of_choice", "d": 6}}}
    kept = tmp_path / "kept"
    edgefl.run(scenario, out=kept, device="cpu", pace=Pace(rounds=2))
    frame = edgefl.what_if(kept, {"radio.bandwidth_hz": [1e6]})
    other = edgefl.run(scenario, overrides=["radio.bandwidth_hz=1e6"], device="cpu")
    assert frame.loc[1, list(COSTS)].tolist() == [other.summary[name] for name in COSTS]
    assert {path.name for path in (kept / "checkpoints").iterdir()} >= {"journal.jsonl"}
    edgefl.run(scenario, out=kept, device="cpu", resume=True, extendable=False)  # drops the record
    before = files(kept)
    with pytest.raises(edgefl.InputError, match="chooses by losses, but the run has kept no record of them"):
        edgefl.what_if(kept, {"radio.bandwidth_hz": [1e6]})
    assert files(kept) == before


def test_changed_rows_are_refused(run):
    text = (run / "rounds.csv").read_text()
    (run / "rounds.csv").write_text(text.replace(",0.0", ",0.1", 1))
    with pytest.raises(edgefl.InputError, match="was damaged or edited after the run"):
        edgefl.what_if(run, {"radio.bandwidth_hz": [1e6]})
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["digests"]["rounds.csv"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(edgefl.InputError, match="gives other results here than its folder has") as caught:
        edgefl.what_if(run, {"radio.bandwidth_hz": [1e6]})
    assert len(caught.value.faults) == 1


def test_unfinished_run_is_refused(run, tmp_path):
    with pytest.raises(edgefl.InputError, match="no such folder"):
        edgefl.what_if(tmp_path / "nowhere", {"radio.bandwidth_hz": [1e6]})
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"status": "interrupted"}))
    with pytest.raises(edgefl.InputError, match="its run is interrupted, and only a finished one"):
        edgefl.what_if(run, {"radio.bandwidth_hz": [1e6]})


# The table in the folder


@pytest.mark.oracle
def test_rows_of_other_keys_stay(run):
    edgefl.what_if(run, {"radio.bandwidth_hz": [1e6, 2e6], "devices.tx_power_dbm": [10]})
    edgefl.what_if(run, {"radio.bandwidth_hz": [3e6, 3e6]})
    rows = [(row.key, row.value) for row in read_table(run)]
    assert rows == [("", ""), ("devices.tx_power_dbm", "10"), ("radio.bandwidth_hz", "3000000")]
    check_all(run)


def test_table_elsewhere_does_not_change_the_folder(run, tmp_path):
    before = files(run)
    edgefl.what_if(run, {"radio.bandwidth_hz": [1e6]}, out=tmp_path / "table.csv")
    assert files(run) == before
    assert [row["key"] for row in cells(tmp_path / "table.csv")] == ["", "radio.bandwidth_hz"]


@pytest.mark.oracle
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_kill_between_any_two_steps_leaves_a_sound_folder(run, monkeypatch, step):
    edgefl.what_if(run, {"radio.bandwidth_hz": [1e6]})
    count = 0
    write = writer.write_atomically

    def killed(path, content):
        nonlocal count
        count += 1
        if count == step:
            raise KeyboardInterrupt
        write(path, content)

    monkeypatch.setattr(writer, "write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        edgefl.what_if(run, {"radio.bandwidth_hz": [2e6]})
    monkeypatch.undo()
    check_all(run)
    edgefl.report(run)
    edgefl.what_if(run, {"radio.bandwidth_hz": [2e6]})
    check_all(run)
    assert [row.value for row in read_table(run)] == ["", "2000000"]


@pytest.mark.oracle
def test_damaged_table_is_replaced(run):
    edgefl.what_if(run, {"radio.bandwidth_hz": [1e6]})
    text = (run / "what_if.csv").read_text()
    (run / "what_if.csv").write_text(text.replace("1000000", "1000001"))
    with pytest.raises(edgefl.InputError, match=r"what_if\.csv: was damaged or edited after the run"):
        edgefl.report(run)
    edgefl.what_if(run, {"radio.bandwidth_hz": [1e6]})
    assert (run / "what_if.csv").read_text() == text
    (run / "what_if.csv").unlink()
    check_all(run)
    edgefl.report(run)


# As a key of the scenario


@pytest.mark.oracle
def test_priced_when_the_run_ends(run, tmp_path, pages):
    asked = {"radio.bandwidth_hz": [1e6, 20e6]}
    edgefl.what_if(run, asked)
    out = tmp_path / "asked"
    scenario = BASE | {"report": {"what_if": {"radio.bandwidth_hz": "1e6..20e6:2"}}}
    edgefl.run(scenario, out=out, device="cpu")
    assert (out / "what_if.csv").read_bytes() == (run / "what_if.csv").read_bytes()
    assert 'data-what-if="what-if-0"' in (out / "report.html").read_text()
    # A run that was killed before its end is resumed, and then has them; so has one that lost them.
    (out / "what_if.csv").unlink()
    edgefl.run(scenario, out=out, device="cpu", resume=True)
    assert (out / "what_if.csv").read_bytes() == (run / "what_if.csv").read_bytes()
    check_all(out)
    # Other rounds have other costs.
    edgefl.run(scenario | {"rounds": 8}, out=out, device="cpu", resume=True)
    assert [row["rounds"] for row in cells(out / "what_if.csv")] == ["8", "8", "8"]


@pytest.mark.oracle
def test_priced_values_change_no_result(run, tmp_path):
    edgefl.run(BASE | {"report": {"what_if": {"cost": ["paper"]}}}, out=tmp_path / "asked", device="cpu")
    for name in ("rounds.csv", "devices.csv", "model.safetensors"):
        assert (tmp_path / "asked" / name).read_bytes() == (run / name).read_bytes()
    assert "what_if" not in (run / "scenario.yaml").read_text()


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"training.lr": [0.1]}, "changes what is learned"),
        ({"nothing": [5]}, "unknown key"),
    ],
)
def test_wrong_values_are_refused_before_the_run(tmp_path, asked, reason):
    with pytest.raises(edgefl.InputError, match=reason) as caught:
        edgefl.run(BASE | {"report": {"what_if": asked}}, out=tmp_path / "run", device="cpu")
    assert len(caught.value.faults) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.process
@pytest.mark.usefixtures("forked_sweeps")
def test_a_sweep_prices_each_of_its_runs(tmp_path):
    scenario = BASE | {"rounds": 2, "report": {"what_if": {"radio.bandwidth_hz": [1e6]}}}
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(scenario))
    (tmp_path / "sweep.yaml").write_text("base: base.yaml\ntrain: false\nseeds: [1, 2]\n")
    index = edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "sweep", workers=1)
    for folder in index["folder"]:
        assert len(read_table(tmp_path / "sweep" / folder)) == 2
    (tmp_path / "sweep" / index["folder"][0] / "what_if.csv").unlink()
    edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "sweep", workers=1, resume=True)
    assert len(read_table(tmp_path / "sweep" / index["folder"][0])) == 2


def test_outcomes_belong_to_the_commands_of_the_run():
    rows = [{"train_loss": 1.0, "test_loss": 2.0, "test_accuracy": 0.5}, {"train_loss": 0.5}]
    known = RowsOfRun(rows)
    first = known.outcome("own")
    assert first["columns"]["train_loss"] == 1.0
    known.close_keys()
    assert known.outcome("own") == first
    assert known.outcome("other") is None  # else it would be taken for the second round


def test_an_algorithm_that_was_not_imported_is_not_asked(tmp_path):
    file = tmp_path / "own.yaml"
    asked = {"radio.bandwidth_hz": [10e6, 20e6]}
    file.write_text(yaml.safe_dump({"rounds": 2, "algorithm": "nowhere:Mine", "report": {"what_if": asked}}))
    with suppress(NotImported):
        rehearse(load(file, access=Access(mode="skip")))
