"""Files of a user's own that have names of edgefl's: no command removes or replaces one, least of all a refused one."""

import shutil
from pathlib import Path

import pytest
from recipe_cases import write_library

from edgefl.cli import main
from edgefl.results.run_folder import RESULT_FILES

PRECIOUS = b"weeks of work\n"
SCENARIO = "rounds: 2\nmodel: logistic\ndevices: {count: 4}\nserver: {participants: 2}\n"
SWEEP = "base: s.yaml\ngrid: {radio.bandwidth_hz: [1e6, 2e6]}\n"
STATE = "0123456789abcdef01234567"

# Each of them stands alone in a folder that is not edgefl's.
FOREIGN = [
    *RESULT_FILES,
    "sweep.yaml",
    "index.csv",
    "statistics.csv",
    "measured.csv",
    "comparison.csv",
    "comparison.tex",
    "checkpoints/model.pt",
    "checkpoints/lock",
    "checkpoints/journal.jsonl",
    "checkpoints/last.state",
    f"checkpoints/{STATE}.state",
    f"checkpoints/{STATE}.part",
    "checkpoints/progress/rounds.csv",
    "checkpoints/progress/notes.txt",
    "runs/first/model.pt",
    "runs/sweep.yaml",
    "runs/checkpoints/lock",
    ".download.part",
    ".rounds.csv.0123456789ab.part",
    "last.state",
    ".what-if/lock",
    "tensorboard/events.out.tfevents.1.host",
    "events.out.tfevents.1.host",
    "notes.txt",
]
RUN = ("run", "s.yaml", "-o", "out", "--no-train", "--quiet")
SWEEP_RUN = ("sweep", "sweep.yaml", "-o", "out", "--no-train", "--quiet", "--workers", "1")
FIGURE = ("reproduce", "textbook/figure-1", "--library", "library", "-o", "out", "--workers", "1", "--quiet")
FLOWER = ("flower", "app", "--world", "s.yaml", "-o", "out", "--quiet")
COMMANDS = [
    RUN,
    (*RUN, "--overwrite"),
    (*RUN, "--resume"),
    (*RUN, "--resume", "--overwrite"),
    (*RUN, "--resume", "--drop-checkpoints"),
    SWEEP_RUN,
    (*SWEEP_RUN, "--overwrite"),
    (*SWEEP_RUN, "--resume"),
    FIGURE,
    (*FIGURE, "--overwrite"),
    (*FIGURE, "--resume"),
    (*FIGURE, "--recorded"),
    ("report", "out"),
    ("report", "out", "--runs"),
    ("what-if", "out", "--over", "radio.bandwidth_hz=1e6"),
    ("export", "out", "--format", "csv", "-o", "table.csv"),
    ("run", "s.yaml", "-o", "out/new", "--set", "rounds=-1", "--overwrite"),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
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


@pytest.mark.parametrize("command", COMMANDS, ids=shown)
def test_a_folder_that_is_not_edgefls_is_left_as_it_is(command, here, capsys):
    for name in FOREIGN:
        put(name)
        refused(command, capsys)
        shutil.rmtree("out")


@pytest.mark.parametrize("flag", ["--overwrite", "--resume"])
@pytest.mark.parametrize("command", [RUN, SWEEP_RUN, FIGURE], ids=lambda command: command[0])
def test_the_refusal_says_what_was_found_and_what_to_do(command, flag, here, capsys):
    put("checkpoints/model.pt")
    put("notes.txt")
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


def made(command, capsys):
    code = main(list(command))
    assert code == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    "flags",
    [
        ("--overwrite",),
        ("--resume",),
        ("--resume", "--drop-checkpoints"),
        ("--overwrite", "--set", "rounds=3"),
        ("--resume", "--set", "rounds=3"),
    ],
    ids=shown,
)
def test_other_files_in_the_folder_of_a_run_stay(flags, here, capsys):
    made((*RUN, "--checkpoint-every", "1"), capsys)
    kept = [put(name) for name in HARMLESS]
    made((*RUN, *flags), capsys)
    assert [path.read_bytes() for path in kept] == [PRECIOUS] * len(kept)


@pytest.mark.process
@pytest.mark.parametrize("flags", [("--overwrite",), ("--resume",)], ids=shown)
def test_other_files_in_the_folders_of_a_sweep_stay(flags, here, capsys):
    made(SWEEP_RUN, capsys)
    (first, _) = sorted(path.parent for path in Path("out").glob("*/seed-*/manifest.json"))
    kept = [put(name) for name in HARMLESS]
    kept += [put(name, first) for name in HARMLESS]
    kept += [put("notes.txt", first.parent)]
    made((*SWEEP_RUN, *flags), capsys)
    assert [path.read_bytes() for path in kept] == [PRECIOUS] * len(kept)


