"""Files of a user's own that have names of edgefl's: no command removes or replaces one, least of all a refused one."""

import json
import os
import shutil
from pathlib import Path

import pytest
from kills import Killed, kill_at
from recipe_cases import write_library

import edgefl
from edgefl.cli import main
from edgefl.results.run_folder import RESULT_FILES

PRECIOUS = b"weeks of work\n"
SCENARIO = "rounds: 2\nmodel: logistic\ndevices: {count: 4}\nserver: {participants: 2}\n"
SWEEP = "base: s.yaml\ngrid: {radio.bandwidth_hz: [1e6, 2e6]}\n"
STATE = "0123456789abcdef01234567"

# Each of them stands alone in a folder that is not edgefl's: one of each kind of name.
FOREIGN = [
    "rounds.csv",
    "report.html",
    "sweep.yaml",
    "measured.csv",
    "comparison.tex",
    "checkpoints/model.pt",
    "checkpoints/journal.jsonl",
    f"checkpoints/{STATE}.state",
    f"checkpoints/{STATE}.part",
    "checkpoints/progress/rounds.csv",
    "runs/first/model.pt",
    "runs/checkpoints/lock",
    ".rounds.csv.0123456789ab.part",
    "last.state",
    ".what-if/lock",
    "events.out.tfevents.1.host",
    "notes.txt",
]
RUN = ("run", "s.yaml", "-o", "out", "--no-train", "--quiet")
SWEEP_RUN = ("sweep", "sweep.yaml", "-o", "out", "--no-train", "--quiet", "--workers", "1")
FIGURE = ("reproduce", "textbook/figure-1", "--library", "library", "-o", "out", "--workers", "1", "--quiet")
FLAGS = ("--overwrite", "--resume")
STUDIED = (0, 1)  # exit codes of a study that has been finished: 1 where a gap is unnamed
COMMANDS = [
    RUN,
    (*RUN, "--overwrite"),
    (*RUN, "--resume", "--drop-checkpoints"),
    (*SWEEP_RUN, "--overwrite"),
    (*SWEEP_RUN, "--resume"),
    (*FIGURE, "--overwrite"),
    (*FIGURE, "--recorded"),
    ("report", "out", "--runs"),
    ("what-if", "out", "--over", "radio.bandwidth_hz=1e6"),
    ("export", "out", "--format", "csv", "-o", "table.csv"),
    ("run", "s.yaml", "-o", "out/new", "--set", "rounds=-1", "--overwrite"),
]


