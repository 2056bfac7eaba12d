"""The dynamic-devices paper's MNIST rows (Table X: seven sessions of 100 devices), published beside measured.

EDGEFL_DATA=... python benchmarks/sessions_mnist.py [--seeds 100 200 300] [--algorithms FedProx ...]
    [--strategies Proposed ...] [--overlaps 0.0 0.2] [--alphas 0.3 0.7]

A number is the mean accuracy, on the labels of the devices that are there, in the first ten rounds after the second and
the fourth change that follows the pilot session. What has run lies in results/sessions-mnist and is not repeated.
"""

import argparse

import numpy as np
from study import ROOT, SCENARIOS, column, published, run, table

ALGORITHMS = {  # section 6.4 of the cards: hyper-parameters, first learning rate, and the ratio of the last one to it
    "MOON": ({"kind": "moon", "mu": 1.0, "temperature": 1.0}, 0.001, 0.6),
    "FedProx": ({"kind": "fedprox", "mu": 1.0}, 0.001, 0.6),
    "SCAFFOLD": ({"kind": "scaffold", "variant": "dyn"}, 0.03, 0.9),
    "FedACG": ({"kind": "fedacg", "server_momentum": 0.5, "beta": 0.1, "weighting": "samples"}, 0.001, 0.6),
}
STRATEGIES = {
    "Proposed": {"kind": "proposed", "similarity": 10},
    "Continuous": {"kind": "continuous"},
    "Previous": {"kind": "previous"},
    "Average": {"kind": "average"},
}
CHANGES = {"t2": 4, "t4": 6}  # the session that begins with each


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 200, 300])
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS))
    parser.add_argument("--strategies", nargs="+", default=list(STRATEGIES))
    parser.add_argument("--overlaps", nargs="+", default=["0.0", "0.2"])
    parser.add_argument("--alphas", nargs="+", default=["0.3", "0.7"])
    args = parser.parse_args()
    rows = []
    for theirs in published("dynamic-devices-table-x"):
        cell = theirs["overlap"], theirs["alpha"], theirs["alg"]
        wanted = args.overlaps, args.alphas, args.algorithms
        if theirs["dataset"] != "MNIST" or not all(part in some for part, some in zip(cell, wanted, strict=True)):
            continue
        for strategy in args.strategies:
            measured = np.array([evaluate(*cell, strategy, seed) for seed in args.seeds])
            pairs = [
                each
                for change, values in zip(CHANGES, measured.T, strict=True)
                for each in (
                    theirs[f"{change}_{strategy}"].replace("±", " ± "),
                    f"{values.mean():.2f}" + (f" ± {values.std(ddof=1):.2f}" if len(values) > 1 else ""),
                )
            ]
            rows.append([" ".join(cell), strategy, *pairs])
    heads = [f"{change}, {whose}" for change in CHANGES for whose in ("published", "measured")]
    table(["overlap, alpha, algorithm", "start", *heads], rows)


def evaluate(overlap, alpha, name, strategy, seed):
    """Mean accuracy in per cent of the first ten rounds after each change."""
    algorithm, lr, ratio = ALGORITHMS[name]
    if strategy == "Continuous":
        algorithm = {"kind": "fedavg"}  # whatever the row's name, in the paper's program
    folder = ROOT / "results" / "sessions-mnist" / f"overlap-{overlap}-alpha-{alpha}" / name / strategy / f"seed-{seed}"
    overrides = [
        f"data.partition={{kind: label_overlap, overlap: {overlap}, alpha: {alpha}}}",
        f"algorithm={algorithm}",
        f"training.lr={lr}",
        f"training.lr_schedule={{kind: polynomial, ratio: {ratio}}}",
        f"sessions.initialisation={STRATEGIES[strategy] | {'pilots': 1, 'after_pilots': 'initial'}}",
    ]
    run(folder, SCENARIOS / "mnist-sessions.yaml", overrides, seed)
    session, number, accuracy = (column(folder, part) for part in ("session", "round", "test_accuracy"))
    first_ten = (number >= 1) & (number <= 10)
    return [100 * accuracy[(session == each) & first_ten].mean() for each in CHANGES.values()]


if __name__ == "__main__":
    main()
