"""Measure edgefl beside a bare PyTorch loop on a GPU, all in one process, until a deadline.

    python benchmarks/gpu.py [--device cuda] [--seconds 240] [--workloads W1 R18W] [--sides bare vmap] [--out FILE]

Each line is the JSON of one side of a workload of benchmarks/workloads.py: the median, least and greatest seconds of a
round but the first; `over_bare`, how many times as fast as the bare loop of the same call; the peak of the GPU's
memory. Sides are `bare` and edgefl with other keys of the section `training`; `edgefl` has none. --cifar10 takes the
images of CIFAR-10 instead of synthetic ones, and --tiny a few small clients, to try this program on a CPU. What does
not fit into the time is named and left out; the exit code is 1 if a side failed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
from workloads import WORKLOADS, Workload, bare, emulated

SIDES: dict[str, dict[str, str]] = {  # keys of the section training
    "bare": {},
    "edgefl": {},
    "tf32": {"precision": "tf32"},
    "bfloat16": {"precision": "bfloat16"},
    "unrecorded": {"graphs": "off"},
    "vmap": {"engine": "vmap"},
    "serial": {"engine": "serial"},
}
LEAST_S = 8.0  # left before the deadline; with less no other side begins
GIB = 2**30


def tiny(workload: Workload) -> Workload:
    """Return a workload with so few and small clients that a CPU trains them in a moment."""
    return dataclasses.replace(
        workload,
        title=f"{workload.title}, cut down to try the program",
        clients=min(workload.clients, 20),
        samples=min(workload.samples, 20),
        participants=min(workload.participants, 4),
        rounds=2,
    )


def chosen_workloads(options: argparse.Namespace) -> dict[str, Workload]:
    """Return the workloads by name, as the options want them."""
    chosen = {name: WORKLOADS[name] for name in options.workloads}
    if options.cifar10:
        # Images have another shape and number of classes than the other workloads.
        chosen = {
            name: dataclasses.replace(workload, real=workload.shape == (3, 32, 32) and workload.classes == 10)
            for name, workload in chosen.items()
        }
    if options.tiny:
        chosen = {name: tiny(workload) for name, workload in chosen.items()}
    return chosen


def measured(workload: Workload, side: str, device: str) -> dict[str, Any]:
    """Return the seconds of a round of one side, and the memory that it took on a GPU."""
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    if side == "bare":
        seconds = bare(workload, workload.rounds, device)
    else:
        seconds = emulated(workload, workload.rounds, device, **SIDES[side])
    row: dict[str, Any] = {
        "images": "CIFAR-10" if workload.real else "synthetic",
        "round_s": statistics.median(seconds),
        "least_s": min(seconds),
        "most_s": max(seconds),
    }
    if device != "cpu":
        row["peak_gib"] = round(torch.cuda.max_memory_allocated() / GIB, 2)
    return row


def main() -> int:
    """Print a line of JSON for each side of each workload; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=240.0, help="no side begins after so many seconds")
    parser.add_argument("--workloads", nargs="+", choices=list(WORKLOADS), default=["W1", "W2", "W3", "R18", "R18W"])
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), default=["bare", "edgefl", "bfloat16"])
    parser.add_argument("--cifar10", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--out", type=Path, metavar="FILE", help="add the lines to this file, too")
    options = parser.parse_args()
    began_s = time.perf_counter()

    def say(**row: Any) -> None:
        """Print a row, and add it to the file."""
        line = json.dumps({**row, "at_s": round(time.perf_counter() - began_s, 1)})
        print(line, flush=True)
        if options.out is not None:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    place = torch.cuda.get_device_name(options.device) if options.device != "cpu" else "CPU"
    say(device=place, torch=torch.__version__, cuda=torch.version.cuda)
    failed = False
    for name, workload in chosen_workloads(options).items():
        bare_s = None
        for side in options.sides:
            if time.perf_counter() - began_s > options.seconds - LEAST_S:
                say(workload=name, side=side, left_out="the time is up")
                continue
            try:
                row = measured(workload, side, options.device)
            except Exception as error:  # noqa: BLE001 - the other sides are measured all the same
                failed = True
                say(workload=name, side=side, error=f"{type(error).__name__}: {error}")
                continue
            if side == "bare":
                bare_s = row["round_s"]
            elif bare_s is not None:
                row["over_bare"] = bare_s / row["round_s"]
            say(workload=name, title=workload.title, side=side, **row)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
