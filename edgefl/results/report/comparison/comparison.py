"""Runs compared with a reference: the metrics between them as rows of numbers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.units import percent, score
from edgefl.records.quantities import SUMMARY, TOTALS, Quantity
from edgefl.results import metrics
from edgefl.results.differing_keys import PLAN_KEYS
from edgefl.results.labels import labels
from edgefl.results.metrics import AccuracyCurve, Reach
from edgefl.results.participation import NO_UPDATES, Updates
from edgefl.results.report.comparison import error_margins, seed_groups, why_section
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run
from edgefl.results.report.why.sentences import Side
from edgefl.results.targets import ACCURACY, Target, instead_of_missed, missed_sentence, target_of

ComparisonRow = dict[str, Any]
NO_COSTS: Mapping[str, Floats] = {}
NO_TOTALS: Mapping[str, float | None] = {}
OWN_KEYS = ("name", "label", "targets", "algorithm")  # may differ between runs that are still comparable
SPEED_UPS = ("rounds_speedup", "time_speedup", "energy_speedup")  # one for each of these costs


class ComparedRun(NamedTuple):
    """The parts of a run that a comparison needs."""

    name: str
    scenario: Mapping[str, Any]
    status: str
    curve: AccuracyCurve
    costs: Mapping[str, Floats] = NO_COSTS  # [rounds] since the beginning, besides time and energy, by quantity
    updates: Updates = NO_UPDATES
    totals: Mapping[str, float | None] = NO_TOTALS  # by quantity
    quantities: Sequence[Quantity] = SUMMARY
    rounds: Mapping[str, Any] = NO_COSTS  # columns of rounds.csv, for targets besides accuracies
    run: Run | None = None  # with its devices; None if only its curve is known

    def reach(self, target: Target) -> Reach:
        """Return the cost of a target."""
        return target.reach(self.curve, self.rounds)


class ComparisonOptions(NamedTuple):
    """The options of ``edgefl compare``."""

    targets: Sequence[float | str] = ()  # accuracies or limits of columns, in addition to those of the scenarios
    relative: Sequence[float] = ()  # fractions of the reference's best accuracy
    last: int = 50  # tests
    initial: int = metrics.INITIAL_ROUNDS  # of each session
    at: str | None = None  # the end of the rounds that count


class Comparison(NamedTuple):
    """A row of numbers for each run, the reference first; None for an unknown number."""

    options: ComparisonOptions
    targets: Sequence[Target]
    sessions: Sequence[int]  # none where no run has several
    rows: Sequence[ComparisonRow]
    names: Sequence[str]  # of the runs in tables: their labels, if any scenario has one
    more_costs: Sequence[Quantity]  # besides rounds, time and energy
    why: Sequence[str] = ()  # sentences
    margins: Sequence[str] = ()  # sentences about differences and their margins of error
    missed: str = ""  # a sentence, where no run reached any target and another one is shown


def compared_run(run: Run, name: str) -> ComparedRun:
    """Return the parts of a run that a comparison needs."""
    costs = metrics.costs(run.rounds, run.quantities)
    status = str(run.manifest.get("status"))
    totals = {one.name: run.value(one) for one in run.quantities}
    with_devices = run if run.devices else None
    return ComparedRun(
        name, run.scenario, status, run.curve, costs, run.updates, totals, run.quantities, run.rounds, with_devices
    )


def compare(runs: Sequence[ComparedRun], options: ComparisonOptions) -> Comparison:
    """Compare the runs with the first of them.

    Raises:
        InputError: no run is given, an option is out of range, or a relative target has no reference accuracy.
    """
    if not runs:  # the Python interface takes any list
        raise InputError("compare: name a reference and the runs to compare with it")
    _check(options)
    reference = runs[0]
    targets = _targets(runs, options)
    shown = instead_of_missed(
        targets, [run.reach(target).reached for target in targets for run in runs], [run.curve.best for run in runs]
    )
    missed = ""
    if shown:
        missed = missed_sentence(targets, shown)
        targets.append(shown)
    sessions = _sessions(runs)
    declared = {one.name: one for run in runs for one in run.quantities}
    known = [one for one in declared.values() if any(run.totals.get(one.name) is not None for run in runs)]
    costs = [cost for cost in declared.values() if any(cost.name in run.costs for run in runs)]
    rows = []
    for run, label in zip(runs, labels([run.scenario for run in runs]), strict=True):
        row = _row(run, reference, targets, options)
        row |= _session_metrics(run.curve, reference.curve, sessions, options)
        row |= _more_costs(run, costs, targets)
        row |= {one.name: run.totals.get(one.name) for one in known if one.name not in row}
        row["label"] = label
        rows.append({key: _none_if_nan(value) for key, value in row.items()})
    has_labels = any(run.scenario.get("label") for run in runs)
    names = [str(row["label" if has_labels else "run"]) for row in rows]
    shown_costs = [cost for cost in costs if not cost.end_of]
    why = _add_why(rows, runs, targets)
    return Comparison(options, targets, sessions, rows, names, shown_costs, why, _margins(runs, targets), missed)


def _check(options: ComparisonOptions) -> None:
    for share in options.relative:
        if not 0 < share <= 1:
            raise InputError(f"compare: a relative target must be > 0 and <= 1, got {share:g}")
    for name, count in (("last", options.last), ("initial", options.initial)):
        if count < 1:
            raise InputError(f"compare: {name} must be > 0, got {count}")


def _add_why(rows: Sequence[ComparisonRow], runs: Sequence[ComparedRun], targets: Sequence[Target]) -> list[str]:
    known = [run.run for run in runs if run.run is not None]
    if not known:
        return []
    accuracies = {f"to_{target.name}_": target.limit for target in targets if target.column == ACCURACY}
    found = [""] * len(runs)
    if len(known) == len(runs):
        found = why_section.sentences_by_run(known, list(accuracies.values()))
    for row, run, sentence in zip(rows, runs, found, strict=True):
        row |= {**why_section.columns(run.run, accuracies), "why": sentence}
    return [sentence for sentence in dict.fromkeys(found) if sentence]


def _margins(runs: Sequence[ComparedRun], targets: Sequence[Target]) -> list[str]:
    known = [run.run for run in runs if run.run is not None]
    if len(known) < len(runs):
        return []
    sides = [Side(group.label, group.runs) for group in seed_groups.grouped(known)]
    return error_margins.sentences(sides, [target.limit for target in targets if target.column == ACCURACY])


def _none_if_nan(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def _sessions(runs: Sequence[ComparedRun]) -> list[int]:
    """Return the sessions that at least one run has; none where no run has several."""
    sessions = sorted({int(session) for run in runs for session in run.curve.session})
    if len(sessions) < 2:
        return []
    return sessions


def _targets(runs: Sequence[ComparedRun], options: ComparisonOptions) -> list[Target]:
    asked = [target_of(text) for text in options.targets]
    for run in runs:
        asked += map(target_of, _scenario_targets(run.scenario))
    # By name, as accuracies that differ only by rounding would share their columns.
    by_name = {target.name: target for target in asked}
    targets = sorted(by_name.values(), key=lambda target: (target.column, target.limit))

    reference = runs[0]
    best = reference.curve.best
    if options.relative and math.isnan(best):
        raise InputError(
            f"{reference.name}: no accuracy was measured, so no target can be relative to it; "
            "compare with another reference or leave out the relative targets"
        )
    for fraction in sorted(set(options.relative)):
        accuracy = fraction * best
        title = f"{percent(fraction)} of the reference's best, {score(accuracy)}"
        targets.append(Target(f"{fraction:.6g}_of_reference", title, accuracy))
    return targets


def _scenario_targets(scenario: Mapping[str, Any]) -> list[float]:
    accuracies: list[float] = []
    targets = scenario.get("targets")
    if not isinstance(targets, list):
        return accuracies
    for target in targets:
        # A relative target is a mapping whose accuracy is known once its reference is.
        value = target
        if isinstance(target, Mapping):
            value = target.get("accuracy")
        if isinstance(value, int | float):
            accuracies.append(float(value))
    return accuracies


def _row(
    run: ComparedRun, reference: ComparedRun, targets: Sequence[Target], options: ComparisonOptions
) -> ComparisonRow:
    row: ComparisonRow = {
        "run": run.name,
        "algorithm": describe.app(run.scenario) or describe.kind(run.scenario, "algorithm"),
        "status": run.status,
        "differs": ", ".join(_differing_keys(reference.scenario, run.scenario)),
    }
    _, *costs = metrics.total(run.curve)  # without the flag whether a target was reached
    row |= zip(TOTALS, costs, strict=True)
    row |= _accuracy_metrics(run.curve, reference.curve, options)
    row |= {"received": run.updates.received, "received_share": run.updates.received_share}
    row |= run.updates.losses | {"wasted_j": run.totals.get("wasted_j") or 0.0}
    for target in targets:
        for key, value in _target_metrics(target, run, reference).items():
            row[f"to_{target.name}_{key}"] = value
    return row


def _differing_keys(reference: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """Return the keys, other than the algorithm's, that differ between a run and its reference."""
    keys = describe.differences([reference, scenario])
    return [key for key in keys if key.partition(".")[0] not in OWN_KEYS and key not in PLAN_KEYS]


