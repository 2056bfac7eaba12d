"""The summary of a run: time- and energy-to-accuracy, totals, fairness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.ledger import Ledger, Row


def summarize(ledger: Ledger, targets: Sequence[float], accuracies: npt.NDArray[np.float64] | None) -> dict[str, Any]:
    """What summary.json holds, less the wall-clock times.

    Args:
        ledger: the finished rounds.
        targets: accuracies whose time and energy are wanted.
        accuracies: [devices] accuracy of the final model on each device's own samples.
    """
    rounds = ledger.rounds
    reached = [row["test_accuracy"] for row in rounds if row["test_accuracy"] is not None]
    return {
        "rounds": len(rounds),
        "time_s": ledger.time_s,
        "energy_j": ledger.energy_j,
        "final_accuracy": reached[-1] if reached else None,
        "best_accuracy": max(reached) if reached else None,
        "targets": [_first_at(rounds, target) for target in targets],
        "bytes_down": sum(row["bytes_down"] for row in rounds),
        "bytes_up": sum(row["bytes_up"] for row in rounds),
        "drops": {kind: sum(row[kind] for row in rounds) for kind in ("late", "departed", "failed")},
        "fairness": None if accuracies is None else fairness(accuracies),
    }


def _first_at(rounds: Sequence[Row], target: float) -> dict[str, Any]:
    """The first round whose accuracy reaches the target, without smoothing (FedSSG paper, Table 3)."""
    first = next((row for row in rounds if (row["test_accuracy"] or 0) >= target), None)
    values = {key: None if first is None else first[key] for key in ("round", "time_s", "energy_j")}
    return {"accuracy": target, **values}


def fairness(accuracies: npt.NDArray[np.float64]) -> dict[str, float]:
    """Mean, variance and the means of the worst and best tenth of per-device accuracies [n] (FedAR paper, Table 3)."""
    ordered = np.sort(accuracies)
    tenth = max(1, round(len(ordered) / 10))
    return {
        "mean": float(ordered.mean()),
        "variance": float(ordered.var()),
        "worst_10_percent": float(ordered[:tenth].mean()),
        "best_10_percent": float(ordered[-tenth:].mean()),
    }
