"""Measure what handover costs, and how often it happens: by geometry, line of sight, shadowing and filter.

python benchmarks/handover.py cost     # processor time a device-second
python benchmarks/handover.py rates    # handovers a device-minute, and how many of them go straight back
"""

from __future__ import annotations

import argparse
import statistics
import time
from itertools import pairwise
from typing import Any

import numpy as np

import channel
import edgefl
from edgefl.core.streams import Streams
from edgefl.radio.gains.large_scale import LargeScaleChannel
from edgefl.radio.gains.spatial_consistency import WAVES, Maps
from edgefl.radio.link import Link
from edgefl.scenario import load
from edgefl.server.handover import Measurements, triggered
from edgefl.world.cells_section import Handover

RADIUS_M = 150.0
SPEED_MPS = 10.0
SPEEDS_MPS = (1.5, 8.3, 33.3)  # a walker, and cars at 30 and 120 km/h
DEVICES = 24
WAY_M = 2000.0  # of each device
BACK_S = 1.0  # a handover back to the cell before within this time is a ping-pong (3GPP TR 36.839, clause 5.6)
STEADY = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}, "shadowing_db": 0.0}
UMI = {"propagation": {"kind": "umi", "out_of_range": "clamp"}}
AVERAGE_CHORD = np.pi * np.sqrt(3) / 4  # of a hexagon over its corner radius: pi times area over perimeter


def cost(repeats: int) -> None:
    """Print the processor time that handover takes for each second that a device is under way."""
    print("| cells | mobility | CPU a device-second |")
    print("|---|---|---|")
    for sites in (7, 19):
        for mobility in ("random_waypoint", "manhattan", "gauss_markov"):
            found = [1e3 * _cost_s(sites, mobility) for _ in range(repeats)]
            spread = f"{min(found):.2f} to {max(found):.2f}"
            print(f"| {sites} | {mobility} | {statistics.median(found):.2f} ms ({spread}) |", flush=True)


def _cost_s(sites: int, mobility: str) -> float:
    """Return the processor seconds a device-second that runs with handover take over those without."""
    cells = {"layout": "hexagonal", "sites": sites, "radius_m": RADIUS_M}
    scenario: dict[str, Any] = {
        "rounds": 1,
        "devices": {"count": 50, "cpu_hz": 1e9},
        "model": {"kind": "mlp", "cost": {"parameters": 10_000, "flops_per_parameter": 4e7}},  # 50 s of computing
        "training": {"local_steps": 1, "batch_size": 1},
        "mobility": {"kind": mobility, "speed_mps": SPEED_MPS},
        "radio": {**UMI, "spatial_consistency": True, "sharing": "processor", "transfer": "fast"},
    }
    took_s = []
    device_s = 0.0
    for handover in ({}, {"handover": {}}):
        began = time.process_time()
        result = edgefl.run(scenario | {"cells": cells | handover}, train=False)
        took_s.append(time.process_time() - began)
        rows = result.devices
        device_s = float(rows[["download_s", "compute_s", "upload_s"]].to_numpy().sum())
    return (took_s[1] - took_s[0]) / device_s


def rates() -> None:
    """Print handovers a device-minute at three speeds, by what decides on them."""
    chord_m = AVERAGE_CHORD * RADIUS_M
    speeds = ", ".join(f"{60 * speed_mps / chord_m:.2f} at {speed_mps:g} m/s" for speed_mps in SPEEDS_MPS)
    print(f"A straight path crosses a border of hexagons every {chord_m:.0f} m: times a minute, {speeds}.")
    print("Handovers a device-minute, as a multiple of that, and how many go back within 1 s:\n")
    print(f"| radio | rule | {' | '.join(f'{speed_mps:g} m/s' for speed_mps in SPEEDS_MPS)} |")
    print("|---|---|---|---|---|")
    before = Handover(time_to_trigger_s=0.16, filter_k=4)
    shadows = STEADY | {"shadowing_db": None}
    correlated = UMI | {"site_correlation": 0.5}
    cases = [
        ("line of sight, no shadowing", STEADY, "default", Handover()),
        ("line of sight, shadowing", shadows, "default", Handover()),
        ("UMi, no shadowing", UMI | {"shadowing_db": 0.0}, "default", Handover()),
        ("UMi", UMI, "0.16 s, k = 4", before),
        ("UMi", UMI, "default", Handover()),
        ("UMi", UMI, "1.28 s", Handover(time_to_trigger_s=1.28)),
        ("UMi", UMI, "k = 13", Handover(filter_k=13)),
        ("UMi", UMI, "6 dB", Handover(hysteresis_db=6.0)),
        ("UMi, site_correlation 0.5", correlated, "default", Handover()),
        ("UMi, site_correlation 0.5", correlated, "6 dB", Handover(hysteresis_db=6.0)),
    ]
    known: dict[tuple[str, float], list[np.ndarray]] = {}
    for name, radio, told, rule in cases:
        cells = []
        for speed_mps in SPEEDS_MPS:
            key = (name, speed_mps)
            if key not in known:
                known[key] = _powers_db(radio, speed_mps=speed_mps, measure_s=rule.measure_s)
            cells.append(_rate(known[key], rule, speed_mps))
        print(f"| {name} | {told} | {' | '.join(cells)} |", flush=True)
    print(
        "\nHow often the state of line of sight changes, a device-minute and base station, by the time between looks:"
    )
    print("\n| map | 160 ms | 40 ms | 10 ms | 2.5 ms |\n|---|---|---|---|---|")
    for smooth in (False, True):
        cells = [f"{_flips(step_s, smooth=smooth):.1f}" for step_s in (0.16, 0.04, 0.01, 0.0025)]
        print(f"| {_name(smooth=smooth)} | {' | '.join(cells)} |")


