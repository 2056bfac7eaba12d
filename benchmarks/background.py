"""Measure what other users of the band cost: `python benchmarks/background.py`. Prints a table; best of three runs."""

import argparse
import time
from collections.abc import Callable

import numpy as np
import simpy

from edgefl.core.streams import Streams
from edgefl.radio.background import Background
from edgefl.radio.link import Link
from edgefl.radio.messages import DOWNLOAD, round_trip
from edgefl.scenario import load

RUNS = 3
ARRIVALS_PER_S = 100.0
LOAD = 0.5
SECONDS = 20.0  # of the band's time in which transfers are under way
IDLE_S = 5000.0


def queue(bps_hz: float, bandwidth_hz: float) -> dict[str, object]:
    """Return background traffic of a load, by many small transfers."""
    mean_bits = LOAD * bandwidth_hz * bps_hz / ARRIVALS_PER_S
    return {"kind": "poisson", "arrivals_per_s": ARRIVALS_PER_S, "mean_bits": mean_bits, "bps_hz": bps_hz}


def transfers_s(count: int, transfer: str, background: dict[str, object] | None) -> float:
    """Return the CPU time of `SECONDS` of virtual time in which `count` downloads share the band."""
    keys = {"bandwidth_hz": 20e6, "sharing": "processor", "transfer": transfer, "background": background}
    scenario = load({"radio": keys})
    link = Link(radio=scenario.radio, cells=scenario.cells, streams=Streams(1))
    env = simpy.Environment()
    ids = np.arange(count)
    positions_m = np.stack([np.full(count, 100.0), np.zeros(count)], axis=-1)
    heights_m = np.full(count, 1.5)
    speeds_mps = np.full(count, 1.0)
    powers_w = np.full(count, 0.2)
    drop = link.drop(ids, positions_m, heights_m, 0)
    participants = link.participants(drop, speeds_mps, powers_w, 0)
    messages = round_trip(count, 1e12, 1e12, lambda _: np.zeros(count))
    carrier = link.open(env, participants, messages)
    for row in range(count):
        env.process(carrier.send(row, DOWNLOAD))
    began_s = time.process_time()
    env.run(SECONDS)
    return time.process_time() - began_s


def idle_s(model: Background) -> float:
    """Return the CPU time of `IDLE_S` of virtual time in which no device sends."""
    users = model.users("down", 20e6, np.random.default_rng(1))
    began_s = time.process_time()
    users.advance(IDLE_S, 0)
    return time.process_time() - began_s


def least_s(measurement: Callable[..., float], *arguments: object) -> float:
    """Return the least time of `RUNS` measurements."""
    times_s = [measurement(*arguments) for _ in range(RUNS)]
    return min(times_s)


def main() -> None:
    """Print the cost of an arrival or end of another user, by the number of transfers under way."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    events = 2 * ARRIVALS_PER_S  # a second: arrivals and ends
    background = queue(2.0, 20e6)
    print("| transfers under way | engine | CPU for each arrival or end of another user |")
    print("|---|---|---|")
    radio = load({"radio": {"background": background, "bandwidth_hz": 20e6}}).radio
    event_s = least_s(idle_s, radio.background) / (events * IDLE_S)
    print(f"| 0 | any | {event_s * 1e6:.1f} µs |")
    for count in (1, 100, 1000):
        for engine in ("slots", "fast"):
            with_s = least_s(transfers_s, count, engine, background)
            without_s = least_s(transfers_s, count, engine, None)
            event_s = (with_s - without_s) / (events * SECONDS)
            print(f"| {count} | {engine} | {event_s * 1e6:.0f} µs |", flush=True)


if __name__ == "__main__":
    main()
