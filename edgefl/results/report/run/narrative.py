"""The story of a run in a few sentences: its bottleneck, how devices moved, came and left, what it learned and cost."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgefl.core.units import BYTES, ENERGY, TIME, as_number, digits, percent, quantity, score
from edgefl.records.statuses import POLLED, REPORTED
from edgefl.results.report.run import bottleneck, device_groups, lost_updates, wasted_energy
from edgefl.results.report.run.device_groups import ChartedGroup
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.describe import at
from edgefl.results.report.shared.read import Run, reached
from edgefl.results.report.why import sentences as why

MOVEMENTS = {
    "static": "stood still",
    "constant_velocity": "went straight on",
    "random_waypoint": "went from one random point to the next",
    "gauss_markov": "wandered, with a memory of their speed and heading,",
    "group": "strolled in groups",
    "manhattan": "drove through a grid of streets",
    "streets": "took the shortest ways through the streets of a map",
    "trace": "moved as they were recorded",
}
MOVEMENTS_WITH_FILE = {"trace", "streets"}
NUMBER_WORDS = {2: "two", 3: "three", 4: "four"}


def sentences(run: Run) -> list[str]:
    """Return the sentences in order, without empty ones."""
    if not run.length:  # a run that was stopped in its first round
        return []
    candidates = [
        lost_updates.sentence(run),
        bottleneck.sentence(run),
        why.of_run(run),
        _movement(run),
        _sessions(run),
        _population(run),
        _handovers(run),
        _batteries(run),
        _learning(run),
        _cost(run),
    ]
    return [sentence for sentence in candidates if sentence]


def shared_sentences(runs: Sequence[Run]) -> list[str]:
    """Return the sentences that all runs have in common, in order."""
    first, *others = [sentences(run) for run in runs]
    return [sentence for sentence in first if all(sentence in other for other in others)]


def _movement(run: Run) -> str:
    if as_number(at(run.scenario, "devices.count")) is None:
        return ""
    sites = as_number(at(run.scenario, "cells.sites")) or 1
    base_stations = "one base station"
    if sites != 1:
        base_stations = f"{quantity(sites)} base stations"
    sectors = as_number(at(run.scenario, "cells.sectors")) or 1
    if sectors != 1:
        base_stations = f"{base_stations} of {quantity(sectors)} sectors"
    reach = f"{quantity(at(run.scenario, 'cells.radius_m'))} m"
    movement = f"{_moved(run)}{_speed(run)}"
    return f"{_devices(run)} {movement} around {base_stations} with a reach of {reach}."


def _devices(run: Run) -> str:
    devices = _count(at(run.scenario, "devices.count"), "device")
    groups = device_groups.named_groups(run)
    if not groups:
        return devices
    sizes = [f"{quantity(group.size)} {group.name}" for group in groups]
    return f"{devices} ({', '.join(sizes)})"


def _moved(run: Run) -> str:
    kind = describe.kind(run.scenario, "mobility")
    moved = MOVEMENTS.get(kind, f"moved ({kind})")
    path = at(run.scenario, "mobility.path")
    if path and kind in MOVEMENTS_WITH_FILE:
        moved += f" in {Path(str(path)).name}"
    return moved


def _speed(run: Run) -> str:
    """Return a speed that is one number or lies between two; an empty text for other distributions."""
    if describe.kind(run.scenario, "mobility") == "static":
        return ""
    speed = at(run.scenario, "mobility.speed_mps")
    if isinstance(speed, Mapping):
        bounds = speed.get("uniform")
        if isinstance(bounds, list) and len(bounds) == 2:  # other distributions need more than two numbers
            return f" at {quantity(bounds[0])} to {quantity(bounds[1])} m/s"
    if as_number(speed) is None:
        return ""
    return f" at {quantity(speed)} m/s"


def _sessions(run: Run) -> str:
    count = len(np.unique(run.rounds["session"]))
    if count < 2:
        return ""
    text = _session_devices(run, count)
    strategy = describe.kind(run.scenario, "sessions.initialisation")
    if strategy:
        text += f"; each started by the strategy {strategy}"
    return f"{text}{_extra_rounds(run)}."


def _session_devices(run: Run, count: int) -> str:
    if at(run.scenario, "sessions.trigger"):
        return f"{count} sessions: one began whenever enough devices had arrived"
    groups = device_groups.session_groups(run)
    # Without groups that take turns, devices can only come and go by churn, which has another sentence.
    if not groups:
        return f"The same devices were present in all {count} sessions"
    number = NUMBER_WORDS.get(len(groups), len(groups))
    # Groups differ in size by one device where the number of devices is not divisible.
    sizes = " and ".join(dict.fromkeys(quantity(group.size) for group in groups))
    labels = _group_labels(run, groups)
    return f"In {count} sessions {number} groups of {sizes} devices{labels} took turns"


def _group_labels(run: Run, groups: Sequence[ChartedGroup]) -> str:
    """Return the labels of each group where they are all different."""
    # Groups with the same or with unknown labels do not differ in a way worth mentioning.
    labels = [device_groups.labels_text(run, group) for group in groups]
    if len(labels) < 2 or len(set(labels)) < len(labels):
        return ""
    return f" with different labels ({'; '.join(labels)})"


def _extra_rounds(run: Run) -> str:
    """Return the number of extra rounds, and what the server kept for later sessions."""
    extra = int((run.rounds["round"] < 1).sum())  # extra rounds have numbers below 1
    kept_bytes = run.rounds["history_bytes"]
    most_bytes = 0.0
    if np.isfinite(kept_bytes).any():
        most_bytes = float(np.nanmax(kept_bytes))
    parts = []
    if extra:
        parts.append(f"{_count(extra, 'extra round')} found out where to start")
    if most_bytes:
        parts.append(f"the server kept at most {quantity(most_bytes, BYTES)} of earlier models")
    if not parts:
        return ""
    return f" ({', and '.join(parts)})"


def _population(run: Run) -> str:
    present = run.rounds["present"]
    if not np.isfinite(present).any():  # no round has been recorded
        return ""
    fewest = quantity(np.nanmin(present))
    most = quantity(np.nanmax(present))
    changes = fewest != most
    span = f"{fewest} to {most}" if changes else fewest
    churn = describe.kind(run.scenario, "churn")
    if churn in {"", "none"} and not changes:
        return ""
    if churn in {"", "none"}:  # then devices are absent only while their batteries are empty
        return f"{span} of them could take part when a round began."
    text = f"They came and went ({churn}): {span} of them were present when a round began"
    arrivals = _sum(run, "arrivals")
    departures = _sum(run, "departures")
    if arrivals or departures:
        text += f"; {_count(arrivals, 'arrival')}, {_count(departures, 'departure')} in all"
    return f"{text}."


def _handovers(run: Run) -> str:
    if not np.isfinite(run.rounds["handovers"]).any():
        return ""
    return f"Base stations handed devices over {_count(_sum(run, 'handovers'), 'time')}."


def _batteries(run: Run) -> str:
    level = run.rounds["battery"]
    if not np.isfinite(level).any():
        return ""
    first = score(level[0], 0)
    last = score(level[-1], 0)
    text = f"The mean battery was at {first} after the first round and at {last} at the end"
    if first == last:
        text = f"The mean battery stayed near {first}"
    depleted = run.rounds["depleted"]
    if not np.isfinite(depleted).any():
        return f"{text}."
    most_empty = np.nanmax(depleted)
    if not most_empty:
        return f"{text}; none was empty."
    empty = _count(run.last("depleted") or 0.0, "device")
    return f"{text}; {empty} had no charge left at the end (at most {quantity(most_empty)})."


def _learning(run: Run) -> str:
    rounds = f"{_count(run.length, 'round')} in {quantity(run.total('time_s'), TIME)} of virtual time"
    if not run.learned:
        return f"{rounds} were priced, without any learning."
    text = f"{rounds} trained {_trained(run)}"
    accuracy = run.rounds["test_accuracy"]
    tested = accuracy[np.isfinite(accuracy)]
    if not tested.size:  # such as the toy problem, which has no test data
        return f"{text}{_distance(run)}."
    first = score(tested[0])
    last = score(tested[-1])
    change = f"went from {first} to {last}"
    if first == last:
        change = f"ended where it began, at {last}"
    text += f"; the accuracy {change}"
    return f"{text}{_highest_target(run)}{_missed_targets(run)}."


def _trained(run: Run) -> str:
    app = describe.app(run.scenario)
    if app:
        return f"the model of the Flower app {app}"
    model = describe.kind(run.scenario, "model")
    dataset = describe.kind(run.scenario, "data.dataset")
    algorithm = describe.kind(run.scenario, "algorithm")
    return f"{model} on {dataset} by {algorithm}"


def _distance(run: Run) -> str:
    distance = run.last("distance_to_optimum")
    if distance is None:
        return ""
    return f", to a distance of {digits(distance)} from the optimum"


def _highest_target(run: Run) -> str:
    """Return what the highest target took that was reached."""
    hits = [target for target in run.targets if reached(target)]
    if not hits:
        return ""
    target = max(hits, key=lambda target: float(target["accuracy"]))
    time = quantity(target.get("time_s"), TIME)
    energy = quantity(target.get("energy_j"), ENERGY)
    return f", and {percent(target['accuracy'])} took {quantity(target['round'])} rounds, {time} and {energy}"


def _missed_targets(run: Run) -> str:
    missed = [percent(target["accuracy"]) for target in run.targets if not reached(target)]
    if not missed:
        return ""
    return f"; not reached: {', '.join(missed)}"


def _cost(run: Run) -> str:
    """Return the energy spent, and the share without a used update."""
    energy_j = run.total("energy_j")
    if not energy_j:
        return ""
    text = f"Devices spent {quantity(energy_j, ENERGY)}"
    lost_j = run.sum("drained_j")
    # The energy of a run is the energy of taking part; batteries also lose what devices draw anyway.
    if lost_j is not None:
        lost = f"Batteries lost {quantity(lost_j, ENERGY)} to other things than learning"
        text = f"{lost}. {text} on taking part"

    wasted_j = wasted_energy.energy_by_outcome(run)
    # Polled devices that were not chosen lost nothing: they answered, which was all they had to do.
    polling_j = wasted_j.pop(POLLED, np.zeros(0)).sum()
    if polling_j:
        text += f", {_share(polling_j, energy_j)} to report losses without being chosen"
    reporting_j = wasted_j.pop(REPORTED, np.zeros(0)).sum()
    if reporting_j:
        text += f", {_share(reporting_j, energy_j)} to report channels"
    if run.has("evaluation_energy_j"):
        text += f", {_share(_sum(run, 'evaluation_energy_j'), energy_j)} to evaluate new models"
    if not wasted_j:
        return f"{text}; every update was used."
    if run.updates.many_lost:  # the first sentence says it
        return f"{text}."

    outcome_of = wasted_energy.outcomes(run)
    participations = 0
    ends = []
    for outcome in wasted_j:
        count = int((outcome_of == outcome).sum())
        participations += count
        ends.append(f"{quantity(count)} {wasted_energy.outcome_text(outcome)}")
    share = _share(sum(values_j.sum() for values_j in wasted_j.values()), energy_j)
    unused = f"{_count(participations, 'participation')} whose update was not used"
    return f"{text}, {share} for the {unused}: {', '.join(ends)}."


def _share(part_j: float, total_j: float) -> str:
    return f"{digits(100 * part_j / total_j, 1)} % of it"


def _sum(run: Run, column: str) -> float:
    return float(np.nansum(run.rounds[column]))


def _count(value: Any, noun: str) -> str:
    """Return a number with the noun that it counts, in the plural where it is not 1."""
    plural = "" if as_number(value) == 1 else "s"
    return f"{quantity(value)} {noun}{plural}"
