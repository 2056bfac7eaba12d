"""The summary of a run: totals, time- and energy-to-accuracy, fairness."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.records.ledger import Ledger
from edgefl.results import metrics
from edgefl.results.metrics import AccuracyCurve
from edgefl.results.participation import LOSS_CAUSES, of_rounds, updates_of
from edgefl.scenario import RelativeTarget

OPTIONAL_TOTALS = ("charged_j", "drained_j", "carbon_g", "bs_carbon_g")  # columns of runs with batteries, or carbon


def summarize(
    ledger: Ledger,
    targets: Sequence[float | RelativeTarget],
    last_tests: int,
    accuracies: npt.NDArray[np.float64] | None,
    *,
    by_session: bool = False,
    devices: int | None = None,
) -> dict[str, Any]:
    """Return the content of summary.json, without the wall-clock times.

    Args:
        ledger: the finished rounds.
        targets: accuracies whose time and energy are reported.
        last_tests: the number of last tests for mean and standard deviation.
        accuracies: [devices] accuracy of the final model on each device's own samples; None without learning.
        by_session: whether to sum up each session, too.
        devices: their number, for the spread of participations; None leaves it out.
    """
    rounds = ledger.rounds
    curve = metrics.accuracy_curve(ledger.round_columns())
    bs_energy_j = metrics.base_station_energy_j(ledger.round_columns())
    summary: dict[str, Any] = {
        "rounds": len(rounds),
        "time_s": ledger.time_s,
        "energy_j": ledger.energy_j,
        "final_accuracy": _number(curve.final),
        "best_accuracy": _number(curve.best),
        "last": _last_tests(curve, last_tests),
        "targets": [_target(curve, target, bs_energy_j=bs_energy_j) for target in targets],
    }
    # The order of keys is that of the file.
    if by_session:
        summary["sessions"] = [_session(one, targets) for one in metrics.sessions(curve)]
    for column in ("bytes_down", "bytes_up", "wasted_j"):
        summary[column] = sum(row[column] for row in rounds)
    for column in OPTIONAL_TOTALS:
        if rounds and column in rounds[0]:
            summary[column] = sum(row[column] for row in rounds)
    if bs_energy_j is not None and rounds:
        summary["bs_energy_j"] = float(bs_energy_j[-1])
    if devices is not None:
        summary.update(_spread(ledger, devices))
    updates = updates_of(lambda column: sum(row[column] for row in rounds))
    summary["drops"] = {cause: getattr(updates, cause) for cause in (*LOSS_CAUSES, "unfinished")}
    summary["received"] = updates.received
    summary["received_share"] = updates.received_share
    summary["fairness"] = None if accuracies is None else metrics.fairness(accuracies)
    return summary


def _spread(ledger: Ledger, devices: int) -> dict[str, float | None]:
    found = of_rounds(ledger.participant_blocks(["device", "status"]), devices, ledger.finished)
    return {"jain_index": _number(found.jain_index), "mean_age_rounds": found.mean_age}


def _session(curve: AccuracyCurve, targets: Sequence[float | RelativeTarget]) -> dict[str, Any]:
    """Return the summary of one session; its costs count from its beginning and include its extra rounds."""
    session = int(curve.session[0])  # all rounds of this curve have the same
    return {
        "session": session,
        "rounds": len(curve.round),
        "time_s": float(curve.time_s[-1]),
        "energy_j": float(curve.energy_j[-1]),
        "initial_accuracy": _number(metrics.initial(curve, metrics.INITIAL_ROUNDS).mean),
        "best_accuracy": _number(curve.best),
        "final_accuracy": _number(curve.final),
        "targets": [_target(curve, target, session) for target in targets],
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _last_tests(curve: AccuracyCurve, count: int) -> dict[str, Any] | None:
    spread = metrics.last(curve, count)
    if spread.n == 0:
        return None
    return {"n": spread.n, "mean_accuracy": spread.mean, "std_accuracy": spread.std}


def _target(
    curve: AccuracyCurve,
    target: float | RelativeTarget,
    session: int | None = None,
    bs_energy_j: npt.NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Return the cost of a target, None if it was not reached; a relative target also names its reference."""
    accuracy = _wanted_accuracy(target, session)
    summary: dict[str, Any] = {"accuracy": accuracy, "round": None, "time_s": None, "energy_j": None}
    if bs_energy_j is not None:
        summary["bs_energy_j"] = None
    if accuracy is not None:  # None: the session has no target
        reach = metrics.reach(curve, accuracy)
        if reach.reached:
            summary.update(round=reach.round, time_s=reach.time_s, energy_j=reach.energy_j)
            if bs_energy_j is not None:
                summary["bs_energy_j"] = metrics.until(curve, reach, bs_energy_j)
    if isinstance(target, RelativeTarget):
        summary["relative"] = target.relative
        summary["reference"] = str(target.reference)
    return summary


def _wanted_accuracy(target: float | RelativeTarget, session: int | None) -> float | None:
    if not isinstance(target, RelativeTarget):
        return target
    if session is None:
        return target.accuracy
    return target.within(session)
