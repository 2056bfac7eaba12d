"""A finished run that gets more rounds: the same bytes as if it had had them from the beginning."""

import hashlib
import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import yaml
from kills import Killed
from resume_cases import BASE, shortened
from run_cases import content

import edgefl
from edgefl.cli import main
from edgefl.core.errors import InputError, Taken
from edgefl.core.files import locked
from edgefl.learning import algorithms
from edgefl.learning.record import Pace
from edgefl.runs.learning_key import rounds_matter
from edgefl.scenario import load

pytestmark = pytest.mark.oracle


def test_label_changes_no_result(tmp_path, jobs):
    edgefl.run({**BASE, "label": "mine"}, out=tmp_path / "labelled", device="cpu")
    edgefl.run(BASE, out=tmp_path / "plain", device="cpu")
    labelled = content(tmp_path / "labelled")
    assert {name for name, file in content(tmp_path / "plain").items() if file != labelled[name]} <= {"scenario.yaml"}
    jobs.clear()
    for label in ({"label": "another"}, {}):  # a run resumes whatever its label
        result = edgefl.run({**BASE, **label}, out=tmp_path / "labelled", device="cpu", resume=True)
        assert result.status == "finished"
    assert not jobs.total()
    edgefl.run({**shortened(BASE), "label": "short"}, out=tmp_path / "out", device="cpu", pace=Pace(rounds=99))
    edgefl.run({**BASE, "label": "long"}, out=tmp_path / "out", device="cpu", resume=True)
    assert "label: long" in (tmp_path / "out" / "scenario.yaml").read_text()
    assert content(tmp_path / "out").keys() == labelled.keys()


def test_rounds_without_a_record_are_learned_again(tmp_path, jobs):
    edgefl.run(BASE, out=tmp_path / "whole", device="cpu")
    whole = jobs.total()
    edgefl.run(shortened(BASE), out=tmp_path / "out", device="cpu")
    assert not (tmp_path / "out/checkpoints").exists()  # it took no ten seconds
    jobs.clear()
    edgefl.run(BASE, out=tmp_path / "out", device="cpu", resume=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert jobs.total() == whole


def test_an_extended_run_that_is_killed_goes_on(tmp_path):
    def kill(row):
        if row["round"] == 8:
            raise Killed

    edgefl.run(BASE, out=tmp_path / "whole", device="cpu")
    edgefl.run(shortened(BASE), out=tmp_path / "out", device="cpu", pace=Pace(rounds=2))
    with pytest.raises(Killed):
        edgefl.run(BASE, out=tmp_path / "out", device="cpu", resume=True, pace=Pace(rounds=2), progress=kill)
    edgefl.run(BASE, out=tmp_path / "out", device="cpu", resume=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_one_state_is_kept(tmp_path):
    edgefl.run(BASE, out=tmp_path, device="cpu", pace=Pace(rounds=1))
    assert len(list((tmp_path / "checkpoints").glob("*.state"))) == 1
    before = content(tmp_path)
    assert edgefl.run(BASE, out=tmp_path, device="cpu", resume=True).ledger is None  # finished before
    assert content(tmp_path) == before


def test_a_run_that_stopped_early_stops_later(tmp_path):
    edgefl.run(BASE, out=tmp_path / "whole", device="cpu")
    early = edgefl.run({**BASE, "stop": {"time_s": 1e-9}}, out=tmp_path / "out", device="cpu")
    assert early.summary["rounds"] == 1
    edgefl.run(BASE, out=tmp_path / "out", device="cpu", resume=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.parametrize("policy", ["asynchronous", {"kind": "buffered", "buffer": 2}])
def test_a_last_round_that_was_cut_at_its_time_becomes_whole(policy, tmp_path):
    keys = {**BASE, "server": {"participants": 3, "policy": policy}, "radio": {"sharing": "processor"}}
    whole = edgefl.run(keys, out=tmp_path / "whole", device="cpu").rounds["time_s"]
    stop = {"time_s": float(whole[3] * 0.1 + whole[4] * 0.9)}
    early = edgefl.run({**keys, "stop": stop}, out=tmp_path / "out", device="cpu", pace=Pace(rounds=1))
    assert early.rounds["time_s"].tolist() == [*whole[:4], stop["time_s"]]
    edgefl.run(keys, out=tmp_path / "out", device="cpu", resume=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"rounds": 3}, "was begun with rounds: 9, which cannot become 3"),
        ({"rounds": 12, "seed": 2}, "another scenario, with 'seed: 1' instead of 'seed: 2'"),
    ],
)
def test_another_scenario_is_refused(tmp_path, keys, message):
    edgefl.run(BASE, out=tmp_path, train=False)
    with pytest.raises(InputError, match=message):
        edgefl.run({**BASE, **keys}, out=tmp_path, train=False, resume=True)