@pytest.fixture
def here(tmp_path, monkeypatch, forked_sweeps):
    """A working directory with a scenario, a sweep and a library of recipes."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCENARIO)
    Path("sweep.yaml").write_text(SWEEP)
    write_library(tmp_path / "library")
    return tmp_path


def put(name, folder=Path("out"), content=PRECIOUS):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def state(folder):
    """All that is in a folder, with the contents and the times of files."""
    paths = sorted(folder.rglob("*"))
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() else None for path in paths}


def refused(command, capsys):
    """Run a command, which must be refused in one line and must not change anything; return the line."""
    before = state(Path())
    code = main(list(command))
    said = capsys.readouterr().err
    assert code == 2, (command, said)
    assert state(Path()) == before, command
    assert said.count("\n") == 1, said
    return said


def shown(command):
    return " ".join(command)


@pytest.mark.oracle
@pytest.mark.parametrize("at", range(len(FOREIGN)), ids=FOREIGN)
def test_a_folder_that_is_not_edgefls_is_left_as_it_is(at, here, capsys):
    """One of three commands meets each name, so that every command meets several."""
    put(FOREIGN[at])
    for command in COMMANDS[at % 3 :: 3]:
        refused(command, capsys)


@pytest.mark.parametrize("command", [RUN, SWEEP_RUN, FIGURE], ids=lambda command: command[0])
def test_the_refusal_says_what_was_found_and_what_to_do(command, here, capsys):
    put("checkpoints/model.pt")
    put("notes.txt")
    for flag in FLAGS:
        line = refused((*command, flag), capsys)
        assert line.startswith("edgefl: out: holds other files than a ")
        assert "checkpoints" in line
        assert "choose another folder with -o" in line


# Files that do no harm beside those of edgefl: they stay.
HARMLESS = [
    "notes.txt",
    "last.state",
    ".download.part",
    "checkpoints/model.pt",
    "checkpoints/last.state",
    "checkpoints/progress/notes.txt",
    "checkpoints/runs/model.pt",
    "figures/one.png",
]


def made(command, capsys, codes=(0,)):
    assert main(list(command)) in codes, capsys.readouterr().err


def first_run_of_sweep():
    return min(path.parent for path in Path("out").glob("*/seed-*/manifest.json"))


@pytest.mark.oracle
@pytest.mark.parametrize(
    "flags",
    [("--overwrite",), ("--resume", "--drop-checkpoints"), ("--resume", "--set", "rounds=3")],
    ids=shown,
)
def test_other_files_in_the_folder_of_a_run_stay(flags, here, capsys):
    made((*RUN, "--checkpoint-every", "1"), capsys)
    kept = [put(name) for name in HARMLESS]
    made((*RUN, *flags), capsys)
    assert [path.read_bytes() for path in kept] == [PRECIOUS] * len(kept)


@pytest.mark.process
def test_other_files_in_the_folders_of_a_sweep_stay(here, capsys):
    made(SWEEP_RUN, capsys)
    first = first_run_of_sweep()
    kept = [put(name, folder) for name in HARMLESS for folder in (Path("out"), first)]
    kept += [put("notes.txt", first.parent)]
    for flag in FLAGS:
        made((*SWEEP_RUN, flag), capsys)
        assert [path.read_bytes() for path in kept] == [PRECIOUS] * len(kept)


@pytest.mark.process
def test_other_files_in_the_folder_of_a_study_stay(here, capsys):
    made(FIGURE, capsys, STUDIED)
    kept = [put(name, folder) for name in HARMLESS for folder in (Path("out"), Path("out/runs"))]
    for flag in FLAGS:
        made((*FIGURE, flag), capsys, STUDIED)
        assert [path.read_bytes() for path in kept] == [PRECIOUS] * len(kept)
    assert Path("out/measured.csv").exists()


def each_is_refused(command, names, capsys, folder=Path("out")):
    """Put a foreign file at each name in turn: with either flag, the command is refused in a line that names it."""
    for at, name in enumerate(names):
        path = folder / name
        own = path.read_bytes() if path.exists() else None
        put(name, folder)
        line = refused((*command, FLAGS[at % 2]), capsys)
        assert path.name in line or path.parent.name in line, line
        if own is None:
            path.unlink()
        else:
            path.write_bytes(own)


# A table, a model: a run whose scenario asks for none leaves that name free.
@pytest.mark.oracle
def test_a_file_with_a_results_name_stops_a_run(here, capsys):
    made(RUN, capsys)
    each_is_refused(RUN, [*RESULT_FILES, "checkpoints/journal.jsonl", "checkpoints/progress/rounds.csv"], capsys)
    made((*RUN, "--resume"), capsys)  # without them, nothing is in the way


@pytest.mark.process
def test_a_file_with_a_sweeps_name_stops_a_sweep(here, capsys):
    made(SWEEP_RUN, capsys)
    names = ["index.csv", "statistics.csv", "report.html", "sweep.yaml", "checkpoints/journal.jsonl"]
    each_is_refused(SWEEP_RUN, names, capsys)
    first = first_run_of_sweep()
    for path in first.iterdir():
        path.unlink()
    each_is_refused(SWEEP_RUN, RESULT_FILES, capsys, first)
    for flags in (("--workers", "0"), ("--gpus-per-run", "1"), ("--cluster", "127.0.0.1:1")):
        refused((*SWEEP_RUN, "--overwrite", *flags), capsys)
    made((*SWEEP_RUN, "--resume"), capsys)


@pytest.mark.process
def test_a_file_with_a_studys_name_stops_a_reproduction(here, capsys):
    made(FIGURE, capsys, STUDIED)
    for more in (("--workers", "0"), ("--cluster", "127.0.0.1:1")):
        refused((*FIGURE, "--overwrite", *more), capsys)
    Path("out/measured.csv").unlink()  # its runs have to be read again
    names = ["comparison.csv", "comparison.tex", "report.html", "runs/sweep.yaml", "runs/index.csv"]
    each_is_refused(FIGURE, ["measured.csv", *names, "checkpoints/journal.jsonl"], capsys)
    made((*FIGURE, "--resume"), capsys, STUDIED)


def test_a_refused_reproduction_leaves_an_empty_folder_and_makes_none(here, capsys):
    refused((*FIGURE, "--workers", "0"), capsys)
    Path("out").mkdir()
    refused((*FIGURE, "--workers", "0"), capsys)


@pytest.mark.oracle
def test_prices_of_a_finished_run_replace_no_foreign_file(here, capsys):
    made(RUN, capsys)
    for name in ("report.html", "what_if.csv", ".what-if/lock"):
        foreign = put(name)
        refused(("what-if", "out", "--over", "radio.bandwidth_hz=1e6", "--quiet"), capsys)
        foreign.unlink()


@pytest.mark.oracle
def test_a_page_replaces_no_foreign_file_unless_the_file_was_named(here, capsys):
    made(RUN, capsys)
    put("report.html")
    assert "report.html" in refused(("report", "out"), capsys)
    put("report.html", Path())
    refused(("report", "out", "out"), capsys)
    made(("report", "out", "-o", "report.html"), capsys)
    assert Path("report.html").read_bytes() != PRECIOUS


@pytest.mark.process
def test_statistics_beside_a_page_replace_no_foreign_file(here, capsys):
    made(SWEEP_RUN, capsys)
    put("statistics.csv", Path("elsewhere"))
    refused(("report", "out", "-o", "elsewhere/page.html"), capsys)


@pytest.mark.oracle
def test_events_of_another_program_are_kept(here, capsys):
    pytest.importorskip("tensorboard")
    made(RUN, capsys)
    put("events.out.tfevents.1.host", Path("logs"))
    for flag in FLAGS:
        refused((*RUN, flag, "--tensorboard", "logs"), capsys)
    made((*RUN, "--overwrite", "--tensorboard", "mine"), capsys)
    made((*RUN, "--overwrite", "--tensorboard", "mine"), capsys)
    assert len(list(Path("mine").glob("events.out.tfevents.*"))) == 1
    made((*RUN, "--resume", "--tensorboard", "mine"), capsys)
    other = (*RUN, "-o", "other", "--seed", "2", "--resume", "--tensorboard", "mine")
    assert "holds TensorBoard's events already" in refused(other, capsys)


@pytest.mark.oracle
def test_a_backup_of_hard_links_stays_as_it_is(here, capsys):
    """Of a run that was killed, whose journal grows when it is resumed."""
    with pytest.raises(Killed):
        edgefl.run("s.yaml", out="out", device="cpu", progress=kill_at(1))
    shutil.copytree("out", "backup", copy_function=os.link)
    before = {path: path.read_bytes() for path in Path("backup").rglob("*") if path.is_file()}
    made(("run", "s.yaml", "-o", "out", "--resume", "--quiet", "--device", "cpu"), capsys)
    assert before.keys() >= {Path("backup/checkpoints/journal.jsonl")}
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.oracle
def test_files_that_a_user_has_edited_are_not_replaced(here, capsys):
    """The digests of a finished run tell them, as they still begin like results."""
    made((*RUN, "--checkpoint-every", "1"), capsys)
    for name in ("scenario.yaml", "rounds.csv", "summary.json"):
        path = Path("out") / name
        written = path.read_bytes()
        path.write_bytes(written.rstrip() + b" \n")
        assert f"{name}: was damaged or edited after the run" in refused((*RUN, "--overwrite"), capsys)
        path.write_bytes(written)
    line = refused(("run", "out/scenario.yaml", "-o", "out", "--no-train", "--quiet", "--overwrite"), capsys)
    assert "out/scenario.yaml: this run reads it, and it would be replaced" in line


@pytest.mark.oracle
def test_one_file_that_looks_like_a_result_makes_no_folder_edgefls(here, capsys):
    put("summary.json", content=b'{"rounds": 5}')
    put("notes.txt")
    assert "holds other files than a run's" in refused((*RUN, "--overwrite"), capsys)


@pytest.mark.oracle
def test_a_manifest_of_others_names_no_file_that_is_deleted(here, capsys):
    made(RUN, capsys)
    path = Path("out/manifest.json")
    columns = [{"name": name, "type": "float", "unit": "", "meaning": ""} for name in ("round", "student", "grade")]
    table = {"file": "grades.csv", "meaning": "", "columns": columns}
    path.write_text(json.dumps({**json.loads(path.read_text()), "measured_tables": [table]}))
    grades = put("grades.csv", content=b"round,student,grade\n1,2,3\n")
    made((*RUN, "--overwrite"), capsys)
    assert grades.read_bytes() == b"round,student,grade\n1,2,3\n"


@pytest.mark.oracle
def test_a_file_with_the_name_of_a_state_stays_in_a_folder_of_checkpoints(here, capsys):
    made((*RUN, "--checkpoint-every", "1"), capsys)
    mine = put(f"checkpoints/{STATE}.state")
    for flags in (("--overwrite",), ("--resume", "--set", "rounds=3"), ("--resume", "--drop-checkpoints")):
        made((*RUN, "--set", "rounds=3", *flags), capsys)
        assert mine.read_bytes() == PRECIOUS


def test_init_replaces_nothing(here, capsys):
    put("quickstart.yaml", Path())
    refused(("init",), capsys)


@pytest.mark.oracle
def test_links_lead_to_no_file_that_is_deleted(here, capsys):
    """A folder of the user's behind a link, and a result file that is a link."""
    made((*RUN, "--checkpoint-every", "1"), capsys)
    shutil.rmtree("out/checkpoints", ignore_errors=True)
    precious = put("model.pt", Path("elsewhere"))
    Path("out/checkpoints").symlink_to(Path("elsewhere").absolute())
    made((*RUN, "--overwrite"), capsys)
    assert precious.read_bytes() == PRECIOUS
    Path("out/labels.csv").unlink()
    Path("out/labels.csv").symlink_to(precious.absolute())
    refused((*RUN, "--overwrite"), capsys)


def test_a_reproduction_keeps_its_lock_while_a_run_comes_and_goes(here, capsys):
    from edgefl.core.own_files import alone
    from edgefl.results.run_folder import LOCK

    with alone(Path("out") / LOCK):
        for flags in ((), ("--overwrite",), ("--resume",)):
            assert main([*RUN, *flags]) == 2
            assert (Path("out") / LOCK).exists()
    assert not Path("out").exists()
