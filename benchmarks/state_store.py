"""The clients' states in each home: seconds and GB/s of one round's gather and scatter, and peak resident memory.

    python benchmarks/state_store.py [--clients 500 --parameters 11600000 --participants 10 --rounds 20 --home disk]

Each home has a process of its own. With --all every client is written once before, in ids' order: 23 GB as above. A
home without the room is left out. The disk home's folder is TMPDIR; nothing stays there.
"""

import argparse
import resource
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import torch

from edgefl.learning.learner.memory import budget
from edgefl.learning.learner.store import HOST, StateStore


def measure(home, options):
    """Seconds of the first write of every client (with --all), mean and worst seconds of a round, peak GB."""
    initial = {"c": torch.zeros(options.parameters, device=options.device)}
    store, rng = StateStore(initial, options.clients, home), np.random.default_rng(1)
    width = options.participants
    everyone = np.arange(options.clients) if options.all else np.arange(0)
    fill = sum(round_s(store, everyone[i : i + width]) for i in range(0, len(everyone), width))
    times = [round_s(store, rng.choice(options.clients, width, replace=False)) for _ in range(options.rounds)]
    check(store)
    store.close()
    return fill, float(np.mean(times)), max(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def round_s(store, ids):
    """Read, change and write the states of some clients."""
    began = time.perf_counter()
    states = store.gather(ids)
    states["c"] += torch.from_numpy(ids + 1).to(states["c"])[:, None]
    store.scatter(ids, states)
    if states["c"].is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - began


def check(store):
    """Every number of a client's state is the same multiple of its id + 1, if it came back as it was written."""
    for client in store.ids()[-3:].tolist():
        vector = store.gather(np.array([client]))["c"][0]
        if bool((vector != vector[0]).any()) or float(vector[0]) % (client + 1):
            raise SystemExit(f"the state of client {client} did not come back as it was written")


def room(home, device):
    """Bytes that a home may take."""
    if home == "disk":
        return shutil.disk_usage(tempfile.gettempdir()).free
    return budget(torch.device(device) if home == "device" else HOST)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--parameters", type=int, default=11_600_000)
    parser.add_argument("--participants", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--home", nargs="+", choices=["device", "host", "disk"], default=["device", "host", "disk"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--all", action="store_true", help="write every client once before the rounds")
    options = parser.parse_args()
    most = options.clients if options.all else min(options.clients, options.participants * options.rounds)
    client = 4e-9 * options.parameters  # GB
    print("| home | all clients once | a round, mean (worst) | GB/s in rounds | peak resident memory |")
    print("|---|---|---|---|---|")
    for home in options.home:
        if 1e9 * client * most > room(home, options.device):
            print(f"| {home} | no room for {client * most:.1f} GB | | | |")
            continue
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            fill, mean, worst, peak = pool.submit(measure, home, options).result()
        once = f"{fill:.1f} s, {client * options.clients / fill:.2f} GB/s" if options.all else "–"
        rate = 2 * client * options.participants / mean  # read and written
        print(f"| {home} | {once} | {mean:.3f} s ({worst:.3f} s) | {rate:.2f} | {peak:.2f} GB |", flush=True)


if __name__ == "__main__":
    main()
