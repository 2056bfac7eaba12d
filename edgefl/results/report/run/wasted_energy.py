"""Wasted energy: what devices spent on participations whose update the server did not use."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgefl.core.arrays import Floats
from edgefl.core.units import ENERGY, fitting, quantity, top
from edgefl.records.statuses import ANSWERED, EVALUATIONS, POLLED, RECEIVED, REPORTED
from edgefl.results.report.run import device_groups, phase_bars
from edgefl.results.report.run.phase_bars import slices
from edgefl.results.report.shared import describe, time_charts
from edgefl.results.report.shared.card import Card, ShareBar
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import ENERGY_PHASES, RUN_COLOURS, Figure, KeyEntry
from edgefl.results.report.shared.time_charts import Panel

DEPARTED = "departed"  # as in coordination.policies.base, which loads SimPy
BATTERY_EMPTY = "battery_empty"  # an outcome that the report distinguishes from "departed"
# All others are shown as they are written.
OUTCOME_TEXTS = {POLLED: "polled, not chosen", REPORTED: "channel reports"}
NOT_LOST = (POLLED, REPORTED)  # such devices only answered, which was all they had to do
USED_COLOUR = "#c9d5df"
LEVEL_TOLERANCE = 1e-9  # relative: batteries closer than this to their reserve are empty


def card(run: Run, _runs: Sequence[Run]) -> Card | None:
    """Return the card of the wasted energy; None for a run without any."""
    chart = figure(run)
    if chart is None:
        return None
    entries, sums_j = shares_by_outcome(run)
    return Card("wasted", "Wasted energy", chart, caption(run), entries, [ShareBar(slices(entries, sums_j))])


def figure(run: Run) -> Figure | None:
    """Return a stacked bar for each round with the wasted energy, by outcome; None for a run without any."""
    wasted_j = energy_by_outcome(run)
    if not sum(values.sum() for values in wasted_j.values()):
        return None
    sums_j = np.sum(list(wasted_j.values()), axis=0)
    unit = fitting(top([sums_j]), ENERGY)
    traces = []
    for index, (outcome, values_j) in enumerate(wasted_j.items()):
        name = outcome_text(outcome)
        traces.append(time_charts.bars(run, values_j / unit.size, name, _outcome_colour(index), unit.name))
    return time_charts.figure(run, [Panel(f"wasted energy [{unit.name}]", traces)])


def caption(run: Run) -> str:
    """Return the cost of each outcome, in one line."""
    entries, sums_j = shares_by_outcome(run)
    costs = []
    for entry, value_j in zip(entries[1:], sums_j[1:].tolist(), strict=True):
        costs.append(f"{entry.name} {quantity(value_j, ENERGY)}")
    return f"{quantity(sums_j[1:].sum(), ENERGY)} of {quantity(sums_j.sum(), ENERGY)}: {', '.join(costs)}."


def shares_by_outcome(run: Run) -> tuple[list[KeyEntry], Floats]:
    """Return the energy that was used, then that wasted by each outcome, as entries and values [n] in J of a bar."""
    entries = [KeyEntry("used", USED_COLOUR)]
    wasted_j = []
    for index, (outcome, values_j) in enumerate(energy_by_outcome(run).items()):
        entries.append(KeyEntry(outcome_text(outcome), _outcome_colour(index)))
        wasted_j.append(float(values_j.sum()))
    total_j = float(phase_bars.totals(run, ENERGY_PHASES).sum())
    return entries, np.array([total_j - sum(wasted_j), *wasted_j])


def energy_by_outcome(run: Run) -> dict[str, Floats]:
    """Return the energy [rounds] in J of participations without a used update, by outcome, the largest sum first."""
    spent_j = np.sum([np.nan_to_num(run.devices[phase.column]) for phase in ENERGY_PHASES], axis=0)
    outcome_of = outcomes(run)
    round_row = run.devices["row"]
    found = {}
    for outcome in np.unique(outcome_of):
        if outcome in {RECEIVED, ANSWERED, *EVALUATIONS}:
            continue
        rows = outcome_of == outcome
        found[str(outcome)] = np.asarray(np.bincount(round_row[rows], spent_j[rows], run.length), np.float64)
    return dict(sorted(found.items(), key=lambda item: (-item[1].sum(), item[0])))


def lost_share(run: Run) -> float | None:
    """Return the share of the energy of all devices that lost updates took, 0 to 1; None where none was spent."""
    total_j = run.total("energy_j")
    if not total_j:
        return None
    lost_j = [values_j.sum() for outcome, values_j in energy_by_outcome(run).items() if outcome not in NOT_LOST]
    return float(sum(lost_j)) / total_j


def outcomes(run: Run) -> NDArray[np.str_]:
    """Return the outcome of each participation [n]: its status, or that its device left with an empty battery."""
    devices = run.devices
    status = devices["status"]
    groups = device_groups.hardware(run)
    empty_below_j = devices["battery_capacity_j"] * (1 + LEVEL_TOLERANCE)
    if groups:
        reserves = np.array([group.reserve for group in groups])
        empty_below_j = empty_below_j * reserves[device_groups.group_of_devices(groups, devices["device"])]
    # Where no device leaves by churn or movement, an empty battery is the only reason.
    without_churn = describe.kind(run.scenario, "churn") in {"", "none"} and not run.has("departures")
    has_battery = np.isfinite(devices["battery_j"])
    ran_out = has_battery & (without_churn | (devices["battery_j"] <= empty_below_j))
    return np.where(ran_out & (status == DEPARTED), BATTERY_EMPTY, status)


def outcome_text(outcome: str) -> str:
    """Return an outcome in words."""
    return OUTCOME_TEXTS.get(outcome, outcome.replace("_", " "))


def _outcome_colour(index: int) -> str:
    return RUN_COLOURS[1 + index % (len(RUN_COLOURS) - 1)]
