"""The bottleneck of a run in one sentence: where its energy and time go, and which device sets the pace of rounds.

All its numbers are counted or summed by `critical_path` from ``devices.csv`` and ``rounds.csv``, or are prices of
``what_if.csv``.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats
from edgefl.core.units import HERTZ, TIME, as_number, quantity
from edgefl.records.statuses import NOT_CHOSEN, POLLED, RECEIVED
from edgefl.results.report.run import device_groups, phase_bars, what_if
from edgefl.results.report.run.what_if import KeyPoints, Point
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import ENERGY_PHASES
from edgefl.results.report.why import critical_path
from edgefl.results.report.why.critical_path import Participations
from edgefl.results.what_if_table import WhatIfRow

# In the order of `ENERGY_PHASES`
ENERGY_NAMES = ("setting up", "download", "computing", "upload", "waiting")
# In the order of what `critical_path` returns
TIME_NAMES = (
    "setting up", "download", "computing", "upload", "waiting", "waiting for devices", "evaluation on devices"
)  # fmt: skip
COMPUTING = TIME_NAMES.index("computing")
SETTING_UP = TIME_NAMES.index("setting up")
UPLOAD = TIME_NAMES.index("upload")
LONGEST = ("the longest set-up", "the longest download", "the longest computing", "the longest upload")
# Under some policies devices wait for something in particular
AWAITED = {"hierarchical": "the backhaul", "split": "the server"}
MOST_ROUNDS = 0.5  # a trait of the devices that set the pace is named if they have it in more of the rounds
BEYOND_CHANCE = 1.5  # and in this many times the rounds that would have it by chance
LEAST_SAVED = 0.01  # of a round: less is not mentioned


class Largest(NamedTuple):
    """The phase with the largest share of something, and this share, from 0 to 1."""

    phase: str
    share: float


class Trait(NamedTuple):
    """A trait of the devices that set the pace: in how many rounds they had it, and in how many by chance."""

    text: str
    rounds: int
    by_chance: float


def sentence(run: Run) -> str:
    """Return the sentence; an empty text for a run without participations."""
    parts = critical_path.participations(run)
    if not parts.row.size:
        return ""
    clauses = [_shares(run, parts)]
    if critical_path.takes_turns(run):
        clauses.append(_turns(parts))
    elif describe.app(run.scenario):  # the app decides what it waits for
        pass
    elif critical_path.overlaps(parts):
        clauses.append(_without_rounds(run, parts))
    else:
        clauses += [_pace(run, parts), _priced_saving(run) or _saving(run, parts)]
    return "; ".join(clause for clause in clauses if clause) + "."


# Where energy and time go


def energy_shares(run: Run) -> Mapping[str, float]:
    """Return the share of each phase in the energy of all devices; they add up to 1. None where none was spent."""
    return _as_shares(phase_bars.totals(run, ENERGY_PHASES), ENERGY_NAMES)


def time_shares(run: Run, parts: Participations) -> Mapping[str, float]:
    """Return the share of each phase in the time of the run; they add up to 1.

    In rounds it is the time of the device that the round waits for; else that of all devices.
    """
    if critical_path.takes_turns(run):
        # Others wait while one device has its turn.
        times_s = np.array([*parts.phases_s.sum(axis=1), 0.0, 0.0, parts.evaluation_s.sum()])
    elif _in_rounds(run, parts):
        times_s = critical_path.time_by_phase(parts)
    else:
        times_s = critical_path.device_time_by_phase(parts)
    policy = describe.kind(run.scenario, "server.policy")
    names = [AWAITED.get(policy, name) if name == "waiting" else name for name in TIME_NAMES]
    return _as_shares(times_s, names)


def _in_rounds(run: Run, parts: Participations) -> bool:
    """Return whether a round waits for its participants, which all begin in it."""
    return not (critical_path.takes_turns(run) or describe.app(run.scenario) or critical_path.overlaps(parts))


def _as_shares(values: Floats, names: Sequence[str]) -> dict[str, float]:
    total = float(values.sum())
    if not total > 0:
        return {}
    return dict(zip(names, (values / total).tolist(), strict=True))


def _largest(shares: Mapping[str, float]) -> Largest | None:
    if not shares:
        return None
    phase = max(shares, key=lambda name: shares[name])
    return Largest(phase, shares[phase])


def _shares(run: Run, parts: Participations) -> str:
    time_of = "of the time"
    if not _in_rounds(run, parts) and not critical_path.takes_turns(run):
        time_of = "of the devices' time"
    energy_of = "of the energy"
    if run.on_batteries:
        energy_of = "of the energy of learning"
    energy = _largest(energy_shares(run))
    time = _largest(time_shares(run, parts))
    energy_text = f"{_percent(energy.share)} {energy_of}" if energy else ""
    time_text = f"{_percent(time.share)} {time_of}" if time else ""
    if energy and time and energy.phase != time.phase:
        return _capitalised(f"{energy.phase} takes {energy_text}, {time.phase} {time_text}")
    largest = energy or time
    if largest is None:
        return ""
    return _capitalised(f"{largest.phase} takes {' and '.join(text for text in (energy_text, time_text) if text)}")


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _percent(share: float) -> str:
    """Return a share as a whole percentage, without calling nearly all of it all."""
    if 0.995 <= share < 1 - 1e-9:
        return "over 99 %"
    return f"{100 * share:.0f} %"


# The pace of rounds


def _turns(parts: Participations) -> str:
    most = int(parts.in_round.max())
    if most < 2:
        return ""
    turns = f"{most:,}"
    if parts.in_round.min() < most:
        turns = f"up to {most:,}"
    share = _percent(critical_path.longest_turns(parts))
    return f"devices take turns, and the longest of {turns} turns takes {share} of its round"


def _without_rounds(run: Run, parts: Participations) -> str:
    """Return how long participations take where no device waits for another."""
    status = run.devices["status"]
    received = status[~np.isin(status, NOT_CHOSEN)] == RECEIVED
    if not received.any():
        return ""
    busy_s = parts.busy_s[received]
    median = quantity(float(np.median(busy_s)), TIME)
    longest = quantity(float(busy_s.max()), TIME)
    return f"no device waits for the slowest one: an update takes {median} in the median, {longest} at most"


def _pace(run: Run, parts: Participations) -> str:
    """Return which devices set the pace, and in how many rounds; an empty text where none do."""
    # A device that is alone in its round sets its pace, which says nothing.
    with_several = int((parts.in_round > 1).sum())
    of_rounds = f"of {parts.rounds:,} rounds"
    if with_several < parts.rounds:
        of_rounds = f"of the {with_several:,} rounds with several participants"
    cut_off = 0
    if describe.kind(run.scenario, "server.policy") == "deadline":
        cut_off = critical_path.rounds_cut_off(parts)
    if 2 * cut_off > parts.rounds:
        return f"the deadline ends {cut_off:,} of {parts.rounds:,} rounds"
    in_step = critical_path.rounds_in_step(parts)
    if 2 * in_step > with_several:
        return f"all participants end together in {in_step:,} {of_rounds}"

    setters = critical_path.set_pace(parts) & (parts.in_round[parts.row] > 1)
    if not setters.any():
        return ""
    trait = _common(run, parts, setters)
    if trait is None:
        devices, times = np.unique(parts.device[setters], return_counts=True)
        return f"{len(devices):,} devices take turns at setting the pace, none in more than {times.max():,} {of_rounds}"
    text = f"{trait.text} sets the pace in {trait.rounds:,} {of_rounds}"
    if cut_off:
        text += f", the deadline in {cut_off:,}"
    return text


def _common(run: Run, parts: Participations, setters: Bools) -> Trait | None:
    """Return the most telling trait that the devices that set the pace share in most rounds; None without one."""
    # Only traits that make them slow count: the slowest processor may by chance be the farthest device, too.
    slowest_in = int(np.argmax(critical_path.lag_by_phase(parts, setters)))
    reasons = _reasons(run, parts, slowest_in)
    traits = [_trait(parts, setters, text, values) for text, values in reasons.items()]
    longest = _trait(parts, setters, LONGEST[slowest_in], parts.phases_s[slowest_in])
    rounds = critical_path.rounds_of(parts, setters)
    for candidates in ([_same_device(parts, setters)], [*traits, *_groups(run, parts, setters)], [longest]):
        likely = [trait for trait in candidates if _is_common(trait, rounds)]
        if likely:
            return max(likely, key=lambda trait: trait.rounds)
    return None


def _is_common(trait: Trait, rounds: int) -> bool:
    """Return whether most rounds have the trait, and clearly more than by chance."""
    return trait.rounds > max(MOST_ROUNDS * rounds, BEYOND_CHANCE * trait.by_chance)


def _same_device(parts: Participations, setters: Bools) -> Trait:
    devices, times = np.unique(parts.device[setters], return_counts=True)
    often = int(np.argmax(times))
    return Trait(f"device {devices[often]:.0f}", int(times[often]), 0.0)


def _reasons(run: Run, parts: Participations, phase: int) -> dict[str, Floats]:
    if phase == SETTING_UP:
        return {}
    if phase == COMPUTING:
        return _of_computing(run, parts)
    return _of_link(run)


def _of_link(run: Run) -> dict[str, Floats]:
    chosen = ~np.isin(run.devices["status"], NOT_CHOSEN)
    shadowing_db = np.nan_to_num(run.devices["shadowing_db"][chosen])  # folders of earlier versions lack it
    return {
        "the farthest participant": run.devices["distance_m"][chosen],
        "the participant with the weakest link": run.devices["pathloss_db"][chosen] + shadowing_db,
    }


def _of_computing(run: Run, parts: Participations) -> dict[str, Floats]:
    samples = _samples(run, parts.device)
    if samples is None:
        return {}
    return {
        "the participant with the most data": samples,
        "the participant with the slowest processor": 1.0 / _speed(run, parts, samples),
    }


def _groups(run: Run, parts: Participations, setters: Bools) -> list[Trait]:
    groups = device_groups.named_groups(run)
    group_of = device_groups.group_of_devices(groups, parts.device)
    rounds = critical_path.rounds_of(parts, setters)
    traits = []
    for index, group in enumerate(groups):
        in_group = group_of == index
        text = f"a device of the group {group.name}"
        by_chance = float(in_group.mean()) * rounds
        traits.append(Trait(text, critical_path.rounds_of(parts, setters & in_group), by_chance))
    return traits


def _trait(parts: Participations, setters: Bools, text: str, values: Floats) -> Trait:
    """Return in how many rounds a device that sets the pace has the largest value."""
    # Late updates did not count, so only the others are compared.
    in_time = np.where(parts.late, np.nan, values)
    largest = critical_path.largest_in_round(parts, in_time)
    rows = np.unique(parts.row[setters])
    by_chance = float((1.0 / parts.in_round[rows]).sum())
    return Trait(text, critical_path.rounds_of(parts, setters & largest), by_chance)


def _samples(run: Run, device: Floats) -> Floats | None:
    """Return the samples of each participation's device [n]; None where they are not known, or change."""
    labels = run.labels
    if labels is None or not labels["device"].size or describe.at(run.scenario, "data.redivide"):
        return None
    of_device = np.bincount(labels["device"].astype(np.int64), labels["samples"])
    if device.size and device.max() >= len(of_device):
        of_device = np.append(of_device, np.zeros(int(device.max()) + 1 - len(of_device)))
    return np.asarray(of_device[device.astype(np.int64)], np.float64)


