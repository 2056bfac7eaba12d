"""Measure what the radio costs.

    python benchmarks/radio.py [slots] [fast] [round] [uploads] [asynchronous] [cells] [short] [nr] [floor] [first]
        [law] [--length SLOTS]

Speeds are of one core, the median of several repeats; baselines run in turn with what they are compared to. All parts
where none is named. `--length` has `law` compare only the settings of about so many slots. `nr` and `floor` measure a
world as an engineer sets it, with HARQ and link adaptation in each slot; the other parts a plainer one, by Shannon.
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
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import simpy
from numpy_calls import counted_calls

import channel
import edgefl
from channel import _compiled
from edgefl.core.streams import Streams
from edgefl.radio.link import Link
from edgefl.radio.messages import UPLOAD, round_trip
from edgefl.runs.assembly import build
from edgefl.runs.emulation import Options, begin, silent
from edgefl.scenario import load

SLOT_S = 0.0005
RHO = float(channel.fading.doppler_correlation(10.0, 3.5e9, SLOT_S))
LARGE = 1_663_370  # parameters: 6.7 MB each way, the quickstart's
SMALL = 25_000  # 100 kB
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


@dataclass(frozen=True)
class Cost:
    """What the participations of a run cost, those included that its end cuts short."""

    participations: int
    row_slots: float  # a transfer in a slot, of all participations
    cpu_s: float  # of the event loop and all that it calls
    numpy_calls: int  # by name; 0 where they were not counted

    @property
    def ms(self):
        """Processor time of a participation, in milliseconds."""
        return 1e3 * self.cpu_s / self.participations

    @property
    def slot_ns(self):
        """Processor time of a row-slot, in nanoseconds."""
        return 1e9 * self.cpu_s / self.row_slots

    @property
    def calls(self):
        """Calls into NumPy of a participation."""
        return self.numpy_calls / self.participations


def nr_world(count, rounds, parameters, policy="synchronous", cells=None):
    """Return the quickstart's world with other payloads, or more participants at once; a fifth more devices wait."""
    return load(
        {
            "rounds": rounds,
            "data": {"dataset": "digits"},
            "model": {"kind": "mlp", "cost": {"parameters": parameters, "flops_per_parameter": 44.3}},
            "training": {"local_steps": 5, "batch_size": 14},
            "server": {"policy": policy, "participants": count},
            "devices": {"count": count + count // 5, "preset": "phone"},
            "cells": {"radius_m": 120, **(cells or {})},
            "radio": {"preset": "nr"},
            "mobility": {"kind": "random_waypoint", "speed_mps": {"uniform": [1, 5]}},
        }
    )


def cost_of(section):
    """Return the cost of a run without learning."""
    with begin(section, Options(train=False)) as emulation:
        gc.collect()
        began = time.process_time()
        emulation.advance()
        took_s = time.process_time() - began
        rows = emulation.finish().devices
    air_s = rows["download_s"].sum() + rows["upload_s"].sum()
    return Cost(len(rows), air_s / section.radio.slot_s, took_s, 0)


def counted_cost_of(section):
    """Return the same with the calls into NumPy, which are counted in a second run."""
    cost = cost_of(section)
    with begin(section, Options(train=False)) as emulation, counted_calls() as counter:
        emulation.advance()
    return replace(cost, numpy_calls=counter.calls)


def nr(_options):
    """Print what a participation costs with HARQ and link adaptation, by the number of those at once."""
    cost_of(nr_world(2, 1, SMALL))  # compile, import
    print(NR_HEAD)
    ratios = []
    for policy, parameters, rounds_of in NR_WORLDS:
        world = f"{policy}, {_payload(parameters)}"
        costs = {}
        for count, rounds in rounds_of.items():
            costs[count] = counted_cost_of(nr_world(count, rounds, parameters, policy))
            print(_nr_row(world, count, costs[count]), flush=True)
        few = costs[10]
        most = max(rounds_of)
        many = costs[most]
        figures = f"{many.ms / few.ms:.2f} | {many.slot_ns / few.slot_ns:.2f} | {many.calls / few.calls:.2f}"
        ratios.append(f"| {world} | {most:,} | {figures} |")
    print("\n| world | at once, over 10 | ms a participation | ns a row-slot | calls |\n|---|---|---|---|---|")
    print("\n".join(ratios))
    handovers()


NR_WORLDS = (  # with rounds by participants at once, of the asynchronous policy aggregations
    ("synchronous", LARGE, {10: 5, 100: 1}),  # 1,000 would walk a hundred times as many row-slots as 100
    ("synchronous", SMALL, {10: 50, 100: 5, 1000: 1}),
    ("asynchronous", LARGE, {10: 50, 100: 50}),
    ("asynchronous", SMALL, {10: 500, 100: 500, 1000: 200}),
)
NR_HEAD = (
    "| world | at once | participations | row-slots a participation | ms a participation | ns a row-slot "
    "| named calls into NumPy a participation |\n|---|---|---|---|---|---|---|"
)


def _payload(parameters):
    """Return the size of a payload as a text."""
    if parameters == LARGE:
        return "6.7 MB"
    return "100 kB"


def _nr_row(world, count, cost):
    """Return a row of the table of costs."""
    row_slots = cost.row_slots / cost.participations
    figures = f"{row_slots:,.0f} | {cost.ms:.2f} | {cost.slot_ns:.0f} | {cost.calls:,.0f}"
    return f"| {world} | {count:,} | {cost.participations:,} | {figures} |"


def handovers():
    """Print what a participation costs in seven cells, with handover and without."""
    layout = {"layout": "hexagonal", "sites": 7, "drop": "hexagons"}
    cost_of(nr_world(2, 1, SMALL, cells=layout | {"handover": {}}))  # imports
    print(f"\n{NR_HEAD}")
    ratios = []
    for count, rounds, parameters in ((70, 1, LARGE), (70, 10, SMALL)):
        without = nr_world(count, rounds, parameters, cells=layout)
        handed = nr_world(count, rounds, parameters, cells=layout | {"handover": {}})
        plain = counted_cost_of(without)
        moved = counted_cost_of(handed)
        times = [moved.ms / plain.ms]
        for _ in range(2):
            plain_ms = cost_of(without).ms
            moved_ms = cost_of(handed).ms
            times.append(moved_ms / plain_ms)
        print(_nr_row(f"7 cells, {_payload(parameters)}", count, plain))
        print(_nr_row(f"7 cells, {_payload(parameters)}, handover", count, moved), flush=True)
        ratios.append(f"{_payload(parameters)}: {_spread(times)}, calls {moved.calls / plain.calls:.2f}")
    print(f"\nHandover over none, ms a participation, median of three pairs: {'; '.join(ratios)}")


def floor(_options):
    """Print what the quickstart's world costs over the arithmetic of as many row-slots, and `fast` over `slots`."""
    from slot_floor import floor_bits

    quickstart = Path(__file__).parents[1] / "scenarios" / "quickstart.yaml"
    section = load(quickstart, ["targets=null", "rounds=10"])
    row_slots = cost_of(section).row_slots
    floor_bits(10)
    worlds_s = []
    floors_s = []
    ratios = []
    for _ in range(5):
        cost = cost_of(section)
        floor_s, _bits = cpu_s(lambda: floor_bits(row_slots), repeats=1)
        worlds_s.append(cost.cpu_s)
        floors_s.append(floor_s)
        ratios.append(cost.cpu_s / floor_s)
    print("| the quickstart's world, without learning | ms a participation | ns a row-slot |\n|---|---|---|")
    for name, values_s in (("the world", worlds_s), ("the arithmetic alone, in one loop", floors_s)):
        took_s = statistics.median(values_s)
        print(f"| {name} | {1e3 * took_s / cost.participations:.2f} | {1e9 * took_s / row_slots:.0f} |")
    print(f"\nWorld over arithmetic: {_spread(ratios)}")
    print_fast_over_slots(quickstart)


def print_fast_over_slots(quickstart):
    """Print the time of `fast` over that of `slots` in the quickstart's world without block errors."""
    sections = {}
    for transfer in ("fast", "slots"):
        # `fast` refuses block errors.
        keys = ["targets=null", "rounds=10", "radio.errors=none", f"radio.transfer={transfer}"]
        sections[transfer] = load(quickstart, keys)
        cost_of(sections[transfer])
    ratios = []
    for _ in range(5):
        fast_ms = cost_of(sections["fast"]).ms
        slots_ms = cost_of(sections["slots"]).ms
        ratios.append(fast_ms / slots_ms)
    print(f"\nThe same world without block errors (`radio.errors: none`), `fast` over `slots`: {_spread(ratios)}")


def first(_options):
    """Print what the first run after an installation takes longer, as numba compiles its loops."""
    command = [sys.executable, "-c", "import channel._link_race"]
    more_s = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as cache:
            times_s = []
            for _ in range(2):
                began_s = time.perf_counter()
                subprocess.run(command, env=os.environ | {"NUMBA_CACHE_DIR": cache}, check=True)
                times_s.append(time.perf_counter() - began_s)
        more_s.append(times_s[0] - times_s[1])
    print(f"The first run compiles for {_spread(more_s)} s")


def _spread(figures):
    """Return the median of some figures, and their range."""
    return f"{statistics.median(figures):.2f} ({min(figures):.2f} to {max(figures):.2f})"


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
    "nr": nr,
    "floor": floor,
    "first": first,
    "law": law,
}

if __name__ == "__main__":
    main()
