"""What a population costs that comes and goes: a million devices against ten thousand, without learning.

    python benchmarks/world.py [--rounds 100] [--participants 1000]

19 hexagonal cells, random waypoint, Poisson churn with a quarter of the devices there; each population in a process of
its own, so that its peak memory is its own. Setting up (data, devices) and the rounds are timed apart.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import edgefl

STAY_S = 60.0


def scenario(folder, devices, rounds, participants):
    """A sample each, of one number; transfers by the fast engine."""
    x, y = np.zeros((devices, 1), dtype=np.float32), np.arange(devices) % 2
    path = Path(folder) / "samples.npz"
    np.savez(path, train_x=x, train_y=y, test_x=x[:10], test_y=y[:10])
    return {
        "name": "world",
        "rounds": rounds,
        "data": {"dataset": "npz", "path": str(path)},
        "model": {"kind": "logistic", "cost": {"parameters": 20_000, "flops_per_parameter": 5.0}},
        "devices": {"count": devices},
        "server": {"participants": participants},
        "cells": {"layout": "hexagonal", "sites": 19},
        "radio": {"transfer": "fast", "propagation": {"kind": "umi", "out_of_range": "clamp"}},
        "mobility": "random_waypoint",
        "churn": {"kind": "poisson", "arrivals_per_s": devices / 4 / STAY_S, "stay_s": {"exponential": STAY_S}},
    }


def one(options):
    with tempfile.TemporaryDirectory() as folder:
        result = edgefl.run(scenario(folder, options.one, options.rounds, options.participants), train=False)
    wall, usage = result.summary["wall_s"], resource.getrusage(resource.RUSAGE_SELF)
    cpu_s, peak_mb = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    present, departed = result.rounds["present"].mean(), result.rounds["departed"].sum()
    seconds = (wall["total"], cpu_s, wall["setup"], wall["world"], result.summary["time_s"])
    cells = [*(f"{each:.1f} s" for each in seconds), f"{peak_mb:,.0f} MB", str(departed)]
    print(f"| {options.one:,} | {present:,.0f} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--participants", type=int, default=1000)
    parser.add_argument("--one", type=int, help="this many devices, in this process")
    options = parser.parse_args()
    if options.one:
        return one(options)
    names = "devices", "present", "wall-clock", "processor", "setup", "rounds", "virtual", "memory", "departed"
    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|", flush=True)
    shared = [f"--{name}={getattr(options, name)}" for name in ("rounds", "participants")]
    for devices in (10_000, 1_000_000):
        subprocess.run([sys.executable, __file__, *shared, f"--one={devices}"], check=True)
    return None


if __name__ == "__main__":
    main()
