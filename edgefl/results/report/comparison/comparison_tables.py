"""Runs compared with a reference: the metrics between them as tables of text."""

from collections.abc import Sequence
from typing import NamedTuple

from edgefl.core.units import ENERGY, NO_NUMBER, TIME, digits, points, quantity, score, spread
from edgefl.records.quantities import TOTALS
from edgefl.results.participation import LOSS_CAUSES
from edgefl.results.report.comparison.comparison import SPEED_UPS, Comparison, ComparisonRow
from edgefl.results.report.shared import describe
from edgefl.results.targets import ACCURACY, Target

SMALLEST_P = 1e-300  # smaller p-values are written as this bound
TABLE_LEGEND = (
    "Δ best and gain are in percentage points. The gain is summed over the rounds where both runs were tested, and "
    "the t-test pairs these rounds, session by session. The speed-up, after each cost, is the reference's cost divided "
    "by it. “>” marks a target that was never reached; its speed-up is a bound, “≥” or “≤”."
)


class Block(NamedTuple):
    """A table of text with a row for each run, to which the names of the runs are added."""

    title: str
    head: Sequence[str]
    body: Sequence[Sequence[str]]


def overview(comparison: Comparison) -> Block:
    """Return the costs of each run, and the keys where it differs from the reference."""
    head = ["algorithm", "rounds", "time", "energy", *_more_head(comparison), "differs from the reference in"]
    body = []
    for row in comparison.rows:
        differing_keys = describe.cut(row["differs"]) or NO_NUMBER
        body.append([row["algorithm"], *_cost_cells(row), *_more_cells(comparison, row), differing_keys])
    return Block("Runs", head, body)


def updates_block(comparison: Comparison) -> Block | None:
    """Return how many updates were received and lost in each run, by cause; None where none was lost."""
    causes = [cause for cause in LOSS_CAUSES if any(row[cause] for row in comparison.rows)]
    if not causes:
        return None
    body = []
    for row in comparison.rows:
        ended = row["received"] + sum(row[cause] for cause in causes)
        received = f"{row['received']:,} of {ended:,} ({score(row['received_share'], 0)})"
        losses = [f"{row[cause]:,}" for cause in causes]
        body.append([received, *losses, quantity(row["wasted_j"], ENERGY)])
    return Block("Updates", ["received", *causes, "energy wasted"], body)


def accuracy_blocks(comparison: Comparison) -> list[Block]:
    """Return a table of accuracies, then one for each target; none where no run measured an accuracy."""
    rows = comparison.rows
    blocks = []
    targets = [target for target in comparison.targets if target.column != ACCURACY]
    if any(row["tests"] for row in rows):
        blocks += [_accuracy_block(comparison), *_session_blocks(comparison)]
        targets = list(comparison.targets)
    for target in targets:
        prefix = f"to_{target.name}_"
        body = [[*_target_cells(row, rows[0], target), *_more_cells(comparison, row, prefix)] for row in rows]
        head = ["rounds", "time", "energy", *_more_head(comparison)]
        blocks.append(Block(f"To {target.title}", head, body))
    return blocks


def _more_head(comparison: Comparison) -> list[str]:
    return [cost.title for cost in comparison.more_costs]


def _more_cells(comparison: Comparison, row: ComparisonRow, prefix: str = "") -> list[str]:
    """Return the costs besides rounds, time and energy; with the prefix of a target, those until it."""
    names = [f"{prefix}{cost.at_target}" if prefix else cost.name for cost in comparison.more_costs]
    return [cost.text(row[name]) for cost, name in zip(comparison.more_costs, names, strict=True)]


def _accuracy_block(comparison: Comparison) -> Block:
    options = comparison.options
    head = ["best", "Δ best", f"last {options.last} tests", f"first {options.initial} rounds", "gain", "paired t-test"]
    body = []
    for index, row in enumerate(comparison.rows):
        best_gain = gain = test = NO_NUMBER
        if index > 0:  # the reference is not compared with itself
            best_gain = points(row["best_gain_points"])
            gain = points(row["accumulated_gain_points"])
            test = _test_cell(row)
        last = spread(row["last_mean_accuracy"], row["last_std_accuracy"])
        if 0 < row["last_tests"] < options.last:  # the mean is over fewer tests than the head says
            last += f" ({row['last_tests']})"
        initial = score(row["initial_mean_accuracy"], 2)
        body.append([score(row["best_accuracy"], 2), best_gain, last, initial, gain, test])
    return Block("Accuracy", head, body)


def _session_blocks(comparison: Comparison) -> list[Block]:
    sessions = comparison.sessions
    if not sessions:
        return []
    head = [f"session {session}" for session in sessions]
    initial_cells = []
    gain_cells = []
    for index, row in enumerate(comparison.rows):
        initial_cells.append([score(row[f"session_{session}_initial_accuracy"], 2) for session in sessions])
        if index == 0:
            gain_cells.append([NO_NUMBER] * len(sessions))
        else:
            gain_cells.append([points(row[f"session_{session}_gain_points"]) for session in sessions])
    return [
        Block(f"First {comparison.options.initial} rounds of each session", head, initial_cells),
        Block("Gain in each session", head, gain_cells),
    ]


def _test_cell(row: ComparisonRow) -> str:
    if not row["common_tests"]:
        return NO_NUMBER
    p = row["paired_p"]
    if p is None:
        return str(row["paired_note"])
    p_text = "p < 10⁻³⁰⁰"
    if p > SMALLEST_P:
        p_text = f"p = {digits(p)}"
    return f"t({row['paired_df']}) = {digits(row['paired_t'])}, {p_text}"


def _target_cells(row: ComparisonRow, reference: ComparisonRow, target: Target) -> list[str]:
    """Return costs with their speed-ups; where a target was never reached, those of the whole run, as bounds."""
    if target.column == ACCURACY and not row["tests"]:  # a run without learning neither reaches nor misses a target
        return [NO_NUMBER] * len(TOTALS)
    prefix = f"to_{target.name}_"
    reached = row[f"{prefix}rounds"] is not None
    reference_reached = reference[f"{prefix}rounds"] is not None
    if reached:
        costs = _cost_cells({key: row[prefix + key] for key in TOTALS})
    else:
        costs = [f">{cost}" for cost in _cost_cells(row)]
    if not reached and not reference_reached:  # two bounds have no ratio
        return costs

    bound = ""
    if not reference_reached:  # it takes the reference longer than its whole run
        bound = "≥"
    elif not reached:
        bound = "≤"
    cells = []
    for cost, key in zip(costs, SPEED_UPS, strict=True):
        speed_up = row[prefix + key]
        text = cost
        if speed_up is not None:
            text += f" · {bound}{speed_up:.2f}×"
        cells.append(text)
    return cells


def _cost_cells(row: ComparisonRow) -> list[str]:
    return [f"{row['rounds']:,}", quantity(row["time_s"], TIME), quantity(row["energy_j"], ENERGY)]


def notes(comparison: Comparison) -> list[str]:
    """Return more facts about the runs, a line each."""
    unfinished = []
    untested = []
    for name, row in zip(comparison.names, comparison.rows, strict=True):
        if row["status"] != "finished":
            unfinished.append(f"{name}: {row['status']} after {row['rounds']:,} rounds")
        if not row["tests"]:
            untested.append(f"{name}: measured no accuracy")
    if comparison.missed:
        unfinished.append(comparison.missed)
    return unfinished + untested
