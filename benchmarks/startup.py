"""Time processes from start to end: the quickstart with its report, as a sweep of transmit powers, and other commands.

    python benchmarks/startup.py [--repeats 5]

Medians of whole processes that run in turn, after one that warms the caches. `import torch` stands beside them: it is
the largest part that edgefl cannot make shorter.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import yaml

QUICKSTART = Path(__file__).parents[1] / "scenarios" / "quickstart.yaml"
POWERS_DBM = [8.0 + step for step in range(16)]


class Times(NamedTuple):
    """The wall-clock and the processor time of a process."""

    wall_s: float
    cpu_s: float


def took(command: list[str]) -> Times:
    """Return the wall-clock and the processor time of a process and its children."""
    # Users' Python keeps the bytecode of modules; this shell's may not.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began_s = time.perf_counter()
    before = os.times()
    subprocess.run(
        [sys.executable, *command],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    wall_s = time.perf_counter() - began_s
    user_s = after.children_user - before.children_user
    system_s = after.children_system - before.children_system
    return Times(wall_s, user_s + system_s)


def commands(scratch: Path) -> dict[str, list[str]]:
    """Return what is measured, by its name."""
    sweep = scratch / "sweep.yaml"
    content = {"base": str(QUICKSTART), "grid": {"devices.tx_power_dbm": POWERS_DBM}}
    sweep.write_text(yaml.safe_dump(content))
    edgefl = ["-m", "edgefl"]
    run = [*edgefl, "run", str(QUICKSTART), "--overwrite", "-o"]
    over = "devices.tx_power_dbm=" + ",".join(f"{value:g}" for value in POWERS_DBM)
    return {
        "import torch": ["-c", "import torch"],
        "edgefl --help": [*edgefl, "--help"],
        "edgefl validate": [*edgefl, "validate", str(QUICKSTART)],
        "edgefl run quickstart": [*run, str(scratch / "run")],
        "edgefl run quickstart --no-train": [*run, str(scratch / "priced"), "--no-train"],
        "edgefl what-if, 16 powers": [*edgefl, "what-if", str(scratch / "run"), "--over", over],
        "edgefl sweep, 16 powers": [*edgefl, "sweep", str(sweep), "-o", str(scratch / "sweep"), "--overwrite"],
    }


def main() -> None:
    """Print a row for each command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = commands(Path(folder))
        found: dict[str, list[Times]] = {name: [] for name in measured}
        for turn in range(options.repeats + 1):
            for name, command in measured.items():
                times = took(command)
                if turn:  # the first turn warms the caches
                    found[name].append(times)
    print("| command | wall-clock | processor |")
    print("|---|---|---|")
    for name, turns in found.items():
        wall_s = statistics.median(times.wall_s for times in turns)
        cpu_s = statistics.median(times.cpu_s for times in turns)
        print(f"| `{name}` | {wall_s:.2f} s | {cpu_s:.2f} s |")


if __name__ == "__main__":
    main()
