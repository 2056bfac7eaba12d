"""Runs against a reference: the metrics between them as rows of numbers, and as the tables that people read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.units import ENERGY, NO_NUMBER, TIME, digits, percent, points, quantity, score, spread
from edgefl.results import metrics
from edgefl.results.metrics import AccuracyCurve
from edgefl.results.report import describe
from edgefl.results.report.read import Run

Row = dict[str, Any]
OWN_KEYS = ("name", "targets", "algorithm")  # may differ without the world being another
COSTS = ("rounds", "time_s", "energy_j")
SPEED_UPS = ("rounds_speedup", "time_speedup", "energy_speedup")
LEGEND = (
    "Δ best and gain are percentage points, the gain summed over the rounds in which both were tested; the t-test "
    "pairs these rounds, of the same sessions. After a cost stands the speed-up: what the reference took, divided by "
    "it. “>” was never reached, which leaves “≥” and “≤” as bounds."
)


class Compared(NamedTuple):
    """A run as it is compared."""

    name: str
    scenario: Mapping[str, Any]
    status: str
    curve: AccuracyCurve


class Wanted(NamedTuple):
    """What is asked of a comparison."""

    targets: Sequence[float] = ()  # accuracies, beside those of the scenarios
    relative: Sequence[float] = ()  # parts of the reference's best accuracy
    last: int = 50  # tests
    initial: int = metrics.INITIAL_ROUNDS  # of each session


class Target(NamedTuple):
    """An accuracy, as columns and as titles call it."""

    name: str
    title: str
    accuracy: float


class Comparison(NamedTuple):
    """A row of numbers a run, the reference first; None where there is no number."""

    wanted: Wanted
    targets: Sequence[Target]
    sessions: Sequence[int]  # none where no run has several
    rows: Sequence[Row]


class Block(NamedTuple):
    """A table for people; its rows are the runs, whose names are left to who draws it."""

    title: str
    head: Sequence[str]
    body: Sequence[Sequence[str]]


def of_run(run: Run, name: str) -> Compared:
    """A run from its result folder."""
    return Compared(name, run.scenario, str(run.manifest.get("status")), metrics.accuracy_curve(run.rounds))


def compare(runs: Sequence[Compared], wanted: Wanted) -> Comparison:
    """Compare the runs with the first of them.

    Raises:
        InputError: there is no run, a number makes no sense, or the reference has no accuracy to be relative to.
    """
    if not runs:
        raise InputError("compare: name a reference and the runs to compare with it")
    for number in (*wanted.targets, *wanted.relative):
        if not 0 < number <= 1:
            raise InputError(f"compare: a target must be > 0 and <= 1, got {number:g}")
    for name, count in (("last", wanted.last), ("initial", wanted.initial)):
        if count < 1:
            raise InputError(f"compare: {name} must be > 0, got {count}")
    targets, sessions = _targets(runs, wanted), _sessions(runs)
    rows = [
        _row(run, runs[0], targets, wanted) | _by_session(run.curve, runs[0].curve, sessions, wanted) for run in runs
    ]
    return Comparison(wanted, targets, sessions, [_without_nan(row) for row in rows])


def _sessions(runs: Sequence[Compared]) -> list[int]:
    """Those that any run has, if there are several."""
    every = sorted({int(session) for run in runs for session in run.curve.session})
    return every if len(every) > 1 else []


def _without_nan(row: Row) -> Row:
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}


def _targets(runs: Sequence[Compared], wanted: Wanted) -> list[Target]:
    """The accuracies of the scenarios and those asked for, then the relative ones."""
    every = {*wanted.targets, *(value for run in runs for value in _accuracies(run.scenario))}
    found = {f"{value:.6g}": value for value in sorted(every)}
    targets = [Target(name, percent(value), value) for name, value in found.items()]
    reference, best = runs[0], runs[0].curve.best
    if wanted.relative and math.isnan(best):
        raise InputError(f"{reference.name}: no accuracy was measured there: nothing can be relative to it")
    for part in sorted(set(wanted.relative)):
        title = f"{percent(part)} of the reference's best, {score(part * best)}"
        targets.append(Target(f"{part:.6g}_of_reference", title, part * best))
    return targets


def _accuracies(scenario: Mapping[str, Any]) -> Iterable[float]:
    for target in scenario.get("targets") or []:
        value = target.get("accuracy") if isinstance(target, Mapping) else target
        if isinstance(value, int | float):
            yield float(value)


def _row(run: Compared, reference: Compared, targets: Sequence[Target], wanted: Wanted) -> Row:
    costs = zip(COSTS, metrics.total(run.curve)[1:], strict=True)
    row = {
        "run": run.name,
        "algorithm": describe.kind(run.scenario, "algorithm"),
        "status": run.status,
        "differs": ", ".join(_differing(reference.scenario, run.scenario)),
        **dict(costs),
        **_accuracy(run.curve, reference.curve, wanted),
    }
    for target in targets:
        row |= {f"to_{target.name}_{key}": value for key, value in _to(target, run.curve, reference.curve).items()}
    return row


def _differing(reference: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """The keys, beside the algorithm's, that make a run incomparable with its reference."""
    return [key for key in describe.differences([reference, scenario]) if key.partition(".")[0] not in OWN_KEYS]


