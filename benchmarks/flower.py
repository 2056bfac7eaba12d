"""Measure what is lost when clients train one by one: FedAvg as a Flower app and as our own, in the same world.

    python benchmarks/flower.py [--rounds 20] [--devices 20] [--dataset digits] [--repeat 3]

Both train the same network on as many samples, in whole processes. A round's processor time is what a run of several
rounds takes more than a run of one, so that start-up does not count, nor what else the machine is doing.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

APP = Path(__file__).parent / "flower_app"


def world(options, rounds):
    """Return the scenario file, which is also a complete one for a run of our own."""
    return (
        f"rounds: {rounds}\nmodel: mlp\ndata: {{dataset: {options.dataset}}}\n"
        f"devices: {{count: {options.devices}}}\ntraining: {{local_epochs: 5, batch_size: 10}}\n"
    )


def processor_s(*command):
    """Return the processor time of a process and those that it starts."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "FLWR_TELEMETRY_ENABLED": "0"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user_s = after.ru_utime - before.ru_utime
    system_s = after.ru_stime - before.ru_stime
    return user_s + system_s


def commands(options, folder, rounds):
    """Return the command of each way to run FedAvg."""
    file = folder / f"world-{rounds}.yaml"
    file.write_text(world(options, rounds))
    edgefl = (sys.executable, "-m", "edgefl")
    rest = ("-o", str(folder / "out"), "--overwrite", "--quiet")
    config = f"num-server-rounds={rounds} dataset='{options.dataset}'"
    flower = (*edgefl, "flower", str(APP), "--world", str(file), "--run-config", config, *rest)
    return {
        "edgefl run": (*edgefl, "run", str(file), "--device", "cpu", *rest),
        "edgefl flower": flower,
        "edgefl flower --operations world": (*flower, "--operations", "world"),
    }


def main():
    """Print the processor time of a round, and how often that of our own fits in it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--devices", type=int, default=20)
    parser.add_argument("--dataset", default="digits")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    rounds_s = {}
    with tempfile.TemporaryDirectory() as name:
        for _ in range(options.repeat):
            short = commands(options, Path(name), 1)
            long = commands(options, Path(name), 1 + options.rounds)
            for way in short:
                long_s = processor_s(*long[way])
                short_s = processor_s(*short[way])
                took_s = (long_s - short_s) / options.rounds
                rounds_s.setdefault(way, []).append(took_s)
                print(f"{way:<34}{1000 * took_s:8.1f} ms a round", flush=True)
    own_s = statistics.median(rounds_s["edgefl run"])
    print(f"{options.devices} devices, {options.dataset}, 5 epochs: median of {options.repeat}")
    for way, times_s in rounds_s.items():
        median_s = statistics.median(times_s)
        print(f"{way:<34}{1000 * median_s:8.1f} ms a round  x {median_s / own_s:.1f}")


if __name__ == "__main__":
    main()
