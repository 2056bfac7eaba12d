"""The summary of a run: time- and energy-to-accuracy, totals, fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from edgefl import metrics
from edgefl.ledger import Ledger
from edgefl.metrics import Curve
from edgefl.scenario import RelativeTarget

BATTERIES = ("charged_j", "drained_j")  # columns of runs that have any


def summarize(
    ledger: Ledger,
    targets: Sequence[float | RelativeTarget],
    last_tests: int,
    accuracies: npt.NDArray[np.float64] | None,
    *,
    by_session: bool = False,
) -> dict[str, Any]:
    """What summary.json holds, less the wall-clock times.

    Args:
        ledger: the finished rounds.
        targets: accuracies whose time and energy are wanted.
        last_tests: over how many of the last tests mean and standard deviation are taken.
        accuracies: [devices] accuracy of the final model on each device's own samples.
        by_session: what each session took, too.
    """
    rounds, curve = ledger.rounds, metrics.curve(ledger.round_columns())
    tested = curve.tests.size > 0
    return {
        "rounds": len(rounds),
        "time_s": ledger.time_s,
        "energy_j": ledger.energy_j,
        "final_accuracy": curve.final if tested else None,
        "best_accuracy": curve.best if tested else None,
        "last": _last(curve, last_tests) if tested else None,
        "targets": [_target(curve, target) for target in targets],
        **({"sessions": _sessions(ledger.rounds, targets)} if by_session else {}),
        "bytes_down": sum(row["bytes_down"] for row in rounds),
        "bytes_up": sum(row["bytes_up"] for row in rounds),
        "wasted_j": sum(row["wasted_j"] for row in rounds),
        **{name: sum(row[name] for row in rounds) for name in BATTERIES if rounds and name in rounds[0]},
        "drops": _drops(rounds),
        "fairness": None if accuracies is None else metrics.fairness(accuracies),
    }


def _sessions(rounds: Sequence[Mapping[str, Any]], targets: Sequence[float | RelativeTarget]) -> list[dict[str, Any]]:
    """Each session by itself; times and energies count from its beginning, those of its extra rounds among them."""
    sessions, before_s, before_j = [], 0.0, 0.0
    for number, group in groupby(rounds, key=lambda row: row["session"]):
        rows = list(group)
        whole = metrics.curve({name: [row[name] for row in rows] for name in metrics.CURVE_COLUMNS})
        curve = whole._replace(time_s=whole.time_s - before_s, energy_j=whole.energy_j - before_j)
        sessions.append(
            {
                "session": number,
                "rounds": len(rows),
                "time_s": float(curve.time_s[-1]),
                "energy_j": float(curve.energy_j[-1]),
                "final_accuracy": curve.final if curve.tests.size else None,
                "targets": [_target(curve, target) for target in targets],
            }
        )
        before_s, before_j = float(whole.time_s[-1]), float(whole.energy_j[-1])
    return sessions


def _drops(rounds: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many parts ended otherwise than with an update; unfinished are those that the end of the run cut short."""
    counts = {kind: sum(row[kind] for row in rounds) for kind in ("selected", "received", "late", "departed", "failed")}
    selected, received = counts.pop("selected"), counts.pop("received")
    return {**counts, "unfinished": selected - received - sum(counts.values())}


def _last(curve: Curve, count: int) -> dict[str, Any]:
    spread = metrics.last(curve, count)
    return {"n": spread.n, "mean_accuracy": spread.mean, "std_accuracy": spread.std}


def _target(curve: Curve, target: float | RelativeTarget) -> dict[str, Any]:
    """What a target took, null where it was not reached; a relative one with what it refers to."""
    origin: dict[str, Any] = {}
    if isinstance(target, RelativeTarget):
        origin = {"relative": target.relative, "reference": str(target.reference)}
        target = cast("float", target.accuracy)  # was found when the scenario was loaded
    reach = metrics.reach(curve, target)
    took = {name: getattr(reach, name) if reach.reached else None for name in ("round", "time_s", "energy_j")}
    return {"accuracy": target, **took, **origin}
