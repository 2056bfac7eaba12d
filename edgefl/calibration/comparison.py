"""Predicted and measured numbers, row by row of a log."""

import math
from collections.abc import Sequence
from itertools import product
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
    """The errors of one phase and quantity, or of one network in it."""

    phase: str
    quantity: str
    network: str  # empty: all
    left_out: bool  # the fits do not use these rows
    errors: Sequence[float]

    @property
    def mean(self) -> float:
        """The mean of the absolute errors."""
        return math.fsum(map(abs, self.errors)) / len(self.errors)

    @property
    def text(self) -> str:
        """The errors in a line."""
        count = len(self.errors)
        found = f"{round(100 * max(self.errors, key=abs), 1) + 0.0:+.1f} %"  # not -0.0
        if count > 1:
            found = f"mean {100 * self.mean:.1f} %, worst {found}"
        if self.network:
            return f"  {self.network}: {found}"
        rows = f"{count} row{'s' * (count != 1)} {'left out' if self.left_out else 'fitted'}"
        return f"{self.quantity} of {self.phase}: {found} ({rows})"


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
    """Return the errors of each phase and quantity that has any; only of rows left out if there are such.

    Where the training of several networks was left out, the errors of each of them follow.
    """
    found: list[PhaseErrors] = []
    for quantity, phase in product(QUANTITIES, PHASES):
        those = [number for number in compared if (number.row.phase, number.quantity) == (phase, quantity)]
        out = [number for number in those if number.left_out]
        if those:
            found.append(PhaseErrors(phase, quantity, "", bool(out), [number.error for number in out or those]))
        if (phase, quantity) == ("train", "seconds"):
            found += _by_network(out)
    return found


def _by_network(trained: Sequence[Compared]) -> list[PhaseErrors]:
    of_network: dict[str, list[float]] = {}
    for number in trained:
        of_network.setdefault(number.row.network, []).append(number.error)
    if len(of_network) == 1:
        return []
    return [
        PhaseErrors("train", "seconds", network, left_out=True, errors=errors) for network, errors in of_network.items()
    ]


def summary(errors: Sequence[PhaseErrors], told: Sequence[str]) -> list[str]:
    """Return lines about errors; none without errors.

    Args:
        errors: all of them.
        told: what each of the fits has left out.
    """
    if not errors:
        return []
    title = "Errors of the fit to all rows:"
    if len(told) == 1:
        title = f"Errors of a fit without {told[0]}:"
    elif told:
        title = "Errors of fits that leave out each network in turn:"
    return [title, *(f"  {of_phase.text}" for of_phase in errors)]
