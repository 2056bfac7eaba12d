"""What happened, in a few sentences: who moved how, who came and left, what was learned and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgefl.core.units import BYTES, ENERGY, TIME, as_number, digits, percent, quantity, score
from edgefl.results.report import describe, expenses, groups
from edgefl.results.report.describe import at
from edgefl.results.report.read import Run, reached

MOVED = {
    "static": "stood still",
    "constant_velocity": "went straight on",
    "random_waypoint": "went from one random point to the next",
    "gauss_markov": "wandered, with a memory of their speed and heading,",
    "group": "strolled in groups",
    "manhattan": "drove through a grid of streets",
    "streets": "took the shortest ways through the streets of a map",
    "trace": "moved as they were recorded",
}
FEW = {2: "two", 3: "three", 4: "four"}
SPEED = "mobility.speed_mps"


def sentences(run: Run) -> list[str]:
    """The story, in order; a sentence only where there is something to say."""
    if not run.length:
        return []
    told = (_place, _sessions, _population, _handovers, _batteries, _learning, _cost)
    return [sentence for tell in told if (sentence := tell(run))]


def _place(run: Run) -> str:
    """Devices, movement, base stations."""
    count, kind = at(run.scenario, "devices.count"), describe.kind(run.scenario, "mobility")
    if as_number(count) is None:
        return ""
    sites = as_number(at(run.scenario, "cells.sites")) or 1
    where = "one base station" if sites == 1 else f"{quantity(sites)} base stations"
    moved = MOVED.get(kind, f"moved ({kind})")
    path = at(run.scenario, "mobility.path")
    source = f" in {Path(str(path)).name}" if path and kind in {"trace", "streets"} else ""
    kinds = ", ".join(f"{quantity(group.size)} {group.name}" for group in groups.hardware(run) if group.name)
    who = f"{_count(count, 'device')} ({kinds})" if kinds else _count(count, "device")
    around = f"around {where} with a reach of {quantity(at(run.scenario, 'cells.radius_m'))} m"
    return f"{who} {moved}{source}{_speed(run)} {around}."


def _speed(run: Run) -> str:
    """A speed that is a number or lies between two."""
    speed = at(run.scenario, SPEED)
    if describe.kind(run.scenario, "mobility") == "static":
        return ""
    span = speed.get("uniform") if isinstance(speed, Mapping) else None
    if isinstance(span, list) and len(span) == 2:
        return f" at {quantity(span[0])} to {quantity(span[1])} m/s"
    return "" if as_number(speed) is None else f" at {quantity(speed)} m/s"


def _sessions(run: Run) -> str:
    """How many there were, of whom, and what they started from."""
    count = len(np.unique(run.rounds["session"]))
    if count < 2:
        return ""
    start = describe.kind(run.scenario, "sessions.initialisation")
    how = f"; each started by the strategy {start}" if start else ""
    return f"{_whose(run, count)}{how}{_extra(run)}."


def _whose(run: Run, count: int) -> str:
    """Who was there in the sessions."""
    every = groups.turns(run)
    if at(run.scenario, "sessions.trigger"):
        return f"{count} sessions: one began whenever enough devices had arrived"
    if not every:
        return f"The same devices were there in all {count} sessions"
    sizes = " and ".join(dict.fromkeys(quantity(group.size) for group in every))
    labels = [groups.labels(run, group) for group in every]
    other = f" with other labels ({'; '.join(labels)})" if len(set(labels)) == len(labels) > 1 else ""
    return f"In {count} sessions {FEW.get(len(every), len(every))} groups of {sizes} devices{other} took turns"


def _extra(run: Run) -> str:
    """Extra rounds, and what the server kept for sessions to come."""
    extra, kept = int((run.rounds["round"] < 1).sum()), run.rounds["history_bytes"]
    parts = [f"{_count(extra, 'extra round')} found out where to start"] if extra else []
    most = np.nanmax(kept) if np.isfinite(kept).any() else 0
    parts += [f"the server kept at most {quantity(most, BYTES)} of earlier models"] if most else []
    return f" ({', and '.join(parts)})" if parts else ""


def _population(run: Run) -> str:
    """How many were there; with churn, why, and how many came and left."""
    churn = describe.kind(run.scenario, "churn")
    there = run.rounds["present"]
    if not np.isfinite(there).any():
        return ""
    low, high = quantity(np.nanmin(there)), quantity(np.nanmax(there))
    span = low if low == high else f"{low} to {high}"
    if churn in {"", "none"}:
        return f"{span} of them could take part when a round began." if low != high else ""
    text = f"They came and went ({churn}): {span} of them were there when a round began"
    came, left = (_sum(run, name) for name in ("arrivals", "departures"))
    changes = f"; {_count(came, 'arrival')}, {_count(left, 'departure')} in all" if came or left else ""
    return f"{text}{changes}."


def _handovers(run: Run) -> str:
    if not np.isfinite(run.rounds["handovers"]).any():
        return ""
    return f"Base stations handed devices over {_count(_sum(run, 'handovers'), 'time')}."


def _batteries(run: Run) -> str:
    level = run.rounds["battery"]
    if not np.isfinite(level).any():
        return ""
    empty, ever = run.last("depleted") or 0.0, np.nanmax(run.rounds["depleted"])
    text = f"The mean battery was at {score(level[0], 0)} after the first round and at {score(level[-1], 0)} at the end"
    if not ever:
        return f"{text}; none was empty."
    return f"{text}, when {_count(empty, 'device')} had no charge left (at most {quantity(ever)})."


def _learning(run: Run) -> str:
    """What was learned, or that nothing was."""
    time = quantity(run.total("time_s"), TIME)
    rounds = f"{_count(run.length, 'round')} in {time} of virtual time"
    if not run.learned:
        return f"{rounds} were priced, without any learning."
    what = [describe.kind(run.scenario, name) for name in ("model", "data.dataset", "algorithm")]
    text = f"{rounds} trained {what[0]} on {what[1]} by {what[2]}"
    accuracy = run.rounds["test_accuracy"]
    tested = accuracy[np.isfinite(accuracy)]
    if not tested.size:
        distance = run.last("distance_to_optimum")
        return f"{text}." if distance is None else f"{text}, to a distance of {digits(distance)} from the optimum."
    hits = [target for target in run.targets if reached(target)]
    return f"{text}; the accuracy went from {score(tested[0])} to {score(tested[-1])}{_targets(hits)}{_missed(run)}."


def _targets(hits: list[Mapping[str, Any]]) -> str:
    if not hits:
        return ""
    best = hits[-1]
    costs = f"{quantity(best.get('time_s'), TIME)} and {quantity(best.get('energy_j'), ENERGY)}"
    return f", and {percent(best['accuracy'])} took {quantity(best['round'])} rounds, {costs}"


def _missed(run: Run) -> str:
    missed = [percent(target["accuracy"]) for target in run.targets if not reached(target)]
    return f"; not reached: {', '.join(missed)}" if missed else ""


def _cost(run: Run) -> str:
    """Energy, and how much of it in vain."""
    energy_j = run.total("energy_j")
    if not energy_j:
        return ""
    idled, wasted = run.sum("drained_j"), expenses.wasted(run)
    text = f"Devices spent {quantity(energy_j, ENERGY)}"
    if idled is not None:
        text = f"Batteries idled {quantity(idled, ENERGY)} away while their devices took no part. {text} on taking part"
    polling = wasted.pop(expenses.POLLED, np.zeros(0)).sum()
    polled = f", {_share(polling, energy_j)} to tell losses without being chosen" if polling else ""
    if not wasted:
        return f"{text}{polled}; every update was used."
    ended = expenses.ends(run)
    lost = {end: int((ended == end).sum()) for end in wasted}
    ends = ", ".join(f"{quantity(count)} {expenses.told(end)}" for end, count in lost.items())
    share = _share(sum(values.sum() for values in wasted.values()), energy_j)
    return f"{text}{polled}, {share} for the {_count(sum(lost.values()), 'part')} whose update was not used: {ends}."


def _share(part_j: float, energy_j: float) -> str:
    return f"{digits(100 * part_j / energy_j, 1)} % of it"


def _sum(run: Run, column: str) -> float:
    return float(np.nansum(run.rounds[column]))


def _count(value: Any, name: str) -> str:
    """A number with what it counts."""
    return f"{quantity(value)} {name}{'' if as_number(value) == 1 else 's'}"
