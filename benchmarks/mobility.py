"""What movement costs: processor time for each second of virtual time and device, by model and by form of the area.

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
    return (time.process_time() - begin) / devices / seconds * 1e6


def main():
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=300)
    options = parser.parse_args()
    print("| mobility | in the disc [us] | in hexagons [us] | ratio |\n|---|---|---|---|")
    for mobility in MODELS:
        name = ", ".join([f"`{mobility['kind']}`", *(f"`{key}: {mobility[key]}`" for key in mobility if key != "kind")])
        disc = microseconds(mobility, "disc", options.devices, options.seconds)
        hexagons = microseconds(mobility, "hexagons", options.devices, options.seconds)
        cells = ["", ""] if hexagons is None else [f"{hexagons:.2f}", f"{hexagons / disc:.1f}"]
        print(f"| {name} | {disc:.2f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
