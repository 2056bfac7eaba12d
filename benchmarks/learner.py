"""Measure the learner beside a bare PyTorch loop and pfl-research, on the workloads of benchmarks/workloads.py.

    python benchmarks/learner.py [--device cuda] [--repeats 3] [--workloads W1 W2 W3] [--pfl PYTHON] [--bfloat16]

Each side runs in a process of its own, in turn, `repeats` times; the figures are medians of the rounds, and ratios are
medians of the ratios of runs that stood side by side. PYTHON is an interpreter that has pfl-research (`pip install pfl
torch`); on a CPU it runs with two processes, its fastest way. --growth adds time and memory over the number of devices,
--idle the share of time in which a GPU has nothing to do, --world the share of W3's rounds that is not learning. On a
GPU the side `unrecorded` is edgefl with `training.graphs: off`. The side `bfloat16` is edgefl with `training.precision:
bfloat16`, whose products are rounded, where all other sides take float32; `precision.py` has what that does to a model.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from workloads import WORKLOADS, scenario

HERE = Path(__file__).parent
# Devices and participants of `growth`.
POPULATIONS = ((10, 10), (100, 100), (1_000, 1_000), (10_000, 10_000), (1_000, 10), (10_000, 10))


def seconds_of(command: list[str]) -> float:
    """Return the median seconds a round of one side's process."""
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result = json.loads(output.splitlines()[-1])
    return statistics.median(result["round_s"])


def command_of(side: str, name: str, options: argparse.Namespace) -> list[str]:
    """Return the command that trains a workload on one side."""
    if side == "pfl":
        rounds = str(WORKLOADS[name].rounds)
        return [options.pfl, str(HERE / "pfl_research.py"), "--workload", name, "--processes", "2", "--rounds", rounds]
    program = [sys.executable, str(HERE / "workloads.py")]
    if side == "unrecorded":
        return [*program, "edgefl", name, "--device", options.device, "--graphs", "off"]
    if side == "bfloat16":
        return [*program, "edgefl", name, "--device", options.device, "--precision", "bfloat16"]
    return [*program, side, name, "--device", options.device]


def compare(options: argparse.Namespace) -> None:
    """Print one table row a workload."""
    sides = ["bare", "edgefl"]
    if options.device != "cpu":
        sides.append("unrecorded")
    if options.bfloat16:
        sides.append("bfloat16")
    if options.pfl:
        sides.append("pfl")
    others = sides[1:]
    heads = ["workload"]
    heads += [f"{side}, s a round" for side in sides]
    heads += [f"{side} / bare" for side in others]
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    for name in options.workloads:
        seconds: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(options.repeats):
            for side in sides:
                command = command_of(side, name, options)
                seconds[side].append(seconds_of(command))
        cells = [f"{statistics.median(seconds[side]):.4g}" for side in sides]
        for side in others:
            ratios = [own / bare for own, bare in zip(seconds[side], seconds["bare"], strict=True)]
            cells.append(f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f})")
        print(f"| {name}: {WORKLOADS[name].title} | {' | '.join(cells)} |", flush=True)


def growth(options: argparse.Namespace) -> None:
    """Print the costs of logistic regression, 60,000 samples shared among ever more devices: participants cost."""
    print("| devices | participants | learning, s a round | us a client step | all of a round, s | peak memory, GiB |")
    print("|---|---|---|---|---|---|")
    for devices, participants in POPULATIONS:
        command = [sys.executable, __file__, "--one", str(devices), str(participants), "--device", options.device]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        row = json.loads(output)
        step_us = 1e6 * row["learning_s"] / (participants * WORKLOADS["W3"].steps)
        cells = f"{row['learning_s']:.4f} | {step_us:.1f} | {row['round_s']:.4f} | {row['peak_gib']:.2f}"
        print(f"| {devices:,} | {participants:,} | {cells} |", flush=True)


def grown(devices: int, participants: int, device: str) -> None:
    """Print one row of `growth`, as JSON."""
    import edgefl

    rounds = 10
    with tempfile.TemporaryDirectory() as folder:
        base = scenario(WORKLOADS["W3"], Path(folder), rounds)
        base["devices"] = {"count": devices}
        base["server"] = {"participants": participants}
        base["training"]["batch_size"] = 6
        base["radio"] = {"bandwidth_hz": 1e6 * participants}  # transfers as long as ever: the world walks their slots
        wall = edgefl.run(base, device=device).summary["wall_s"]
    own_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    workers_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    row = {
        "learning_s": wall["learning"] / rounds,
        "round_s": (wall["learning"] + wall["world"]) / rounds,
        "peak_gib": (own_kib + workers_kib) / 2**20,
    }
    print(json.dumps(row))


def world(options: argparse.Namespace) -> None:
    """Print what of W3's rounds is the world: everything but the time in which the server learns."""
    import edgefl

    workload = WORKLOADS["W3"]
    print("| W3 | a round, ms | learning, ms | world, ms | world, share | without learning, ms |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        base = scenario(workload, Path(folder), workload.rounds)
        edgefl.run({**base, "rounds": 2}, device=options.device)  # loads what the first round loads
        for _ in range(options.repeats):
            wall = edgefl.run(base, device=options.device).summary["wall_s"]
            alone = edgefl.run(base, train=False).summary["wall_s"]
            whole_s = wall["learning"] + wall["world"]
            seconds = [whole_s, wall["learning"], wall["world"], alone["world"]]
            whole, learning, beside, without = (f"{1e3 * each / workload.rounds:.2f}" for each in seconds)
            share = f"{wall['world'] / whole_s:.2f}"
            print(f"| {workload.title} | {whole} | {learning} | {beside} | {share} | {without} |", flush=True)


def idle(options: argparse.Namespace) -> None:
    """Print the share of W2's rounds in which the GPU computes nothing, by torch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    import edgefl

    with tempfile.TemporaryDirectory() as folder:
        base = scenario(WORKLOADS["W2"], Path(folder), 6)
        edgefl.run(base, device=options.device)  # warms up, and measures the plan
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            wall = edgefl.run(base, device=options.device).summary["wall_s"]
    busy_us = sum(event.self_device_time_total for event in profiler.key_averages())
    whole_s = wall["learning"] + wall["world"]
    print(f"GPU idle in {1 - busy_us / 1e6 / whole_s:.0%} of W2's time", flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workloads", nargs="*", default=["W1", "W2", "W3"])
    parser.add_argument("--pfl", metavar="PYTHON")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--world", action="store_true")
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        grown(*options.one, options.device)
        return
    tables = []
    if options.workloads:
        tables.append(compare)
    if options.growth:
        tables.append(growth)
    if options.world:
        tables.append(world)
    if options.idle:
        tables.append(idle)
    for table in tables:
        table(options)
        print()


if __name__ == "__main__":
    main()
