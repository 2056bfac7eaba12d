"""The causes, in terms of scenarios, of a difference between two runs in one part of their time or energy.

A cause is something that was counted (the bytes of a message), or a key of the scenario that differs and acts on the
part. Without either there is none: the sentence stops at the numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgefl.core.units import BYTES, NO_NUMBER, instead
from edgefl.core.words import words_of
from edgefl.results.differing_keys import KEYS_NOT_IN_LABELS
from edgefl.results.report.shared import describe
from edgefl.results.report.why.decomposition import Decomposition

ALIKE = 0.01  # values that differ by less than this part count as equal
MOST_KEYS = 2  # of more keys only the sections are named
TRANSFERS = ("download", "upload")
TEXTS = {"null": "none"}  # a value that is not set
ACTS_ON: Mapping[str, Sequence[str]] = words_of(__file__, "acts_on.yaml")  # parts, by the beginnings of keys


class Difference(NamedTuple):
    """A key that differs between two scenarios, with the texts of both values."""

    key: str
    own: str
    reference: str


def differences(scenario: Mapping[str, Any], reference: Mapping[str, Any]) -> list[Difference]:
    """Return the keys where a scenario differs from a reference's; of members with another kind only the kind."""
    found = [
        Difference(key, TEXTS.get(own, own), TEXTS.get(other, other))
        for key, (other, own) in describe.differences([reference, scenario]).items()
        if key not in KEYS_NOT_IN_LABELS
    ]
    members = {one.key.removesuffix("kind") for one in found if one.key.endswith(".kind")}
    return [one for one in found if one.key.endswith(".kind") or not any(one.key.startswith(m) for m in members)]


def of_parts(
    parts: Sequence[str], own: Decomposition, reference: Decomposition, keys: Sequence[Difference], *, more: bool
) -> list[str]:
    """Return the causes, as clauses, that make these parts take more (or less) than the reference's."""
    clauses = []
    ways = [part for part in TRANSFERS if part in parts]
    if ways:
        clauses += _bytes(ways, own, reference, more=more)
    acting = []
    for one in keys:
        if NO_NUMBER in (one.own, one.reference):  # a member's own key
            continue
        if any(_begins(one.key, beginning) and not set(parts).isdisjoint(ACTS_ON[beginning]) for beginning in ACTS_ON):
            acting.append(one)
    if len(acting) > MOST_KEYS:
        sections = dict.fromkeys(one.key.partition(".")[0] for one in acting)
        return [*clauses, f"{len(acting)} keys of {', '.join(sections)} differ"]
    return clauses + [f"{one.key.removesuffix('.kind')} is {one.own} instead of {one.reference}" for one in acting]


def _begins(key: str, beginning: str) -> bool:
    return key == beginning or key.startswith(f"{beginning}.")


def _bytes(ways: Sequence[str], own: Decomposition, reference: Decomposition, *, more: bool) -> list[str]:
    """Return which messages are larger, or smaller, in the direction of the difference in time."""
    sizes = {
        "download": (own.bytes_down, reference.bytes_down),
        "upload": (own.bytes_up, reference.bytes_up),
    }
    differing = [way for way in TRANSFERS if _differs(*sizes[way], more=more)]
    if not any(way in differing for way in ways):
        return []
    same_both_ways = _same(own.bytes_down, own.bytes_up) and _same(reference.bytes_down, reference.bytes_up)
    if len(differing) == len(TRANSFERS) and same_both_ways:
        return [f"it sends {instead(*sizes['upload'], BYTES)} each way"]
    clauses = []
    for way, verb in (("download", "receive"), ("upload", "send")):
        if way in differing and way in ways:
            clauses.append(f"its devices {verb} {instead(*sizes[way], BYTES)}")
    return clauses


def _differs(own: float, reference: float, *, more: bool) -> bool:
    if more:
        return own > reference * (1 + ALIKE)
    return own < reference * (1 - ALIKE)


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= ALIKE * abs(other)
