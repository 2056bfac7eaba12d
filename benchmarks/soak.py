"""Soak: watch what a long run holds on to, and whether a sweep that is killed all the time comes to its end.

    python benchmarks/soak.py [--minutes 20]

Half of the time one asynchronous run goes on, with churn, handover, batteries and processor sharing; its memory, open
files, shared memory and processes are read off /proc. What its memory grows by is held against what the same run grows
by without learning: that is the ledger, which has a row for each round, participant and event. In the other half a
sweep is killed by SIGKILL again and again and resumed, until it has finished; its tables are then compared with
those of an undisturbed sweep.
Prints tables, and exits with 1 if something has grown or differs.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

MB = 2**20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SAMPLE_S = 2.0
WARM_SHARE = 0.3  # of the samples, at the beginning: caches fill
WORLD_SHARE = 0.15  # of the half, for the run without learning
MODEL_SHARE = 0.02  # of a model that an aggregation may leave behind, beside the ledger
MODEL_WEIGHTS = 64 * 256 + 256 * 256 + 256 * 10
MODEL_MB = 4 * MODEL_WEIGHTS / 2**20
KILLED_AFTER = (0.25, 1.0)  # of the time that the whole sweep takes undisturbed
ORPHANS_END_S = 60.0  # after which no process of a killed program is left, though the machine be busy

RUN = """\
name: soak
rounds: 1000000
data: {dataset: digits, partition: {kind: dirichlet, alpha: 0.5}}
model: {kind: fcn, hidden: [256, 256]}
training: {local_steps: 5, batch_size: 16, lr: 0.05}
devices:
  count: 100
  battery: {capacity_j: 2.0e4, start: {uniform: [0.2, 1.0]}}
cells: {layout: hexagonal, sites: 7, radius_m: 150, handover: {}}
mobility: {kind: random_waypoint, speed_mps: 10}
churn: {kind: poisson, arrivals_per_s: 2, stay_s: {exponential: 40}}
radio:
  sharing: processor
  transfer: fast
  bandwidth_hz: 2.0e7
  spatial_consistency: true
  propagation: {kind: umi, out_of_range: clamp}
server: {participants: 20, policy: asynchronous}
report: {eval_every: 20}
"""
SHORT = """\
name: soak-short
rounds: 30
data: {dataset: digits, partition: {kind: dirichlet, alpha: 0.5}}
model: {kind: fcn, hidden: [64, 64]}
algorithm: scaffold
devices: {count: 30}
server: {participants: 10}
"""
SWEEP = "base: short.yaml\ngrid: {radio.bandwidth_hz: [2.0e7, 1.0e8], training.lr: [0.05, 0.1]}\nseeds: [1, 2]\n"


class Sample(NamedTuple):
    """The memory, files and processes that a program holds."""

    time_s: float
    rss_mb: float
    files: int
    shared_mb: float
    processes: int


def tree(root: int) -> list[int]:
    """Return the processes of a program."""
    parents: dict[int, int] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                parents[int(path.name)] = int(_state_and_parent(path)[1])
            except OSError:  # it has ended meanwhile
                continue
    found = [root]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def _state_and_parent(process: Path) -> list[str]:
    """Return the fields of a process's stat behind its name: first its state, then its parent."""
    text = (process / "stat").read_text()
    _, _, fields = text.rpartition(")")
    return fields.split()


