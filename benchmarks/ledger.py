"""Measure the memory that the rows of a run take: its participations move to the disk as it goes on.

    python benchmarks/ledger.py [--parts 100000 1000000 10000000] [--participants 1000] [--devices 10000]

Runs without learning, written to a folder, each in a process of its own. No report is written, as in a sweep: a page
reads all participations of its run at once. Below the rows stands what the largest run takes in memory beyond the
smallest one, a participation: what is held of each. Ten million may take 1 GB in all.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from edgefl.runs.emulation import Options, run
from edgefl.scenario import load

MOST_MB = 1000.0


def scenario(folder, devices, participants, rounds):
    """Return a scenario of devices that stand still in one cell, with a sample of one number each."""
    x = np.zeros((devices, 1), dtype=np.float32)
    y = np.arange(devices) % 2
    path = Path(folder) / "samples.npz"
    np.savez(path, train_x=x, train_y=y, test_x=x[:10], test_y=y[:10])
    return {
        "name": "ledger",
        "rounds": rounds,
        "data": {"dataset": "npz", "path": str(path)},
        "model": {"kind": "logistic", "cost": {"parameters": 20_000, "flops_per_parameter": 5.0}},
        "devices": {"count": devices},
        "server": {"participants": participants},
        "radio": {"transfer": "fast"},
    }


def one(options):
    """Run so many participations in this process, and print their row."""
    rounds = options.one // options.participants
    with tempfile.TemporaryDirectory(dir=options.disk) as folder:
        out = Path(folder) / "out"
        began_s = time.perf_counter()
        world = load(scenario(folder, options.devices, options.participants, rounds))
        run(world, Options(out=out, train=False))
        wall_s = time.perf_counter() - began_s
        sizes = [path.stat().st_size for path in out.iterdir() if path.is_file()]
    written_mb = sum(sizes) / 1e6
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = usage.ru_utime + usage.ru_stime
    peak_mb = usage.ru_maxrss * 1024 / 1e6
    cells = f"{wall_s:.1f} s | {cpu_s:.1f} s | {peak_mb:,.0f} MB | {written_mb:,.0f} MB"
    print(f"| {options.one:,} | {cells} |", flush=True)
    Path(options.result).write_text(json.dumps(peak_mb))


def main():
    """Print a row for each number of participations, each from a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--participants", type=int, default=1000, help="of a round")
    parser.add_argument("--devices", type=int, default=10_000)
    parser.add_argument("--disk", help="folder for the results; by default that of temporary files")
    parser.add_argument("--one", type=int, help="this many participations, in this process")
    parser.add_argument("--result", help="where that writes its peak memory")
    options = parser.parse_args()
    if options.one:
        one(options)
        return
    print("| participations | wall-clock | processor | memory | results |\n|---|---|---|---|---|", flush=True)
    command = [sys.executable, __file__, f"--participants={options.participants}", f"--devices={options.devices}"]
    if options.disk is not None:
        command.append(f"--disk={options.disk}")
    peaks_mb = []
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        for parts in sorted(options.parts):
            subprocess.run([*command, f"--one={int(parts)}", f"--result={result}"], check=True)
            peaks_mb.append(json.loads(result.read_text()))
    if len(peaks_mb) > 1:
        more_bytes = 1e6 * (peaks_mb[-1] - peaks_mb[0])
        more_parts = max(options.parts) - min(options.parts)
        print(f"memory a participation: {more_bytes / more_parts:.0f} bytes")
    print(f"memory of the largest run: {peaks_mb[-1]:,.0f} MB, under {MOST_MB:,.0f} MB: {peaks_mb[-1] < MOST_MB}")


if __name__ == "__main__":
    main()
