"""The check of a measure."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from edgefl.core import global_draws
from edgefl.core.plugins import WrongReturn
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.hook_errors import first_line, place, place_of_error
from edgefl.learning.datasets import Data
from edgefl.learning.losses.mse import MeanSquaredError
from edgefl.learning.measures import Measure
from edgefl.learning.models import Model
from edgefl.learning.models.fcn import Fcn
from edgefl.scenario import RoundKey
from edgefl.server.measured_round import MeasuredRound, columns_of, rows_of
from edgefl.testing.calls import fingerprint
from edgefl.testing.report import Check, Report, finished, made, noting
from edgefl.testing.rounds import SCHEDULE, SIZES, problem, rounds

NUMBERS = 2  # in a label of a regression


def check_measure(measure: type[Measure] | Measure, **keys: Any) -> Report:
    """Check that a measure records what a run can write, and return the report.

    It sees a few rounds of real learning on a plain problem of three classes, or of numbers, or of labels that are 0 or
    1: the first one that it does not refuse.
    """
    subject: Measure = made(measure, keys, Measure, "a measure")
    report = Report.of(subject)
    returns = report.begin("returns", "columns and rows are those that the class declares, with values of their types")
    arguments = report.begin("arguments", "the round's models and updates stay as they are")
    repeatable = report.begin("repeatable", "the same round gives the same values again; no global generator")
    recorded = report.begin("recorded", "a round that is due adds a column or a row")
    data = _suitable(subject, returns)
    if data is not None:
        with noting(returns, "measuring"):
            _measure_rounds(subject, data, (returns, arguments, repeatable, recorded))
    return finished(report, subject)


def _suitable(measure: Measure, returns: Check) -> Data | None:
    """Return the first data that a measure takes; None if it refuses all."""
    classes = problem("float32", SIZES)
    numbers = classes.train_x[:, :NUMBERS]
    tested = classes.test_x[:, :NUMBERS]
    regression = replace(classes, train_y=numbers, test_y=tested, classes=0)
    binary = replace(
        regression, train_y=(numbers > 0).astype(np.float32), test_y=(tested > 0).astype(np.float32), classes=0
    )
    reasons = []
    for data in (classes, regression, binary):
        reason = measure.refusal(data)
        if reason is None:
            return data
        reasons.append(reason)
    returns.fault(f"{place(measure, 'refusal')}: {type(measure).__name__}.refusal takes no data: {'; '.join(reasons)}")
    return None


def _measure_rounds(measure: Measure, data: Data, checks: tuple[Check, Check, Check, Check]) -> None:
    returns, arguments, repeatable, recorded = checks
    model: Model = Fcn(hidden=(4,))
    if data.regression:
        model = model.with_loss(MeanSquaredError())
    due = 0
    found = 0
    with rounds(FedAvg(), dtype="float32", model=model, data=data) as played:
        for number, devices in enumerate(SCHEDULE * measure.every, start=1):
            before = MeasuredRound(
                learner=played.learner,
                algorithm=played.algorithm,
                round_key=RoundKey(1, number),
                tested_classes=None,
                members=np.arange(len(SIZES)),
                state=played.server,
            )
            outcome = played.round(devices)
            if not measure.due(number):
                continue
            due += 1
            learned = replace(before, next_state=outcome.server, aggregated=outcome.updates)
            vectors = fingerprint((learned.before, learned.after, outcome.updates))
            for hook, seen in (("before", before), ("columns", learned), ("rows", learned)):
                found += len(_again(measure, hook, seen, returns, repeatable))
            if fingerprint((learned.before, learned.after, outcome.updates)) != vectors:
                text = "changes vectors of the round in place, which others still use: work on copies (x.clone())"
                arguments.fault(f"{place(measure, 'rows')}: {type(measure).__name__} {text}")
    if not due:
        recorded.fault(f"{place(measure, 'due')}: {type(measure).__name__}.due refuses every round")
    elif not found and not returns.faults and not repeatable.faults:
        recorded.fault(f"{type(measure).__name__} has added no column and no row in {due} rounds")


def _again(measure: Measure, hook: str, learned: MeasuredRound, returns: Check, repeatable: Check) -> Any:
    """Return what a hook returns; note if it, or a fresh copy of the measure, returns something else later."""
    fresh = copy.deepcopy(measure)
    drawn = global_draws.states()
    first = _called(measure, hook, learned, returns)
    for name in global_draws.moved(drawn):
        repeatable.fault(f"{place(measure, hook)}: {hook} draws from {name}: use `learned.generator(purpose)`")
        return first
    for other in (fresh, measure):
        if fingerprint(first) != fingerprint(_called(other, hook, learned, returns)):
            text = "returns other values for the same round: keep nothing between calls, and draw from"
            repeatable.fault(f"{place(measure, hook)}: {type(measure).__name__}.{hook} {text} `learned.generator`")
    return first


def _called(measure: Measure, hook: str, learned: MeasuredRound, returns: Check) -> Any:
    """Return what a hook returns; nothing if it raises an exception or returns another form."""
    try:
        if hook == "rows":
            return rows_of(measure, learned)
        return columns_of(measure, hook, learned)
    except WrongReturn as error:
        returns.fault(str(error))
    except global_draws.GlobalDraw:
        return ()  # noted by the caller, who compares the generators
    except Exception as error:  # noqa: BLE001 - an author's code may raise anything
        where = place_of_error(measure, error) or place(measure, hook)
        name = f"{type(measure).__name__}.{hook}"
        returns.fault(f"{where}: {name} raised {type(error).__name__}: {first_line(error)}")
    return ()
