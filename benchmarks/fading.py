"""Measure what a fading model does to the times of transfers.

    python benchmarks/fading.py [correlation] [strength] [band]

`correlation`: AR(1) fading beside Jakes' correlation, for the payloads of the dynamic-devices paper (Table I) on 1 MHz
each, 100 devices in its cell. `strength`: the same with 100 devices of one mean SNR, at walking speed. `band`: one
coefficient for the whole band beside tapped delay lines. All parts where none is named.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edgefl.core.streams import Streams
from edgefl.radio.link import Link
from edgefl.scenario import load

DEVICES = 100
DEVICE_W = 0.2
PARAMETERS = {"MNIST": 7_850, "SVHN": 667_178}
ROUNDS = {"MNIST": 200, "SVHN": 10}
BITS_A_PARAMETER = 32


class Durations(NamedTuple):
    """The durations of transfers in rounds of all devices."""

    mean_ms: float
    slowest_ms: float  # the mean over rounds
    error_ms: float  # its standard error


def main():
    """Print the named parts, or all."""
    parts = {"correlation": correlation, "strength": strength, "band": band}
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    options = parser.parse_args()
    for part in options.parts or parts:
        print(f"\n## {part}\n")
        parts[part]()


def correlation():
    """Print AR(1) fading beside Jakes' correlation, by payload and speed."""
    print(
        "| payload, speed | AR(1): mean, slowest of 100 [ms] | Jakes: mean, slowest [ms] | slowest, AR(1) over Jakes |"
    )
    print("|---|---|---|---|")
    for dataset, parameters in PARAMETERS.items():
        for speed_mps in (0.5, 1.5, 10.0, 30.0):
            found = {}
            for fading in ("rayleigh", "jakes"):
                radio = {"preset": "dynamic_devices", "fading": fading}
                found[fading] = slowest(radio, "up", parameters, speed_mps, ROUNDS[dataset])
            ar = found["rayleigh"]
            jakes = found["jakes"]
            ar_ms = f"{ar.mean_ms:.1f}, {ar.slowest_ms:.1f}"
            jakes_ms = f"{jakes.mean_ms:.1f}, {jakes.slowest_ms:.1f}"
            print(f"| {dataset}, {speed_mps:g} m/s | {ar_ms} | {jakes_ms} | {ratio(ar, jakes)} |")


def strength():
    """Print AR(1) fading beside Jakes' correlation, by the mean SNR."""
    print("| MNIST, 1.5 m/s, mean SNR | AR(1): slowest [ms] | Jakes: slowest [ms] | slowest, AR(1) over Jakes |")
    print("|---|---|---|---|")
    for snr_db in (30, 20, 10, 5, 0):
        found = {}
        for fading in ("rayleigh", "jakes"):
            radio = {"preset": "dynamic_devices", "shadowing_db": 0.0, "fading": fading}
            found[fading] = slowest(radio, "up", PARAMETERS["MNIST"], 1.5, 100, snr_db)
        ar = found["rayleigh"]
        jakes = found["jakes"]
        print(f"| {snr_db} dB | {ar.slowest_ms:.1f} | {jakes.slowest_ms:.1f} | {ratio(ar, jakes)} |")


def ratio(first, second):
    """Return the ratio of the slowest transfers under two models and its standard error, as text."""
    value = first.slowest_ms / second.slowest_ms
    first_share = first.error_ms / first.slowest_ms
    second_share = second.error_ms / second.slowest_ms
    spread = value * np.hypot(first_share, second_share)
    return f"{value:.2f} ± {spread:.2f}"


def band():
    """Print one coefficient for the whole band beside tapped delay lines."""
    print("| broadcast over 100 MHz, SVHN, 1.5 m/s | mean, slowest of 100 [ms] |")
    print("|---|---|")
    models = {
        "`rayleigh`: AR(1), flat": "rayleigh",
        "`jakes`: flat": "jakes",
        "`tdl`: A, 30 ns": {"kind": "tdl", "profile": "A", "delay_spread_ns": 30.0},
        "`tdl`: C, 100 ns": {"kind": "tdl", "profile": "C", "delay_spread_ns": 100.0},
        "`tdl`: C, 300 ns": {"kind": "tdl", "profile": "C", "delay_spread_ns": 300.0},
        "`none`": "none",
    }
    for name, fading in models.items():
        radio = {"preset": "dynamic_devices", "fading": fading}
        found = slowest(radio, "down", PARAMETERS["SVHN"], 1.5, 20)
        print(f"| {name} | {found.mean_ms:.1f}, {found.slowest_ms:.1f} ± {found.error_ms:.1f} |")


def slowest(radio, way, parameters, speed_mps, rounds, snr_db=None):
    """Return the durations of all devices' transfers; all have one mean SNR if it is given."""
    scenario = load({"radio": radio})
    link = Link(radio=scenario.radio, cells=scenario.cells, streams=Streams(1))
    rng = np.random.default_rng(1)
    ids = np.arange(DEVICES)
    heights_m = np.full(DEVICES, 1.5)
    speeds_mps = np.full(DEVICES, speed_mps)
    powers_w = np.full(DEVICES, DEVICE_W)
    payload_bits = float(BITS_A_PARAMETER * parameters)
    means_ms = []
    slowest_ms = []
    for index in range(rounds):
        distance_m = np.sqrt(rng.uniform(10.0**2, 250.0**2, DEVICES))
        positions_m = np.stack([distance_m, np.zeros(DEVICES)], axis=1)
        drop = link.drop(ids, positions_m, heights_m, index)
        participants = link.participants(drop, speeds_mps, powers_w, index)
        offer = link.pricing.offer(way, participants, payload_bits)
        if snr_db is not None:
            offer = replace(offer, mean_snr=np.full(DEVICES, 10.0 ** (snr_db / 10)))
        price = link.pricing.price(offer, participants, ids)
        duration_ms = 1e3 * link.radio.slot_s * price.slots
        means_ms.append(duration_ms.mean())
        slowest_ms.append(duration_ms.max())
    error_ms = np.std(slowest_ms) / np.sqrt(rounds)
    return Durations(np.mean(means_ms), np.mean(slowest_ms), error_ms)


if __name__ == "__main__":
    main()
