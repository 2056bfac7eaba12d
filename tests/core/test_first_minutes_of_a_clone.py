"""The installations that `make` asks for, by a Makefile whose Python writes down what it is told."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSTRAINT = "--constraint packaging/constraints.txt"
INSTALL = f"pip install --quiet --disable-pip-version-check --no-compile {CONSTRAINT} --editable"
LIGHT = f"{INSTALL} ."
FULL = f"{INSTALL} .[dev]"
RUN = "run scenarios/quickstart.yaml -o results/demo --overwrite"
PRICES = "what-if results/demo --over radio.bandwidth_hz=10e6,20e6,40e6,60e6,100e6"
DEMO = [RUN, PRICES]


class Clone:
    """A fresh clone, in which nothing is really installed or run."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "packaging").mkdir()
        for name in ("Makefile", "pyproject.toml", "packaging/constraints.txt"):
            shutil.copy(ROOT / name, folder / name)
        (folder / ".venv").mkdir()
        (folder / "bin").mkdir()
        for name in ("python", "edgefl"):
            program = folder / "bin" / name
            program.write_text('#!/bin/sh\necho "$*" >> asked\n')
            program.chmod(0o755)

    def make(self, *arguments):
        """Return what the programs were asked for, line by line; the exit code; and what make printed."""
        asked = self.folder / "asked"
        asked.write_text("")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        done = subprocess.run(
            ["make", *arguments, "BIN=bin"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [line.removeprefix("-m ") for line in asked.read_text().splitlines()]
        return lines, done.returncode, done.stdout + done.stderr

    def age(self, name):
        """Make a stamp older than the files that it depends on."""
        os.utime(self.folder / ".venv" / name, (0, 0))


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


@pytest.mark.process
def test_the_demo_installs_what_a_run_needs_and_no_more(clone):
    assert clone.make("demo")[0] == [LIGHT, *DEMO]
    assert clone.make("demo")[0] == DEMO


@pytest.mark.process
def test_other_versions_are_installed_in_both(clone):
    clone.make("setup")
    clone.age(".light")
    assert clone.make("setup")[0] == [LIGHT, FULL]


@pytest.mark.process
def test_wheels_without_cuda_come_first_and_alone_from_their_index(clone):
    lines, _, _ = clone.make("demo", "TORCH=cpu")
    assert lines[1:] == [LIGHT, *DEMO]
    assert "--index-url https://download.pytorch.org/whl/cpu --no-deps torch torchvision" in lines[0]
    assert CONSTRAINT in lines[0]
