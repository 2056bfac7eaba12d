"""The section "Results": a card each for targets, totals, fairness, drops, wall-clock time and plausibility."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.units import ENERGY, NO_NUMBER, TIME, as_number, digits, percent, quantity, spread
from edgefl.records.columns import ROUND_COLUMNS
from edgefl.results.report.run import plausibility, wasted_energy
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.error_bars import ENDS, with_bar
from edgefl.results.report.shared.read import Run, energy_of, reached
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.tables import NOT_REACHED, number_or_dash
from edgefl.results.report.shared.templates import Html, render

Facts = dict[str, str]  # a column of a card: names and texts
COUNTS = ("selected", "received", "late", "departed")  # columns of rounds.csv
OF_PARTICIPATIONS = ("rounds", *COUNTS, "failed")  # quantities that the card of rounds and drops has


class FactsCard(NamedTuple):
    """A card of facts: a row for each name, and the facts that are the same in all runs."""

    title: str
    body: Sequence[Sequence[str]]
    same: Mapping[str, str]


def results(styled_runs: Sequence[StyledRun]) -> Html:
    """Return the cards of the section, with a column for every run."""
    runs = [styled.data for styled in styled_runs]
    energy_name = energy_of(runs)
    cards: dict[str, list[Facts]] = {}
    if len(runs) == 1:  # of several runs the comparison says what their targets took
        cards["Targets"] = [{percent(target["accuracy"]): target_cost(target) for target in runs[0].targets}]
    cards["Totals"] = [_totals(run, energy_name) for run in runs]
    cards["Fairness: accuracy per device"] = [_fairness(run) for run in runs]
    cards["Rounds and drops"] = [_rounds_and_drops(run) for run in runs]
    cards["Wall clock"] = [_wall_clock(run) for run in runs]
    shown = [_facts_card(title, columns) for title, columns in cards.items() if any(columns)]
    plausible = plausibility.card(styled_runs)
    return render("run/results.html.j2", cards=shown, runs=styled_runs, plausible=plausible)


def _facts_card(title: str, columns: Sequence[Facts]) -> FactsCard:
    """Return a card whose rows are all the names that any of its columns has; what all runs share is said once."""
    names = dict.fromkeys(name for column in columns for name in column)
    cells_of = {name: [column.get(name, NO_NUMBER) for column in columns] for name in names}
    same: dict[str, str] = {}
    if len(columns) > 1:
        same = {name: cells[0] for name, cells in cells_of.items() if len(set(cells)) == 1}
    body = [[name, *cells] for name, cells in cells_of.items() if name not in same]
    return FactsCard(title, body, same)


def target_cost(target: Mapping[str, Any]) -> str:
    """Return the round, time and energy at which a target was reached, in one line."""
    if not reached(target):
        return NOT_REACHED
    time = with_bar(target, "time_s", TIME)
    energy = with_bar(target, "energy_j", ENERGY)
    return f"round {quantity(target['round'])} · {time} · {energy}"


def _totals(run: Run, energy_name: str) -> Facts:
    facts = {}
    for one in run.quantities:
        value = run.value(one)
        if value is None or one.name in OF_PARTICIPATIONS or one.end_of:
            continue
        title = energy_name if one.name == "energy_j" else one.title
        facts[title] = one.text(value)
        if one.name in ENDS:
            facts[title] = with_bar({one.name: value, **run.summary}, one.name, one.units)
        for term, column in zip(one.terms, one.sums, strict=False):
            facts[f"{title}, {term}"] = quantity(run.sum(column), one.units)
    if kept := describe.best_model(run):
        facts["best model"] = kept
    for tested in ROUND_COLUMNS:
        if tested.title and run.last(tested.name) is not None:
            facts[tested.title] = number_or_dash(run.last(tested.name))
    return facts


def _fairness(run: Run) -> Facts:
    fairness = run.summary.get("fairness") or {}
    deviations = dict(fairness)
    variance = as_number(fairness.get("variance"))
    if variance is not None:
        deviations["mean_std"] = max(variance, 0.0) ** 0.5  # rounding may leave a variance just below 0
    facts = {}
    for column, name in (("mean", "mean"), ("worst_10_percent", "worst 10 %"), ("best_10_percent", "best 10 %")):
        if column in fairness:
            facts[name] = spread(fairness[column], deviations.get(f"{column}_std"))
    return facts


def _rounds_and_drops(run: Run) -> Facts:
    """Return how participations ended; a device whose battery ran out does not count as departed."""
    # Columns that the run does not have are NaN.
    sums = {name: float(np.nansum(run.rounds[name])) for name in COUNTS}
    empty = int((wasted_energy.outcomes(run) == wasted_energy.BATTERY_EMPTY).sum())
    if empty:
        sums["departed"] -= empty
        sums[wasted_energy.outcome_text(wasted_energy.BATTERY_EMPTY)] = empty
    facts = {"rounds": f"{run.length:,}"}
    facts |= {name: digits(value) for name, value in sums.items()}
    drops = run.summary.get("drops") or {}
    for name, value in drops.items():
        if name not in facts:
            facts[str(name)] = quantity(value)
    return facts


def _wall_clock(run: Run) -> Facts:
    wall_s = run.summary.get("wall_s") or run.manifest.get("wall_s")
    if not isinstance(wall_s, Mapping):  # the manifest has only the total
        wall_s = {"total": wall_s}
    return {str(name).replace("_", " "): quantity(value, TIME) for name, value in wall_s.items()}
