"""Runs that differ only in their seed, pooled on a page: one look for all of them, and one row of a table."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import ENERGY, NO_NUMBER, PERCENT, PLAIN, TIME, Unit, digits, fitting, percent, quantity, score
from edgefl.results import statistics
from edgefl.results.labels import labels
from edgefl.results.report.comparison import seed_groups
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run, reached
from edgefl.results.report.shared.style import StyledRun, styled_run
from edgefl.results.report.shared.tables import Cell, number_or_dash, table
from edgefl.results.report.shared.templates import Html
from edgefl.results.scenario_tree import has_deadline
from edgefl.results.statistics import FEWEST_FOR_INTERVAL

LEGEND = (
    "Cells are means over seeds: with four seeds or more ± half of the 95 % confidence interval of the mean (Student's "
    "t), with fewer their lowest and highest value."
)
BAND = "Bands are the 95 % confidence interval of the mean over seeds (Student's t)."
THIN = "Thin lines are single seeds: an interval takes at least four."


class MainResult(NamedTuple):
    """A result that tables of runs have a column for: its value, the units of means over seeds, its text for a run."""

    title: str
    value_of: Callable[[Run], float | None]
    units: Sequence[Unit]
    text_of: Callable[[float | None], str]


VIRTUAL_TIME = MainResult("virtual time", lambda run: run.total("time_s"), TIME, lambda value: quantity(value, TIME))
RECEIVED = MainResult(
    "updates received", lambda run: run.updates.received_share, PERCENT, lambda value: score(value, 0)
)
MAIN_RESULTS = (
    MainResult("final accuracy", lambda run: run.final_accuracy, PERCENT, score),
    MainResult("distance to the optimum", lambda run: run.last("distance_to_optimum"), PLAIN, number_or_dash),
    VIRTUAL_TIME,
    MainResult("energy", lambda run: run.total("energy_j"), ENERGY, lambda value: quantity(value, ENERGY)),
    MainResult("rounds", lambda run: float(run.length), PLAIN, lambda value: f"{value:,.0f}"),
)


def main_results(runs: Sequence[Run]) -> list[MainResult]:
    """Return the results that tables of these runs have: with lost updates their share, with a deadline no time."""
    results = list(MAIN_RESULTS)
    if any(has_deadline(run.scenario) for run in runs):  # it sets the time of a round, whatever a run achieves
        results.remove(VIRTUAL_TIME)
    if any(run.updates.many_lost for run in runs):
        results.insert(0, RECEIVED)
    return results


class PooledRuns(NamedTuple):
    """Runs that differ only in their seed, and the look of their mean; also a run with only one seed."""

    look: StyledRun  # of the first run, with the label of the group
    runs: Sequence[StyledRun]

    @property
    def seeds(self) -> dict[str, StyledRun]:
        """Return the runs by their seeds."""
        return {str(describe.at(run.data.scenario, "seed")): run for run in self.runs}


def pooled(runs: Sequence[Run]) -> list[PooledRuns]:
    """Return the groups of runs that differ only in their seed: all runs of a group have its colour and its dash."""
    names = dict(zip(map(id, runs), labels([run.scenario for run in runs]), strict=True))
    groups = []
    for index, group in enumerate(seed_groups.grouped(runs)):
        look = styled_run(_without_seed(group.runs[0]), group.label, index)
        styled = [styled_run(run, names[id(run)], index) for run in group.runs]
        groups.append(PooledRuns(look, styled))
    return groups


def are_pooled(groups: Sequence[PooledRuns]) -> bool:
    """Return whether a group has several seeds, each of them once: a run that is given twice is compared."""
    if any(len(group.seeds) < len(group.runs) for group in groups):
        return False
    return any(len(group.runs) > 1 for group in groups)


def seeds_text(groups: Sequence[PooledRuns]) -> str:
    """Return the seeds that all groups have, such as ``seeds 1, 2, 3``; an empty text where groups differ."""
    seeds = [list(group.seeds) for group in groups]
    if len(seeds[0]) < 2 or any(others != seeds[0] for others in seeds):
        return ""
    return describe.cut(f"seeds {', '.join(seeds[0])}")


def curves_note(groups: Sequence[PooledRuns]) -> str:
    """Return the meaning of lines and bands in one line."""
    sizes = {len(group.runs) for group in groups}
    parts = ["Thick lines are means over seeds, and end with the first run that ends."]
    if max(sizes) >= FEWEST_FOR_INTERVAL:
        parts.append(BAND)
    if any(1 < size < FEWEST_FOR_INTERVAL for size in sizes):
        parts.append(THIN)
    return " ".join(parts)


def table_of_means(groups: Sequence[PooledRuns]) -> Html:
    """Return a table of the main results, with a row for each group; columns without any number are left out."""
    head = ["setting", "seeds"]
    body: list[list[Cell]] = [[group.look, f"{len(group.runs):,}"] for group in groups]
    for result in main_results([run.data for group in groups for run in group.runs]):
        cells = [_mean_cell([result.value_of(run.data) for run in group.runs], result.units) for group in groups]
        if set(cells) != {NO_NUMBER}:
            head.append(result.title)
            for row, cell in zip(body, cells, strict=True):
                row.append(cell)
    every_target = [target["accuracy"] for group in groups for run in group.runs for target in run.data.targets]
    for accuracy in sorted(set(every_target)):
        head.append(f"time to {percent(accuracy)}")
        for row, group in zip(body, groups, strict=True):
            row.append(_target_cell(group, accuracy))
    return table(head, body, "runs") + Html('<p class="note">{}</p>').format(LEGEND)


def _mean_cell(values: Sequence[float | None], units: Sequence[Unit]) -> str:
    """Return mean and spread of values that all runs have; a dash where one has none."""
    known = np.array([value for value in values if value is not None], np.float64)
    if len(known) < len(values):
        return NO_NUMBER
    return spread_text(known, units)


def spread_text(values: Floats, units: Sequence[Unit]) -> str:
    """Return the mean of values with half of its interval, or with the lowest and the highest of few; in one unit."""
    unit = fitting(float(np.abs(values).max()), units)
    scaled = values / unit.size
    text = digits(float(scaled.mean()))
    if len(values) >= FEWEST_FOR_INTERVAL and np.ptp(values) > 0:
        text += f" ± {digits(statistics.estimate(scaled).half)}"
    elif np.ptp(values) > 0:
        text += f" ({digits(float(scaled.min()))} to {digits(float(scaled.max()))})"
    return f"{text} {unit.name}".rstrip()


def _target_cell(group: PooledRuns, accuracy: float) -> str:
    targets = [target for run in group.runs for target in run.data.targets if target["accuracy"] == accuracy]
    times_s = [float(target["time_s"]) for target in targets if reached(target)]
    if len(times_s) < len(group.runs):
        return f"reached by {len(times_s)} of {len(group.runs)}"
    return spread_text(np.array(times_s), TIME)


def _without_seed(run: Run) -> Run:
    """Return a run whose scenario has neither seed nor targets: what its whole group shares."""
    shared = {key: value for key, value in run.scenario.items() if key not in seed_groups.SEED_KEYS}
    return replace(run, scenario=shared)