LENGTHENED = {
    "training.lr_schedule: polynomial": {"training": {**BASE["training"], "lr_schedule": "polynomial"}},
    "algorithm: fedssg": {"algorithm": {"kind": "fedssg", "variant": "code"}},
}


@pytest.mark.parametrize("culprit", LENGTHENED)
def test_learning_by_the_number_of_rounds_cannot_be_extended(tmp_path, culprit):
    keys = {**BASE, **LENGTHENED[culprit]}
    edgefl.run(keys, out=tmp_path, train=False)
    with pytest.raises(InputError, match=f"cannot be extended: {culprit} depends on the number of rounds"):
        edgefl.run({**keys, "rounds": 12}, out=tmp_path, train=False, resume=True)
    assert json.loads((tmp_path / "manifest.json").read_text())["status"] == "finished"


def test_algorithms_that_use_the_number_of_rounds_say_so():
    for path in Path(algorithms.__file__).parent.rglob("*.py"):
        text = path.read_text()
        assert ("run.rounds" in text) == ("depends_on_rounds: ClassVar[bool | None] = True" in text), path


def test_other_algorithms_do_not_depend_on_it():
    assert rounds_matter(load({**BASE, "algorithm": {"kind": "fedssg", "variant": "paper_main"}})) is None
    assert rounds_matter(load({**BASE, "training": {**BASE["training"], "lr_schedule": "exponential"}})) is None


def test_unextendable_run_keeps_no_record(tmp_path, jobs):
    edgefl.run(BASE, out=tmp_path / "whole", device="cpu")
    whole = jobs.total()
    out = tmp_path / "out"
    edgefl.run(shortened(BASE), out=out, device="cpu", pace=Pace(rounds=1), extendable=False)
    assert not (out / "checkpoints").exists()
    jobs.clear()
    edgefl.run(BASE, out=out, device="cpu", resume=True)
    assert content(out) == content(tmp_path / "whole")
    assert jobs.total() == whole


def test_kept_record_can_be_dropped_later(tmp_path, jobs):
    out = tmp_path / "out"
    edgefl.run(BASE, out=out, device="cpu", pace=Pace(rounds=1))
    before = content(out)
    assert (out / "checkpoints").exists()
    jobs.clear()
    for _ in range(2):
        result = edgefl.run(BASE, out=out, device="cpu", resume=True, extendable=False)
        assert result.status == "finished"
        assert not (out / "checkpoints").exists()
    assert jobs.total() == 0
    assert content(out) == before


def test_half_a_report_is_removed_from_a_finished_run(tmp_path):
    """The report is written after the run has finished, and a kill may come in between."""
    out = tmp_path / "out"
    edgefl.run(BASE, out=out, train=False)
    half = out / ".report.html.0123456789ab.part"
    half.write_text("<html>")
    assert edgefl.run(BASE, out=out, train=False, resume=True).status == "finished"
    assert not half.exists()


def test_record_used_by_another_process_is_not_dropped(tmp_path):
    out = tmp_path / "out"
    edgefl.run(BASE, out=out, device="cpu", pace=Pace(rounds=1))
    with closing(locked(out / "checkpoints" / "journal.jsonl")), pytest.raises(Taken):
        edgefl.run(BASE, out=out, device="cpu", resume=True, extendable=False)
    assert (out / "checkpoints").exists()