def sample(root: int, began_s: float) -> Sample:
    """Return what a program holds now."""
    rss = 0
    files = 0
    shared = 0
    count = 0
    for process in tree(root):
        try:
            columns = Path(f"/proc/{process}/statm").read_text().split()
            files += len(list(Path(f"/proc/{process}/fd").iterdir()))
        except OSError:
            continue
        rss += int(columns[1])
        shared += int(columns[2])
        count += 1
    time_s = time.monotonic() - began_s
    rss_mb = rss * PAGE_BYTES / MB
    shared_mb = shared * PAGE_BYTES / MB
    return Sample(time_s, rss_mb, files, shared_mb, count)


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a command of edgefl in a folder."""
    command = [sys.executable, "-m", "edgefl", *arguments]
    log = (folder / "log").open("ab")
    return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)


class Held(NamedTuple):
    """The samples of a run, without those at its beginning: the first third and the last one."""

    rounds: int
    duration_s: float
    first: list[Sample]
    last: list[Sample]

    def means(self, name: str) -> tuple[float, float]:
        """Return the means of a figure over the first third and over the last one."""
        return _mean(self.first, name), _mean(self.last, name)

    def grown(self, name: str) -> float:
        """Return by how much a figure has grown."""
        first, last = self.means(name)
        return last - first

    @property
    def grown_mb_a_round(self) -> float:
        """How much memory an aggregation adds to the run [MB]."""
        share = self.grown("time_s") / self.duration_s
        return self.grown("rss_mb") / (self.rounds * share)


def _mean(samples: list[Sample], name: str) -> float:
    """Return the mean of a figure over some samples."""
    values = [getattr(one, name) for one in samples]
    return sum(values) / len(values)


def held(folder: Path, out: str, duration_s: float, *options: str) -> Held | None:
    """Let a run go on for a while, stop it, and return what it has held; None if it has ended by itself."""
    (folder / "run.yaml").write_text(RUN)
    began_s = time.monotonic()
    process = start(folder, "run", "run.yaml", "-o", out, "--device", "cpu", "--quiet", *options)
    samples: list[Sample] = []
    while time.monotonic() - began_s < duration_s:
        time.sleep(SAMPLE_S)
        if process.poll() is not None:
            print(f"the run has ended with {process.returncode}: {(folder / 'log').read_text()[-500:]}")
            return None
        samples.append(sample(process.pid, began_s))
    process.send_signal(signal.SIGTERM)
    process.wait(120)
    lines = (folder / out / "rounds.csv").read_text().splitlines()
    rounds = len(lines) - 1
    warm = samples[int(WARM_SHARE * len(samples)) :]
    third = max(len(warm) // 3, 1)
    return Held(rounds, duration_s, warm[:third], warm[-third:])


def long_run(folder: Path, duration_s: float) -> bool:
    """Let one run go on, print what it holds, and return whether that stays flat but for its ledger."""
    world = held(folder, "world", WORLD_SHARE * duration_s, "--no-train")
    whole = held(folder, "out", (1.0 - WORLD_SHARE) * duration_s, "--checkpoint-every", "200")
    if world is None or whole is None:
        return False
    minutes = whole.duration_s / 60
    print(f"\n{whole.rounds} aggregations in {minutes:.1f} min, means over {len(whole.first)} samples\n")
    print("|  | first third | last third |\n| --- | ---: | ---: |")
    for name, form in (("rss_mb", ".0f"), ("shared_mb", ".0f"), ("files", ".1f"), ("processes", ".1f")):
        first, last = whole.means(name)
        print(f"| {name} | {first:{form}} | {last:{form}} |")
    print(
        f"\nmemory grows by {1e3 * whole.grown_mb_a_round:.1f} kB an aggregation, and by "
        f"{1e3 * world.grown_mb_a_round:.1f} kB without learning ({world.rounds} aggregations): the ledger"
    )
    beside_ledger_mb = whole.grown_mb_a_round - world.grown_mb_a_round
    steady = whole.grown("files") < 1 and whole.grown("processes") < 1
    return steady and beside_ledger_mb < MODEL_SHARE * MODEL_MB


def tables(folder: Path) -> dict[str, bytes]:
    """Return the tables of all runs of a sweep."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("rounds.csv"))}


def orphans(processes: list[int]) -> list[int]:
    """Return which processes of a killed program do not end."""
    limit_s = time.monotonic() + ORPHANS_END_S
    left = processes
    while left and time.monotonic() < limit_s:
        time.sleep(0.1)
        left = [one for one in left if Path(f"/proc/{one}").exists() and not _is_zombie(one)]
    return left


def _is_zombie(process: int) -> bool:
    """Return whether a process has ended and only waits for its parent to notice, or is gone."""
    try:
        return _state_and_parent(Path(f"/proc/{process}"))[0] == "Z"
    except OSError:
        return True


def killed_sweeps(folder: Path, duration_s: float) -> bool:
    """Kill a sweep again and again, resume it, and return whether it always ends with the same tables."""
    (folder / "short.yaml").write_text(SHORT)
    (folder / "sweep.yaml").write_text(SWEEP)
    how = ("--device", "cpu", "--quiet", "--workers", "2")
    truth_began_s = time.monotonic()
    start(folder, "sweep", "sweep.yaml", "-o", "truth", *how).wait()
    truth_s = time.monotonic() - truth_began_s
    truth = tables(folder / "truth")
    draws = random.Random(1)  # noqa: S311 - when to kill
    began_s = time.monotonic()
    kills = 0
    sweeps = 0
    longest_s = 0.0
    while time.monotonic() - began_s < duration_s or not sweeps:
        out = f"out-{sweeps}"
        more: tuple[str, ...] = ()
        while True:
            process = start(folder, "sweep", "sweep.yaml", "-o", out, *how, *more)
            more = ("--resume",)
            try:
                code = process.wait(truth_s * draws.uniform(*KILLED_AFTER))
                break
            except subprocess.TimeoutExpired:
                members = tree(process.pid)
                process.kill()
                process.wait()
                kills += 1
                killed_s = time.monotonic()
                left = orphans(members)
                longest_s = max(longest_s, time.monotonic() - killed_s)
                if left:
                    print(f"processes {left} have outlived their killed parent")
                    return False
        if code or tables(folder / out) != truth:
            print(f"the sweep {out} has ended with {code}, or with other tables: {(folder / 'log').read_text()[-500:]}")
            return False
        sweeps += 1
    print(f"\n{sweeps} sweeps of {len(truth)} runs, killed {kills} times: the same tables each time")
    print(f"the last process of a killed sweep was gone after {longest_s:.1f} s at the latest")
    return True


def main() -> int:
    """Run both halves, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    options = parser.parse_args()
    half_s = 30.0 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        flat = long_run(Path(folder), half_s)
        whole = killed_sweeps(Path(folder), half_s)
    return int(not (flat and whole))


if __name__ == "__main__":
    sys.exit(main())
