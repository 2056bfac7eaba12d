"""What other users of the band cost: `python benchmarks/background.py`. Prints a Markdown table; best of three runs."""

import argparse
import time

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
    link = Link(scenario.radio, scenario.cells, Streams(1))
    env = simpy.Environment()
    ids = np.arange(count)
    positions_m = np.stack([np.full(count, 100.0), np.zeros(count)], axis=-1)
    drop = link.drop(ids, positions_m, np.full(count, 1.5), 0)
    who = link.participants(drop, np.full(count, 1.0), np.full(count, 0.2), 0)
    carrier = link.open(env, who, round_trip(count, 1e12, 1e12, lambda _: np.zeros(count)))
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


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    events = 2 * ARRIVALS_PER_S  # a second: arrivals and ends
    background = queue(2.0, 20e6)
    print("| transfers under way | engine | CPU for each arrival or end of another user |")
    print("|---|---|---|")
    radio = load({"radio": {"background": background, "bandwidth_hz": 20e6}}).radio
    best_s = min(idle_s(radio.background) for _ in range(RUNS))
    print(f"| 0 | any | {best_s / (events * IDLE_S) * 1e6:.1f} µs |")
    for count in (1, 100, 1000):
        for engine in ("slots", "fast"):
            with_s = min(transfers_s(count, engine, background) for _ in range(RUNS))
            without_s = min(transfers_s(count, engine, None) for _ in range(RUNS))
            cost_s = (with_s - without_s) / (events * SECONDS)
            print(f"| {count} | {engine} | {cost_s * 1e6:.0f} µs |", flush=True)


if __name__ == "__main__":
    main()
