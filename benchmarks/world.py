"""Measure what a population costs that comes and goes: a million devices against ten thousand, without learning.

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
MOST_S = 60.0
MOST_MB = 2000.0
LEAST_SHARE = 2 / 3
HEADS = ("devices", "present", "wall-clock", "processor", "setup", "rounds", "virtual", "memory", "departed")


def scenario(folder, devices, rounds, participants):
    """Return a scenario of devices with a sample each, of one number; transfers by the fast engine."""
    x = np.zeros((devices, 1), dtype=np.float32)
    y = np.arange(devices) % 2
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
    """Run so many devices in this process, and print their row."""
    with tempfile.TemporaryDirectory() as folder:
        world = scenario(folder, options.one, options.rounds, options.participants)
        result = edgefl.run(world, train=False)
    wall = result.summary["wall_s"]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = usage.ru_utime + usage.ru_stime
    peak_mb = usage.ru_maxrss / 1024
    seconds = (wall["total"], cpu_s, wall["setup"], wall["world"], result.summary["time_s"])
    cells = [f"{options.one:,}", f"{result.rounds['present'].mean():,.0f}"]
    cells += [f"{each:.1f} s" for each in seconds]
    cells += [f"{peak_mb:,.0f} MB", str(result.rounds["departed"].sum())]
    print(f"| {' | '.join(cells)} |", flush=True)
    numbers = {"wall-clock": wall["total"], "processor": cpu_s, "memory": peak_mb}
    Path(options.out).write_text(json.dumps(numbers))


def limits(few, many):
    """Print a line for each limit, whether it holds."""
    for name in ("processor", "wall-clock"):
        share = few[name] / many[name]
        print(f"{name}, few devices over many: {share:.2f}, at least {LEAST_SHARE:.2f}: {told(share >= LEAST_SHARE)}")
    for name, most, unit in (("wall-clock", MOST_S, "s"), ("memory", MOST_MB, "MB")):
        print(f"{name}: {many[name]:,.1f} {unit}, under {most:,.0f} {unit}: {told(many[name] < most)}")


def told(holds):
    """Return a word for whether a limit holds."""
    if holds:
        return "holds"
    return "MISSED"


def main():
    """Print a row for each population, each from a process of its own, and the limits below."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--participants", type=int, default=1000)
    parser.add_argument("--devices", type=int, nargs=2, default=(10_000, 1_000_000))
    parser.add_argument("--one", type=int, help="this many devices, in this process")
    parser.add_argument("--out", help="where that writes its numbers")
    options = parser.parse_args()
    if options.one:
        one(options)
        return
    print(f"| {' | '.join(HEADS)} |\n{'|---' * len(HEADS)}|", flush=True)
    command = [sys.executable, __file__, f"--rounds={options.rounds}", f"--participants={options.participants}"]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        for devices in options.devices:
            subprocess.run([*command, f"--one={devices}", f"--out={out}"], check=True)
            found.append(json.loads(out.read_text()))
    few, many = found
    limits(few, many)


if __name__ == "__main__":
    main()
