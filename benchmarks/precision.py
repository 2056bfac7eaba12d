"""Measure what `training.precision: bfloat16` does to a model: FedAvg on MNIST with a CNN, beside float32.

    EDGEFL_DATA=FOLDER python benchmarks/precision.py [--rounds 20] [--seeds 3]

Both start from the same model and see the same mini-batches. Accuracies are means of the last five rounds. The distance
is that of the two models after the first round, over the norm of the model.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import edgefl

SCENARIO = Path(__file__).parents[1] / "scenarios" / "mnist-fedavg.yaml"
LAST = 5  # rounds


def scenario(seed: int, precision: str) -> dict[str, Any]:
    """Return the scenario of a seed in one precision."""
    base: dict[str, Any] = yaml.safe_load(SCENARIO.read_text())
    base |= {"seed": seed, "model": {"kind": "cnn_mnist"}, "targets": []}
    base["training"]["precision"] = precision
    return base


def accuracy(base: dict[str, Any], rounds: int) -> float:
    """Return the mean test accuracy [%] of the last rounds."""
    result = edgefl.run({**base, "rounds": rounds}, device="cpu")
    return 100 * float(result.rounds["test_accuracy"].tail(LAST).mean())


def distance(exact: dict[str, Any], rounded: dict[str, Any]) -> float:
    """Return how far apart two models are after the first round, over the norm of the first."""
    models = [edgefl.run({**base, "rounds": 1}, device="cpu").parameters for base in (exact, rounded)]
    return float(np.linalg.norm(models[1] - models[0]) / np.linalg.norm(models[0]))


def main() -> None:
    """Print a row for each seed, and the mean difference."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| seed | float32 | bfloat16 | distance after a round |\n|---|---|---|---|")
    differences = []
    for seed in range(1, options.seeds + 1):
        exact = scenario(seed, "float32")
        rounded = scenario(seed, "bfloat16")
        apart = distance(exact, rounded)
        float32 = accuracy(exact, options.rounds)
        bfloat16 = accuracy(rounded, options.rounds)
        differences.append(bfloat16 - float32)
        print(f"| {seed} | {float32:.2f} % | {bfloat16:.2f} % | {apart:.4f} |", flush=True)
    print(f"bfloat16 less float32: {statistics.mean(differences):+.2f} points on average")


if __name__ == "__main__":
    main()
