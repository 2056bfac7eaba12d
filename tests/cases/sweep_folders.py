"""Folders of sweeps with made-up but plausible numbers: what the report reads, without the engine that writes it."""

import csv
import itertools
import json

import numpy as np
import yaml
from result_folders import LEARNING, ROUNDS, write_csv

COSTS = ("round", "time_s", "energy_j")
BANDWIDTHS = {"radio.bandwidth_hz": [50_000_000, 100_000_000, 200_000_000]}
ALGORITHMS = {"algorithm": ["fedavg", {"kind": "fedprox", "mu": 0.1}]}


def curve(seed, pace, rounds):
    """The rows of ``rounds.csv``: `pace` seconds a round, a joule for each two."""
    noise = np.random.default_rng(seed).normal(0, 0.01, rounds)
    rows = []
    for number in range(1, rounds + 1):
        row = dict.fromkeys(ROUNDS, 0) | dict.fromkeys(LEARNING, "")
        time_s = number * pace * (1 + 0.05 * seed)
        accuracy = 0.95 - 0.85 * np.exp(-number / 6) + noise[number - 1]
        row |= {
            "session": 1,
            "round": number,
            "duration_s": pace,
            "time_s": time_s,
            "energy_j": time_s / 2,
            "test_accuracy": round(float(np.clip(accuracy, 0, 1)), 6),
        }
        rows.append(row)
    return rows


def totals(rows, targets):
    """The cells of ``index.csv`` that tell what a run took."""
    accuracies = [row["test_accuracy"] for row in rows]
    cells = {
        "rounds": len(rows),
        "time_s": rows[-1]["time_s"],
        "energy_j": rows[-1]["energy_j"],
        "final_accuracy": accuracies[-1],
        "best_accuracy": max(accuracies),
        "bytes_down": 1e6,
        "bytes_up": 1e6,
        "wasted_j": 0,
    }
    for target in targets:
        never = dict.fromkeys(COSTS)
        hit = next((row for row in rows if row["test_accuracy"] >= target), never)
        cells |= {f"target_{target:g}_{name}": hit[name] for name in COSTS}
    return cells


def index_cell(value):
    """A value as it stands in ``index.csv``."""
    return value if isinstance(value, int | float | str) else json.dumps(value)


def make(folder, grid, *, seeds=(1, 2, 3), rounds=20, targets=(0.8, 0.9), train=True, change=None):
    """Write the folder of a sweep over `grid` (key -> values) and return it.

    A larger first value makes rounds shorter. `change(values, seed)` gives other cells of a run, such as its status.
    """
    rows = []
    points = []
    for number, values in enumerate(itertools.product(*grid.values()), 1):
        at = dict(zip(grid, values, strict=True))
        first = next((value for value in values if isinstance(value, int | float)), 1)
        for seed in seeds:
            path = f"{number}/seed-{seed}"
            table = curve(seed, 1e7 / (first + 1e6), rounds)
            cells = {key: index_cell(value) for key, value in at.items()}
            row = {"point": str(number), "seed": seed, **cells, "status": "finished", "error": None, "folder": path}
            row |= totals(table, targets)
            if not train:
                row |= dict.fromkeys([name for name in row if "accuracy" in name or name.startswith("target")])
                table = [line | {"test_accuracy": ""} for line in table]
            row |= change(at, seed) if change else {}
            rows.append(row)
            points.append({"values": at, "folder": path})
            if row["status"] == "finished":
                (folder / path).mkdir(parents=True)
                write_csv(folder / path / "rounds.csv", ROUNDS, table)
    folder.mkdir(parents=True, exist_ok=True)
    content = {"name": folder.name, "keys": list(grid), "train": train, "points": points}
    (folder / "sweep.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    write_csv(folder / "index.csv", list(rows[0]), rows)
    return folder


def statistics(page):
    """The rows of ``statistics.csv`` beside a page."""
    with (page.parent / "statistics.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


NEVER = {f"target_0.9_{name}": None for name in COSTS}
FAILED = {"status": "failed", "error": "round 1: diverged"} | dict.fromkeys(
    ["rounds", "time_s", "energy_j", "final_accuracy", "best_accuracy", "bytes_down", "bytes_up", "wasted_j"]
    + [f"target_{target}_{name}" for target in (0.8, 0.9) for name in COSTS]
)