def _accuracy_metrics(run: AccuracyCurve, reference: AccuracyCurve, options: ComparisonOptions) -> ComparisonRow:
    """Return the metrics of accuracies; differences count the rounds where both runs were tested."""
    last = metrics.last(run, options.last)
    initial = metrics.initial(run, options.initial)
    reference_tests, tests = metrics.common(reference, run)
    gain_points = math.nan
    if tests.size:
        gain_points = metrics.accumulated_gain_points(reference_tests, tests)
    test = metrics.paired_t(reference_tests, tests)
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
        "common_tests": tests.size,
        "accumulated_gain_points": gain_points,
        "paired_t": test.t,
        "paired_df": test.df,
        "paired_p": test.p,
        "paired_note": test.note,
    }


def _session_metrics(
    run: AccuracyCurve, reference: AccuracyCurve, sessions: Sequence[int], options: ComparisonOptions
) -> ComparisonRow:
    """Return the accuracies in each session, and the gain in it (dynamic-devices paper, eq. 32).

    None for a session that the run, or for the gain either of them, does not have.
    """
    curves = _by_session(run)
    reference_curves = _by_session(reference)
    row: ComparisonRow = {}
    for session in sessions:
        initial = None
        best = None
        gain_points = None
        curve = curves.get(session)
        if curve is not None:
            initial = metrics.initial(curve, options.initial).mean
            best = curve.best
        if curve is not None and session in reference_curves:
            reference_tests, tests = metrics.common(reference_curves[session], curve)
            if tests.size:
                gain_points = metrics.accumulated_gain_points(reference_tests, tests)
        row[f"session_{session}_initial_accuracy"] = initial
        row[f"session_{session}_best_accuracy"] = best
        row[f"session_{session}_gain_points"] = gain_points
    return row


