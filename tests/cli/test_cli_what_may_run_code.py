"""The table "What may run code" of SECURITY.md: each of its lines is tried as it stands."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recipe_cases import write_library

from tests.cases.flower_cases import FEDAVG, write_app
from tests.cli.conftest import Shell

SECURITY = Path(__file__).parents[2] / "SECURITY.md"
TABLE = re.findall(
    r"^\| `((?:edgefl|python) .*)` \| (yes|no)\b.* \|$", SECURITY.read_text(encoding="utf-8"), re.MULTILINE
)
RUNS_CODE = [command for command, answer in TABLE if answer == "yes"]
MARK = "ran"  # the file that the code leaves
SCENARIO = """\
rounds: 2
data: {dataset: synthetic, owners: 4, features: 64, classes: 10}
training: {local_steps: 1, batch_size: 4, engine: serial}
devices: {count: 4}
server: {participants: 2}
model: {kind: "mine:Net"}
radio: {fading: "mine:Fading"}
"""
MODULE = f"""\
from pathlib import Path

from torch import nn

from edgefl.radio.fading.rayleigh import Rayleigh

Path(__file__).with_name("{MARK}").touch()


class Net(nn.Linear):
    def __init__(self):
        super().__init__(64, 10)  # as many parameters as the model of the app has


class Fading(Rayleigh):
    pass
"""
RECIPE = """\
title: Its price
source: Paper, Table 1
covers: [Table 1]
base: bases/own.yaml
axes: {rounds: {one: {rounds: 1}, two: {rounds: 2}}}
columns: rounds
seeds: [1]
train: false
measures: {time: {kind: column_final, column: time_s}}
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, warm):
    """A shell with all that the table names."""
    shell = Shell(tmp_path_factory.mktemp("prepared"), warm)
    shell.write("own.yaml", SCENARIO)
    shell.write("mine.py", MODULE)
    shell.write("sweep.yaml", "base: own.yaml\nseeds: [1, 2]\n")
    shell.write("log.csv", "device,phase,network,seconds,batch_size,steps\npi,train,net,3,16,10\n")
    write_app(shell.folder / "app", "table_app", FEDAVG.replace("{folder}", "."))
    write_library(shell.folder / "library")
    shell.write("library/recipes/paper/bases/own.yaml", SCENARIO)
    shell.write("library/recipes/paper/table.yaml", RECIPE)
    done = shell("run", "own.yaml", "-o", "out")
    assert done.returncode == 0, done.stderr
    return shell


@pytest.fixture
def shell(prepared):
    """The shell, as if nothing had run since the results were made."""
    (prepared.folder / MARK).unlink(missing_ok=True)
    shutil.rmtree(prepared.folder / "new", ignore_errors=True)
    return prepared


def call(shell, command):
    """Run a line of the table."""
    program, *arguments = shlex.split(command)
    if program == "edgefl":
        return shell(*arguments)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=shell.folder,
        env=shell.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_table_has_all_verbs_that_are_given_scenarios_or_results():
    verbs = {command.split()[1] for command, _ in TABLE}
    assert verbs >= {
        "validate",
        "run",
        "sweep",
        "flower",
        "reproduce",
        "calibrate",
        "what-if",
        "export",
        "report",
        "compare",
    }
    assert len(RUNS_CODE) > 10


@pytest.mark.parametrize(("command", "answer"), TABLE)
def test_code_runs_where_the_table_says_so_and_nowhere_else(shell, command, answer):
    done = call(shell, command)
    assert done.returncode == 0, done.stderr
    assert (shell.folder / MARK).exists() == (answer == "yes")


def test_the_option_refuses_all_that_would_run(shell):
    for command in RUNS_CODE:
        if not command.startswith("edgefl "):
            continue
        arguments = [part for part in shlex.split(command)[1:] if part != "--import"]
        lines = shell.refused(*arguments, "--no-plugins")
        assert any("mine:Net is code from outside" in line for line in lines)
        assert all(
            "is code from outside edgefl, which --no-plugins (EDGEFL_NO_PLUGINS) refuses" in line for line in lines
        )


@pytest.mark.parametrize("program", ["python", "edgefl run", "edgefl sweep"])
def test_the_environment_refuses_all_that_would_run(shell, program, monkeypatch):
    monkeypatch.setenv("EDGEFL_NO_PLUGINS", "1")
    done = call(shell, next(command for command in RUNS_CODE if command.startswith(program)))
    assert done.returncode == (1 if program == "python" else 2)  # a Python program ends with an InputError
    assert "mine:Net is code from outside edgefl" in done.stderr
    assert not (shell.folder / MARK).exists()
    assert not (shell.folder / "new").exists()


def test_an_app_runs_whatever_the_options_say(shell):
    shell.write("world.yaml", "devices: {count: 4}\nmodel: logistic\n")
    done = shell("flower", "app", "--world", "world.yaml", "--operations", "world", "--no-plugins", "-o", "new")
    assert done.returncode == 0, done.stderr
