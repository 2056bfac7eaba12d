"""Measure what the emulator costs: whole processes, `edgefl run` on MNIST against a bare PyTorch loop, pair by pair.

    EDGEFL_DATA=... python benchmarks/overhead.py [--rounds 300] [--pairs 3]

The pairs alternate, so that a machine that slows down slows both; the ratio of each pair is printed, then the medians.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from edgefl.core.streams import Streams
from edgefl.learning.datasets.base import find
from edgefl.scenario import load

ROOT = Path(__file__).parents[1]
SCENARIO = ROOT / "scenarios" / "mnist-fedavg.yaml"


def wall_s(*command):
    """Return the wall-clock time of a process."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def write_plan(devices_csv, path):
    """Write the samples of each device and the participants of each round, as the emulator has them."""
    scenario = load(SCENARIO)
    labels = scenario.data.dataset.load().train_y
    rng = Streams(scenario.seed).generator("partition")
    parts = scenario.data.partition.split(labels, scenario.devices.count, rng)
    rounds = {}
    with devices_csv.open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            rounds.setdefault(row["round"], []).append(int(row["device"]))
    plan = {"parts": [part.tolist() for part in parts], "rounds": list(rounds.values())}
    path.write_text(json.dumps(plan))


def main():
    """Print each pair of processes, and the medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    mnist = str(find(None, ["mnist.npz"], "This benchmark needs mnist.npz."))
    edgefl = [sys.executable, "-m", "edgefl"]
    run = [*edgefl, "run", str(SCENARIO), "--overwrite", "--set", f"rounds={options.rounds}"]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        plan = Path(scratch) / "plan.json"
        world_times = [wall_s(*run, "--no-train", "-o", str(out)) for _ in range(options.pairs)]
        write_plan(out / "devices.csv", plan)
        bare_command = [sys.executable, str(ROOT / "benchmarks" / "bare_mnist.py"), mnist, str(plan)]
        whole_times = []
        bare_times = []
        ratios = []
        for _ in range(options.pairs):
            whole = wall_s(*run, "-o", str(out))
            bare = wall_s(*bare_command)
            whole_times.append(whole)
            bare_times.append(bare)
            ratios.append(whole / bare)
            print(f"edgefl {whole:.1f} s, bare {bare:.1f} s, ratio {whole / bare:.2f}", flush=True)
    help_times = [wall_s(*edgefl, "--help") for _ in range(5)]
    help_s = statistics.median(help_times)
    whole = statistics.median(whole_times)
    bare = statistics.median(bare_times)
    world = statistics.median(world_times)
    ratio = statistics.median(ratios)
    print(f"\n| {options.rounds} rounds of scenarios/mnist-fedavg.yaml | wall-clock, median of {options.pairs} |")
    print("|---|---|")
    print(f"| bare PyTorch loop | {bare:.1f} s |")
    print(f"| `edgefl run`, everything included | {whole:.1f} s (median ratio {ratio:.2f}) |")
    print(f"| `edgefl run --no-train` | {world:.2f} s ({whole / world:.0f} x faster than with training) |")
    print(f"| `edgefl --help` | {help_s:.2f} s |")


if __name__ == "__main__":
    main()
