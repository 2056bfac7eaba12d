"""Measure the clients' states in each home: seconds and GB/s of a round's gather and scatter, peak resident memory.

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
from typing import NamedTuple

import numpy as np
import torch

from edgefl.learning.learner.memory import budget
from edgefl.learning.learner.states.store import HOST, StateStore


class Measured(NamedTuple):
    """The figures of a home."""

    fill_s: float  # of the first write of every client
    mean_s: float  # of a round
    worst_s: float
    peak_gb: float


def measure(home, options):
    """Return the figures of a home; every client is written once before with --all."""
    initial = {"c": torch.zeros(options.parameters, device=options.device)}
    store = StateStore(initial=initial, clients=options.clients, home=home)
    rng = np.random.default_rng(1)
    width = options.participants
    fill_s = 0.0
    if options.all:
        everyone = np.arange(options.clients)
        for first in range(0, options.clients, width):
            fill_s += round_s(store, everyone[first : first + width])
    times_s = []
    for _ in range(options.rounds):
        ids = rng.choice(options.clients, width, replace=False)
        times_s.append(round_s(store, ids))
    check(store)
    store.close()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Measured(fill_s, float(np.mean(times_s)), max(times_s), usage.ru_maxrss / 1e6)


def round_s(store, ids):
    """Read, change and write the states of some clients, and return the seconds it takes."""
    began = time.perf_counter()
    states = store.gather(ids)
    states["c"] += torch.from_numpy(ids + 1).to(states["c"])[:, None]
    store.scatter(ids, states)
    if states["c"].is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - began


def check(store):
    """Exit unless every number of a client's state is the same multiple of its id + 1, as it was written."""
    for client in store.ids()[-3:].tolist():
        vector = store.gather(np.array([client]))["c"][0]
        differs = bool((vector != vector[0]).any())
        if differs or float(vector[0]) % (client + 1):
            raise SystemExit(f"the state of client {client} did not come back as it was written")


def room(home, device):
    """Return the bytes that a home may take."""
    if home == "disk":
        return shutil.disk_usage(tempfile.gettempdir()).free
    if home == "device":
        return budget(torch.device(device))
    return budget(HOST)


def default_device():
    """Return the device that holds the states where none is named."""
    if torch.cuda.is_available():
        return "cuda"
    return "cpu"


def main():
    """Print a row for each home."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--parameters", type=int, default=11_600_000)
    parser.add_argument("--participants", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--home", nargs="+", choices=["device", "host", "disk"], default=["device", "host", "disk"])
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--all", action="store_true", help="write every client once before the rounds")
    options = parser.parse_args()
    written = options.clients
    if not options.all:
        written = min(options.clients, options.participants * options.rounds)
    client_gb = 4e-9 * options.parameters
    written_gb = client_gb * written
    print("| home | all clients once | a round, mean (worst) | GB/s in rounds | peak resident memory |")
    print("|---|---|---|---|---|")
    for home in options.home:
        if 1e9 * written_gb > room(home, options.device):
            print(f"| {home} | no room for {written_gb:.1f} GB | | | |")
            continue
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(measure, home, options).result()
        once = "–"
        if options.all:
            once = f"{found.fill_s:.1f} s, {client_gb * options.clients / found.fill_s:.2f} GB/s"
        rate = 2 * client_gb * options.participants / found.mean_s  # read and written
        seconds = f"{found.mean_s:.3f} s ({found.worst_s:.3f} s)"
        print(f"| {home} | {once} | {seconds} | {rate:.2f} | {found.peak_gb:.2f} GB |", flush=True)


if __name__ == "__main__":
    main()