def _by_session(curve: AccuracyCurve) -> dict[int, AccuracyCurve]:
    return {int(part.session[0]): part for part in metrics.sessions(curve)}


def _more_costs(run: ComparedRun, costs: Sequence[Quantity], targets: Sequence[Target]) -> ComparisonRow:
    """Return the costs, besides rounds, time and energy, to each target; None where there is none."""
    row: ComparisonRow = {}
    for target in targets:
        reach = run.reach(target)
        for cost in costs:
            value = None
            if reach.reached and cost.name in run.costs:
                value = metrics.until(run.curve, reach, run.costs[cost.name])
            row[f"to_{target.name}_{cost.at_target}"] = value
    return row


def _target_metrics(target: Target, run: ComparedRun, reference: ComparedRun) -> ComparisonRow:
    """Return the costs of a target, None where it was never reached, and the speed-ups.

    In speed-ups a run that never reached the target counts with its whole length.
    """
    reach = run.reach(target)
    reference_reach = reference.reach(target)
    # All columns exist in all rows, as the rows are one table.
    row: ComparisonRow = {"accuracy" if target.column == ACCURACY else "limit": target.limit} | dict.fromkeys(
        (*TOTALS, *SPEED_UPS)
    )
    if reach.reached:
        _, *costs = reach
        row |= zip(TOTALS, costs, strict=True)
    if target.column != ACCURACY or (run.curve.tests.size and reference.curve.tests.size):
        row |= zip(SPEED_UPS, metrics.speed_up(reference_reach, reach), strict=True)
    return row
