"""Measure what an optimiser, or a selection by forecasts, adds to a run: its share of the run's processor time.

    python benchmarks/optimisers.py [--devices N] [--rounds R] [--repeats K] [--no-train]

Runs a world of 100 devices with each member in turn. All devices take part in every round; of those that a selection
chooses among, half. Inside each run the processor time of deciding, forecasts included, is measured apart from all the
rest. Printed are the medians of its ratio to the rest and of its milliseconds a round. Two runs, with and without,
would not do: what is decided changes how long transfers take, and so how many slots are walked. `min_energy` gets a
deadline of one and a half of the longest round on equal shares.
"""

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

from pydantic import ValidationError

import edgefl
from edgefl.coordination.selection import SELECTIONS
from edgefl.server.optimised_control import OptimisedControl
from edgefl.server.server import Server


class Stopwatch:
    """A sum of the processor time that calls of a method take."""

    def __init__(self, cls: type, name: str) -> None:
        self.spent_s = 0.0
        method = getattr(cls, name)
        setattr(cls, name, self._timed(method))

    def _timed(self, method: Callable) -> Callable:
        """Return a method that also adds its processor time."""

        def timed(*arguments, **keys):
            """Call the method, and add its processor time."""
            began_s = time.process_time()
            try:
                return method(*arguments, **keys)
            finally:
                self.spent_s += time.process_time() - began_s

        return timed


def scenario(arguments, server, allocation="equal"):
    """Return a world whose server has these keys."""
    return {
        "rounds": arguments.rounds,
        "data": {"dataset": arguments.dataset},
        "model": {"kind": "mlp", "hidden": [200]},
        "training": {"local_epochs": 5, "batch_size": 10, "lr": 0.05},
        "devices": {"count": arguments.devices, "cpu_hz": {"uniform": [0.5e9, 1.5e9]}},
        "radio": {"bandwidth_hz": 20e6, "allocation": allocation},
        "report": {"eval_every": 5},
        "server": {"csi": "mean", **server},
    }


def selections():
    """Yield selections by forecasts that need no keys, no deadline and no answers of devices."""
    for name in SELECTIONS.members:
        try:
            member = SELECTIONS.load(name)()
        except ValidationError:  # it has keys without a default
            continue
        asks = member.polls or member.needs_losses or member.needs_deadline or member.needs_labels
        if member.needs_csi and not asks:
            yield name


def processor_s():
    """Return the processor time of this process and of the workers that it has had."""
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + workers.ru_utime + workers.ru_stime


def measured(watch, world, train):
    """Return the ratio of deciding to all the rest, and the seconds of deciding."""
    watch.spent_s = 0.0
    began_s = processor_s()
    result = edgefl.run(world, train=train)
    if result.error:
        raise SystemExit(result.error)
    whole_s = processor_s() - began_s
    rest_s = whole_s - watch.spent_s
    return watch.spent_s / rest_s, watch.spent_s


def members_of(arguments, deadline_s):
    """Return the name, the stopwatch and the world of each optimiser and of each selection."""
    deciding = Stopwatch(OptimisedControl, "note_chosen")
    choosing = Stopwatch(Server, "_by_selection")
    fedl = scenario(arguments, {"optimiser": "fedl"}, "round_robin")
    min_energy = scenario(arguments, {"optimiser": {"kind": "min_energy", "deadline_s": deadline_s}})
    min_time = scenario(arguments, {"optimiser": "min_time"})
    members = [
        ("optimiser fedl", deciding, fedl),
        ("optimiser min_energy", deciding, min_energy),
        ("optimiser min_time", deciding, min_time),
    ]
    half = arguments.devices // 2
    uniform = scenario(arguments, {"selection": "uniform", "participants": half, "csi": "none"})
    members.append(("selection uniform", choosing, uniform))
    for name in selections():
        world = scenario(arguments, {"selection": name, "participants": half, "csi": "perfect"})
        members.append((f"selection {name}", choosing, world))
    return members


def main():
    """Print a row for each optimiser and each selection."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--no-train", action="store_true")
    arguments = parser.parse_args()
    plain = edgefl.run(scenario(arguments, {}), train=False)
    deadline_s = 1.5 * float(plain.rounds["duration_s"].max())
    members = members_of(arguments, deadline_s)
    learning = "with learning"
    if arguments.no_train:
        learning = "without learning"
    world = f"{arguments.devices} devices, {arguments.rounds} rounds of {arguments.dataset} {learning}"
    print(f"{world}, median of {arguments.repeats} runs")
    print("member                        ratio to the rest   ms a round")
    for name, watch, world in members:
        ratios = []
        spent_s = []
        for _ in range(arguments.repeats):
            ratio, deciding_s = measured(watch, world, not arguments.no_train)
            ratios.append(ratio)
            spent_s.append(deciding_s)
        round_ms = 1e3 * statistics.median(spent_s) / arguments.rounds
        print(f"{name:30} {statistics.median(ratios):16.4f} {round_ms:12.2f}", flush=True)


if __name__ == "__main__":
    main()
