"""The check of a measure."""

from dataclasses import replace
from typing import Any

import numpy as np

from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets import Data
from edgefl.learning.losses.mse import MeanSquaredError
from edgefl.learning.measures import Measure
from edgefl.learning.models import Model
from edgefl.learning.models.fcn import Fcn
from edgefl.scenario import RoundKey
from edgefl.server.measured_round import MeasuredRound, columns_of, rows_of
from edgefl.testing.calls import RETURNS, Blamed, Calls, Property
from edgefl.testing.report import Report
from edgefl.testing.rounds import SCHEDULE, SIZES, problem, rounds
from edgefl.testing.values import copied

NUMBERS = 2  # in a label of a regression


def check_measure(measure: type[Measure] | Measure, **keys: Any) -> Report:
    """Check that a measure records what a run can write, and return the report.

    It sees a few rounds of real learning on a plain problem of three classes, or of numbers, or of labels that are 0 or
    1: the first one that it does not refuse.
    """
    calls = Calls(measure, keys, Measure, "a measure")
    calls.check(Property(RETURNS, _takes_some_data))
    calls.check(Property("recorded", _rounds_are_recorded, "a round that is due adds a column or a row"))
    return calls.finished()


def _problems() -> list[Data]:
    classes = problem("float32", SIZES)
    numbers = classes.train_x[:, :NUMBERS]
    tested = classes.test_x[:, :NUMBERS]
    regression = replace(classes, train_y=numbers, test_y=tested, classes=0)
    binary = replace(
        regression, train_y=(numbers > 0).astype(np.float32), test_y=(tested > 0).astype(np.float32), classes=0
    )
    return [classes, regression, binary]


def _takes_some_data(calls: Calls) -> None:
    reasons = [calls.subject.refusal(data) for data in _problems()]
    calls.require("refusal", None in reasons, f"takes no data: {'; '.join(map(str, reasons))}")


def _rounds_are_recorded(calls: Calls) -> None:
    measure = calls.subject
    data = next(data for data in _problems() if measure.refusal(data) is None)
    model: Model = Fcn(hidden=(4,))
    if data.regression:
        model = model.with_loss(MeanSquaredError())
    found = []
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
            if measure.due(number):
                learned = replace(before, next_state=outcome.server, aggregated=outcome.updates)
                found.append(_recorded(calls, before, learned))
    calls.require("due", found, "refuses every round")
    if not any(found):
        calls.fault(f"{type(measure).__name__} has added no column and no row in {len(found)} rounds")


def _recorded(calls: Calls, before: MeasuredRound, learned: MeasuredRound) -> int:
    count = 0
    for hook, seen in (("before", before), ("columns", learned), ("rows", learned)):
        calls.of(hook, seen)
        if calls.report.faults:
            raise Blamed
        if hook == "rows":
            count += len(rows_of(calls.subject, copied(seen)))
        else:
            count += len(columns_of(calls.subject, hook, copied(seen)))
    return count