def _speed(run: Run, parts: Participations, samples: Floats) -> Floats:
    """Return the work [n] of each participation by the time that it has computed; NaN where that is not known."""
    compute_s = parts.phases_s[COMPUTING]
    if as_number(describe.at(run.scenario, "training.local_epochs")) is not None:
        work = samples
    elif as_number(describe.at(run.scenario, "training.local_steps")) is not None:
        work = np.ones(len(samples))
    else:
        return np.full(len(samples), np.nan)
    speed = np.full(len(samples), np.nan)
    np.divide(work, compute_s, out=speed, where=(compute_s > 0) & (work > 0))
    return speed


# Possible savings


def _priced_saving(run: Run) -> str:
    """Return which neighbouring value of a key would save most time, of the values with a price."""
    if not what_if.is_current(run):
        return ""
    best_s = 0.0
    text = ""
    for key_points in what_if.keys_of(run):
        own = key_points.points[key_points.own]
        for point in _next_points(key_points):
            if point.row.costs["rounds"] != own.row.costs["rounds"]:  # such as a run that stops at a time
                continue
            saved_s = _round_s(own.row) - _round_s(point.row)
            if saved_s > max(best_s, LEAST_SAVED * _round_s(own.row)):
                best_s = saved_s
                text = f"{_change_text(key_points.key, own, point)} would save {quantity(saved_s, TIME)} a round"
    return text


