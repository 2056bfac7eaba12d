"""Runs of a table, each in a result folder of its own, so that an interrupted table goes on where it was."""

import csv
import json
import time
from pathlib import Path

import numpy as np

import edgefl

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "scenarios"


def finished(folder):
    """Whether a run has finished there."""
    manifest = folder / "manifest.json"
    return manifest.exists() and json.loads(manifest.read_text())["status"] == "finished"


def run(folder, scenario, overrides, seed):
    """The result folder of a run; a run that has finished there is not repeated."""
    if finished(folder):
        return folder
    began = time.perf_counter()
    result = edgefl.run(scenario, overrides=overrides, seed=seed, out=folder, overwrite=True)
    took = f"{time.perf_counter() - began:.0f} s"
    print(f"{folder.relative_to(ROOT)}: {result.status}, {result.summary['final_accuracy']}, {took}", flush=True)
    return folder


def column(folder, name):
    """A column of a run's rounds.csv; NaN where it is empty."""
    with (folder / "rounds.csv").open() as file:
        return np.array([float(row[name] or "nan") for row in csv.DictReader(file)])


def rounds_to(accuracy, target):
    """The first round in which the target is reached; None where it never is."""
    reached = np.flatnonzero(accuracy >= target)
    return int(reached[0]) + 1 if len(reached) else None


def published(name):
    """Rows of a published table, which lies beside these programs."""
    with (ROOT / "benchmarks" / "published" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def table(header, rows):
    """A Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