def _accuracy(run: AccuracyCurve, reference: AccuracyCurve, wanted: Wanted) -> Row:
    """The metrics of accuracies; what compares with the reference counts the rounds in which both were tested."""
    last, initial = metrics.last(run, wanted.last), metrics.initial(run, wanted.initial)
    theirs, ours = metrics.common(reference, run)
    test = metrics.paired_t(theirs, ours)
    return {
        "tests": run.tests.size,
        "final_accuracy": run.final,
        "best_accuracy": run.best,
        "best_gain_points": 100 * (run.best - reference.best),
        "last_tests": last.n,
        "last_mean_accuracy": last.mean,
        "last_std_accuracy": last.std,
        "initial_tests": initial.n,
        "initial_mean_accuracy": initial.mean,
        "common_tests": ours.size,
        "accumulated_gain_points": metrics.accumulated_gain_points(theirs, ours) if ours.size else math.nan,
        "paired_t": test.t,
        "paired_df": test.df,
        "paired_p": test.p,
        "paired_note": test.note,
    }


def _by_session(run: AccuracyCurve, reference: AccuracyCurve, sessions: Sequence[int], wanted: Wanted) -> Row:
    """The accuracies in each session, and the gain in it (dynamic-devices paper, eq. 32)."""
    own, theirs = ({int(one.session[0]): one for one in metrics.sessions(curve)} for curve in (run, reference))
    row: Row = {}
    for session in sessions:
        one = own.get(session)
        both = metrics.common(theirs[session], one) if one and session in theirs else None
        row |= {
            f"session_{session}_initial_accuracy": metrics.initial(one, wanted.initial).mean if one else None,
            f"session_{session}_best_accuracy": one.best if one else None,
            f"session_{session}_gain_points": metrics.accumulated_gain_points(*both) if both and len(both[0]) else None,
        }
    return row


def _to(target: Target, run: AccuracyCurve, reference: AccuracyCurve) -> Row:
    """What a target took, None where it was never reached, and the speed-ups, for which T then counts."""
    ours, theirs = metrics.reach(run, target.accuracy), metrics.reach(reference, target.accuracy)
    tested = run.tests.size and reference.tests.size
    costs = zip(COSTS, ours[1:] if ours.reached else (None,) * 3, strict=True)
    ratios = zip(SPEED_UPS, metrics.speed_up(theirs, ours) if tested else (None,) * 3, strict=True)
    return {"accuracy": target.accuracy, **dict(costs), **dict(ratios)}


def overview(comparison: Comparison) -> Block:
    """What ran, what it cost in all, and in what else than the algorithm it differs from the reference."""
    head = ["algorithm", "rounds", "time", "energy", "differs from the reference in"]
    body = [[row["algorithm"], *_costs(row), describe.cut(row["differs"]) or NO_NUMBER] for row in comparison.rows]
    return Block("Runs", head, body)


