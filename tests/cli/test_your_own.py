"""The page of one's own members: each section's files and commands, as they stand, with the installed wheel."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import warm_edgefl
from warm_process import WarmProcess

from tests.cli.conftest import Shell, installed_wheels

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "your-own.md"
FILE = re.compile(r"^\*\*`(?P<name>[\w./-]+)`\*\*\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """A section of the page that can be run."""

    files: dict[str, str]
    commands: list[str]


def examples():
    """The page's sections that have commands, by their heading."""
    found = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading = section.partition("\n")[0]
        files = {match["name"]: match["text"] for match in FILE.finditer(section)}
        commands = [line for block in COMMANDS.finditer(section) for line in block["text"].splitlines()]
        if commands:
            found[heading] = Example(files, commands)
    return found


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The folder into which the wheel was installed, without a network."""
    return installed_wheels([ROOT], tmp_path_factory)


@pytest.fixture(scope="session")
def warm(installed, tmp_path_factory):
    """Has imported edgefl from the wheel."""
    program = [sys.executable, warm_edgefl.__file__]
    process = WarmProcess(program, tmp_path_factory.mktemp("home"), PYTHONPATH=str(installed))
    yield process
    process.close()


@pytest.fixture
def shell(installed, warm, tmp_path, monkeypatch):
    path = os.pathsep.join([str(installed / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("PYTHONPATH", str(installed))
    return Shell(tmp_path, warm)


def run(command, shell):
    """Run a command in a process of its own."""
    return subprocess.run(
        shlex.split(command),
        cwd=shell.folder,
        env=shell.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_wheel_is_what_runs(installed, shell):
    done = run("python -c 'import edgefl, channel; print(edgefl.__file__); print(channel.__file__)'", shell)
    assert [Path(line).is_relative_to(installed) for line in done.stdout.splitlines()] == [True, True], done.stderr
    shell.write(
        "where.py", "print(__import__('edgefl').__file__)\nfrom edgefl.coordination.selection.uniform import *\n"
    )
    shell.write("s.yaml", "server: {selection: 'where:UniformSelection'}\n")
    (shown, _) = shell("validate", "--import", "s.yaml").stdout.splitlines()
    assert Path(shown).is_relative_to(installed)


def test_the_wheel_has_the_recipes_with_their_printed_and_recorded_numbers(shell):
    done = run("edgefl reproduce dynamic-devices/table-vii --recorded", shell)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 independent numbers" in done.stdout


@pytest.mark.parametrize("heading", examples())
def test_the_example_runs_as_it_stands_on_the_page(heading, shell):
    example = examples()[heading]
    for name, text in example.files.items():
        shell.write(name, text)
    for command in example.commands:
        program, *arguments = shlex.split(command)
        done = shell(*arguments) if program == "edgefl" else run(command, shell)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
