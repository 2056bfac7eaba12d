"""Held-out errors of the laws that price a run, carried into its totals by drawing.

A law that has missed n numbers by a root mean square sigma of their logarithms misses the next one by the factor
``exp(sigma t)``, with t from Student's distribution with n degrees of freedom. One factor holds for everything that a
law prices, so that all devices of a profile err together, in all runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal
from zlib import crc32

import numpy as np

from edgefl.core.arrays import Bools, Floats
from edgefl.core.streams import Streams
from edgefl.records.statuses import LATE, NOT_CHOSEN, OUT_OF_MEMORY
from edgefl.world.devices_section import Devices
from edgefl.world.held_out import DeviceErrors, HeldOutError, LinkErrors, NetworkKind

DRAWS = 400
COVERAGE = 0.9  # of the interval from `low` to `high`
AT_ONCE = 2**12  # participations, which take 13 MB for each intermediate result
NO_LINK_ERRORS = LinkErrors()
PHASES = ("setup_s", "download_s", "compute_s", "upload_s")  # columns that add up to a participation's work
UNFINISHED = "unfinished"  # cut off after the last round
CUT_SHORT = (LATE, "departed", UNFINISHED, OUT_OF_MEMORY)
TINY = np.finfo(np.float64).tiny
Order = Literal["together", "in_turn", "overlapping"]
"""Whether the participations of a round begin together, each after the one before, or at any time."""


def interval(drawn: Floats) -> tuple[float, float]:
    """Return the ends of the interval that holds nine tenths of the draws [draws]."""
    low, high = np.quantile(drawn, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return float(low), float(high)


def _factors(law: str, error: HeldOutError | None) -> Floats:
    """Return measured over predicted [draws]; 1 where it was not measured."""
    if error is None:
        return np.ones(DRAWS)
    from scipy.special import stdtrit  # late, as most runs need none of it

    # Of no run's seed: what is compared errs together.
    uniform = Streams(0).uniform("held_out", np.arange(DRAWS), crc32(law.encode()))
    return np.asarray(np.exp(error.sigma * stdtrit(error.numbers, uniform)))


def _missing(what: str, errors: Sequence[HeldOutError | None], names: Sequence[str]) -> list[str]:
    """Return what no error was measured of; where only some groups of devices lack it, with their names."""
    if all(error is None for error in errors):
        return [what]
    lacking = [name for name, error in zip(names, errors, strict=False) if error is None]
    return [f"{what} of {', '.join(lacking)}"] if lacking else []


class _Participations:
    """Participations [n] as columns of devices.csv, and their sums over groups of devices."""

    def __init__(self, devices: Mapping[str, Any], groups_end: Sequence[int]) -> None:
        self._devices = devices
        self._groups = len(groups_end)
        self.group = np.searchsorted(groups_end, devices["device"], side="right")
        self.completed: Bools = ~np.isin(devices["status"], CUT_SHORT)
        self.busy_s = np.asarray(sum(self.column(name) for name in PHASES))

    def counted(self, *, has_deadline: bool) -> Bools:
        """Return those [n] that the round may have waited for; what a policy cuts short does not hold up the others."""
        others = (*NOT_CHOSEN, UNFINISHED) if has_deadline else (*NOT_CHOSEN, UNFINISHED, LATE)
        return ~np.isin(self._devices["status"], others)

    def column(self, name: str) -> Floats:
        """Return a column [n]; zeros for one that the run does not have."""
        return np.asarray(np.nan_to_num(self._devices.get(name, np.zeros(len(self.group)))))

    def sums(self, name: str, rows: Bools | slice = slice(None)) -> Floats:
        """Return the sums [groups] of some rows of a column."""
        return np.bincount(self.group[rows], self.column(name)[rows], self._groups).astype(np.float64)


class ErrorDraws:
    """Factors [draws] of a run's laws, and what they make of its rounds.

    Args:
        devices: the section `devices`.
        link: `radio.held_out`.
        network: the kind of network that devices train.
        order: of the participations of a round.
        deadline_s: of a round; infinite without one.
    """

    def __init__(
        self, devices: Devices, link: LinkErrors | None, network: NetworkKind, order: Order, deadline_s: float
    ) -> None:
        link = link or NO_LINK_ERRORS
        self.order = order
        self._deadline_s = deadline_s
        self.network = network
        errors = [hardware.held_out or DeviceErrors() for hardware in devices.made_of]
        names = [group.name for group in devices.groups]
        of_compute = [error.compute.of(network) for error in errors]
        of_power = [error.power for error in errors]
        self.missing = [  # what has no measured error
            *_missing("times of computing", of_compute, names),
            *_missing("powers", of_power, names),
            *_missing("times of downloads", [link.downlink], []),
            *_missing("times of uploads", [link.uplink], []),
        ]
        sources = [hardware.source for hardware in devices.made_of]
        self._groups_end = [end for _, end in devices.borders]
        self._compute = np.array(
            [_factors(f"computing {law}", error) for law, error in zip(sources, of_compute, strict=True)]
        )
        self._power = np.array([_factors(f"power {law}", error) for law, error in zip(sources, of_power, strict=True)])
        # One link for all groups
        self._down = np.broadcast_to(_factors("downlink", link.downlink), self._compute.shape)
        self._up = np.broadcast_to(_factors("uplink", link.uplink), self._compute.shape)

    @property
    def of_time(self) -> bool:
        """Whether any law of a time has a measured error."""
        return any(np.ptp(factors) > 0 for factors in (self._compute, self._down, self._up))

    @property
    def of_energy(self) -> bool:
        """Whether any law of a time or a power has a measured error."""
        return self.of_time or np.ptp(self._power) > 0

    def of_round(self, duration_s: float, since_s: float, devices: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """Return how long a round may take [draws] in s, and its energy [draws] in J.

        A participation that was cut short, such as by a deadline, ends when it ended.

        Args:
            duration_s: of the round.
            since_s: when it began.
            devices: the participations [n] that ended in it, as columns of devices.csv.
        """
        parts = _Participations(devices, self._groups_end)
        lasting = parts.counted(has_deadline=bool(np.isfinite(self._deadline_s)))
        longer_s = (
            parts.sums("download_s", lasting & parts.completed) @ (self._down - 1)
            + parts.sums("compute_s", lasting & parts.completed) @ (self._compute - 1)
            + parts.sums("upload_s", lasting & parts.completed) @ (self._up - 1)
        )
        drawn_s = np.full(DRAWS, duration_s)
        if self.order == "in_turn":
            drawn_s = duration_s + longer_s
        elif self.order == "overlapping":
            drawn_s = duration_s * (1 + longer_s / max(parts.busy_s[lasting].sum(), TINY))
        elif self.of_time and lasting.any():
            ends_s = devices["start_s"] - since_s + parts.busy_s
            drawn_s = duration_s + self._last_s(parts, ends_s, lasting) - ends_s[lasting].max()
        drawn_s = np.clip(drawn_s, 0.0, max(duration_s, self._deadline_s))
        return drawn_s, self._joules(parts, drawn_s / max(duration_s, TINY))

    def _last_s(self, parts: _Participations, ends_s: Floats, lasting: Bools) -> Floats:
        """Return when the last of some participations ends [draws]; without errors they end at `ends_s` [n]."""
        last_s = np.full(DRAWS, -np.inf)
        rows = np.flatnonzero(lasting)
        for some in np.array_split(rows, len(rows) // AT_ONCE + 1):
            group = parts.group[some]
            longer_s = (
                parts.column("download_s")[some, None] * (self._down[group] - 1)
                + parts.column("compute_s")[some, None] * (self._compute[group] - 1)
                + parts.column("upload_s")[some, None] * (self._up[group] - 1)
            )
            longer_s[~parts.completed[some]] = 0.0
            last_s = np.maximum(last_s, (ends_s[some, None] + longer_s).max(axis=0))
        return last_s

    def _joules(self, parts: _Participations, longer: Floats) -> Floats:
        """Return the energy of a round [draws], which lasts so many times as long [draws]."""
        joules = parts.sums("idle_energy_j") @ (self._power * longer)
        joules += parts.sums("setup_energy_j") @ self._power
        factors = {"rx_energy_j": self._down, "cpu_energy_j": self._compute, "tx_energy_j": self._up}
        for name, of_law in factors.items():
            joules += parts.sums(name, parts.completed) @ (self._power * of_law)
            joules += parts.sums(name, ~parts.completed) @ self._power
        return np.asarray(joules)
