"""Measure what the radio costs.

    python benchmarks/radio.py [slots] [fast] [round] [uploads] [asynchronous] [cells] [short] [law] [--length SLOTS]

Speeds are of one core, the median of several repeats; baselines run in turn with what they are compared to. All parts
where none is named. `--length` has `law` compare only the settings of about so many slots.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import gc
import hashlib
import itertools
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import simpy

import channel
import edgefl
from channel import _compiled
from edgefl.core.streams import Streams
from edgefl.radio.link import Link
from edgefl.radio.messages import UPLOAD, round_trip
from edgefl.runs.assembly import build
from edgefl.runs.emulation import silent
from edgefl.scenario import load

SLOT_S = 0.0005
RHO = float(channel.fading.doppler_correlation(10.0, 3.5e9, SLOT_S))
TABLE_I = {  # dynamic-devices paper: parameters, FLOPs per parameter and sample
    "TinyImageNet": (21_730_056, 27.69),
    "SVHN": (667_178, 91.04),
}


def main():
    """Print the named parts, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--length", type=int, metavar="SLOTS", help="only the settings of `law` of about so many slots")
    options = parser.parse_args()
    for part in options.parts or PARTS:
        print(f"\n## {part}\n")
        PARTS[part](options)


def cpu_s(function, repeats=5):
    """Return the median processor time of a call, and what the last one returned."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        value = function()
        times.append(time.process_time() - began)
    return statistics.median(times), value


def seeds(count):
    """Return a function from a row to its seed."""
    digests = [hashlib.sha256(str(row).encode()).digest()[:24] for row in range(count)]
    return digests.__getitem__


def slot_bits(snr, h):
    """Return the bits of a slot [rows, slots] at fading coefficients of the same shape."""
    return 1e6 * SLOT_S * np.log2(1 + snr[:, None] * np.abs(h) ** 2)


def plain_walk(payload, snr, rows, chunk=2048):
    """Walk the slots by the obvious program: draw, lfilter, log2, cumulative sum, until all transfers end."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(1)
    scale = np.sqrt((1 - RHO**2) / 2)
    state = np.zeros((rows, 1), complex)
    sent = np.zeros(rows)
    used = np.zeros(rows)
    unfinished = sent < payload
    while unfinished.any():
        noise = rng.standard_normal((rows, chunk)) + 1j * rng.standard_normal((rows, chunk))
        h, state = lfilter([scale], [1, -RHO], noise, zi=state)
        total = sent[:, None] + np.cumsum(slot_bits(snr, h), axis=1)
        needed = np.minimum((total < payload).sum(axis=1) + 1, chunk)
        used += np.where(unfinished, needed, 0)
        sent = total[:, -1]
        unfinished = sent < payload
    return used * SLOT_S


def slots(_options):
    """Print the speed of walking slot by slot, beside the obvious program."""
    snr = 10 ** np.linspace(3, 5, 100)
    payload = 20_000 * SLOT_S * 14e6
    engines = {
        "plain NumPy + lfilter": lambda: plain_walk(payload, snr, 100),
        "`slots`, NumPy": lambda: walk(payload, snr, compiled=False),
        "`slots`, compiled": lambda: walk(payload, snr, compiled=True),
    }
    for engine in engines.values():
        engine()  # compile, import
    rates = {name: [] for name in engines}
    for _ in range(5):
        for name, engine in engines.items():
            took_s, durations_s = cpu_s(engine, repeats=1)
            walked = durations_s.sum() / SLOT_S
            rates[name].append(walked / took_s / 1e6)
    print("| 100 transfers of about 20,000 slots, 10 m/s, 30 to 50 dB | million device-slots a second |\n|---|---|")
    for name, values in rates.items():
        print(f"| {name} | {statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f}) |")


def walk(payload, snr, *, compiled):
    """Walk the slots by the engine, with its compiled loops or without."""
    kept_walk = _compiled.walk
    kept_sfc64 = _compiled.sfc64
    if not compiled:
        _compiled.walk = lambda: None
        _compiled.sfc64 = lambda: None
    try:
        draws = channel.transfer.innovations_of_seeds(seeds(len(snr)))
        return channel.transfer.slots(payload, snr, 1e6, SLOT_S, RHO, draws, 1.0)
    finally:
        _compiled.walk = kept_walk
        _compiled.sfc64 = kept_sfc64


def fast(_options):
    """Print the speed of pricing long transfers at once."""
    count = 200_000
    rng = np.random.default_rng(1)
    snr = 10 ** rng.uniform(-0.5, 5, count)
    speed = rng.uniform(0.5, 30, count)
    rho = channel.fading.doppler_correlation(speed, 3.5e9, SLOT_S)
    mean_slot_bits = channel.rate.mean_rayleigh_bps(1e6, snr) * SLOT_S
    payload = mean_slot_bits * 10 ** rng.uniform(4, 5.3, count)
    long = ~channel.first_passage.walked(payload, snr, 1e6, SLOT_S, rho)
    draws = channel.transfer.innovations_of_seeds(seeds(1))
    normals = rng.standard_normal(long.sum())
    arguments = (payload[long], snr[long], 1e6, SLOT_S, rho[long], normals, draws, 1.0)
    channel.transfer.fast(*arguments)
    took_s, _ = cpu_s(lambda: channel.transfer.fast(*arguments))
    walked = 100 * (1 - long.mean())
    rate = long.sum() / took_s / 1e6
    print(f"{rate:.2f} million transfers a second ({long.sum()} of 10,000 to 200,000 slots, -5 to 50")
    print(
        f"dB, 0.5 to 30 m/s; {walked:.1f} % of such transfers fade too slowly for their length and are walked instead)"
    )


