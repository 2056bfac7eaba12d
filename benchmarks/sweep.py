"""Measure what sweeps, checkpoints and resuming cost: whole processes, as ratios measured side by side.

    python benchmarks/sweep.py [share] [checkpoints] [resume] [many] [--pairs 3]

`share`: a sweep of 16 transmit powers against one of its points run alone (MNIST where EDGEFL_DATA has it, else digits;
`startup.py` has that of the quickstart). `checkpoints`: their part of that run's time at their default pace. `resume`:
how long it takes to be back where a run was killed, after four fifths of it, against how long that part took. `many`:
1,000 points of churn without learning by two workers, and the page about them.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import yaml

import edgefl
from edgefl.learning.record import Pace

ROOT = Path(__file__).parents[1]
EDGEFL = [sys.executable, "-m", "edgefl"]
ROUNDS = 100
POWERS_DBM = [8.0 + step for step in range(16)]


def wall_s(*command):
    """Return the wall-clock time of a command of edgefl."""
    began = time.perf_counter()
    subprocess.run([*EDGEFL, *map(str, command)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def base():
    """Return the scenario that is swept."""
    mnist = Path(os.environ.get("EDGEFL_DATA", "")) / "mnist.npz"
    if mnist.exists():
        return ROOT / "scenarios" / "mnist-fedavg.yaml"
    return ROOT / "scenarios" / "quickstart.yaml"


def share(scratch):
    """Return the time of a sweep over that of one of its points, and both."""
    sweep = {"base": str(base()), "set": {"rounds": ROUNDS}, "grid": {"devices.tx_power_dbm": POWERS_DBM}}
    (scratch / "sweep.yaml").write_text(yaml.safe_dump(sweep))
    many = wall_s("sweep", scratch / "sweep.yaml", "-o", scratch / "many", "--overwrite")
    one = wall_s("run", base(), "--set", f"rounds={ROUNDS}", "-o", scratch / "one", "--overwrite")
    return many / one, f"{many:.1f} s against {one:.1f} s"


class Counted(Pace):
    """The default pace, which counts the time that it takes."""

    took_s = 0.0

    @contextmanager
    def taking(self):
        """Count the time of a checkpoint."""
        began = time.monotonic()
        with super().taking():
            yield
        self.took_s += time.monotonic() - began


def checkpoints(scratch):
    """Return the share of checkpoints in a run's time, and both."""
    pace = Counted()
    began = time.monotonic()
    edgefl.run(base(), overrides=[f"rounds={ROUNDS}"], out=scratch / "one", overwrite=True, pace=pace)
    whole = time.monotonic() - began
    return pace.took_s / whole, f"{pace.took_s:.2f} s of {whole:.1f} s"


def resume(scratch):
    """Kill a run after four fifths of its rounds, with a checkpoint there; return how long it takes to be back."""
    out = scratch / "cut"
    stop = ROUNDS * 4 // 5
    shutil.rmtree(out, ignore_errors=True)
    run = ["run", base(), "--set", f"rounds={ROUNDS}", "-o", out, "--checkpoint-every", stop]
    first = until(run, out, stop)
    again = until([*run, "--resume"], out, stop + 1)
    return again / first, f"{again:.1f} s against {first:.1f} s"


def until(command, out, count):
    """Kill a run when it has learned so many rounds; return how long that takes from when it begins to run on."""
    journal = out / "checkpoints" / "journal.jsonl"
    manifest = out / "manifest.json"
    written_ns = changed_ns(manifest)
    process = subprocess.Popen([*EDGEFL, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    began = None
    took = None
    while process.poll() is None:
        time.sleep(0.005)
        if began is None and changed_ns(manifest) not in (None, written_ns):
            began = time.perf_counter()  # when the parts are put together, its manifest says that it is running
        if began is not None and learned(journal, count):
            took = time.perf_counter() - began
            process.kill()
    return took


def changed_ns(path):
    """Return when a file was changed last; None where there is none."""
    if not path.exists():
        return None
    return path.stat().st_mtime_ns


def learned(journal, count):
    """Return whether a journal tells of a checkpoint and of so many rounds."""
    if not journal.exists():
        return False
    rounds = 0
    has_checkpoint = False
    for line in journal.read_bytes().splitlines():
        if b'"columns"' in line:
            rounds += 1
        if b'"file"' in line:
            has_checkpoint = True
    return has_checkpoint and rounds >= count


def many(scratch):
    """Return the time of a sweep of 1,000 points without learning, and that of the page about it."""
    rates = [0.1 * 1.005**step for step in range(1000)]
    sweep = {
        "base": str(ROOT / "benchmarks" / "churn.yaml"),
        "train": False,
        "set": {"churn": {"kind": "poisson", "stay_s": {"exponential": 20}}},
        "grid": {"churn.arrivals_per_s": rates},
    }
    (scratch / "churn.yaml").write_text(yaml.safe_dump(sweep))
    took = wall_s("sweep", scratch / "churn.yaml", "-o", scratch / "churn", "--overwrite", "--workers", "2")
    page = wall_s("report", scratch / "churn")
    size = (scratch / "churn" / "report.html").stat().st_size / 1e6
    return took, f"seconds for 1,000 points; the page: {page:.1f} s, {size:.1f} MB"


CASES = {"share": share, "checkpoints": checkpoints, "resume": resume, "many": many}


def main():
    """Print each case pair by pair, and its median."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", default=list(CASES), choices=[[], *CASES])
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.cases:
            pairs = options.pairs
            if name == "many":
                pairs = 1
            ratios = []
            for _ in range(pairs):
                ratio, text = CASES[name](Path(scratch))
                ratios.append(ratio)
                print(f"{name}: {ratio:.3f} ({text})", flush=True)
            print(f"{name}: {statistics.median(ratios):.3f}", flush=True)


if __name__ == "__main__":
    main()
