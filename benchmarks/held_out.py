"""How far edgefl misses measurements that were left out of its calibration (docs/validation.md).

    python benchmarks/held_out.py

Rounds of E2FL (e2fl-rounds.csv beside this file: means of its logs are in the recipe third-party/e2fl-wifi; MIT
licence) stand beside the capacity that the sessions of other networks give, and steps of other rounds or of a law that
is fitted to other networks. Powers of a phone stand beside lines through its powers at other rates.
"""

import csv
import statistics
from pathlib import Path

import numpy as np

import edgefl
from edgefl.calibration.compute_fit import Setting, fit_law
from edgefl.calibration.fitting import relative_fit
from edgefl.calibration.log import read_counts

HERE = Path(__file__).parent
PUBLISHED = Path(edgefl.__file__).parent / "reproductions" / "published"
STEPS = 204  # of a round of E2FL
BATCH_SIZE = 16
LEAST_BYTES = 1e6  # of a model whose downloads give the capacity
# Two rates are too few to leave one out, so three more of the same source are cited: network, direction, Mbit/s, W.
FURTHER = (
    ("5G low band", "down_w", 1.0407, 2.6789),
    ("5G low band", "down_w", 58.636, 4.0536),
    ("5G low band", "up_w", 1.0209, 3.1539),
)


def rows_of(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def told(title, errors):
    errors = np.array(errors)
    mean = f"{100 * np.abs(errors).mean():6.1f} %"
    print(f"{title:64s} {len(errors):3d} {mean} {100 * errors.min():+6.1f} % {100 * errors.max():+6.1f} %")


def told_by(title, errors):
    """Tell all errors together, and those of each name."""
    told(title, [error for found in errors.values() for error in found])
    for name, found in errors.items():
        told(f"  {name}", found)


def sessions():
    """Return E2FL's rounds by network; each network has its own session."""
    found = {}
    for row in rows_of(HERE / "e2fl-rounds.csv"):
        numbers = {key: float(value) for key, value in row.items() if key != "network"}
        found.setdefault(row["network"], []).append(numbers)
    return found


def capacity_bps(rounds):
    """Return the mean over training downloads of what the access point carried."""
    return statistics.fmean(
        8 * one["clients"] * one["payload_bytes"] / one["download_s"]
        for one in rounds
        if one["payload_bytes"] > LEAST_BYTES
    )


def mean_of(rounds, key):
    return statistics.fmean(one[key] for one in rounds)


def fit_phase_s(one, capacity, compute_s):
    """Return the seconds of all downloads, the slowest board's training, and its upload, alone on the air."""
    bits = 8 * one["payload_bytes"]
    return (one["clients"] + 1) * bits / capacity + compute_s


def rounds_of_e2fl():
    found = sessions()
    capacities = {
        network: capacity_bps([one for name, rounds in found.items() if name != network for one in rounds])
        for network in found
    }
    downloads(found, capacities)
    phases_by_other_rounds(found, capacities)
    phases_by_other_networks(found, capacities)


def downloads(found, capacities):
    for key, words in (("download_s", "training"), ("evaluation_download_s", "evaluation")):
        errors = [
            8 * rounds[0]["clients"] * rounds[0]["payload_bytes"] / capacities[network] / mean_of(rounds, key) - 1
            for network, rounds in found.items()
        ]
        told(f"last download before {words}, capacity of other sessions", errors)


def phases_by_other_rounds(found, capacities):
    errors = []
    for network, rounds in found.items():
        for one in rounds:
            others = [other for other in rounds if other is not one]
            if others:
                predicted_s = fit_phase_s(one, capacities[network], mean_of(others, "compute_s"))
                errors.append(predicted_s / one["fit_phase_s"] - 1)
    told("fit phase, steps of the network's other rounds", errors)


def phases_by_other_networks(found, capacities):
    """Tell errors of phases whose steps are those of the board's law, as `edgefl calibrate` fits it."""
    counts = read_counts(PUBLISHED / "testbed-network-counts.csv")
    steps = {
        network: Setting("pi3b", network, BATCH_SIZE, BATCH_SIZE, mean_of(rounds, "compute_s") / STEPS)
        for network, rounds in found.items()
    }
    errors = {}
    for network, rounds in found.items():
        law = fit_law([step for name, step in steps.items() if name != network], counts)
        compute_s = STEPS * law.step_s(counts[network], BATCH_SIZE)
        predicted_s = fit_phase_s(rounds[0], capacities[network], compute_s)
        errors[network] = [predicted_s / mean_of(rounds, "fit_phase_s") - 1]
    told_by("fit phase, steps by a law of the other networks", errors)


def powers_of_a_phone():
    """Tell errors of lines through the powers at other rates of the same network and direction."""
    powers = {}
    for row in rows_of(PUBLISHED / "radio-power.csv"):
        for direction in ("down_w", "up_w"):
            if row[direction]:
                where = powers.setdefault((row["network"], direction), [])
                where.append((float(row["mbit_s"]), float(row[direction])))
    for direction, words in (("down_w", "receives"), ("up_w", "sends")):
        found = {
            network: errors_of_line(network, direction, of_rate)
            for (network, way), of_rate in powers.items()
            if way == direction
        }
        told_by(f"power of a phone that {words}, line of other rates", found)


def errors_of_line(network, direction, of_rate):
    """Return the error of each rate, by a line through the others."""
    further = [one[2:] for one in FURTHER if one[:2] == (network, direction)]
    found = []
    for left_out in of_rate:
        rates, watts = np.array([one for one in [*of_rate, *further] if one != left_out]).T
        base_w, j_per_mbit = relative_fit(np.stack([np.ones(len(rates)), rates], axis=1), watts)
        found.append((base_w + j_per_mbit * left_out[0]) / left_out[1] - 1)
    return found


def main():
    print(f"{'left out of the calibration':64s}   n    mean   lowest  highest")
    rounds_of_e2fl()
    powers_of_a_phone()


if __name__ == "__main__":
    main()
