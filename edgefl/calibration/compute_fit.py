"""The time of a training step of one type of device: a law of what networks compute, or a table of measured times.

    step = batch (6 conv / r1 + 6 matmul / r2 + 6 grouped / r3 + 3 bytes / bandwidth + groups tau) + layers l + t0

with the multiply-accumulates of a sample's forward pass by kind, and the bytes of its results: training takes three
times the forward pass, and a multiply-accumulate is two operations. `shipped_law` fits its numbers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgefl.calibration.fitting import relative_fit, variation
from edgefl.calibration.log import LogRow, NetworkCounts
from edgefl.calibration.shipped_law import near_preset
from edgefl.world.compute_law import OPERATIONS, USUAL_PASSES

TOLD = 0.05  # of some step: a number with smaller parts in all of them keeps the preset's ratio


class Setting(NamedTuple):
    """The mean of all measurements of one unit with one network and batch size."""

    device: str
    network: str
    batch_size: float
    samples: float  # a step: fewer than the batch size where last batches are smaller
    step_s: float


@dataclass(frozen=True)
class FittedLaw:
    """The law of one type's steps at its highest clock, by the keys of `devices.compute`."""

    seconds: Mapping[str, float]  # for an operation, a byte, a group, a layer, a step
    shares: Mapping[str, float]  # the largest that each has of any step in the log

    def step_s(self, counts: NetworkCounts, samples: float) -> float:
        """Return the seconds of a training step."""
        amounts = _amounts(counts, samples)
        return math.fsum(amounts[key] * seconds for key, seconds in self.seconds.items())

    @property
    def untold(self) -> list[str]:
        """The numbers that the log cannot tell."""
        return [key for key, share in self.shares.items() if share < TOLD]


@dataclass(frozen=True)
class MeasuredSteps:
    """The seconds of a step by network and batch size, for networks without counts."""

    table: Mapping[tuple[str, float], float]

    def step_s(self, network: str, batch_size: float) -> float | None:
        """Return the seconds of a step, of a row or on a line through two batch sizes; None if there is neither."""
        if (network, batch_size) in self.table:
            return self.table[network, batch_size]
        line = self.line(network)
        if line is None:
            return None
        return line[0] + batch_size * line[1]

    def line(self, network: str) -> tuple[float, float] | None:
        """Return the seconds of a step and of each of its samples; None with fewer than two batch sizes."""
        measured = [(size, step_s) for (name, size), step_s in self.table.items() if name == network]
        if len(measured) < 2:
            return None
        sizes = np.array([size for size, _ in measured])
        steps_s = np.array([step_s for _, step_s in measured])
        step_s, sample_s = relative_fit(np.stack([np.ones(len(sizes)), sizes], axis=1), steps_s)
        return float(step_s), float(sample_s)


def settings_of(rows: Sequence[LogRow]) -> list[Setting]:
    """Return the settings of training rows of one type, at the highest clock among them.

    The time of a row at a lower clock is scaled to the highest clock: it is proportional to 1 / f.
    """
    highest_hz = highest_clock_hz(rows)
    found: dict[tuple[str, str, float], list[LogRow]] = {}
    for row in rows:
        if row.phase == "train" and row.batch_size is not None:
            found.setdefault((row.device, row.network, row.batch_size), []).append(row)
    settings: list[Setting] = []
    for (device, network, batch_size), repeats in found.items():
        samples = [samples_a_step(row) for row in repeats]
        steps_s = [step_s_of(row, highest_hz) for row in repeats]
        settings.append(Setting(device, network, batch_size, float(np.mean(samples)), float(np.mean(steps_s))))
    return settings