@pytest.mark.parametrize("options", [[], ["--drop-checkpoints"]])
def test_drop_checkpoints_option_removes_the_record(options, tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(json.dumps(BASE))
    out = tmp_path / "out"
    run = ["run", str(path), "-o", str(out), "--device", "cpu", "--quiet", "--checkpoint-every", "1"]
    assert main([*run, *options]) == 0
    assert (out / "checkpoints").exists() == (not options)
    assert main([*run, "--resume", "--drop-checkpoints"]) == 0
    assert not (out / "checkpoints").exists()


def test_removed_requests_count_as_another_scenario(tmp_path):
    asked = {**BASE, "report": {"what_if": {"radio.bandwidth_hz": [2e6], "devices.cpu_hz": [1e9]}}}
    edgefl.run(asked, out=tmp_path, train=False)
    for report in ({}, {"what_if": {"radio.bandwidth_hz": [2e6]}}):
        with pytest.raises(InputError, match=r"another scenario, with 'report.what_if.* instead of"):
            edgefl.run({**BASE, "report": report}, out=tmp_path, train=False, resume=True)


# Folders of another version


OWN = {
    "data": {"dataset": "npz", "path": "own.npz"},
    "devices": {"count": 8, "groups": [{"name": "a", "count": 8}]},
    "report": {"contributions": {"every": 2}},
}


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arrays = {"train_x": np.ones((24, 5), np.float32), "train_y": np.arange(24) % 3}
    np.savez("own.npz", **arrays, test_x=arrays["train_x"], test_y=arrays["train_y"])


def rewrite(folder, change):
    """Change a folder to what another version would have written."""
    path = folder / "scenario.yaml"
    scenario = yaml.safe_load(path.read_text())
    change(scenario)
    path.write_text(yaml.safe_dump(scenario, sort_keys=False))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["edgefl"] = "9.9"
    manifest["digests"]["scenario.yaml"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def lose_keys(scenario):
    """Remove keys whose defaults are None, a number, text, a section or a member."""
    del scenario["data"]["classes"]
    del scenario["training"]["wrap"]
    del scenario["devices"]["height_m"]
    del scenario["report"]["contributions"]["value"]
    del scenario["algorithm"]["server_lr"]
    del scenario["stop"]
    del scenario["churn"]


EARLIER = {**BASE, **OWN, "algorithm": "fedavgm"}


def test_finished_run_of_an_earlier_version_stays(tmp_path, own_data):
    out = tmp_path / "out"
    edgefl.run(EARLIER, out=out, device="cpu")
    rewrite(out, lose_keys)
    before = content(out)
    assert edgefl.run(EARLIER, out=out, device="cpu", resume=True).ledger is None
    assert content(out) == before


def test_unfinished_run_of_an_earlier_version_continues(tmp_path, own_data):
    def interrupt(row):
        if row["round"] == 4:
            raise KeyboardInterrupt

    edgefl.run(EARLIER, out=tmp_path / "whole", device="cpu")
    edgefl.run(EARLIER, out=tmp_path / "out", device="cpu", progress=interrupt)
    rewrite(tmp_path / "out", lose_keys)
    edgefl.run(EARLIER, out=tmp_path / "out", device="cpu", resume=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_run_of_an_earlier_version_is_extended(tmp_path, own_data):
    edgefl.run(shortened(EARLIER), out=tmp_path / "out", train=False)
    rewrite(tmp_path / "out", lose_keys)
    with pytest.raises(InputError, match="was begun with rounds: 5, which cannot become 4"):
        edgefl.run({**EARLIER, "rounds": 4}, out=tmp_path / "out", train=False, resume=True)
    edgefl.run(EARLIER, out=tmp_path / "out", train=False, resume=True)
    edgefl.run(EARLIER, out=tmp_path / "whole", train=False)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": {**OWN["data"], "classes": 4}}, "another scenario, with nothing instead of 'data.classes: 4'"),
        ({"stop": None, "seed": 2}, "another scenario, with 'seed: 1' instead of 'seed: 2'"),
        (
            {"training": {**BASE["training"], "lr": 0.2}},
            r"another scenario, with 'training.lr: 0.1' instead of 'training.lr: 0.2'",
        ),
        (
            {"algorithm": "feddyn"},
            "another scenario, with 'algorithm.kind: \"fedavgm\"' instead of 'algorithm.kind: \"feddyn\"'",
        ),
    ],
)
def test_differing_keys_of_an_earlier_version_are_named(tmp_path, own_data, change, message):
    edgefl.run(EARLIER, out=tmp_path / "out", train=False)
    rewrite(tmp_path / "out", lose_keys)
    with pytest.raises(InputError, match=message):
        edgefl.run({**EARLIER, **change}, out=tmp_path / "out", train=False, resume=True)


def test_key_of_a_newer_version_is_named(tmp_path, own_data):
    edgefl.run(EARLIER, out=tmp_path / "out", train=False)
    rewrite(tmp_path / "out", lambda scenario: scenario["data"].update(mirror=True))
    with pytest.raises(InputError, match=r"another scenario, with .data.mirror: true. instead of nothing"):
        edgefl.run(EARLIER, out=tmp_path / "out", train=False, resume=True)
