"""The learner against a bare PyTorch loop, and against pfl-research, on the workloads of benchmarks/workloads.py.

    python benchmarks/learner.py [--device cuda] [--repeats 3] [--workloads W1 W2 W3] [--pfl PYTHON]

Each side runs in a process of its own, in turn, `repeats` times; the figures are medians of the rounds, and ratios are
medians of the ratios of runs that stood side by side. PYTHON is an interpreter that has pfl-research (`pip install pfl
torch`); on a CPU it runs with two processes, its fastest way. --plans adds what each way to train takes, --growth time
and memory over the number of devices, --idle the share of time in which a GPU has nothing to do. On a GPU the side
`graphs` is edgefl with `training.graphs: auto`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from workloads import WORKLOADS, scenario

HERE = Path(__file__).parent
PLANS = {
    "logistic": ({"kind": "logistic"}, (28, 28), 60, 64),
    "mlp 784-64-10": ({"kind": "mlp"}, (28, 28), 600, 50),
    "fcn 784-200-200-10": ({"kind": "fcn"}, (28, 28), 600, 50),
    "lenet5": ({"kind": "lenet5"}, (28, 28), 600, 50),
    "cnn 2 x conv5x5(64)": ({"kind": "cnn"}, (3, 32, 32), 500, 50),
    "vgg9": ({"kind": "vgg9"}, (3, 32, 32), 100, 20),
    "svhn_cnn (batch norm)": ({"kind": "svhn_cnn"}, (3, 32, 32), 100, 20),
    "resnet18 (GroupNorm)": ({"kind": "resnet18"}, (3, 32, 32), 20, 20),
}


def seconds_of(command: list[str]) -> float:
    """Median seconds a round of one side's process."""
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return statistics.median(json.loads(output.splitlines()[-1])["round_s"])


def compare(options: argparse.Namespace) -> None:
    """One table row a workload."""
    sides = {
        side: [sys.executable, str(HERE / "workloads.py"), side, "{}", "--device", options.device]
        for side in ("bare", "edgefl")
    }
    if options.device != "cpu":
        sides["graphs"] = [*sides["edgefl"], "--graphs"]
    if options.pfl:
        sides["pfl"] = [options.pfl, str(HERE / "pfl_research.py"), "--workload", "{}", "--processes", "2"]
    others = list(sides)[1:]
    print(f"| workload | {' | '.join(f'{side}, s a round' for side in sides)} | {' / bare | '.join(others)} / bare |")
    print("|---" * (1 + len(sides) + len(others)) + "|")
    for name in options.workloads:
        runs = []
        for _ in range(options.repeats):
            one = {}
            for side, command in sides.items():
                extra = ["--rounds", str(WORKLOADS[name].rounds)] if side == "pfl" else []
                one[side] = seconds_of([name if word == "{}" else word for word in command] + extra)
            runs.append(one)
        medians = [statistics.median(run[side] for run in runs) for side in sides]
        ratios = [sorted(run[side] / run["bare"] for run in runs) for side in others]
        cells = [f"{value:.4g}" for value in medians]
        cells += [f"**{statistics.median(each):.2f}** ({each[0]:.2f} to {each[-1]:.2f})" for each in ratios]
        print(f"| {name}: {WORKLOADS[name].title} | {' | '.join(cells)} |", flush=True)


def plans(options: argparse.Namespace) -> None:
    """What each way to train takes for a step of one client, on one core or on the GPU."""
    print("| model | serial, autograd | layers by hand: clients at once | vmap: clients at once |")
    print("|---|---|---|---|")
    for title, (model, shape, samples, batch) in PLANS.items():
        trials = trials_of(model, shape, samples, batch, options.device)
        serial = trials.pop(("autograd", 1))
        cells = [f"{serial * 1e3:.3g} ms"]
        for kernel in ("layers", "vmap"):
            mine = {width: seconds / serial for (name, width), seconds in trials.items() if name == kernel}
            cells.append(", ".join(f"{width}: {ratio:.2f}" for width, ratio in mine.items()) or "-")
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


