"""`edgefl reproduce` as users meet it: results, exit codes, interruption, and what is refused."""

import contextlib
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from unittest.mock import patch

import pytest
from recipe_cases import PARABOLA, PRICES, answer, write_library

from edgefl.cli import main
from edgefl.core.files import locked
from edgefl.results.run_folder import LOCK

COMMAND = [sys.executable, "-m", "edgefl"]
TABLE = ("reproduce", "textbook/table-1", "--library", "library")
FIGURE = ("reproduce", "textbook/figure-1", "--library", "library", "-o", "study", "--workers", "1")

LEARNING = (
    PRICES.replace("train: false", "train: true")
    .replace("bases/parabola.yaml", "plain")
    .replace("{rounds: 30}", "{rounds: 40, data.dataset: digits, training.local_epochs: 5, server.participants: 10}")
    .replace(
        "slow: {training.lr: 0.1}, fast: {training.lr: 0.2}, faster: {training.lr: 0.3}", "slow: {training.lr: 0.1}"
    )
    .replace("seeds: [1, 2]", "seeds: [1]")
    .partition("scales:")[0]
)
# Otherwise a run is learned for ten seconds before its first checkpoint.
STATE_EVERY_ROUND = "from edgefl.learning import record\nrecord.Pace.FIRST_S = 0.0\nrecord.Pace.TIME_SHARE = 1.0\n"
LINES_A_TIME = 10  # of the journal, which gets two in a round


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lines_in(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def whole_lines(path):
    """The lines of a file but for the last one, which may be half written."""
    lines = path.read_bytes().splitlines(keepends=True)
    return b"".join(lines[:-1])


def test_a_study_from_its_first_run_to_an_altered_table(edgefl):
    write_library(edgefl.folder / "library")
    done = edgefl(*TABLE, "--workers", "1")
    assert done.returncode == 0, done.stderr
    study = edgefl.folder / "results/reproductions/textbook/table-1/full"
    found = {(row["shape"], row["column"]): float(row["mean"]) for row in rows(study / "comparison.csv")}
    assert found == pytest.approx({point: answer(*point) for point in found}, rel=1e-6)
    assert len(found) == 4
    assert "4 of 4 independent numbers" in done.stdout
    assert "within tolerance" in edgefl("reproduce", "--library", "library").stdout

    # Rows are kept when the runs are deleted; nothing is run again.
    shutil.rmtree(study / "runs")
    before = (study / "comparison.csv").read_bytes()
    again = edgefl(*TABLE, "--quiet")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert (study / "comparison.csv").read_bytes() == before
    assert not (study / "runs").exists()

    # Another number is printed: the same rows are outside tolerance.
    write_library(edgefl.folder / "library", published=lambda *point: 1.01 * answer(*point))
    altered = edgefl(*TABLE)
    assert altered.returncode == 1
    assert "state      outside tolerance" in altered.stdout

    # The recipe runs something else now: its old rows do not count.
    write_library(edgefl.folder / "library", table_1=PARABOLA.replace("training.lr: 0.25", "training.lr: 0.2"))
    [line] = edgefl.refused(*TABLE, "--resume")
    assert "2 of its runs were measured with other scenarios: the recipe has been edited since" in line


def test_a_run_that_diverges_is_a_result_and_is_not_run_again(edgefl):
    library = write_library(
        edgefl.folder / "library", table_1=PARABOLA.replace("training.lr: 0.25", "training.lr: 1e60")
    )
    done = edgefl(*TABLE, "--workers", "1", "--record")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "state      outside tolerance" in done.stdout
    study = edgefl.folder / "results/reproductions/textbook/table-1/full"
    found = {(row["shape"], row["column"]): (row["mean"], row["within"]) for row in rows(study / "comparison.csv")}
    assert found["flat", "fast"] == found["steep", "fast"] == ("diverged", "false")
    assert found["flat", "slow"][1] == "true"
    said = {row["diverged"].split(" (")[0] for row in rows(study / "measured.csv") if row["rate"] == "fast"}
    assert said == {"round 3: the global model diverged"}
    assert "round 3: the global model diverged" in (study / "report.html").read_text()

    shutil.rmtree(study)
    again = edgefl(*TABLE, "--record")  # from the record alone
    assert "state      outside tolerance" in again.stdout
    assert not (study / "runs").exists()
    assert len(rows(library / "measured" / "textbook" / "table-1-full.csv")) == 4


def test_a_run_whose_manifest_is_damaged_is_not_read(edgefl):
    write_library(edgefl.folder / "library")
    assert edgefl(*FIGURE, "--quiet").returncode == 0
    study = edgefl.folder / "study"
    file = next((study / "runs").rglob("manifest.json"))
    manifest = json.loads(file.read_text())
    for key, odd in (("wall_s", "x"), ("started", None)):
        (study / "measured.csv").unlink()
        file.write_text(json.dumps({**manifest, key: odd}))
        done = edgefl(*FIGURE, "--resume", "--quiet")
        assert done.returncode == 1
        (line,) = [line for line in done.stderr.splitlines() if "manifest.json" in line]
        assert "started must be a date, and wall_s a number of seconds; the file is damaged" in line
        assert "Traceback" not in done.stderr


def test_an_interrupted_study_goes_on_to_the_same_bytes(edgefl):
    write_library(edgefl.folder / "library", figure_1=PRICES.replace("rounds: 30", "rounds: 100"))
    with edgefl.start(*FIGURE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        measured = edgefl.folder / "study" / "measured.csv"
        until_s = time.monotonic() + 60
        while not measured.exists() and time.monotonic() < until_s:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "--resume" in shown
    kept = rows(measured)
    assert 0 < len(kept) < 6
    [line] = edgefl.refused(*FIGURE)
    assert line.startswith("study: holds a study with ")

    half_written = edgefl.write("study/.measured.csv.0123456789ab.part", "bandwidth,se")  # as after kill -9
    done = edgefl(*FIGURE, "--resume")
    assert done.returncode == 0, done.stderr
    assert not half_written.exists()
    assert rows(measured)[: len(kept)] == kept
    whole = edgefl(*FIGURE[:-4], "-o", "whole", "--workers", "2")
    assert whole.returncode == 0, whole.stderr
    files = [edgefl.folder / folder / "comparison.csv" for folder in ("study", "whole")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_run_killed_again_and_again_goes_on_from_its_checkpoints(edgefl, monkeypatch):
    """A run that outlives each process, such as one that is lent for minutes, still ends, with the same bytes."""
    edgefl.write("python/sitecustomize.py", STATE_EVERY_ROUND)
    paths = [str(edgefl.folder / "python"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    library = write_library(edgefl.folder / "library", figure_1=LEARNING)
    command = (*FIGURE[:4], "--workers", "1", "--device", "cpu")
    run = edgefl.folder / "study" / "runs" / "rate=slow" / "seed-1"
    journal = run / "checkpoints" / "journal.jsonl"
    kept = b""
    for ended_by in (signal.SIGKILL, signal.SIGTERM):
        with edgefl.start(*command, "-o", "study", "--record", stdout=subprocess.DEVNULL) as process:
            fewest = len(kept)
            while process.poll() is None and lines_in(journal) < kept.count(b"\n") + LINES_A_TIME:
                if journal.exists():
                    fewest = min(fewest, journal.stat().st_size)
                time.sleep(0.01)
            assert process.poll() is None  # it had more to do
            process.send_signal(ended_by)
            process.wait(timeout=60)
        learned = whole_lines(journal)
        assert fewest >= len(kept)  # the record was not begun again
        assert learned.startswith(kept)
        kept = learned
    monkeypatch.undo()
    done = edgefl(*command, "-o", "study", "--record")
    assert done.returncode == 0, done.stderr
    assert len(rows(library / "measured" / "textbook" / "figure-1-full.csv")) == 1
    whole = edgefl(*command, "-o", "whole")
    assert whole.returncode == 0, whole.stderr
    for name in ("rounds.csv", "devices.csv", "model.safetensors"):
        again = edgefl.folder / "whole" / "runs" / "rate=slow" / "seed-1" / name
        assert (run / name).read_bytes() == again.read_bytes()


def test_rows_that_were_measured_elsewhere_are_recorded(edgefl):
    library = write_library(edgefl.folder / "library")
    assert edgefl(*FIGURE, "--quiet").returncode == 0
    record = library / "measured" / "textbook" / "figure-1-full.csv"
    assert not record.exists()
    done = edgefl(*FIGURE, "--record", "--quiet")
    assert done.returncode == 0, done.stderr
    assert [row["time"] for row in rows(record)] == [
        row["time"] for row in rows(edgefl.folder / "study" / "measured.csv")
    ]


def test_a_second_process_is_refused_at_once(edgefl):
    write_library(edgefl.folder / "library")
    file = locked(edgefl.folder / "study" / LOCK)
    said = "study: another process is running there; wait for it, or choose another folder with -o"
    assert edgefl.refused(*FIGURE) == [said]
    # The other one has measured something by now: that study does not wait to be resumed.
    edgefl.write("study/measured.csv", "rate,seed,time,version\n")
    (edgefl.folder / "study" / "runs").mkdir()
    assert edgefl.refused(*FIGURE) == [said]
    assert edgefl.refused(*FIGURE, "--overwrite") == [said]
    file.close()


def test_recorded_rows_are_compared_extended_and_not_run_again(edgefl):
    library = write_library(edgefl.folder / "library")
    record = library / "measured" / "textbook" / "figure-1-small.csv"
    record.parent.mkdir(parents=True)
    record.write_text("rate,seed,time,version,commit,date,took_s\nslow,1,123,,earlier,,\n")
    small = (*FIGURE[:4], "--scale", "small")
    partly = edgefl(*small, "--recorded")
    assert partly.returncode == 1
    assert "partly measured (1 of 2 runs)" in partly.stdout
    listed = " ".join(edgefl("reproduce", "--library", "library").stdout.split())
    assert "textbook/figure-1: Figure 1 none – earlier partly" in listed
    assert "in all: 0 independent numbers within tolerance, 0 outside;" in listed

    done = edgefl(*small, "--record", "-o", "study", "--workers", "1")
    assert done.returncode == 0, done.stderr
    slow, fast = rows(record)
    assert (slow["time"], slow["commit"]) == ("123", "earlier")  # as it was
    assert float(fast["time"]) > 0
    assert not list((edgefl.folder / "study" / "runs").glob("rate=slow*"))
    assert edgefl(*small, "--recorded", "-o", "pages").returncode == 0
    written = {path.name for path in (edgefl.folder / "pages").iterdir()}
    assert {"report.html", "comparison.csv", "comparison.tex"} <= written
    [line] = edgefl.refused(*small, "--recorded", "-o", "pages")
    assert line.startswith("-o pages: holds files already: ")

    # What was measured before the recipe was edited does not count; how `slow` was measured is not known.
    write_library(library, figure_1=PRICES.replace("rounds: 30", "rounds: 31"))
    assert "partly measured (1 of 2 runs)" in edgefl(*small, "--recorded").stdout


NOTHING_WRITTEN = "-o out: nothing is written: name a recipe, and leave out --check and --dry-run"
REFUSED = [
    (
        ("textbook/tabel-1",),
        'no such recipe (did you mean "textbook/table-1"?); textbook has figure-1, mnist, table-1',
    ),
    (("textbook/table-1", "--scale", "small"), "textbook/table-1: has no scale small; it has full"),
    (("textbook/table-1", "--seeds", "0"), "--seeds 0: must be >= 1"),
    (("textbook/table-1", "--workers", "0", "-o", "study"), "--workers 0: must be >= 1"),
    (("textbook/table-1", "--cluster", "127.0.0.1:6379"), "leave --cluster out"),
    (("textbook/mnist",), "textbook/mnist: needs the dataset mnist, which is not here: `edgefl data fetch mnist`"),
    (("textbook", "-o", "x"), "-o x: textbook has 3 recipes, and each needs a folder: name one"),
    (("--check", "-o", "out"), NOTHING_WRITTEN),
    (("textbook/figure-1", "--dry-run", "-o", "out"), NOTHING_WRITTEN),
    (("-o", "out"), NOTHING_WRITTEN),
]


def test_wrong_options_are_refused_in_one_line(edgefl):
    write_library(edgefl.folder / "library", mnist=PRICES + "data: [mnist]\n", table_1=PARABOLA + "apart: true\n")
    for arguments, said in REFUSED:
        [line] = edgefl.refused("reproduce", *arguments, "--library", "library")
        assert said in line


def test_paper_runs_the_recipes_whose_data_exist(edgefl):
    figure = PRICES.replace("seeds: [1, 2]", "seeds: [1]")
    write_library(edgefl.folder / "library", figure_1=figure, table_1=PRICES + "data: [mnist]\n")
    done = edgefl("reproduce", "textbook", "--library", "library", "--workers", "1")
    assert done.returncode == 1
    assert "edgefl: textbook/table-1: left out, as mnist is not here" in done.stderr
    assert len(rows(edgefl.folder / "results/reproductions/textbook/figure-1/full/measured.csv")) == 3


def test_dry_run_estimates_the_time_of_a_recipe(edgefl):
    write_library(edgefl.folder / "library")
    (edgefl.folder / "library/recipes/textbook/table-1.yaml").unlink()
    assert "by a trial" not in edgefl("reproduce", "--library", "library").stdout
    done = edgefl("reproduce", "textbook", "--library", "library", "--dry-run")
    assert "6 runs (3 settings, 2 seeds)" in done.stdout
    assert "on H100" not in done.stdout  # nothing is learned
    assert "by a trial" in edgefl("reproduce", "--library", "library").stdout


@pytest.mark.own_process  # the costs of a model are counted with modules of torch that take seconds to import
def test_dry_run_names_the_time_on_a_gpu_also_without_the_data(tmp_path):
    command = ["reproduce", "fedssg/table-1-cifar-10", "--dry-run"]
    code, shown = main_without_data(tmp_path, command)
    assert code == 0
    [line] = [line for line in shown.splitlines() if line.startswith("  on H100")]
    assert "estimated from rounds that were measured on one (docs/benchmarks.md)" in line
    assert "  takes" not in shown
    code, shown = main_without_data(tmp_path, [*command, "--json"])
    assert code == 0
    (plan,) = json.loads(shown)["plans"]
    assert plan["takes_s"] is None
    assert plan["h100_s"] > 0


def main_without_data(folder, command):
    """Run a command in this process; return its exit code and its output."""
    own = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder), "EDGEFL_DATA": str(folder)}
    out = io.StringIO()
    with contextlib.chdir(folder), patch.dict(os.environ, own), contextlib.redirect_stdout(out):
        code = main(command)
    return code, out.getvalue()


def test_dry_run_refuses_a_device_that_is_not_there(edgefl):
    [line] = edgefl.refused("reproduce", "fedssg/table-1-cifar-10", "--dry-run", "--device", "cuda:99")
    assert line.startswith("--device cuda:99: not on this machine")


def test_the_list_loads_no_torch(edgefl):
    done = edgefl("reproduce", python_options=("-X", "importtime"))
    assert done.returncode == 0
    assert "fedssg/table-3" in done.stdout
    assert not [line for line in done.stderr.splitlines() if line.endswith(" torch")]


@pytest.mark.parametrize("name", ["third-party/e2fl-wifi", "third-party/pi-clocks", "dynamic-devices/table-i"])
def test_a_shipped_recipe_that_does_not_learn_holds(edgefl, name):
    done = edgefl("reproduce", name, "--check", "--workers", "1", "--quiet")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_shipped_recipes_that_do_not_learn_hold(edgefl):
    """Under two minutes on two cores that do nothing else; here they may have other tests to run."""
    command = [*COMMAND, "reproduce", "--check", "--quiet"]
    done = subprocess.run(
        command, cwd=edgefl.folder, env=edgefl.environment, capture_output=True, text=True, timeout=840, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
