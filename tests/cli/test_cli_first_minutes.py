"""The first minutes at the command line: names, copies, lists, data, the machine."""

import argparse
import json
import subprocess
import sys
import threading
import tomllib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from edgefl.cli import command_parser
from edgefl.core.version import edgefl_version
from edgefl.runs import doctor
from edgefl.runs.doctor import EXTRAS


def test_a_shipped_scenario_runs_by_name(edgefl):
    done = edgefl("run", "quickstart", "--no-train", "--set", "rounds=2", "--quiet")
    assert done.returncode == 0, done.stderr
    assert (edgefl.folder / "results/quickstart/seed-1/rounds.csv").is_file()


def test_init_copies_a_scenario_and_prints_the_next_commands(edgefl):
    done = edgefl("init", "bandwidth")
    assert done.returncode == 0
    assert "edgefl sweep bandwidth.yaml" in done.stdout
    assert "#" in (edgefl.folder / "bandwidth.yaml").read_text()
    (line,) = edgefl.refused("init", "bandwidth")
    assert line.startswith("bandwidth.yaml: exists already")
    (line,) = edgefl.refused("init", "qickstart")
    assert 'did you mean "quickstart"?' in line


def test_listed_names_are_those_that_run_takes(edgefl):
    done = edgefl("list", "scenarios")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert {"quickstart", "00-hello", "bandwidth"} <= set(names)
    assert not any("/" in name for name in names)


def test_data_that_cannot_be_fetched_is_one_line(edgefl):
    done = edgefl("data", "fetch", "mnist", "--from", "http://127.0.0.1:9/", "--quiet")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "edgefl: data fetch: mnist: http://127.0.0.1:9/train-images-idx3-ubyte.gz: cannot be reached"
    )
    assert not [path for path in edgefl.folder.rglob("*") if path.is_file()]
    (line,) = edgefl.refused("data", "fetch", "minst")
    assert 'did you mean "mnist"?' in line


def test_a_wrong_checksum_keeps_nothing(edgefl):
    edgefl.write("served/train-images-idx3-ubyte.gz", "an error page")
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=edgefl.folder / "served")
    ) as server:
        threading.Thread(target=server.serve_forever).start()
        done = edgefl("data", "fetch", "mnist", "--from", f"http://127.0.0.1:{server.server_port}", "--to", "data")
        server.shutdown()
    assert done.returncode == 1
    assert "its checksum is not f68b3c2dcbeaaa9fbdd348bbdeb94873" in done.stderr
    assert not [path for path in (edgefl.folder / "data").rglob("*") if path.is_file()]


def test_doctor(edgefl):
    done = edgefl("doctor", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["versions"]["edgefl"] == edgefl_version()
    assert found["machine"]["devices"].startswith("cpu")
    assert found["cache"]["folder"].endswith("/edgefl")
    assert found["data"]["digits"] == "comes with edgefl"


def test_doctor_notices_the_other_project_of_this_name(monkeypatch):
    assert "warning" not in doctor.examine()["versions"]
    monkeypatch.setattr(doctor, "version", lambda _: "0.0.1")
    assert doctor.examine()["versions"]["warning"] == (
        "another project, edgefl 0.0.1, has written over the same files: "
        "uninstall both, then pip install edgefl-emulator"
    )


def test_doctor_knows_all_extras():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"dev"}
    for name, package in EXTRAS.items():
        assert any(requirement.startswith(package) for requirement in extras[name])


def test_program_alone_prints_the_help(edgefl):
    done = edgefl()
    assert done.returncode == 0
    assert done.stdout == edgefl("--help").stdout == edgefl("help").stdout
    assert done.stderr == ""
    assert edgefl("help", "run").stdout == edgefl("run", "--help").stdout
    assert edgefl("version").stdout == edgefl("--version").stdout == f"edgefl {edgefl_version()}\n"


def test_help_has_every_verb_once():
    parser = command_parser()
    (verbs,) = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    listed = [action.dest for actions in parser.groups.values() for action in actions]
    assert sorted(listed) == sorted(verbs)
    assert all(f"\n  {verb} " in parser.format_help() for verb in verbs)


def completed(edgefl, script, *words):
    """Return the words that bash offers to complete the last one."""
    line = " ".join(words)
    tail = (
        f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}; "
        '_shtab_edgefl edgefl "${COMP_WORDS[-1]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", f"{script}\n{tail}"], capture_output=True, text=True, check=True, timeout=20)
    return set(done.stdout.split())


def test_bash_completes_verbs_options_and_names(edgefl):
    script = edgefl("completion", "bash").stdout
    assert {"run", "sweep", "data", "doctor"} <= completed(edgefl, script, "edgefl", "''")
    assert completed(edgefl, script, "edgefl", "run", "quick") == {"quickstart"}
    assert completed(edgefl, script, "edgefl", "run", "--no-t") == {"--no-train"}
    assert completed(edgefl, script, "edgefl", "data", "fetch", "fash") == {"fashion_mnist"}
    assert completed(edgefl, script, "edgefl", "explain", "radio.bandw") == {"radio.bandwidth_hz"}
    assert completed(edgefl, script, "edgefl", "list", "part") == {"partitions"}


