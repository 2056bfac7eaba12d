"""Held-out errors of the laws that price a run, carried into its totals by drawing.

A law that has missed n numbers by a root mean square sigma of their logarithms misses the next one by the factor
``exp(sigma t)``, with t from Student's distribution with n degrees of freedom. One factor holds for everything that a
law prices, so that all devices of a profile err together, in all runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from zlib import crc32

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.streams import Streams
from edgefl.records.columns import ENERGY_COLUMNS
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


@dataclass
class _Moments:
    """Sums and ends over the participations of a round."""

    end_s: Floats | float = 0.0  # [draws] of the last one, since the round began
    recorded_end_s: float = 0.0
    longer_s: Floats | float = 0.0  # [draws] by how much all together are longer than recorded
    busy_s: float = 0.0  # of all together, as recorded
    active_j: Floats | float = 0.0  # [draws] besides waiting
    idle_j: Floats | float = 0.0  # [draws] of waiting, in a round as long as recorded


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
        self._down = _factors("downlink", link.downlink)
        self._up = _factors("uplink", link.uplink)

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
        moments = _Moments()
        for rows in np.array_split(np.arange(len(devices["device"])), len(devices["device"]) // AT_ONCE + 1):
            self._add(moments, since_s, {name: np.asarray(cells)[rows] for name, cells in devices.items()})
        if self.order == "in_turn":
            drawn_s = duration_s + moments.longer_s
        elif self.order == "overlapping":
            drawn_s = duration_s * (1 + moments.longer_s / max(moments.busy_s, TINY))
        else:
            drawn_s = duration_s + moments.end_s - moments.recorded_end_s
        drawn_s = np.broadcast_to(np.clip(drawn_s, 0.0, max(duration_s, self._deadline_s)), DRAWS)
        return drawn_s, moments.active_j + moments.idle_j * drawn_s / max(duration_s, TINY)

    def _add(self, moments: _Moments, since_s: float, devices: Mapping[str, Any]) -> None:
        """Add participations [n], of a round that began at `since_s`."""
        phases_s = {name: np.nan_to_num(devices[name]) for name in PHASES if name in devices}
        busy_s = np.asarray(sum(phases_s.values()))
        ends_s = devices["start_s"] - since_s + busy_s
        status = devices["status"]
        counted = ~np.isin(status, (*NOT_CHOSEN, UNFINISHED))
        if not np.isfinite(self._deadline_s):  # what a policy cuts short does not hold up the others
            counted &= status != LATE
        completed = ~np.isin(status, CUT_SHORT)[:, None]
        group = np.searchsorted(self._groups_end, devices["device"], side="right")
        compute = np.where(completed, self._compute[group], 1.0)
        down = np.where(completed, self._down, 1.0)
        up = np.where(completed, self._up, 1.0)
        longer_s = (
            phases_s["download_s"][:, None] * (down - 1)
            + phases_s["compute_s"][:, None] * (compute - 1)
            + phases_s["upload_s"][:, None] * (up - 1)
        )
        if counted.any():
            moments.end_s = np.maximum(moments.end_s, (ends_s[:, None] + longer_s)[counted].max(axis=0))
            moments.recorded_end_s = max(moments.recorded_end_s, ends_s[counted].max())
            moments.longer_s = moments.longer_s + longer_s[counted].sum(axis=0)
            moments.busy_s += busy_s[counted].sum()
        joules = {name: np.nan_to_num(devices[name])[:, None] for name in ENERGY_COLUMNS if name in devices}
        active_j = joules["rx_energy_j"] * down + joules["cpu_energy_j"] * compute + joules["tx_energy_j"] * up
        active_j = active_j + joules.get("setup_energy_j", 0.0)
        power = self._power[group]
        moments.active_j = moments.active_j + (active_j * power).sum(axis=0)
        moments.idle_j = moments.idle_j + (joules["idle_energy_j"] * power).sum(axis=0)