def scenario(dataset, folder, **more):
    """Return a round of the paper's Table VII: 100 devices, priced as Table I says."""
    parameters, flops = TABLE_I[dataset]
    path = Path(folder) / "labels.npz"
    if not path.exists():
        labels = np.arange(100 * 640) % 2
        x = np.zeros((len(labels), 1), np.float32)
        np.savez(path, train_x=x, train_y=labels, test_x=x[:2], test_y=labels[:2])
    base = {
        "rounds": 1,
        "data": {"dataset": "npz", "path": str(path)},
        "model": {"kind": "logistic", "cost": {"parameters": parameters, "flops_per_parameter": flops}},
        "training": {"local_steps": 5, "batch_size": 128},
        "mobility": {"kind": "static", "speed_mps": 10},
    }
    return {**base, **more}


def one_round(_options):
    """Print the machine time of a synchronous round, and of its event loop beside bare SimPy."""
    with tempfile.TemporaryDirectory() as folder:
        print("| one synchronous round, 100 devices, 695 Mbit each way | machine time |\n|---|---|")
        for engine, rounds in (("slots", 5), ("fast", 200)):
            radio = {"preset": "dynamic_devices", "transfer": engine}
            section = load(scenario("TinyImageNet", folder, radio=radio, rounds=rounds))
            edgefl.run(scenario("TinyImageNet", folder, radio=radio), train=False)  # compile, import
            round_s, _ = timed_rounds(section)
            print(f"| `{engine}` | {round_s:.4f} s |")
        print_event_loop(section)


def print_event_loop(section):
    """Print the time of a round in the event loop, beside that of bare SimPy with as many events."""
    loops_s = []
    bares_s = []
    ratios = []
    for _ in range(5):
        _, loop_s = timed_rounds(section)
        took_s, _ = cpu_s(lambda: bare_simpy(100, 200), repeats=1)
        bare_s = took_s / 200
        loops_s.append(loop_s)
        bares_s.append(bare_s)
        ratios.append(loop_s / bare_s)
    loop_ms = 1e3 * statistics.median(loops_s)
    bare_ms = 1e3 * statistics.median(bares_s)
    print(f"\nEvent loop {loop_ms:.2f} ms a round, bare SimPy with as many events {bare_ms:.2f} ms:", end=" ")
    print(f"{statistics.median(ratios):.2f} x")


def timed_rounds(section):
    """Return the processor seconds of a round, and of it in the event loop."""
    server, spent = timed_server(section)
    took_s, _ = cpu_s(lambda: server.env.run(server.env.process(section.server.policy.run(server))), repeats=1)
    loop_s = took_s - sum(spent.values())
    return took_s / section.rounds, loop_s / section.rounds


def timed_server(section):
    """Return a server whose pricing and bookkeeping are timed, so that the rest is the event loop's."""
    server = build(section, "cpu", train=False, progress=silent)
    spent = {"drop": 0.0, "open": 0.0, "close": 0.0}

    def timed(name, function):
        """Return a function that also adds its processor time under a name."""

        def call(*arguments):
            """Call the function, and add its processor time."""
            began = time.process_time()
            value = function(*arguments)
            spent[name] += time.process_time() - began
            return value

        return call

    server.link.drop = timed("drop", server.link.drop)
    server.link.open = timed("open", server.link.open)
    server.aggregate = timed("close", server.aggregate)
    return server, spent


def bare_simpy(devices, rounds):
    """Run download, compute and upload of each device as timeouts; all wait for the last."""
    env = simpy.Environment()

    def participant(row):
        """Wait for the three phases of a device."""
        yield env.timeout(1.0 + row)
        yield env.timeout(2.0)
        yield env.timeout(3.0 + row)

    def server():
        """Wait for all devices, round by round."""
        for _ in range(rounds):
            yield env.all_of([env.process(participant(row)) for row in range(devices)])

    env.run(env.process(server()))


