"""Runs of a table, each in a result folder of its own, so that an interrupted table goes on where it was.

What they measure is kept in benchmarks/measured, a row a run: tables of hundreds of runs grow from day to day.
"""

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


class Measured:
    """What the runs of a table have measured; with `again` what is not of this run's kind is measured anew.

    Args:
        name: of the table's file.
        keys: the columns that name a run.
        again: whether to forget what is there.
    """

    def __init__(self, name, keys, *, again=False):
        self.path, self.keys = ROOT / "benchmarks" / "measured" / f"{name}.csv", keys
        self.rows = {}
        if self.path.exists() and not again:
            with self.path.open(newline="") as file:
                self.rows = {self._key(row): row for row in csv.DictReader(file)}

    def _key(self, row):
        return tuple(str(row[key]) for key in self.keys)

    def get(self, case):
        """The row of a run, texts by column; None where it has not been measured."""
        return self.rows.get(self._key(case))

    def put(self, case, values, folder):
        """Keep what a run has measured, with the commit of the program that ran; the row as `get` returns it."""
        commit = json.loads((folder / "manifest.json").read_text())["git"] or ""
        row = {name: str(value) for name, value in {**case, **values, "commit": commit[:7]}.items()}
        self.rows[self._key(row)] = row
        self.path.parent.mkdir(exist_ok=True)
        begin = not self.path.exists()
        with self.path.open("a", newline="") as file:  # a line at once: several programs may add to it
            writer = csv.DictWriter(file, row, lineterminator="\n")
            if begin:
                writer.writeheader()
            writer.writerow(row)
        return row


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
    with (ROOT / "edgefl" / "reproductions" / "published" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def table(header, rows):
    """A Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