@pytest.mark.parametrize(("shell", "offered"), [("zsh", "quickstart"), ("tcsh", "fashion_mnist")])
def test_other_shells_get_names_too(edgefl, shell, offered):
    done = edgefl("completion", shell)
    assert done.returncode == 0, done.stderr
    assert offered in done.stdout


def test_a_model_that_cannot_fit_is_refused_before_it_is_made(edgefl):
    edgefl.write("s.yaml", "rounds: 2\n\nmodel: {kind: fcn, hidden: [1000000, 1000000]}\n")
    for verb in (["validate", "s.yaml"], ["run", "s.yaml", "-o", "out", "--device", "cpu"]):
        (line,) = edgefl.refused(*verb)
        assert line.startswith("s.yaml:3: model: learning needs at least")
        assert "use a smaller model" in line


def test_the_limit_of_the_shell_counts(edgefl):
    edgefl.write("s.yaml", "model: {kind: fcn, hidden: [20000, 20000]}\n")  # 1.6 GB each
    command = f"ulimit -v 4000000; exec {sys.executable} -m edgefl validate s.yaml"
    done = subprocess.run(
        ["bash", "-c", command], cwd=edgefl.folder, env=edgefl.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "(ulimit -v)" in done.stderr


def test_verbose_says_what_happens(edgefl):
    edgefl.write("s.yaml", "rounds: 2\ndevices: {count: 4}\n")
    arguments = ("run", "s.yaml", "-o", "out", "--device", "cpu", "--checkpoint-every", "1")
    said = edgefl(*arguments, "-v").stderr
    assert "edgefl: training plan: " in said
    assert said.count("edgefl: checkpoint: out/checkpoints/") >= 2
    assert "edgefl: record: has 2 rounds" in edgefl(*arguments, "-v", "--resume", "--set", "rounds=3").stderr
    assert "checkpoint" not in edgefl(*arguments, "--overwrite").stderr


def test_very_verbose_says_where_an_error_comes_from(edgefl):
    said = edgefl("run", "nosuch.yaml", "-vv").stderr
    assert said.startswith("edgefl: nosuch.yaml: cannot be read")
    assert "FileNotFoundError" in said  # the cause, which is hidden otherwise
    assert edgefl.refused("run", "nosuch.yaml", "-v") == ["nosuch.yaml: cannot be read: No such file or directory"]
    edgefl.write("s.yaml", "rounds: 2\ndevices: {count: 4}\ntraining: {lr: 1e30}\n")
    said = edgefl("run", "s.yaml", "-o", "out", "--device", "cpu", "-vv").stderr
    assert "Traceback" in said
    assert "check_finite" in said


def test_list_describes_a_member(edgefl):
    said = edgefl("list", "fedprox").stdout
    assert "mu: number >= 0; default 0.01" in said
    assert edgefl("list", "algorithms", "fedprox").stdout == edgefl("list", "algorithm", "fedprox").stdout == said
    assert edgefl("list", "allocations").stdout == edgefl("list", "allocation").stdout
    both = edgefl("list", "deadline").stdout  # a policy and a rule for clocks
    assert "deadline (policies)" in both
    assert "deadline (dvfs)" in both
    (line,) = edgefl.refused("list", "fedprx")
    assert 'did you mean "fedprox"?' in line
    (line,) = edgefl.refused("list", "models", "fedprox")
    assert line.startswith('list models: unknown "fedprox"')


def test_implausible_value_warns_once_and_changes_nothing(edgefl):
    edgefl.write("s.yaml", "rounds: 1\ndevices: {count: 4, cpu_hz: 1.5}\n")
    for verb in (["validate", "s.yaml"], ["run", "s.yaml", "--no-train", "-o", "out"]):
        done = edgefl(*verb)
        assert done.returncode == 0
        assert done.stderr.count("edgefl: warning: s.yaml:2: devices.cpu_hz: 1.5 Hz is less than 1 MHz") == 1


def test_deadline_that_no_device_can_meet_warns(edgefl):
    edgefl.write("s.yaml", "rounds: 1\nserver: {policy: deadline, deadline_s: 1e-6}\n")
    done = edgefl("validate", "s.yaml")
    assert done.returncode == 0
    assert done.stderr.count("warning: server.deadline_s: nothing can arrive within 1e-06 s") == 1


def test_a_dry_run_writes_no_results(edgefl):
    done = edgefl("run", "quickstart", "--dry-run", "--no-train")
    assert done.returncode == 0, done.stderr
    assert "results/quickstart/seed-1" in done.stdout
    assert not [path for path in edgefl.folder.rglob("*") if path.is_file()]
    edgefl.write("s.yaml", "\ndata: {dataset: mnist}\n")
    (line,) = edgefl.refused("run", "s.yaml", "--dry-run")
    assert line.startswith("s.yaml:2: data.dataset: not found in")