def learning(comparison: Comparison) -> list[Block]:
    """Accuracies, then what each target took; nothing where no run measured an accuracy."""
    if not any(row["tests"] for row in comparison.rows):
        return []
    wanted, rows = comparison.wanted, comparison.rows
    head = ["best", "Δ best", f"last {wanted.last} tests", f"first {wanted.initial} rounds", "gain", "paired t-test"]
    body = [_accuracy_cells(row, place, wanted) for place, row in enumerate(rows)]
    reaching = [
        Block(f"To {target.title}", ["rounds", "time", "energy"], [_target_cells(row, rows[0], target) for row in rows])
        for target in comparison.targets
    ]
    return [Block("Accuracy", head, body), *_in_sessions(comparison), *reaching]


def _in_sessions(comparison: Comparison) -> list[Block]:
    """Each session's first rounds, and its gain; nothing where there are not several."""
    rows, sessions = comparison.rows, comparison.sessions
    head = [f"session {session}" for session in sessions]
    first = [[score(row[f"session_{session}_initial_accuracy"], 2) for session in sessions] for row in rows]
    gain = [[points(row[f"session_{session}_gain_points"]) for session in sessions] for row in rows[1:]]
    titles = f"First {comparison.wanted.initial} rounds of each session", "Gain in each session"
    bodies = first, [[NO_NUMBER] * len(sessions), *gain]
    return [Block(title, head, body) for title, body in zip(titles, bodies, strict=True)] if sessions else []


def _accuracy_cells(row: Row, place: int, wanted: Wanted) -> list[str]:
    last = spread(row["last_mean_accuracy"], row["last_std_accuracy"])
    fewer = f" ({row['last_tests']})" if 0 < row["last_tests"] < wanted.last else ""
    against = [points(row["best_gain_points"]), points(row["accumulated_gain_points"]), _test(row)]
    gain, total, test = against if place else [NO_NUMBER] * 3
    return [score(row["best_accuracy"], 2), gain, last + fewer, score(row["initial_mean_accuracy"], 2), total, test]


def _test(row: Row) -> str:
    if row["paired_p"] is None:
        return str(row["paired_note"]) if row["common_tests"] else NO_NUMBER
    p = row["paired_p"]
    text = f"p = {digits(p)}" if p > 1e-300 else "p < 10⁻³⁰⁰"
    return f"t({row['paired_df']}) = {digits(row['paired_t'])}, {text}"


def _target_cells(row: Row, reference: Row, target: Target) -> list[str]:
    """Costs with their speed-ups; where a target was never reached, those of the whole run, as bounds."""
    if not row["tests"]:
        return [NO_NUMBER] * 3
    to = {key: row[f"to_{target.name}_{key}"] for key in (*COSTS, *SPEED_UPS)}
    ours, theirs = (one[f"to_{target.name}_rounds"] is not None for one in (row, reference))
    costs = _costs(to) if ours else [f">{text}" for text in _costs(row)]
    bound = {(True, False): "≥", (False, True): "≤"}.get((ours, theirs), "")
    known = ours or theirs  # two bounds have no ratio
    speeds = ["" if to[key] is None or not known else f" · {bound}{to[key]:.2f}×" for key in SPEED_UPS]
    return [cost + speed for cost, speed in zip(costs, speeds, strict=True)]


def _costs(row: Row) -> list[str]:
    return [f"{row['rounds']:,}", quantity(row["time_s"], TIME), quantity(row["energy_j"], ENERGY)]


def notes(comparison: Comparison) -> list[str]:
    """What else a reader must know of the runs, a line each."""
    lines = [
        f"{row['run']}: {row['status']} after {row['rounds']:,} rounds"
        for row in comparison.rows
        if row["status"] != "finished"
    ]
    untested = [f"{row['run']}: measured no accuracy" for row in comparison.rows if not row["tests"]]
    return lines + untested
