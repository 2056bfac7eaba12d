"""The fit to a log: each type of device, and the link that they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgefl.calibration.compute_fit import (
    FittedLaw,
    MeasuredSteps,
    fit_law,
    highest_clock_hz,
    jitter_of,
    measured_steps,
    samples_a_step,
    settings_of,
    slower_by,
    spread_of,
    typical,
)
from edgefl.calibration.energy_fit import EnergyFit, fit_energy
from edgefl.calibration.log import LogRow, NetworkCounts
from edgefl.calibration.radio_fit import LinkFit, exchanges_of, fit_link
from edgefl.world.compute_law import USUAL_PASSES, forward_share

Counts = Mapping[str, NetworkCounts]


@dataclass(frozen=True)
class TypeFit:
    """One type of device; None where no row tells a value."""

    name: str
    units: int
    rows: Sequence[LogRow]
    highest_hz: float | None
    law: FittedLaw | None  # for networks with counts
    measured: MeasuredSteps | None  # for networks without
    jitter: float | None
    spread: float | None  # standard deviation of the logarithm of units' speeds
    energy: EnergyFit

    def compute_s(self, row: LogRow, counts: Counts) -> float | None:
        """Return how long a row of phase train or evaluate takes; None if that is not known."""
        if row.phase == "train":
            seconds = self._train_s(row, counts)
        else:
            seconds = self._evaluate_s(row, counts)
        if seconds is None:
            return None
        return seconds * slower_by(row, self.highest_hz)

    def _train_s(self, row: LogRow, counts: Counts) -> float | None:
        if row.steps is None or row.batch_size is None:
            return None
        step_s = self._step_s(row.network, row.batch_size, samples_a_step(row), counts)
        if step_s is None:
            return None
        return row.steps * step_s

    def _evaluate_s(self, row: LogRow, counts: Counts) -> float | None:
        """Return the seconds of an emulated evaluation: a share of a training step of the same size."""
        batch_size = row.batch_size or self._batch_size
        if row.samples is None or batch_size is None:
            return None
        step_s = self._step_s(row.network, batch_size, batch_size, counts)
        if step_s is None:
            return None
        passes = USUAL_PASSES
        if row.network in counts:
            passes = counts[row.network].passes
        return row.samples * float(forward_share(step_s, batch_size, passes))

    def _step_s(self, network: str, batch_size: float, samples: float, counts: Counts) -> float | None:
        """Return the seconds of a training step at the highest clock."""
        if self.law is not None:
            return self.law.step_s(counts[network], samples)
        if self.measured is not None:
            return self.measured.step_s(network, batch_size)
        return None

    @property
    def _batch_size(self) -> float | None:
        """The one batch size of training; None if there are several, or none."""
        sizes = {row.batch_size for row in self.rows if row.phase == "train"}
        if len(sizes) != 1:
            return None
        return sizes.pop()

    def joules(self, row: LogRow) -> float | None:
        """Return the energy of a row, by the power of its phase and its measured seconds; None if it is not known."""
        power_w: float | None = None
        if row.phase == "setup":
            return self.energy.setup_j
        if row.phase == "idle":
            power_w = self.energy.idle_w
        elif row.phase in {"train", "evaluate"} and self.energy.cpu is not None:
            power_w = self.energy.cpu.at(row.clock_hz)
        elif row.phase == "download" and self.energy.rx is not None:
            power_w = self.energy.rx.at(row.mbit_s)
        elif row.phase == "upload" and self.energy.tx is not None:
            power_w = self.energy.tx.at(row.mbit_s)
        if power_w is None:
            return None
        return power_w * row.seconds


@dataclass(frozen=True)
class Fit:
    """A testbed."""

    types: Mapping[str, TypeFit]
    down: LinkFit | None
    up: LinkFit | None


def fit(rows: Sequence[LogRow], counts: Counts | None) -> Fit:
    """Return the fit to rows of a log, given what their networks compute (None: unknown)."""
    of_type: dict[str, list[LogRow]] = {}
    for row in rows:
        of_type.setdefault(row.type, []).append(row)
    return Fit(
        {name: _fit_type(name, its_rows, counts) for name, its_rows in of_type.items()},
        fit_link(exchanges_of(rows, "download")),
        fit_link(exchanges_of(rows, "upload")),
    )


def _fit_type(name: str, rows: Sequence[LogRow], counts: Counts | None) -> TypeFit:
    settings = settings_of(rows)
    law = None
    measured = None
    if settings and counts is not None:
        law = fit_law(typical(settings), counts)
    elif settings:
        measured = measured_steps(settings)
    return TypeFit(
        name=name,
        units=len({row.device for row in rows}),
        rows=rows,
        highest_hz=highest_clock_hz(rows),
        law=law,
        measured=measured,
        jitter=jitter_of(rows),
        spread=spread_of(settings),
        energy=fit_energy(rows),
    )