def typical(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings of a typical unit: the geometric mean of units with the same training.

    Its speed is the median of a lognormal distribution around 1.
    """
    found: dict[tuple[str, float, float], list[Setting]] = {}
    for setting in settings:
        found.setdefault((setting.network, setting.batch_size, setting.samples), []).append(setting)
    return [units[0]._replace(step_s=_geometric_mean([unit.step_s for unit in units])) for units in found.values()]


def _geometric_mean(numbers: Sequence[float]) -> float:
    first = numbers[0]  # so that a single number is not rounded
    return first * math.exp(math.fsum(math.log(number / first) for number in numbers) / len(numbers))


def highest_clock_hz(rows: Sequence[LogRow]) -> float | None:
    """Return the highest clock of a type's rows; None if none has one."""
    return max((row.clock_hz for row in rows if row.clock_hz is not None), default=None)


def slower_by(row: LogRow, highest_hz: float | None) -> float:
    """Return how many times longer computing takes at a row's clock than at the highest one."""
    if highest_hz is None or row.clock_hz is None:
        return 1.0
    return highest_hz / row.clock_hz


def step_s_of(row: LogRow, highest_hz: float | None) -> float:
    """Return the seconds of a step of a training row, at the highest clock."""
    if row.steps is None:
        raise AssertionError("a training row has steps")
    return row.seconds / row.steps / slower_by(row, highest_hz)


def samples_a_step(row: LogRow) -> float:
    """Return the mean samples of a step of a training row."""
    if row.samples is not None and row.steps is not None:
        return row.samples / row.steps
    if row.batch_size is None:
        raise AssertionError("a training row has a batch size")
    return row.batch_size


def fit_law(settings: Sequence[Setting], counts: Mapping[str, NetworkCounts]) -> FittedLaw:
    """Return the law of some steps, near the preset's."""
    amounts = [_amounts(counts[setting.network], setting.samples) for setting in settings]
    # Counts without layers do not know how many there are, so that the time of a step is all that they tell.
    keys = [key for key in amounts[0] if key != "layer_s" or any(of_step[key] for of_step in amounts)]
    table = np.array([[of_step[key] for key in keys] for of_step in amounts])  # [settings, keys]
    seconds = near_preset(keys, table, np.array([setting.step_s for setting in settings]))
    parts_s = table * seconds
    shares = (parts_s / parts_s.sum(axis=1, keepdims=True)).max(axis=0)
    return FittedLaw(
        dict(zip(keys, seconds.tolist(), strict=True)),
        dict(zip(keys, shares.tolist(), strict=True)),
    )


def _amounts(counts: NetworkCounts, samples: float) -> dict[str, float]:
    """Return the operations by kind, bytes, groups and layers of a training step, by the key that prices them."""
    forward = counts.forward
    passes = counts.passes * samples
    return {
        "convolution_flops_per_s": OPERATIONS * passes * forward.convolution_macs,
        "matmul_flops_per_s": OPERATIONS * passes * forward.matmul_macs,
        "grouped_flops_per_s": OPERATIONS * passes * forward.grouped_macs,
        "bandwidth_bytes_per_s": passes * forward.activation_bytes,
        "group_s": passes / USUAL_PASSES * forward.groups,
        "layer_s": forward.layers,
        "step_s": 1.0,
    }


def measured_steps(settings: Sequence[Setting]) -> MeasuredSteps:
    """Return the table of a typical unit of a type."""
    alike = [setting._replace(samples=setting.batch_size) for setting in settings]
    return MeasuredSteps({(of.network, of.batch_size): of.step_s for of in typical(alike)})


def jitter_of(rows: Sequence[LogRow]) -> float | None:
    """Return the coefficient of variation of a step's time over rounds, pooled over settings; None without repeats."""
    highest_hz = highest_clock_hz(rows)
    repeats: dict[tuple[str, str, float | None], list[float]] = {}
    for row in rows:
        if row.phase == "train":
            repeats.setdefault((row.device, row.network, row.batch_size), []).append(step_s_of(row, highest_hz))
    return variation(list(repeats.values()))


def spread_of(settings: Sequence[Setting]) -> float | None:
    """Return the standard deviation of the logarithm of speed between units of a type; None with fewer than two."""
    units = list(dict.fromkeys(setting.device for setting in settings))
    measured: dict[tuple[str, float], dict[str, float]] = {}
    for setting in settings:
        measured.setdefault((setting.network, setting.batch_size), {})[setting.device] = math.log(setting.step_s)
    # Some units may not have trained a network: units are compared with the mean of those that have.
    differences: dict[str, list[float]] = {}
    for logarithms in measured.values():
        if len(logarithms) < 2:
            continue
        mean = math.fsum(logarithms.values()) / len(logarithms)
        for unit, logarithm in logarithms.items():
            differences.setdefault(unit, []).append(logarithm - mean)
    if len(units) < 2 or len(differences) < 2:
        return None
    return float(np.std([np.mean(found) for found in differences.values()], ddof=1))
