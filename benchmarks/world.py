"""What a population costs that comes and goes: a million devices against ten thousand, without learning.

    python benchmarks/world.py [--rounds 100] [--participants 1000] [--devices 10000 1000000]

19 hexagonal cells, random waypoint, Poisson churn with a quarter of the devices there; each population in a process of
its own, so that its peak memory is its own. Setting up (data, devices) and the rounds are timed apart. Below the rows
stands what the larger population may take and takes: under 60 s and 2 GB, and no more than 3/2 of the smaller one.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import edgefl

STAY_S = 60.0
MOST_S, MOST_MB, LEAST_SHARE = 60.0, 2000.0, 2 / 3


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
    Path(options.out).write_text(json.dumps({"wall-clock": wall["total"], "processor": cpu_s, "memory": peak_mb}))


def limits(few, many):
    """Whether each holds, one line each."""
    for name in ("processor", "wall-clock"):
        share = few[name] / many[name]
        print(f"{name}, few devices over many: {share:.2f}, at least {LEAST_SHARE:.2f}: {told(share >= LEAST_SHARE)}")
    for name, most, unit in (("wall-clock", MOST_S, "s"), ("memory", MOST_MB, "MB")):
        print(f"{name}: {many[name]:,.1f} {unit}, under {most:,.0f} {unit}: {told(many[name] < most)}")


def told(holds):
    return "holds" if holds else "MISSED"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--participants", type=int, default=1000)
    parser.add_argument("--devices", type=int, nargs=2, default=(10_000, 1_000_000))
    parser.add_argument("--one", type=int, help="this many devices, in this process")
    parser.add_argument("--out", help="where that writes its numbers")
    options = parser.parse_args()
    if options.one:
        return one(options)
    names = "devices", "present", "wall-clock", "processor", "setup", "rounds", "virtual", "memory", "departed"
    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|", flush=True)
    shared = [f"--{name}={getattr(options, name)}" for name in ("rounds", "participants")]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / str(devices) for devices in options.devices]
        for devices, path in zip(options.devices, paths, strict=True):
            subprocess.run([sys.executable, __file__, *shared, f"--one={devices}", f"--out={path}"], check=True)
        limits(*(json.loads(path.read_text()) for path in paths))
    return None


if __name__ == "__main__":
    main()
