"""Groups of devices: such as are made of other hardware, or take turns from session to session."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgefl.core.arrays import Floats
from edgefl.core.units import as_number, quantity
from edgefl.learning.partitions import PARTITIONS
from edgefl.results.report import describe
from edgefl.results.report.coverage import known
from edgefl.results.report.describe import at
from edgefl.results.report.read import Run
from edgefl.results.report.style import Phase

COLOURS = ("#0072b2", "#009e73", "#56b4e9", "#4d4d4d", "#cc79a7", "#e69f00")


class Group(NamedTuple):
    """Devices with consecutive numbers."""

    name: str
    first: int
    end: int  # the first one after it
    colour: str
    reserve: float = 0.0  # of a battery's capacity, down at which its devices take part no more

    @property
    def size(self) -> int:
        """How many devices it has."""
        return self.end - self.first


def hardware(run: Run) -> list[Group]:
    """Those of the section ``devices``; a single one without a name where all are alike."""
    from edgefl.world.devices_section import Devices

    devices = known(Devices, at(run.scenario, "devices"))
    if devices is None:
        return []
    names = [group.name for group in devices.groups] or [""]
    reserves = [made.battery.reserve if made.battery else 0.0 for made in devices.made_of]
    each = zip(names, devices.borders, reserves, strict=True)
    return [
        Group(name, first, end, COLOURS[place % len(COLOURS)], reserve)
        for place, (name, (first, end), reserve) in enumerate(each)
    ]


def turns(run: Run) -> list[Group]:
    """Those that take turns from session to session; none where all devices are in every session."""
    count, devices = _turns(run), as_number(at(run.scenario, "devices.count"))
    if count < 2 or devices is None:
        return []
    edges = [int(place * devices // count) for place in range(count + 1)]  # as SessionGroups has them
    places = enumerate(pairwise(edges), 1)
    return [Group(f"group {place}", first, end, COLOURS[(place - 1) % len(COLOURS)]) for place, (first, end) in places]


def _turns(run: Run) -> int:
    """How many groups take turns, as ``Scenario.groups`` has it."""
    sessions = at(run.scenario, "sessions")
    if not sessions or at(run.scenario, "sessions.trigger"):
        return 1
    if given := as_number(at(run.scenario, "sessions.groups")):
        return int(given)
    kind = describe.kind(run.scenario, "data.partition")
    return PARTITIONS.load(kind).groups if kind in PARTITIONS.members else 1


def turn(run: Run, session: int) -> Group | None:
    """The one that is there in a session."""
    every = turns(run)
    first = int(as_number(at(run.scenario, "sessions.first_group")) or 1)
    return every[(first - 1 + session - 1) % len(every)] if every else None


def shown(run: Run) -> list[Group]:
    """Those that charts tell apart: they take turns, else they have a name."""
    return turns(run) or [group for group in hardware(run) if group.name]


def place(groups: list[Group], devices: Floats) -> NDArray[np.intp]:
    """The group, from 0, of each device [n]."""
    return np.searchsorted([group.end for group in groups], devices, side="right")


def colours(groups: list[Group]) -> list[Phase]:
    """The groups as the key of a chart."""
    return [Phase("", group.name, group.colour) for group in groups]


def labels(run: Run, group: Group) -> str:
    """Which labels a group's devices hold: ``0 to 4``; nothing where that is not known."""
    if run.labels is None:
        return ""
    inside = (run.labels["device"] >= group.first) & (run.labels["device"] < group.end)
    held = np.unique(run.labels["label"][inside])
    if not held.size:
        return ""
    whole = len(held) > 2 and held[-1] - held[0] == len(held) - 1
    return f"{quantity(held[0])} to {quantity(held[-1])}" if whole else ", ".join(map(quantity, held.tolist()))
