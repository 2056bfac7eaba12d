"""Which of Flower's example apps run in an emulated world, unmodified.

python -m tests.cases.flower_examples FOLDER [APP ...]

FOLDER holds apps, at any depth, such as the folder `examples` of `git clone --depth 1 https://github.com/adap/flower`.
Their data are made up: each app finds the packages of tests/cases/stand_in_datasets instead of `datasets` and
`flwr_datasets`. What each app is known to do is in flower_examples.yaml; the program prints the same as a table.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import yaml

from edgefl.results.result import read_result

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KNOWN = HERE / "flower_examples.yaml"
STAND_INS = HERE / "stand_in_datasets"
ROUNDS = "num-server-rounds"
LONGEST_S = 600
# Apps may send messages while others are under way.
WORLD = {"name": "examples", "seed": 1, "radio": {"sharing": "processor"}, "cells": {"radius_m": 120}}
MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


@dataclass(frozen=True)
class Known:
    """What is known about an app, and the world and configuration for it."""

    app: str
    outcome: str = ""
    remark: str = ""
    commit: str = ""  # of its pyproject.toml
    devices: int = 5
    run_config: str = f"{ROUNDS}=2"


@dataclass(frozen=True)
class Outcome:
    """What an app did: "runs", "needs <library>", or the line that ended it."""

    text: str
    warnings: tuple[str, ...] = ()


def known():
    """Return what is known about each app, by the app's name."""
    entries = yaml.safe_load(KNOWN.read_text(encoding="utf-8"))["apps"]
    return {entry["app"]: Known(**entry) for entry in entries}


def apps_below(folder):
    """Return the folders of all apps below a folder by their names, which are their paths from it."""
    found = {}
    for file in sorted(Path(folder).resolve().rglob("pyproject.toml")):
        if "serverapp" in _flower_section(file.parent).get("components", {}):
            found[file.parent.relative_to(Path(folder).resolve()).as_posix()] = file.parent
    return found


def tried(folder, about):
    """Return what an app does in a world of a few devices; it runs in a process and a working folder of its own."""
    with tempfile.TemporaryDirectory() as there:
        try:
            ended = subprocess.run(
                _command(folder, about, Path(there)),
                cwd=there,
                env=_environment(),
                capture_output=True,
                text=True,
                timeout=LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(f"did not end within {LONGEST_S} s")
        lines = [line.replace(f"{folder}/", "") for line in ended.stderr.splitlines() if line.startswith("edgefl: ")]
        warnings = tuple(line for line in lines if line.startswith("edgefl: warning: "))
        if ended.returncode == 0:
            rounds = read_result(Path(there, "results")).rounds
            answered = int((rounds["received"] + rounds["answered"]).sum())
            return Outcome("runs" if answered else "ended, but no message was answered", warnings)
    missing = MISSING.search(ended.stderr)
    if missing is not None:
        return Outcome(f"needs {missing[1].partition('.')[0]}", warnings)
    return Outcome(lines[-1] if lines else f"exit code {ended.returncode}", warnings)


def _command(folder, about, there):
    """Return the command that emulates an app, with its world's file and its results in the folder `there`."""
    world = there / "world.yaml"
    world.write_text(yaml.safe_dump({**WORLD, "devices": {"count": about.devices}}), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "edgefl",
        "flower",
        str(folder),
        "--world",
        str(world),
        "-o",
        str(there / "results"),
    ]
    if ROUNDS in _flower_section(folder).get("config", {}):
        command += ["--run-config", about.run_config]
    return command


def _flower_section(folder):
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    return project.get("tool", {}).get("flwr", {}).get("app", {})


def _environment():
    """Return the variables of an app's process, which downloads nothing and sends nothing."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(STAND_INS), str(ROOT)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "WANDB_MODE": "offline",
    }


def main():
    """Print a table of what the apps below a folder do: all, or those named."""
    folder, *names = sys.argv[1:]
    about = known()
    print("| app | outcome |\n|---|---|")
    for name, app in apps_below(folder).items():
        if names and name not in names:
            continue
        outcome = tried(app, about.get(name, Known(name)))
        print(f"| {name} | {'; '.join([outcome.text, *outcome.warnings])} |", flush=True)


if __name__ == "__main__":
    main()