def shared_uploads(count, bits, transfer, cells=None, **radio):
    """Return processor seconds and end of uploads that begin together, in a disc of 250 m or in the cells' hexagons."""
    section = load({"radio": {"sharing": "processor", "transfer": transfer, **radio}, "cells": cells or {}})
    link = Link(radio=section.radio, cells=section.cells, streams=Streams(1))
    env = simpy.Environment()
    rng = np.random.default_rng(1)
    radius_m = 250.0
    if cells:
        radius_m = 125.0
    distance_m = radius_m * np.sqrt(rng.uniform(0.01, 1, count))
    angle = rng.uniform(0, 2 * np.pi, count)
    offset_m = np.stack([distance_m * np.cos(angle), distance_m * np.sin(angle)], axis=1)
    ids = np.arange(count)
    sites_m = link.channel.cells.sites_m
    positions_m = sites_m[ids % len(sites_m)] + offset_m
    drop = link.drop(ids, positions_m, np.full(count, 1.5), 0)
    participants = link.participants(drop, np.full(count, 10.0), np.full(count, 0.2), 0)
    messages = round_trip(count, 1.0, bits, lambda _: np.zeros(count))
    carrier = link.open(env, participants, messages)
    gc.collect()  # what the measurement before has left behind is not this one's
    began = time.process_time()
    sends = [env.process(carrier.send(row, UPLOAD)) for row in range(count)]
    env.run(env.all_of(sends))
    return time.process_time() - began, env.now


def uploads(_options):
    """Print the time of long uploads on one band, by the engine."""
    shared_uploads(2, 1e8, "fast")  # tables, imports
    print("| uploads of 100 Mbit on 100 MHz, 10 m/s | `fast` | `slots` | ratio | slots each |\n|---|---|---|---|---|")
    for count in (100, 300, 1000):
        fast_s, end_s = shared_uploads(count, 1e8, "fast")
        slots_s, _ = shared_uploads(count, 1e8, "slots")
        print(f"| {count} | {fast_s:.2f} s | {slots_s:.2f} s | {slots_s / fast_s:.0f} | up to {end_s / SLOT_S:.0f} |")


def short(_options):
    """Print the time of short uploads on one band, by the engine."""
    for transfer in ("fast", "slots"):
        shared_uploads(2, 1e8, transfer)
    print("| uploads of 251 kbit (MNIST, 7,850 parameters) | `fast` | `slots` | fast / slots |\n|---|---|---|---|")
    for count in (10, 100, 1000):
        fast_times = []
        slots_times = []
        ratios = []
        for _ in range(5):
            fast_s, _ = shared_uploads(count, 251_200, "fast")
            slots_s, _ = shared_uploads(count, 251_200, "slots")
            fast_times.append(fast_s)
            slots_times.append(slots_s)
            ratios.append(fast_s / slots_s)
        fast_s = statistics.median(fast_times)
        slots_s = statistics.median(slots_times)
        print(f"| {count} | {fast_s:.3f} s | {slots_s:.3f} s | {statistics.median(ratios):.2f} |")


def cells(_options):
    """Print the time of uploads in several cells."""
    shared_uploads(2, 1e8, "slots")
    print("| cells | uploads of 1 Mbit, 20 a cell | CPU | CPU an upload |\n|---|---|---|---|")
    for sites in (1, 7, 19):
        far = {"kind": "umi_los", "out_of_range": "clamp"}
        layout = {"layout": "hexagonal", "sites": sites}
        count = 20 * sites
        took_s, _ = shared_uploads(count, 1e6, "slots", layout, propagation=far)
        print(f"| {sites} | {count} | {took_s:.2f} s | {1e3 * took_s / count:.2f} ms |")


def asynchronous(_options):
    """Print the time of an asynchronous run with many devices under way, by the engine."""
    world = "10,000 devices, 1,000 under way, 300 aggregations, 21 Mbit each way"
    with tempfile.TemporaryDirectory() as folder:
        for transfer in ("fast", "slots"):
            keys = {
                "radio": {"sharing": "processor", "transfer": transfer},
                "server": {"policy": "asynchronous", "participants": 1000},
                "devices": {"count": 10_000},
                "rounds": 300,
            }
            took_s, _ = cpu_s(lambda keys=keys: edgefl.run(scenario("SVHN", folder, **keys), train=False), repeats=1)
            print(f"`{transfer}`: {world}: {took_s:.1f} s CPU")


def law(options):
    """Test whether `fast` has the law of `slots` where shares change: an hour; `--length 1000` takes some minutes."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "cases"))
    from shared_law import GRID, engines_apart, long_races

    # Short ones first: the longest take most of the time.
    settings = sorted(enumerate(GRID), key=lambda numbered: numbered[1].slots)
    if options.length is not None:
        settings = [(seed, setting) for seed, setting in settings if setting.slots == options.length]
    with long_races():
        for slots, same in itertools.groupby(settings, key=lambda numbered: numbered[1].slots):
            rejected = 0
            count = 0
            for seed, setting in same:
                p = engines_apart(setting, 1_000, seed)
                count += 1
                if p < 0.01:
                    rejected += 1
                    print(f"p = {p:.4f}: {setting}", flush=True)
            text = f"{rejected} of {count} settings rejected at 1 % (1,000 a side); by chance {0.01 * count:.1f}"
            print(f"{slots} slots: {text}", flush=True)


PARTS = {
    "slots": slots,
    "fast": fast,
    "round": one_round,
    "uploads": uploads,
    "asynchronous": asynchronous,
    "cells": cells,
    "short": short,
    "law": law,
}

if __name__ == "__main__":
    main()