def trials_of(
    model: dict[str, Any], shape: tuple[int, ...], samples: int, batch: int, device: str
) -> dict[tuple[str, int], float]:
    """Seconds a step by kernel and clients at once, as `training.engine: measured` measures them."""
    import numpy as np

    from edgefl.core.streams import Streams
    from edgefl.learning.algorithms.fedavg import FedAvg
    from edgefl.learning.datasets import Data
    from edgefl.learning.learner import Learner, LearningTask, plan
    from edgefl.learning.models import MODELS
    from edgefl.learning.training_section import Training

    rng, clients = np.random.default_rng(0), 32
    x = rng.standard_normal((clients * samples, *shape), dtype=np.float32)
    y = rng.integers(0, 10, len(x))
    data = Data(x, y, x[:10], y[:10], 10)
    measured: dict[tuple[str, int], float] = {}
    original = plan.fastest

    def fastest(families: Any, attempt: Any, limit_bytes: float) -> Any:
        def recorded(candidate: Any) -> Any:
            trial = attempt(candidate)
            measured[candidate.kernel, candidate.width] = trial.step_s
            return trial

        return original(families, recorded, limit_bytes)

    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache  # measure anew
        sys.modules["edgefl.learning.learner.plan_choice"].fastest = fastest  # type: ignore[attr-defined]
        section = Training(local_epochs=1, batch_size=batch, engine="measured")
        member = MODELS.load(model["kind"])()
        parts = np.split(np.arange(len(x)), clients)
        task = LearningTask(member, FedAvg(), section, data, parts, Streams(1))
        Learner(task, device).close()
        sys.modules["edgefl.learning.learner.plan_choice"].fastest = original  # type: ignore[attr-defined]
    return measured


def growth(options: argparse.Namespace) -> None:
    """Logistic regression, 60,000 samples shared among ever more devices: only who takes part costs."""
    print("| devices | participants | learning, s a round | us a client step | all of a round, s | peak memory, GiB |")
    print("|---|---|---|---|---|---|")
    for devices, participants in [(10, 10), (100, 100), (1_000, 1_000), (10_000, 10_000), (1_000, 10), (10_000, 10)]:
        command = [sys.executable, __file__, "--one", str(devices), str(participants), "--device", options.device]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        each = 1e6 * row["learning_s"] / (participants * 5)
        cells = f"{row['learning_s']:.4f} | {each:.1f} | {row['round_s']:.4f} | {row['peak_gib']:.2f}"
        print(f"| {devices:,} | {participants:,} | {cells} |", flush=True)


def grown(devices: int, participants: int, device: str) -> None:
    """One row of `growth`, as JSON."""
    import edgefl

    rounds = 10
    with tempfile.TemporaryDirectory() as folder:
        base = scenario(WORKLOADS["W3"], Path(folder), rounds)
        base["devices"], base["server"] = {"count": devices}, {"participants": participants}
        base["training"]["batch_size"] = 6
        base["radio"] = {"bandwidth_hz": 1e6 * participants}  # transfers as long as ever: the world walks their slots
        wall = edgefl.run(base, device=device).summary["wall_s"]
    peak = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    row = {"learning_s": wall["learning"] / rounds, "round_s": (wall["learning"] + wall["world"]) / rounds}
    print(json.dumps({**row, "peak_gib": peak / 2**20}))


def idle(options: argparse.Namespace) -> None:
    """The share of W2's rounds in which the GPU computes nothing, by torch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    import edgefl

    with tempfile.TemporaryDirectory() as folder:
        base = scenario(WORKLOADS["W2"], Path(folder), 6)
        edgefl.run(base, device=options.device)  # warms up, and measures the plan
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            wall = edgefl.run(base, device=options.device).summary["wall_s"]
    busy_s = sum(event.self_device_time_total for event in profiler.key_averages()) / 1e6
    print(f"GPU idle in {1 - busy_s / (wall['learning'] + wall['world']):.0%} of W2's time", flush=True)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workloads", nargs="*", default=["W1", "W2", "W3"])
    parser.add_argument("--pfl", metavar="PYTHON")
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        grown(*options.one, options.device)
        return
    extras = [table for table in (plans, growth, idle) if getattr(options, table.__name__)]
    for table in [*([compare] if options.workloads else []), *extras]:
        table(options)
        print()


if __name__ == "__main__":
    main()
