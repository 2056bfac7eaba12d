"""A run that was killed goes on where its last checkpoint was, and ends with the same bytes."""

import json
import logging

import numpy as np
import pytest
from kills import Killed, kill_at
from resume_cases import BASE, CASES, ROUNDS, drawn, shortened
from run_cases import content

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.record import Journal, Pace

pytestmark = pytest.mark.oracle

KILLED = 6  # rounds that are finished when it is killed
EVERY = 4  # rounds between checkpoints


def killed(keys, out, *, after=KILLED, pace=EVERY):
    with pytest.raises(Killed):
        edgefl.run(keys, out=out, device="cpu", pace=Pace(rounds=pace), progress=kill_at(after))
    assert json.loads((out / "manifest.json").read_text())["status"] == "running"
    assert not (out / "rounds.csv").exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What an uninterrupted run of `BASE` writes."""
    folder = tmp_path_factory.mktemp("whole")
    edgefl.run(BASE, out=folder, device="cpu")
    return content(folder)


@pytest.mark.parametrize("name", CASES)
def test_a_run_that_is_killed_resumed_and_extended_has_the_same_bytes(name, tmp_path, jobs):
    keys = {**BASE, **CASES[name]}
    edgefl.run(keys, out=tmp_path / "whole", device="cpu")
    of_whole = jobs.total()
    out = tmp_path / "out"
    killed(shortened(keys), out, after=4, pace=3)
    for asked in (shortened(keys), keys):
        jobs.clear()
        result = edgefl.run(asked, out=out, device="cpu", resume=True, pace=Pace(rounds=3))
        assert result.status == "finished"
        assert 0 < jobs.total() < of_whole  # what came before the checkpoint has not been learned again
    assert content(out) == content(tmp_path / "whole")


def test_repeated_learning_begins_at_the_checkpoint(tmp_path, jobs):
    killed(BASE, tmp_path)
    jobs.clear()
    edgefl.run(BASE, out=tmp_path, device="cpu", resume=True)
    assert jobs == dict.fromkeys(range(EVERY, ROUNDS), 4)


def test_run_without_a_checkpoint_restarts(tmp_path, jobs, whole):
    killed(BASE, tmp_path / "cut", pace=100)
    jobs.clear()
    edgefl.run(BASE, out=tmp_path / "cut", device="cpu", resume=True)
    assert jobs.total() == 4 * ROUNDS
    assert content(tmp_path / "cut") == whole


def test_repeatedly_killed_run_has_the_same_bytes(tmp_path, whole):
    killed(BASE, tmp_path / "cut", after=3, pace=2)
    for after in (5, 8):
        how = {"pace": Pace(rounds=2), "progress": kill_at(after), "resume": True}
        with pytest.raises(Killed):
            edgefl.run(BASE, out=tmp_path / "cut", device="cpu", **how)
    edgefl.run(BASE, out=tmp_path / "cut", device="cpu", resume=True)
    assert content(tmp_path / "cut") == whole


def states(folder):
    return sorted((folder / "checkpoints").glob("*.state"), key=lambda path: path.stat().st_mtime_ns)


@pytest.mark.parametrize("damage", ["byte", "half", "gone"])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_is_used(damage, tmp_path, jobs, caplog, whole):
    killed(BASE, tmp_path / "cut", after=7, pace=2)
    before, last = states(tmp_path / "cut")
    data = last.read_bytes()
    if damage == "gone":
        last.unlink()
    else:
        last.write_bytes(data[: len(data) // 2] if damage == "half" else bytes([data[0] ^ 1]) + data[1:])
    jobs.clear()
    with caplog.at_level(logging.WARNING):
        edgefl.run(BASE, out=tmp_path / "cut", device="cpu", resume=True)
    assert last.name in caplog.text
    assert before.name not in caplog.text
    assert min(jobs) == 4  # that of round 4 is the one before that of round 6
    assert content(tmp_path / "cut") == whole


@pytest.mark.parametrize("keep", [0, 100, 800])
def test_truncated_journal_gives_the_same_bytes(keep, tmp_path, jobs, whole):
    """Half a line is overwritten: when it is killed again, it goes on where it was."""
    killed(BASE, tmp_path / "cut")
    journal = tmp_path / "cut" / "checkpoints" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[: -1 - keep])
    with pytest.raises(Killed):
        edgefl.run(BASE, out=tmp_path / "cut", device="cpu", resume=True, pace=Pace(rounds=1), progress=kill_at(8))
    jobs.clear()
    edgefl.run(BASE, out=tmp_path / "cut", device="cpu", resume=True)
    assert min(jobs) >= KILLED
    assert content(tmp_path / "cut") == whole


def test_finished_run_is_unchanged(tmp_path, jobs):
    first = edgefl.run(BASE, out=tmp_path, device="cpu")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != "report.html"}
    jobs.clear()
    again = edgefl.run(BASE, out=tmp_path, device="cpu", resume=True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != "report.html"} == before
    assert not jobs
    assert np.array_equal(again.parameters, first.parameters)
    assert again.rounds["energy_j"].to_numpy() == pytest.approx(first.rounds["energy_j"].to_numpy(), rel=1e-11)
    assert again.summary == json.loads((tmp_path / "summary.json").read_text())


def test_resume_begins_where_there_is_nothing(tmp_path):
    assert edgefl.run(BASE, out=tmp_path / "new", device="cpu", resume=True).status == "finished"


def test_run_without_learning_is_repeated(tmp_path):
    keys = {**BASE, "rounds": 5}
    with pytest.raises(Killed):
        edgefl.run(keys, out=tmp_path, train=False, progress=kill_at(3))
    assert edgefl.run(keys, out=tmp_path, train=False, resume=True).status == "finished"


@pytest.mark.parametrize("change", [{"seed": 2}, {"devices": {"count": 7}}, {"algorithm": "feddyn"}])
def test_another_scenario_is_refused(change, tmp_path):
    killed(BASE, tmp_path)
    before = content_of_all(tmp_path)
    with pytest.raises(InputError, match=r"was begun with another scenario, with .* instead of"):
        edgefl.run({**BASE, **change}, out=tmp_path, device="cpu", resume=True)
    assert content_of_all(tmp_path) == before


def content_of_all(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_other_samples_under_the_same_labels_are_refused(tmp_path):
    samples = {name: np.ones((24, 5), np.float32) for name in ("train_x", "test_x")}
    labels = {name: np.arange(24) % 3 for name in ("train_y", "test_y")}
    keys = {**BASE, "data": {"dataset": "npz", "path": str(tmp_path / "d.npz")}}
    np.savez(tmp_path / "d.npz", **samples, **labels)
    killed(keys, tmp_path / "cut")
    before = content_of_all(tmp_path / "cut")
    np.savez(tmp_path / "d.npz", **{name: 2 * x for name, x in samples.items()}, **labels)
    with pytest.raises(InputError, match=r"cut: was begun with other data than data.dataset: npz gives now: if it"):
        edgefl.run(keys, out=tmp_path / "cut", device="cpu", resume=True)
    assert content_of_all(tmp_path / "cut") == before
    np.savez(tmp_path / "d.npz", **samples, **labels)
    assert edgefl.run(keys, out=tmp_path / "cut", device="cpu", resume=True).status == "finished"


def interrupt(row):
    if row["round"] == KILLED:
        raise KeyboardInterrupt


BEGUN = {
    "killed": killed,
    "interrupted": lambda keys, out: edgefl.run(keys, out=out, device="cpu", progress=interrupt),
    "finished": lambda keys, out: edgefl.run({**keys, "rounds": KILLED}, out=out, device="cpu", pace=Pace(rounds=2)),
    "finished without a record": lambda keys, out: edgefl.run({**keys, "rounds": KILLED}, out=out, device="cpu"),
}


@pytest.mark.parametrize("begin", BEGUN.values(), ids=BEGUN)
def test_data_that_are_drawn_without_a_seed_are_not_joined_with_others(begin, tmp_path):
    keys = {**BASE, "data": {"dataset": drawn}}
    begin(keys, tmp_path)
    before = content_of_all(tmp_path)
    text = (
        "was begun with other data than data.dataset: resume_cases:drawn gives now: if it draws them, "
        "seed its generator; choose another folder with out=, or replace it with overwrite=True"
    )
    with pytest.raises(InputError, match=f"^{tmp_path}: {text}$"):
        edgefl.run(keys, out=tmp_path, device="cpu", resume=True)
    assert content_of_all(tmp_path) == before
    assert edgefl.run(keys, out=tmp_path, device="cpu", overwrite=True).status == "finished"


def test_data_that_are_drawn_with_a_seed_are_the_same_when_it_goes_on(tmp_path):
    keys = {**BASE, "data": {"dataset": drawn, "seed": 3}}
    edgefl.run(keys, out=tmp_path / "whole", device="cpu")
    for name, begin in BEGUN.items():
        begin(keys, tmp_path / name)
        edgefl.run(keys, out=tmp_path / name, device="cpu", resume=True)
        assert content(tmp_path / name) == content(tmp_path / "whole"), name


def test_the_manifest_has_the_digest_of_the_data(tmp_path):
    dataset = edgefl.arrays(*drawn(3))
    for number, data in enumerate(({"dataset": dataset}, {"dataset": drawn, "seed": 3}, {"dataset": drawn, "seed": 4})):
        edgefl.run({**BASE, "rounds": 1, "data": data}, out=tmp_path / str(number), device="cpu")
    manifests = [json.loads((tmp_path / str(number) / "manifest.json").read_text()) for number in range(3)]
    digests = [manifest["data_digest"] for manifest in manifests]
    assert digests[0] == digests[1] == dataset.sha256
    assert digests[2] != dataset.sha256


def test_the_manifest_says_what_a_file_of_cifar10_lacks(tmp_path):
    x = np.random.default_rng(1).integers(0, 256, (60, 32, 32, 3), dtype=np.uint8)
    y = np.arange(60) % 10
    np.savez(tmp_path / "cifar10.npz", train_x=x, train_y=y, test_x=x[:20], test_y=y[:20])
    data = {"dataset": "cifar10", "path": str(tmp_path)}
    result = edgefl.run({**BASE, "rounds": 1, "data": data}, out=tmp_path / "run", device="cpu")
    assert result.manifest["data_lacks"] == "49,940 of 50,000 training samples and 9,980 of 10,000 test samples"
    whole = edgefl.run({**BASE, "rounds": 1}, out=tmp_path / "whole", device="cpu")
    assert "data_lacks" not in whole.manifest


def test_a_folder_whose_manifest_names_no_data_goes_on(tmp_path):
    killed(BASE, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["data_digest"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert edgefl.run(BASE, out=tmp_path, device="cpu", resume=True).status == "finished"


def test_learning_of_another_version_is_repeated(tmp_path, jobs, caplog, monkeypatch, whole):
    """Rounding may differ from version to version, so that a mixture would be the result of neither."""
    with monkeypatch.context() as earlier:
        earlier.setattr("edgefl.runs.learning_key.version", {"edgefl": "0.1.0", "torch": "2.0", "numpy": "2.0"}.get)
        killed(BASE, tmp_path / "cut")
    jobs.clear()
    with caplog.at_level(logging.WARNING):
        edgefl.run(BASE, out=tmp_path / "cut", device="cpu", resume=True)
    assert jobs.total() == 4 * ROUNDS
    assert "by other versions" in caplog.text
    assert content(tmp_path / "cut") == whole


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="other files than a run's"):
        edgefl.run(BASE, out=tmp_path, device="cpu", resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_second_process_is_refused(tmp_path):
    killed(BASE, tmp_path)
    journal = Journal(tmp_path / "checkpoints")
    before = content_of_all(tmp_path)
    for how in ({"resume": True}, {"overwrite": True}):
        with pytest.raises(InputError, match="another process is running there"):
            edgefl.run(BASE, out=tmp_path, device="cpu", **how)
    assert content_of_all(tmp_path) == before
    journal.close()
    assert edgefl.run(BASE, out=tmp_path, device="cpu", resume=True).status == "finished"


def test_wrong_input_leaves_nothing_behind(tmp_path):
    keys = {**BASE, "model": {"kind": "lenet5"}}
    with pytest.raises(InputError, match="model"):
        edgefl.run(keys, out=tmp_path / "new", device="cpu", resume=True)
    assert not (tmp_path / "new").exists()


# When checkpoints are written


def test_checkpoints_take_two_per_cent_by_default(monkeypatch):
    """Each takes 3 s of a clock by hand; rounds 1 s."""
    now = [0.0]
    monkeypatch.setattr("edgefl.learning.record.time.monotonic", lambda: now[0])
    pace = Pace()
    taken = 0
    for _ in range(2_000):
        now[0] += 1.0
        if pace.due():
            with pace.taking():
                now[0] += 3.0
            taken += 1
    assert taken * 3.0 <= 0.02 * now[0] + 3.0  # the cost of the first one is unknown
    assert taken >= 10


@pytest.mark.parametrize("every", [1, 3])
def test_checkpoints_every_so_many_rounds(every):
    pace = Pace(rounds=every)
    due = []
    for number in range(1, 10):
        due.append(pace.due())
        if due[-1]:
            with pace.taking():
                pass
        assert due[-1] == (number % every == 0)
