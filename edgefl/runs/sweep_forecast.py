"""Forecasts of a sweep: how many runs it has, which of them learn, and its time and memory, by first rounds of some."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.machine import PEAK, peak_memory_bytes, tightest_limit
from edgefl.core.units import BYTES, quantity, seconds
from edgefl.runs.data_division import divide
from edgefl.runs.emulation import Options
from edgefl.runs.families import Family, families_of
from edgefl.runs.forecast import Rows, disk_bytes, free_text, whole_run_s
from edgefl.runs.sweep_run import SweepRun
from edgefl.runs.sweeps import SweepOptions, process_count
from edgefl.scenario import Scenario, Sweep

MOST_TRIED = 3  # runs, of points that lie far apart


def forecast_sweep(sweep: Sweep, options: SweepOptions, folder: Path) -> Rows:
    """Return a forecast of a sweep; first rounds of a few runs are run in memory, and no results are written.

    Raises:
        InputError: it cannot be run.
        RunError: one of the first rounds fails.
    """
    if options.workers is not None and options.workers < 1:
        raise InputError(f"--workers {options.workers}: must be >= 1")
    train = sweep.train and options.train
    runs = [SweepRun(number, point, folder / point.place) for number, point in enumerate(sweep.points)]
    families = families_of(runs, learning=train and not options.apart)
    processes = min(process_count(options, train=train), len(runs))
    tried = _tried(sweep)
    points = len({point.label for point in sweep.points})
    seeds = _many(len(runs) // points, "seed")
    rows = [
        ("sweep", f"{sweep.name}: {_many(len(runs), 'run')}, {_many(points, 'point')} by {seeds}"),
        ("varies", ", ".join(sweep.keys) or "nothing but the seed"),
        ("results", str(folder)),
    ]
    if train:
        rows.append(("learning", _learning(families, len(runs))))
    run_s = _whole_s(families, tried, options, train=train)
    basis = f"by first rounds of {_many(len(tried), 'run')}, which have been run for this"
    text = f"about {seconds(run_s / processes)} here and the start of {_many(processes, 'process')}, {basis}"
    rows.append(("takes", text))
    rows.append(("memory", _memory(processes)))
    likely_bytes = statistics.fmean(disk_bytes(scenario, divide(scenario), train=train) for scenario in tried)
    rows.append(("disk", f"about {quantity(len(runs) * likely_bytes, BYTES)} as far as it is known{free_text(folder)}"))
    return rows


def _tried(sweep: Sweep) -> list[Scenario]:
    of_label = {point.label: point.scenario for point in reversed(sweep.points)}
    scenarios = list(of_label.values())
    last = len(scenarios) - 1
    places = {round(part * last / max(1, MOST_TRIED - 1)) for part in range(MOST_TRIED)}
    return [scenarios[place] for place in sorted(places)]


def _learning(families: Sequence[Family], runs: int) -> str:
    if len(families) == runs:
        return "each run learns by itself"
    return f"{len(families)} runs learn; the others read what these have learned, as far as it is the same"


def _whole_s(families: Sequence[Family], tried: Sequence[Scenario], options: SweepOptions, *, train: bool) -> float:
    """Return the wall-clock time of all runs, one after the other [s]."""
    learning = Options(device=options.device, train=train)
    pricing = replace(learning, train=False)
    # The first run imports libraries and measures how to train here, which later runs do not repeat.
    whole_run_s(tried[0], learning)
    learn_s = statistics.fmean(whole_run_s(scenario, learning) for scenario in tried)
    readers = sum(len(family.runs) - 1 for family in families)
    price_s = 0.0
    if readers:
        price_s = statistics.fmean(whole_run_s(scenario, pricing) for scenario in tried)
    return len(families) * learn_s + readers * price_s


def _memory(processes: int) -> str:
    """Return what all processes need, as much as this one, which has run the first rounds."""
    each_bytes = peak_memory_bytes()[PEAK]
    name, limit_bytes = tightest_limit()
    needed = f"about {quantity(processes * each_bytes, BYTES)}, {quantity(each_bytes, BYTES)} for each process"
    return f"{needed}; there are {quantity(limit_bytes, BYTES)} ({name})"


def _many(count: int, word: str) -> str:
    if count == 1:
        return f"1 {word}"
    return f"{count} {word}{'es' if word.endswith('s') else 's'}"
