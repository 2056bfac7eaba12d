"""Groups of devices: those with their own hardware, and those that take turns from session to session."""

from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import as_number
from edgefl.learning.partitions import PARTITIONS
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.describe import at, known
from edgefl.results.report.shared.read import Run
from edgefl.world.devices_section import Devices

GROUP_COLOURS = ("#0072b2", "#009e73", "#56b4e9", "#4d4d4d", "#cc79a7", "#e69f00")


class ChartedGroup(NamedTuple):
    """Devices with consecutive numbers."""

    name: str
    first: int
    end: int  # the first device after the group
    colour: str
    reserve: float = 0.0  # of a battery's capacity: below it devices take part no longer

    @property
    def size(self) -> int:
        """Number of devices in the group."""
        return self.end - self.first


def hardware(run: Run) -> list[ChartedGroup]:
    """Return the groups of the section ``devices``; one without a name where all devices are alike.

    The list is empty where this version does not know the section.
    """
    devices = known(Devices, at(run.scenario, "devices"))
    if devices is None:
        return []
    names = [group.name for group in devices.groups] or [""]
    groups = []
    for index, (name, (first, end), made_of) in enumerate(zip(names, devices.borders, devices.made_of, strict=True)):
        reserve = made_of.battery.reserve if made_of.battery else 0.0
        groups.append(ChartedGroup(name, first, end, _colour(index), reserve))
    return groups


def named_groups(run: Run) -> list[ChartedGroup]:
    """Return the groups of the section ``devices`` that have a name."""
    return [group for group in hardware(run) if group.name]


def session_groups(run: Run) -> list[ChartedGroup]:
    """Return the groups that take turns from session to session; none where all devices are in every session."""
    count = _session_group_count(run)
    devices = as_number(at(run.scenario, "devices.count"))
    if count < 2 or devices is None:
        return []
    groups = []
    for index in range(count):
        # The borders are those of the server's SessionGroups, also where the groups are not of one size.
        first = int(index * devices // count)
        end = int((index + 1) * devices // count)
        groups.append(ChartedGroup(f"group {index + 1}", first, end, _colour(index)))
    return groups


def _session_group_count(run: Run) -> int:
    """Return how many groups take turns, by the same rule as ``Scenario.groups``."""
    sessions = at(run.scenario, "sessions")
    if not sessions or at(run.scenario, "sessions.trigger"):
        return 1
    given = as_number(at(run.scenario, "sessions.groups"))
    if given:
        return int(given)
    kind = describe.kind(run.scenario, "data.partition")
    if kind not in PARTITIONS.members:  # from outside edgefl
        return 1
    return PARTITIONS.load(kind).groups


def group_of_session(run: Run, session: int) -> ChartedGroup | None:
    """Return the group that is present in a session, counted from 1; None where all devices are."""
    groups = session_groups(run)
    if not groups:
        return None
    first_group = int(as_number(at(run.scenario, "sessions.first_group")) or 1)
    return groups[(first_group - 1 + session - 1) % len(groups)]


def charted_groups(run: Run) -> list[ChartedGroup]:
    """Return the groups that charts tell apart by colour: those that take turns, else those that have a name."""
    return session_groups(run) or named_groups(run)


def group_of_devices(groups: list[ChartedGroup], devices: Floats) -> Rows:
    """Return the index in ``groups`` of the group of each device [n]; the last one of a device beyond all of them."""
    index = np.searchsorted([group.end for group in groups], devices, side="right")
    # A scenario that was changed by hand may know of fewer devices than the tables.
    return np.minimum(index, max(len(groups) - 1, 0))


def _colour(index: int) -> str:
    return GROUP_COLOURS[index % len(GROUP_COLOURS)]