def _name(*, smooth: bool) -> str:
    """Return the name of a map of line of sight."""
    if smooth:
        return "smooth"
    return "exponential"


def _rate(powers_db: list[np.ndarray], rule: Handover, speed_mps: float) -> str:
    """Return handovers a device-minute under a rule, over the borders crossed, and the share that goes back."""
    count = 0
    back = 0
    for powers in powers_db:
        moves = _moves(powers, rule)
        count += len(moves)
        for (before, origin, _), (now, _, target) in pairwise(moves):
            between_s = (now - before) * rule.measure_s
            if target == origin and between_s <= BACK_S:
                back += 1
    share = 100 * back / max(count, 1)
    way_m = DEVICES * WAY_M
    per_minute = 60 * speed_mps * count / way_m
    per_border = count * AVERAGE_CHORD * RADIUS_M / way_m
    return f"{per_minute:.2f}, {per_border:.1f}, {share:.0f} %"


def _moves(powers_db: np.ndarray, rule: Handover) -> list[tuple[int, int, int]]:
    """Return the handovers of a device with measured powers [t, cells]: measurement, cell before, cell after."""
    waited = round(rule.time_to_trigger_s / rule.measure_s)
    pause = round(rule.pause_s / rule.measure_s)
    cell = int(np.argmax(powers_db[0]))
    first = 0
    moves = []
    measured = Measurements(rule.filter_share)
    while first < len(powers_db):
        measured.add(powers_db[first:])
        found = triggered(measured.levels_db, cell, rule.hysteresis_db, waited)
        if found is None:
            break
        index, target = found
        measured.cut_after(index)
        moves.append((first + index, cell, target))
        cell = target
        first += index + 1 + pause
    return moves


def _channel(radio: dict[str, Any], *, smooth: bool) -> LargeScaleChannel:
    """Return the channel among 19 hexagons, with a smooth map of line of sight or one as before version 0.3."""
    cells = {"layout": "hexagonal", "sites": 19, "radius_m": RADIUS_M}
    scenario = load({"radio": radio | {"spatial_consistency": True}, "cells": cells})
    link = Link(radio=scenario.radio, cells=scenario.cells, streams=Streams(1))
    link.channel._maps = _MapsOf(Streams(1), 19, smooth=smooth)  # noqa: SLF001 - as maps were before
    return link.channel


class _MapsOf(Maps):
    """Maps whose line of sight is smooth, or not, as before version 0.3."""

    def __init__(self, streams: Streams, sites: int, *, smooth: bool) -> None:
        super().__init__(streams, sites)
        self._smooth = smooth

    def _draw(self, purpose: Any, site: int) -> channel.field.Waves:
        """Return the waves of one map."""
        uniforms = self._streams.uniform(purpose, np.arange(WAVES), site, count=3)
        return channel.field.waves(uniforms, smooth=self._smooth and purpose == "los_field")


def _paths_m(speed_mps: float, step_s: float, way_m: float) -> list[np.ndarray]:
    """Return straight paths [devices] of [t, 2] through random points near the middle, in random directions."""
    rng = np.random.default_rng(0)
    times_s = np.arange(round(way_m / speed_mps / step_s)) * step_s
    moved_m = times_s * speed_mps - way_m / 2
    # To and fro within the cells: a path that leads out of them would count fewer handovers.
    turned_m = np.abs((moved_m + 300.0) % 1200.0 - 600.0) - 300.0
    paths = []
    for _ in range(DEVICES):
        angle = rng.uniform(0, 2 * np.pi)
        start_m = rng.uniform(-RADIUS_M, RADIUS_M, 2)
        direction = np.array([np.cos(angle), np.sin(angle)])
        paths.append(start_m + turned_m[:, None] * direction)
    return paths


def _powers_db(radio: dict[str, Any], *, speed_mps: float, measure_s: float) -> list[np.ndarray]:
    """Return the received powers [devices] of [t, cells] along the straight paths."""
    measured = _channel(radio, smooth=True)
    found = []
    for device, path_m in enumerate(_paths_m(speed_mps, measure_s, WAY_M)):
        paths = measured.paths(np.array([device]), path_m, np.array([1.5]), 0, along_path=True)
        found.append(channel.units.linear_to_db(paths.gains))
    return found


def _flips(step_s: float, *, smooth: bool) -> float:
    """Return how often the state of line of sight changes, a device-minute and base station."""
    measured = _channel(UMI, smooth=smooth)
    minutes = 0.5
    flips = []
    for device, path_m in enumerate(_paths_m(SPEED_MPS, step_s, 60 * minutes * SPEED_MPS)[:6]):
        paths = measured.paths(np.array([device]), path_m, np.array([1.5]), 0, along_path=True)
        los = paths.large.los
        has_changed = los[1:] != los[:-1]
        flips.append(has_changed.sum(axis=0).mean() / minutes)
    return float(np.mean(flips))


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cost", "rates"))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.what == "cost":
        cost(options.repeats)
    else:
        rates()


if __name__ == "__main__":
    main()
