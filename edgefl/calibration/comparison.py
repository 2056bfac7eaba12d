"""Predicted and measured numbers, row by row of a log."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from edgefl.calibration.fit import Counts, Fit
from edgefl.calibration.log import PHASES, LogRow
from edgefl.calibration.radio_fit import exchanges_of

QUANTITIES = ("seconds", "joules")


class Compared(NamedTuple):
    """A number of a row."""

    row: LogRow
    quantity: str  # one of QUANTITIES
    predicted: float
    measured: float
    left_out: bool  # the fit does not use the row

    @property
    def error(self) -> float:
        """Relative to the measured number."""
        return self.predicted / self.measured - 1


class PhaseErrors(NamedTuple):
    """The errors of one phase and quantity."""

    phase: str
    quantity: str
    left_out: Sequence[float]
    fitted: Sequence[float]


def compare(rows: Sequence[LogRow], counts: Counts | None, fitted: Fit, left_out: frozenset[int]) -> list[Compared]:
    """Return all numbers of a log that a fit predicts.

    Of messages exchanged at the same time only the last is compared. Energy is predicted by the measured seconds, so
    that its error is the error of the power.

    Args:
        rows: of the log.
        counts: what the networks compute; None: unknown.
        fitted: the fit.
        left_out: the lines of rows that the fit leaves out.
    """
    transfer_s = _transfers_s(rows, fitted)
    found: list[Compared] = []
    for row in rows:
        device = fitted.types.get(row.type)
        if device is None:
            continue
        seconds = transfer_s.get(row.line)
        if row.phase in {"train", "evaluate"}:
            seconds = device.compute_s(row, counts or {})
        elif row.phase == "setup":
            seconds = device.energy.setup_s
        joules = device.joules(row)
        is_out = row.line in left_out
        if seconds is not None:
            found.append(Compared(row, "seconds", seconds, row.seconds, is_out))
        if row.joules and joules is not None:
            found.append(Compared(row, "joules", joules, row.joules, is_out))
    return found


def _transfers_s(rows: Sequence[LogRow], fitted: Fit) -> dict[int, float]:
    """Return the predicted seconds of the last message of each exchange, by its line."""
    return {
        exchange.last.line: link.seconds(exchange.bits)
        for phase, link in (("download", fitted.down), ("upload", fitted.up))
        if link is not None
        for exchange in exchanges_of(rows, phase)
    }


def errors_by_phase(compared: Sequence[Compared]) -> list[PhaseErrors]:
    """Return the errors of each phase and quantity that has any."""
    found: list[PhaseErrors] = []
    for quantity in QUANTITIES:
        for phase in PHASES:
            those = [number for number in compared if (number.row.phase, number.quantity) == (phase, quantity)]
            if those:
                out = [number.error for number in those if number.left_out]
                kept = [number.error for number in those if not number.left_out]
                found.append(PhaseErrors(phase, quantity, out, kept))
    return found


def mean_error(errors: Sequence[float]) -> float:
    """Return the mean of the absolute errors."""
    return math.fsum(map(abs, errors)) / len(errors)
