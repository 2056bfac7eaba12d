"""From the start of a process to its end: the quickstart with its report, as a sweep of bandwidths, and other commands.

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

import yaml

QUICKSTART = Path(__file__).parents[1] / "scenarios" / "quickstart.yaml"
BANDWIDTHS_HZ = [5e6 * step for step in range(1, 17)]


def took_s(command: list[str]) -> tuple[float, float]:
    """Return the wall-clock and the processor time of a process and its children."""
    began_s = time.perf_counter()
    before = os.times()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    wall_s = time.perf_counter() - began_s
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return wall_s, cpu_s


def commands(scratch: Path) -> dict[str, list[str]]:
    """Return what is measured, by its name."""
    sweep = scratch / "sweep.yaml"
    sweep.write_text(yaml.safe_dump({"base": str(QUICKSTART), "grid": {"radio.bandwidth_hz": BANDWIDTHS_HZ}}))
    edgefl = ["-m", "edgefl"]
    run = [*edgefl, "run", str(QUICKSTART), "--overwrite", "-o"]
    over = "radio.bandwidth_hz=" + ",".join(f"{value:g}" for value in BANDWIDTHS_HZ)
    return {
        "import torch": ["-c", "import torch"],
        "edgefl --help": [*edgefl, "--help"],
        "edgefl validate": [*edgefl, "validate", str(QUICKSTART)],
        "edgefl run quickstart": [*run, str(scratch / "run")],
        "edgefl run quickstart --no-train": [*run, str(scratch / "priced"), "--no-train"],
        "edgefl what-if, 16 bandwidths": [*edgefl, "what-if", str(scratch / "run"), "--over", over],
        "edgefl sweep, 16 bandwidths": [*edgefl, "sweep", str(sweep), "-o", str(scratch / "sweep"), "--overwrite"],
    }


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = commands(Path(folder))
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in measured}
        for turn in range(options.repeats + 1):
            for name, command in measured.items():
                took = took_s(command)
                if turn:  # the first turn warms the caches
                    found[name].append(took)
    print("| command | wall-clock | processor |\n|---|---|---|")
    for name, times in found.items():
        wall_s = statistics.median(one[0] for one in times)
        cpu_s = statistics.median(one[1] for one in times)
        print(f"| `{name}` | {wall_s:.2f} s | {cpu_s:.2f} s |")


if __name__ == "__main__":
    main()