@pytest.mark.process
@pytest.mark.parametrize("flags", [("--overwrite",), ("--resume",)], ids=shown)
def test_other_files_in_the_folder_of_a_study_stay(flags, here, capsys):
    assert main(list(FIGURE)) in {0, 1}
    kept = [put(name) for name in HARMLESS]
    kept += [put(name, Path("out/runs")) for name in HARMLESS]
    assert main([*FIGURE, *flags]) in {0, 1}, capsys.readouterr().err
    assert [path.read_bytes() for path in kept] == [PRECIOUS] * len(kept)
    assert Path("out/measured.csv").exists()


# A table, a model: a run whose scenario asks for none leaves that name free.
@pytest.mark.parametrize("flag", ["--overwrite", "--resume"])
@pytest.mark.parametrize("name", [*RESULT_FILES, "checkpoints/journal.jsonl", "checkpoints/progress/rounds.csv"])
def test_a_file_with_a_results_name_stops_a_run(name, flag, here, capsys):
    made(RUN, capsys)
    put(name)
    line = refused((*RUN, flag), capsys)
    assert name in line


@pytest.mark.process
@pytest.mark.parametrize(
    "name", ["index.csv", "statistics.csv", "report.html", "sweep.yaml", "checkpoints/journal.jsonl"]
)
@pytest.mark.parametrize("flag", ["--overwrite", "--resume"])
def test_a_file_with_a_sweeps_name_stops_a_sweep(name, flag, here, capsys):
    made(SWEEP_RUN, capsys)
    put(name)
    refused((*SWEEP_RUN, flag), capsys)


@pytest.mark.process
@pytest.mark.parametrize("name", RESULT_FILES)
@pytest.mark.parametrize("flag", ["--overwrite", "--resume"])
def test_a_file_with_a_results_name_in_the_folder_of_a_run_stops_a_sweep(name, flag, here, capsys):
    made(SWEEP_RUN, capsys)
    (first, _) = sorted(path.parent for path in Path("out").glob("*/seed-*/manifest.json"))
    for path in [*first.iterdir()]:
        path.unlink()
    put(name, first)
    refused((*SWEEP_RUN, flag), capsys)


@pytest.mark.process
@pytest.mark.parametrize(
    "name",
    [
        "measured.csv",
        "comparison.csv",
        "comparison.tex",
        "report.html",
        "runs/sweep.yaml",
        "runs/index.csv",
        "checkpoints/journal.jsonl",
    ],
)
@pytest.mark.parametrize("flag", ["--overwrite", "--resume"])
def test_a_file_with_a_studys_name_stops_a_reproduction(name, flag, here, capsys):
    assert main(list(FIGURE)) in {0, 1}
    Path("out/measured.csv").unlink()  # its runs have to be read again
    put(name)
    refused((*FIGURE, flag), capsys)


@pytest.mark.process
@pytest.mark.parametrize(
    "flags",
    [
        (*SWEEP_RUN, "--overwrite", "--workers", "0"),
        (*SWEEP_RUN, "--overwrite", "--gpus-per-run", "1"),
        (*SWEEP_RUN, "--overwrite", "--cluster", "127.0.0.1:1"),
    ],
    ids=shown,
)
def test_a_refused_sweep_leaves_the_earlier_one(flags, here, capsys):
    made(SWEEP_RUN, capsys)
    refused(flags, capsys)


@pytest.mark.process
@pytest.mark.parametrize("more", [("--workers", "0"), ("--cluster", "127.0.0.1:1")], ids=shown)
def test_a_refused_reproduction_leaves_the_earlier_one(more, here, capsys):
    assert main(list(FIGURE)) in {0, 1}
    refused((*FIGURE, "--overwrite", *more), capsys)


def test_a_refused_reproduction_leaves_an_empty_folder_and_makes_none(here, capsys):
    refused((*FIGURE, "--workers", "0"), capsys)
    Path("out").mkdir()
    refused((*FIGURE, "--workers", "0"), capsys)


@pytest.mark.parametrize("name", ["report.html", "what_if.csv", ".what-if/lock"])
def test_prices_of_a_finished_run_replace_no_foreign_file(name, here, capsys):
    made(RUN, capsys)
    put(name)
    refused(("what-if", "out", "--over", "radio.bandwidth_hz=1e6", "--quiet"), capsys)


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


@pytest.mark.parametrize("flag", ["--overwrite", "--resume"])
def test_events_of_another_program_are_kept(flag, here, capsys):
    pytest.importorskip("tensorboard")
    made(RUN, capsys)
    put("events.out.tfevents.1.host", Path("logs"))
    refused((*RUN, flag, "--tensorboard", "logs"), capsys)
    made((*RUN, "--overwrite", "--tensorboard", "mine"), capsys)
    made((*RUN, "--overwrite", "--tensorboard", "mine"), capsys)
    assert len(list(Path("mine").glob("events.out.tfevents.*"))) == 1


def test_init_replaces_nothing(here, capsys):
    put("quickstart.yaml", Path())
    refused(("init",), capsys)


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