def _next_points(key_points: KeyPoints) -> Sequence[Point]:
    """Return the neighbours of the run's own value; all other points where they have no order."""
    points = key_points.points
    own = key_points.own
    if not key_points.numeric:
        return [point for point in points if not point.own]
    # The largest band on a slider would always win, and is rarely available.
    return [*points[max(own - 1, 0) : own], *points[own + 1 : own + 2]]


def _round_s(row: WhatIfRow) -> float:
    time_s = row.costs["time_s"] or 0.0
    rounds = row.costs["rounds"] or 0.0
    return time_s / max(rounds, 1.0)


def _change_text(key: str, own: Point, point: Point) -> str:
    """Return a change of a key's value, such as ``20 MHz more bandwidth``."""
    name = describe.bare(key)
    # Of levels in decibels, and of ratios, a difference would be read wrongly.
    if key.endswith("_hz") and own.value is not None and point.value is not None:
        more = "more" if point.value > own.value else "less"
        return f"{quantity(abs(point.value - own.value), HERTZ)} {more} {name}"
    if own.label == what_if.OWN:  # the run's own member or distribution is not among the values
        return f"{name} {point.label}"
    return f"{name} {point.label} instead of {own.label}"


def _saving(run: Run, parts: Participations) -> str:
    """Return how long a round would take without its longest phase, by the recorded times of all others."""
    largest = _largest(time_shares(run, parts))
    if largest is None or largest.phase not in ENERGY_NAMES[:-1]:  # waiting follows from other phases
        return ""
    phase = TIME_NAMES.index(largest.phase)
    if not _others_stay(run, parts, phase):
        return ""
    total_s = float(parts.duration_s.sum())
    without_s = critical_path.duration_without(parts, phase)
    if total_s - without_s < LEAST_SAVED * total_s:
        return ""
    before = quantity(total_s / parts.rounds, TIME)
    after = quantity(without_s / parts.rounds, TIME)
    return f"without {largest.phase} a round would take {after} instead of {before}"


def _others_stay(run: Run, parts: Participations, phase: int) -> bool:
    """Return whether the times of other phases would stay the same if one took no time."""
    policy = describe.kind(run.scenario, "server.policy")
    if policy not in {"synchronous", "hierarchical"} or parts.late.any():
        return False
    if (run.devices["status"] == POLLED).any():  # devices also wait for the answers of others
        return False
    # On a shared band earlier uploads would meet other transfers, and take another time.
    return phase == UPLOAD or describe.at(run.scenario, "radio.sharing") != "processor"
