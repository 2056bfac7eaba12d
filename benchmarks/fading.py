"""What a fading model does to the times of transfers.

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

import numpy as np

from edgefl.core.streams import Streams
from edgefl.radio.link import Link
from edgefl.scenario import load

DEVICES = 100
DEVICE_W = 0.2
PARAMETERS = {"MNIST": 7_850, "SVHN": 667_178}
ROUNDS = {"MNIST": 200, "SVHN": 10}
BITS_A_PARAMETER = 32


def main():
    parts = {"correlation": correlation, "strength": strength, "band": band}
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    options = parser.parse_args()
    for part in options.parts or parts:
        print(f"\n## {part}\n")
        parts[part]()


def correlation():
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
            (ar_ms, ar_last, ar_error), (ms, last, error) = found["rayleigh"], found["jakes"]
            ratio = ar_last / last
            spread = ratio * np.hypot(ar_error / ar_last, error / last)
            print(f"| {dataset}, {speed_mps:g} m/s | {ar_ms:.1f}, {ar_last:.1f} | {ms:.1f}, {last:.1f} ", end="")
            print(f"| {ratio:.2f} ± {spread:.2f} |")


def strength():
    print("| MNIST, 1.5 m/s, mean SNR | AR(1): slowest [ms] | Jakes: slowest [ms] | slowest, AR(1) over Jakes |")
    print("|---|---|---|---|")
    for snr_db in (30, 20, 10, 5, 0):
        found = {}
        for fading in ("rayleigh", "jakes"):
            radio = {"preset": "dynamic_devices", "shadowing_db": 0.0, "fading": fading}
            found[fading] = slowest(radio, "up", PARAMETERS["MNIST"], 1.5, 100, snr_db)
        (_, ar_last, ar_error), (_, last, error) = found["rayleigh"], found["jakes"]
        ratio = ar_last / last
        spread = ratio * np.hypot(ar_error / ar_last, error / last)
        print(f"| {snr_db} dB | {ar_last:.1f} | {last:.1f} | {ratio:.2f} ± {spread:.2f} |")


def band():
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
        mean_ms, last_ms, error_ms = slowest(radio, "down", PARAMETERS["SVHN"], 1.5, 20)
        print(f"| {name} | {mean_ms:.1f}, {last_ms:.1f} ± {error_ms:.1f} |")


def slowest(radio, way, parameters, speed_mps, rounds, snr_db=None):
    """Mean duration, mean of the slowest in a round and its standard error [ms]; all of one mean SNR if it is given."""
    scenario = load({"radio": radio})
    link = Link(scenario.radio, scenario.cells, Streams(1))
    rng = np.random.default_rng(1)
    ids = np.arange(DEVICES)
    means, lasts = [], []
    for index in range(rounds):
        distance_m = np.sqrt(rng.uniform(10.0**2, 250.0**2, DEVICES))
        positions_m = np.stack([distance_m, np.zeros(DEVICES)], axis=1)
        drop = link.drop(ids, positions_m, np.full(DEVICES, 1.5), index)
        who = link.participants(drop, np.full(DEVICES, speed_mps), np.full(DEVICES, DEVICE_W), index)
        offer = link.pricing.offer(way, who, float(BITS_A_PARAMETER * parameters))
        if snr_db is not None:
            offer = replace(offer, mean_snr=np.full(DEVICES, 10.0 ** (snr_db / 10)))
        duration_ms = 1e3 * link.radio.slot_s * link.pricing.price(offer, who, ids).slots
        means.append(duration_ms.mean())
        lasts.append(duration_ms.max())
    return np.mean(means), np.mean(lasts), np.std(lasts) / np.sqrt(rounds)


if __name__ == "__main__":
    main()
