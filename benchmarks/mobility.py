"""Measure the processor time of movement for each device-second of virtual time, by model and by form of the area.

    python benchmarks/mobility.py [--devices 200] [--seconds 300]

Positions of all devices are asked for once, at the end, so that all legs are made; `gauss_markov` has one for each
second. Models that do not keep to hexagons have no figure there. The last column is the ratio of both.
"""

import argparse
import time

import numpy as np

from edgefl.core.streams import Streams
from edgefl.scenario import load

MODELS = (
    {"kind": "constant_velocity"},
    {"kind": "random_waypoint"},
    {"kind": "gauss_markov"},
    {"kind": "gauss_markov", "update_s": 0.1},
    {"kind": "group"},
    {"kind": "manhattan"},
)


def microseconds(mobility, drop, devices, seconds):
    """Return the cost of a device-second; None where the model does not keep to the area."""
    cells = {"layout": "hexagonal", "sites": 7, "drop": drop}
    scenario = load({"cells": cells, "radio": {"propagation": {"kind": "umi", "out_of_range": "clamp"}}})
    model = load({"mobility": mobility}).mobility
    if drop == "hexagons" and not model.keeps_to_hexagons:
        return None
    track = model.track(scenario.cells.area, devices, Streams(1))
    begin = time.process_time()
    track.positions_m(np.arange(devices), float(seconds))
    took_s = time.process_time() - begin
    return took_s / devices / seconds * 1e6


def name_of(mobility):
    """Return a model's kind and its other keys, as code in Markdown."""
    parts = [f"`{mobility['kind']}`"]
    parts += [f"`{key}: {value}`" for key, value in mobility.items() if key != "kind"]
    return ", ".join(parts)


def main():
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=300)
    options = parser.parse_args()
    print("| mobility | in the disc [us] | in hexagons [us] | ratio |\n|---|---|---|---|")
    for mobility in MODELS:
        disc = microseconds(mobility, "disc", options.devices, options.seconds)
        hexagons = microseconds(mobility, "hexagons", options.devices, options.seconds)
        cells = " | "
        if hexagons is not None:
            cells = f"{hexagons:.2f} | {hexagons / disc:.1f}"
        print(f"| {name_of(mobility)} | {disc:.2f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
