"""The summary of a run: time- and energy-to-accuracy, totals, fairness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.results import metrics
from edgefl.results.metrics import Curve
from edgefl.scenario import RelativeTarget
from edgefl.server.ledger import Ledger

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
        **({"sessions": [_session(one, targets) for one in metrics.sessions(curve)]} if by_session else {}),
        "bytes_down": sum(row["bytes_down"] for row in rounds),
        "bytes_up": sum(row["bytes_up"] for row in rounds),
        "wasted_j": sum(row["wasted_j"] for row in rounds),
        **{name: sum(row[name] for row in rounds) for name in BATTERIES if rounds and name in rounds[0]},
        "drops": _drops(rounds),
        "fairness": None if accuracies is None else metrics.fairness(accuracies),
    }


def _session(curve: Curve, targets: Sequence[float | RelativeTarget]) -> dict[str, Any]:
    """One session; what it took counts from its beginning, its extra rounds among it."""
    number, tested = int(curve.session[0]), curve.tests.size > 0
    initial = metrics.initial(curve, metrics.INITIAL_ROUNDS)
    return {
        "session": number,
        "rounds": len(curve.round),
        "time_s": float(curve.time_s[-1]),
        "energy_j": float(curve.energy_j[-1]),
        "initial_accuracy": initial.mean if initial.n else None,
        "best_accuracy": curve.best if tested else None,
        "final_accuracy": curve.final if tested else None,
        "targets": [_target(curve, target, number) for target in targets],
    }


def _drops(rounds: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many parts ended otherwise than with an update; unfinished are those that the end of the run cut short."""
    counts = {kind: sum(row[kind] for row in rounds) for kind in ("selected", "received", "late", "departed", "failed")}
    selected, received = counts.pop("selected"), counts.pop("received")
    return {**counts, "unfinished": selected - received - sum(counts.values())}


def _last(curve: Curve, count: int) -> dict[str, Any]:
    spread = metrics.last(curve, count)
    return {"n": spread.n, "mean_accuracy": spread.mean, "std_accuracy": spread.std}


def _target(curve: Curve, target: float | RelativeTarget, session: int | None = None) -> dict[str, Any]:
    """What a target took, of the run or in a session, null where it was not reached; if relative, to what it is."""
    origin: dict[str, Any] = {}
    accuracy: float | None
    if isinstance(target, RelativeTarget):
        origin = {"relative": target.relative, "reference": str(target.reference)}
        accuracy = target.accuracy if session is None else target.within(session)
    else:
        accuracy = target
    reach = metrics.reach(curve, math.nan if accuracy is None else accuracy)
    took = {name: getattr(reach, name) if reach.reached else None for name in ("round", "time_s", "energy_j")}
    return {"accuracy": accuracy, **took, **origin}
