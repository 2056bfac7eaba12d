"""The rows of a log that are left out of fits, and predicted by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from edgefl.calibration.log import LogRow
from edgefl.core.errors import InputError

Item = TypeVar("Item")

EVERY = 4  # each fourth network, or round, is left out


@dataclass(frozen=True)
class LeftOut:
    """The rows that are left out of one fit."""

    lines: frozenset[int]
    told: str  # their names


def left_out(rows: Sequence[LogRow], choice: str | None, *, by_network: bool) -> list[LeftOut]:
    """Return the rows that are left out of each of several fits.

    Args:
        rows: of the log.
        choice: a share below 1, or names of networks with commas between them, which one fit leaves out.
        by_network: leave out whole networks if there are several, without a choice each in turn; otherwise whole
            rounds, without a choice a quarter, but never the first round of a network.

    Raises:
        InputError: the choice is neither.
    """
    every = EVERY
    networks = list(dict.fromkeys(row.network for row in rows if row.network))
    by_network = by_network and len(networks) > 1
    if choice is not None:
        share = _share(choice)
        if share is None:
            return [_named(rows, choice.split(","), networks, choice)]
        if share == 0:
            return []
        every = round(1 / share)
    elif by_network:
        return [_named(rows, [network], networks, "") for network in networks]
    if by_network:
        return [_named(rows, _every(networks, every), networks, "")]
    return _rounds(rows, every)


def _rounds(rows: Sequence[LogRow], every: int) -> list[LeftOut]:
    """Return the rows of each `every`-th round, including rows without a network."""
    named = [row for row in rows if row.round and row.network] or [row for row in rows if row.round]
    rounds: dict[str, dict[str, None]] = {}
    for row in named:
        rounds.setdefault(row.network, {})[row.round] = None
    # Without its first round a network might be unknown.
    later = [(network, number) for network, numbers in rounds.items() for number in list(numbers)[1:]]
    if not later:
        return []
    chosen = _every(later, every)
    numbers = {number for _, number in chosen}
    lines = [
        row.line for row in rows if (row.network, row.round) in chosen or (not row.network and row.round in numbers)
    ]
    names = [f"round {number} of {network}".removesuffix(" of ") for network, number in chosen]
    return [LeftOut(frozenset(lines), ", ".join(names))]


def _share(choice: str) -> float | None:
    try:
        share = float(choice)
    except ValueError:
        return None
    if not 0 <= share <= 0.5:  # refuses nan, too
        raise InputError(f"--hold-out {choice}: must be a share from 0 to 0.5, or names of networks")
    return share


def _named(rows: Sequence[LogRow], names: Sequence[str], networks: Sequence[str], choice: str) -> LeftOut:
    for name in names:
        if name not in networks:
            known = ", ".join(networks) or "none"
            raise InputError(f'--hold-out {choice}: the log has no network "{name}"; networks: {known}')
    if len(names) == len(networks):
        raise InputError(f"--hold-out {choice}: leaves out all networks: name fewer")
    lines = frozenset(row.line for row in rows if row.network in names)
    return LeftOut(lines, ", ".join(names))


def _every(items: Sequence[Item], every: int) -> Sequence[Item]:
    """Return each `every`-th item; the last one if there are fewer."""
    return items[every - 1 :: every] or items[-1:]
