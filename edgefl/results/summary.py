"""The summary of a run: totals, time- and energy-to-accuracy, fairness."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats
from edgefl.records.ledger import Ledger, RoundRow
from edgefl.records.quantities import DECLARED, SUMMARY, Quantity, declarations
from edgefl.results import metrics
from edgefl.results.metrics import AccuracyCurve
from edgefl.results.participation import LOSS_CAUSES, of_rounds, updates_of
from edgefl.results.targets import costs_to
from edgefl.scenario import RelativeTarget

NO_COSTS: Mapping[str, Floats] = {}


def summarize(
    ledger: Ledger,
    targets: Sequence[float | RelativeTarget],
    last_tests: int,
    accuracies: npt.NDArray[np.float64] | None,
    *,
    by_session: bool = False,
    devices: int | None = None,
    added: Sequence[Quantity] = (),
) -> dict[str, Any]:
    """Return the content of summary.json, without the wall-clock times.

    Args:
        ledger: the finished rounds.
        targets: accuracies whose time and energy are reported.
        last_tests: the number of last tests for mean and standard deviation.
        accuracies: [devices] accuracy of the final model on each device's own samples; None without learning.
        by_session: whether to sum up each session, too.
        devices: their number, for the spread of participations; None leaves it out.
        added: quantities of members from outside.
    """
    rounds = ledger.rounds
    columns = ledger.round_columns()
    curve = metrics.accuracy_curve(columns)
    quantities = (*SUMMARY, *added)
    costs = metrics.costs(columns, quantities)
    summary: dict[str, Any] = {
        "rounds": len(rounds),
        "time_s": ledger.time_s,
        "energy_j": ledger.energy_j,
        "final_accuracy": _number(curve.final),
        "best_accuracy": _number(curve.best),
        "last": _last_tests(curve, last_tests),
        "targets": [_target(curve, target, costs=costs) for target in targets],
    }
    # The order of keys is that of the file.
    if by_session:
        summary["sessions"] = [_session(one, targets) for one in metrics.sessions(curve)]
    summary |= _sums(rounds, quantities)
    if devices is not None:
        summary.update(_spread(ledger, devices))
    updates = updates_of(lambda column: sum(row[column] for row in rounds))
    summary["drops"] = {cause: getattr(updates, cause) for cause in (*LOSS_CAUSES, "unfinished")}
    summary["received"] = updates.received
    summary["received_share"] = updates.received_share
    summary["fairness"] = None if accuracies is None else metrics.fairness(accuracies)
    if added:
        summary[DECLARED] = declarations(added)
    return summary


def _sums(rounds: Sequence[RoundRow], quantities: Sequence[Quantity]) -> dict[str, float]:
    """Return the quantities that add up columns of the rounds; without a round, those that every run has."""
    found: dict[str, float] = {}
    for one in quantities:
        recorded = all(name in rounds[0] for name in one.sums) if rounds else not one.when
        if one.sums and recorded:
            # A member from outside may leave a cell empty.
            cells = [[row[name] for name in one.sums if row[name] is not None] for row in rounds]
            found[one.name] = sum(map(sum, cells))
    return found


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
    costs: Mapping[str, Floats] = NO_COSTS,
) -> dict[str, Any]:
    """Return the cost of a target, None if it was not reached; a relative target also names its reference."""
    accuracy = _wanted_accuracy(target, session)
    reach = metrics.total(curve)
    if accuracy is not None:  # None: the session has no target
        reach = metrics.reach(curve, accuracy)
    summary: dict[str, Any] = {"accuracy": accuracy, **costs_to(reach, curve, costs)}
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
