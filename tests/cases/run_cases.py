"""Comparisons of result folders, byte by byte, for the tests of runs, resumed runs and sweeps."""

import csv
import json

from edgefl.results.result_tables import result_files

SWEEP_BASE = {
    "rounds": 4,
    "data": {"dataset": "synthetic", "owners": 8, "features": 5, "classes": 3},
    "training": {"local_steps": 2, "batch_size": 4, "lr": 0.1, "engine": "serial"},
    "devices": {"count": 8},
    "server": {"participants": 4},
    "radio": {"bandwidth_hz": 1e6},
    "targets": [0.1, 0.99],
}


def content(folder):
    """All that two runs of one scenario must have in common: files by name, and the summary but for wall-clock time."""
    names = [file.name for file in result_files() if file.digested]
    found = {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}
    summary = json.loads((folder / "summary.json").read_text())
    return {**found, "summary": {name: value for name, value in summary.items() if name != "wall_s"}}


def rows(folder):
    """A sweep's index."""
    with (folder / "index.csv").open() as file:
        return list(csv.DictReader(file))
