"""How far the law of computing misses networks that it was not fitted to (docs/validation.md).

    python benchmarks/compute_law.py

Training steps of 24 networks on a Raspberry Pi 4 and of ten on a Raspberry Pi 5 (federated-embedded-vision) stand
beside the law, fitted to all networks but the one that is predicted; beside the law of the Pi 4, scaled to the Pi 5 by
ResNet-18 alone; and beside multiply-accumulates over one speed.
"""

import csv
from pathlib import Path

import numpy as np

import edgefl
from edgefl.calibration.fitting import relative_fit

PUBLISHED = Path(edgefl.__file__).parent / "reproductions" / "published"
STEPS = Path(__file__).parents[1] / "scenarios" / "e2fl-steps.csv"
BATCH_SIZE = 16
PASSES = 3  # of a training step, in forward passes
SCALED_BY = "resnet18"


def rows_of(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def rows(name):
    return rows_of(PUBLISHED / name)


def features(counts):
    """Return the operations by kind, bytes and groups [5] of a training step."""
    convolution_macs = float(counts["conv1x1_macs"]) + float(counts["convkxk_macs"])
    operations = [
        2 * PASSES * macs for macs in (convolution_macs, float(counts["matmul_macs"]), float(counts["depthwise_macs"]))
    ]
    memory = [PASSES * float(counts["activation_bytes"]), float(counts["conv_groups"])]
    return BATCH_SIZE * np.array([*operations, *memory])


def told(title, errors):
    errors = np.array(errors)
    print(f"{title:58s} {100 * np.abs(errors).mean():5.1f} % {100 * errors.min():+6.1f} % {100 * errors.max():+6.1f} %")


def main():
    counts = {row["network"]: features(row) for row in rows("testbed-network-counts.csv")}
    measured = {board: {} for board in ("pi4b", "pi5")}
    for row in rows("pi-compute.csv"):
        for board, times in measured.items():
            if row[board]:
                times[row["network"]] = float(row[board])
    times = measured["pi4b"]
    names = list(times)
    x = np.array([counts[name] for name in names])
    y = np.array(list(times.values()))
    law = relative_fit(x, y)
    print("fitted to all networks of the Raspberry Pi 4:")
    for name, value in zip(("convolution", "matmul", "grouped", "bandwidth"), law, strict=False):
        print(f"  {name:12s} {1 / value / 1e9:7.3f} G/s")
    print(f"  group        {1e6 * law[4]:7.1f} us\n")
    print(f"{'':58s}  mean  lowest  highest")
    told("Pi 4, the fit itself", x @ law / y - 1)
    others = [np.arange(len(y)) != row for row in range(len(y))]
    told(
        "Pi 4, each network left out of its fit",
        [x[i] @ relative_fit(x[keep], y[keep]) / y[i] - 1 for i, keep in enumerate(others)],
    )
    laws = {}
    for board, title in (("pi4b", "Pi 4"), ("pi5", "Pi 5")):
        found = measured[board]
        scale = found[SCALED_BY] / (counts[SCALED_BY] @ law)
        laws[board] = law
        unseen = [name for name in found if name != SCALED_BY]
        if board == "pi5":
            laws[board] = scale * law
            told(
                f"{title}, the Pi 4's law, scaled by {SCALED_BY}",
                [counts[n] @ laws[board] / found[n] - 1 for n in unseen],
            )
        macs = {name: counts[name][:3].sum() for name in found}
        speed = macs[SCALED_BY] / found[SCALED_BY]
        told(f"{title}, multiply-accumulates, scaled by {SCALED_BY}", [macs[n] / speed / found[n] - 1 for n in unseen])
    small_images(counts, laws)


def small_images(counts, laws):
    """Tell how much longer E2FL's networks take on 28 x 28 pixels than the laws say, beside what LeNet takes."""
    steps = {(row["device"], row["network"]): float(row["step_s"]) for row in rows_of(STEPS)}
    print("\nE2FL's networks, images of 28 x 28 pixels, over these laws (less the time of LeNet's step):")
    print(f"  {'':20s} {'Pi 4':>10s} {'Pi 5':>10s}")
    for network in dict.fromkeys(network for _, network in steps if network != "lenet"):
        slower = [
            (steps[board, network] - steps[board, "lenet"]) / (counts[network] @ law) for board, law in laws.items()
        ]
        print(f"  {network:20s} {slower[0]:4.1f} times {slower[1]:4.1f} times")


if __name__ == "__main__":
    main()
