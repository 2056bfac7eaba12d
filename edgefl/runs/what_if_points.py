"""The points of a what-if: a finished run with another value of one key that does not change its learning."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.plugin_import import Access
from edgefl.core.section import shown
from edgefl.core.value_ranges import MOST_VALUES, is_range, plain, values_of_range
from edgefl.core.written_yaml import NotYaml
from edgefl.runs import what_if_recordings
from edgefl.runs.learning_key import learning_setting
from edgefl.scenario import Scenario, changed
from edgefl.scenario.overrides import Override
from edgefl.scenario.yaml_reader import parse

SWEEP = "use `edgefl sweep`"
# Keys that do not affect costs, or decide when the run ends.
NO_PRICES = {
    "name": "is only a name",
    "label": "is only a name",
    "targets": "only changes the report",
    "report": "only changes the report",
    "rounds": f"decides when the run ends, and so what is learned: {SWEEP}",
    "sessions": f"decides when the run ends, and how its sessions begin: {SWEEP}",
    "stop": f"decides when the run ends, and so what is learned: {SWEEP}",
    "import_from": "only names the place of code",
}
ENDS = frozenset({"rounds", "sessions", "stop"})  # those of them that a run without learning may vary
CODEC = "training.codec"
LEARNED_FROM = "changes what is learned, so it needs another run"
PAYLOADS = "to price another payload of the same learning, vary model.cost.parameters or cost"

Over = Mapping[str, Sequence[Any]]  # the values of each key
Where = Callable[[str], str]  # returns the place of a key's values


class WhatIfPoint(NamedTuple):
    """A run with another value of one key."""

    key: str  # dotted
    value: Any
    scenario: Scenario


def parse_over(text: str) -> tuple[str, list[Any]]:
    """Read "dotted.key=values": a range such as 5e6..100e6, or values in YAML between commas.

    Raises:
        InputError: the text has another form.
    """
    key, equals, values = text.partition("=")
    key = key.strip()
    if not equals or not all(key.split(".")) or not values.strip():
        raise InputError(f"--over {text}: must be KEY=VALUES, such as radio.bandwidth_hz=5e6..100e6 or KEY=5e6,10e6")
    if is_range(values):
        try:
            return key, list(values_of_range(values))
        except ValueError as error:
            raise InputError(f"--over {text}: {values.strip()}: {error}") from None
    try:
        listed, _ = parse(f"[{values}]")  # as a file: names and mappings work here, too
    except NotYaml as error:
        raise InputError(f"--over {text}: not valid YAML: {error.problem}") from None
    if not isinstance(listed, list):  # a bracket in the text has closed the list
        raise InputError(f"--over {text}: must be values between commas, such as 5e6,10e6")
    return key, listed


def points_of(
    scenario: Scenario, over: Over, where: Where, access: Access | None = None, *, has_learned: bool = True
) -> list[WhatIfPoint]:
    """Return a point for each value of each key; every point is checked as a scenario.

    Args:
        scenario: of the run.
        over: the values of each key; equal ones count once, and numbers are sorted.
        where: returns the place of a key's values, for messages.
        access: whether code from outside that a value names is imported.
        has_learned: whether the run learned anything; otherwise keys may vary on which learning depends.

    Raises:
        InputError: one line for every fault: an unknown key, a key that changes the learning, or a wrong value.
    """
    learned = learning_setting(scenario) if has_learned else None
    faults: list[str] = []
    points: list[WhatIfPoint] = []
    for key, values in over.items():
        try:
            points += _points(scenario, key, _in_order(values), where(key), learned, access)
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(*dict.fromkeys(faults))
    return points


def check_points(scenario: Scenario, access: Access | None = None) -> None:
    """Check the key `report.what_if` of a scenario; see `points_of`.

    Raises:
        InputError: one line for every fault.
    """
    if scenario.report.what_if:
        points_of(scenario, scenario.report.what_if, lambda _: "report.what_if", access)


def _in_order(values: Sequence[Any]) -> list[Any]:
    """Return the distinct values, sorted if all are numbers."""
    distinct: list[Any] = []
    for value in values:
        if isinstance(value, float):
            value = plain(value)  # noqa: PLW2901
        if not any(value == other and type(value) is type(other) for other in distinct):
            distinct.append(value)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in distinct):
        return sorted(distinct)
    return distinct


def _points(
    scenario: Scenario, key: str, values: Sequence[Any], where: str, learned: str | None, access: Access | None
) -> Iterator[WhatIfPoint]:
    parts = tuple(key.split("."))
    if not 1 <= len(values) <= MOST_VALUES:
        raise InputError(f"{where}: {key}: must have 1 to {MOST_VALUES} values, got {len(values)}")
    if parts[0] in NO_PRICES and (learned is not None or parts[0] not in ENDS):
        raise InputError(f"{where}: {key}: {NO_PRICES[parts[0]]}")
    for value in values:
        try:
            point = changed(scenario, [Override(parts, value, where)], access)
        except InputError as error:
            raise InputError(*(_placed(fault, where, key, value) for fault in error.faults)) from None
        if learned is not None and learning_setting(point) != learned:
            reason = f"{LEARNED_FROM}: {SWEEP}"
            if key == CODEC or key.startswith(f"{CODEC}."):
                reason = f"{reason}; {PAYLOADS}"
            raise InputError(f"{where}: {key}: {reason}")
        try:
            kept = what_if_recordings.conditions(scenario, point, where)
        except InputError as error:
            raise InputError(f"{where}: {key}: {error}") from None
        if kept:
            point = changed(point, kept, access)
        yield WhatIfPoint(key, value, point)


def _placed(fault: str, where: str, key: str, value: Any) -> str:
    if fault.startswith(f"{where}: "):
        return fault
    return f"{where}: {key}: {shown(value)} does not fit the scenario: {fault.removeprefix('scenario: ')}"
