"""Targets and ends that finished runs are asked for: any column of ``rounds.csv`` against a limit, at any time."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats
from edgefl.core.errors import InputError
from edgefl.core.section import nearest
from edgefl.core.units import as_number, percent
from edgefl.results import metrics
from edgefl.results.metrics import AccuracyCurve, Reach

ACCURACY = "test_accuracy"
SIGNS = {"<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater}
ENDS = {"s": "time_s", "J": "energy_j", "rounds": "number"}  # columns of the rounds, all growing, by their units


class Target(NamedTuple):
    """A condition on a column of ``rounds.csv``; the first round that meets it reaches the target."""

    name: str  # in columns of tables: ``0.8``, ``test_loss<0.5``
    title: str  # ``80 %``, ``test_loss < 0.5``
    limit: float
    column: str = ACCURACY
    sign: str = ">="

    def reach(self, curve: AccuracyCurve, rounds: Mapping[str, Any]) -> Reach:
        """Return the cost of reaching it, given the run's curve and the columns of its rounds.

        Raises:
            InputError: the rounds have no such column, or nothing in it.
        """
        if self.column == ACCURACY:
            return metrics.reach(curve, self.limit)
        values = np.array(rounds.get(self.column, ()), np.float64)
        if not _is_measured(values):
            known = [name for name, cells in rounds.items() if name != "number" and _is_measured(cells)]
            hint = nearest(self.column, known)
            raise InputError(
                f"--target {self.name}: rounds.csv has no {self.column}{hint}: use one of {', '.join(known)}"
            )
        met: Bools = SIGNS[self.sign](values, self.limit)
        return metrics.first(curve, met & (curve.round > 0))


class End(NamedTuple):
    """The end of the rounds that count, earlier than that of the run."""

    column: str
    limit: float
    title: str  # ``the first 600 s``

    def rounds(self, columns: Mapping[str, Any]) -> int:
        """Return how many rounds had ended by then, given the columns of the rounds."""
        return int(np.sum(np.array(columns[self.column]) <= self.limit))


def _is_measured(cells: Any) -> bool:
    return bool(np.isfinite(np.array(cells, np.float64)).any())


def target_of(text: str | float) -> Target:
    """Return the target that a text names: an accuracy such as 0.8, or a limit such as ``test_loss<0.5``.

    Raises:
        InputError: it is neither.
    """
    number = as_number(text)
    if number is not None:
        if not 0 < number <= 1:
            raise InputError(f"--target {text}: an accuracy must be > 0 and <= 1: write 0.8 for 80 %")
        return Target(f"{number:.6g}", percent(number), number)
    column, sign, after = _groups(r"([\w.]+)\s*(<=|>=|<|>)\s*(\S+)", str(text)) or ("", "", "")
    limit = as_number(after)
    if limit is None:
        raise InputError(f"--target {text}: write an accuracy such as 0.8, or a limit such as 'test_loss<0.5'")
    return Target(f"{column}{sign}{limit:.6g}", f"{column} {sign} {limit:.6g}", limit, column, sign)


def end_of(text: str) -> End:
    """Return the end that a text names: a time, an energy or a number of rounds, such as 600s, 1.5kJ or 20rounds.

    Raises:
        InputError: it names none.
    """
    from edgefl.scenario.written_units import converted  # late, as sections import much more

    written, unit = _groups(r"([\d.eE+-]+)\s*([^\W\d]\S*)", text) or ("", "")
    number = as_number(written)
    if number is not None and number > 0:
        for known, column in ENDS.items():
            limit = converted(number, unit, known)
            if limit is not None:
                return End(column, limit, f"the first {written} {unit}")
    raise InputError(f"--at {text}: write a time, an energy or rounds with a unit, such as 600s, 1.5kJ or 20rounds")


def _groups(pattern: str, text: str) -> tuple[Any, ...] | None:
    found = re.fullmatch(pattern, text.strip())
    if found is None:
        return None
    return found.groups()


def instead_of_missed(targets: Sequence[Target], reached: Sequence[bool], best: Sequence[float]) -> Target | None:
    """Return the highest whole percent that most runs reached, where no run reached any of the targets; else None.

    `reached` says so for all targets and runs, `best` has the best accuracies of the runs.
    """
    known = sorted((value for value in best if np.isfinite(value)), reverse=True)
    if not targets or any(reached) or len(known) <= len(best) // 2:
        return None
    percents = np.floor(100 * known[len(best) // 2] + 1e-9)
    if not percents:
        return None
    return target_of(float(percents / 100))


def missed_sentence(targets: Sequence[Target], shown: Target) -> str:
    """Return that no run reached the targets, and the accuracy that is shown instead of them."""
    missed = " or ".join(target.title for target in targets)
    return f"No run reached {missed}: {shown.title} is the highest accuracy that most runs reached"


def costs_to(reach: Reach, curve: AccuracyCurve, costs: Mapping[str, Floats]) -> dict[str, Any]:
    """Return what it took to reach a target, as ``summary.json`` has it; None for a target that was not reached.

    The `costs` besides time and energy are cumulative [rounds], by their names.
    """
    if not reach.reached:
        return dict.fromkeys(("round", "time_s", "energy_j", *costs))
    found = {name: metrics.until(curve, reach, spent) for name, spent in costs.items()}
    return {"round": reach.round, "time_s": reach.time_s, "energy_j": reach.energy_j, **found}
