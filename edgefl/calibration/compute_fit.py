"""The time of a training step of one type of device: a law of what networks compute, or a table of measured times.

    step = batch (6 conv / r1 + 6 matmul / r2 + 6 grouped / r3 + 3 bytes / bandwidth + groups tau) + t0

with the multiply-accumulates of a sample's forward pass by kind, and the bytes of its results: training takes three
times the forward pass, and a multiply-accumulate is two operations. All coefficients are fitted by non-negative least
squares on relative residuals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from edgefl.calibration.fitting import relative_fit, variation
from edgefl.calibration.log import LogRow, NetworkCounts
from edgefl.calibration.shipped_law import near_shipped
from edgefl.core.arrays import Floats
from edgefl.world.compute_law import OPERATIONS, USUAL_PASSES

# In order of preference. A kind without a speed of its own has the one speed.
TERMS = ("speed", "step_s", "group_s", "matmul", "bandwidth", "grouped")
WORTH = 0.9  # a further term must lower the error of networks left out at least to this share
NO_LIMIT = 1e18  # operations a second of a kind of layer whose bytes take all of its time
GOOD = 0.05  # error below which a law of few terms is kept
EXACT = 1e-9  # a lower error is rounding


class Setting(NamedTuple):
    """The mean of all measurements of one unit with one network and batch size."""

    device: str
    network: str
    batch_size: float
    samples: float  # a step: fewer than the batch size where last batches are smaller
    step_s: float


@dataclass(frozen=True)
class FittedLaw:
    """The law of one type's steps at its highest clock: seconds per unit of each of its terms."""

    coefficients: Mapping[str, float]
    left_out_error: float | None = None  # mean relative error of networks left out in turn; None: a single network
    near_shipped: bool = False

    def step_s(self, counts: NetworkCounts, samples: float) -> float:
        """Return the seconds of a training step."""
        features = _features(tuple(self.coefficients), counts, samples)
        return float(np.dot(features, list(self.coefficients.values())))

    @property
    def speeds(self) -> dict[str, float]:
        """The operations a second by kind: convolution, matmul, grouped."""
        one = self.coefficients["speed"]
        kinds = {"convolution": one, "matmul": one, "grouped": one} | {
            kind: self.coefficients[kind] for kind in ("matmul", "grouped") if kind in self.coefficients
        }
        return {kind: 1 / seconds if seconds else NO_LIMIT for kind, seconds in kinds.items()}


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
    """Return the law whose terms best predict networks that are left out of the fit.

    All sets of terms that include the one speed are tried, small ones first. With k networks at one batch size a law
    has at most k - 1 terms, as each network is left out in turn. If such a law predicts a few networks badly, the
    result is a law near that of the presets (`shipped_law`), as it is with a single network of a single batch size.
    Several batch sizes of one network give the time of a step and a speed.
    """
    data = _Steps(settings, counts)
    networks = list(dict.fromkeys(setting.network for setting in settings))
    if len(networks) == 1:
        if len({setting.samples for setting in settings}) > 1:
            return data.law(("speed", "step_s")) or _one_speed(data)
        return FittedLaw(data.near_shipped().coefficients, near_shipped=True)
    best: FittedLaw | None = None
    for size in range(len(TERMS)):
        for further in combinations(TERMS[1:], size):
            law = _tried(("speed", *further), data, networks)
            if law is not None and (best is None or _is_better(law, best)):
                best = law
    is_good = best is not None and best.left_out_error is not None and best.left_out_error < GOOD
    if len(networks) <= len(TERMS) and not is_good:
        errors = [data.error_on(data.without(network).near_shipped(), network) for network in networks]
        law = data.near_shipped()
        return FittedLaw(law.coefficients, math.fsum(errors) / len(errors), near_shipped=True)
    return best or _one_speed(data)


class _Steps(NamedTuple):
    """The steps that a law is fitted to, and what their networks compute."""

    settings: Sequence[Setting]
    counts: Mapping[str, NetworkCounts]

    def without(self, network: str) -> _Steps:
        """Return the steps of all other networks."""
        return _Steps([setting for setting in self.settings if setting.network != network], self.counts)

    def features(self, terms: tuple[str, ...]) -> Floats:
        """Return how much of each term the steps have, [steps, terms]."""
        return np.array([_features(terms, self.counts[one.network], one.samples) for one in self.settings])

    @property
    def steps_s(self) -> Floats:
        """The measured seconds [steps]."""
        return np.array([setting.step_s for setting in self.settings])

    def law(self, terms: tuple[str, ...]) -> FittedLaw | None:
        """Return the law of some terms; None if the steps cannot tell one of them from the others."""
        relative = self.features(terms) / self.steps_s[:, None]
        size = np.linalg.norm(relative, axis=0)
        if not size.all() or np.linalg.matrix_rank(relative / size) < len(terms):
            return None
        coefficients = relative_fit(self.features(terms), self.steps_s)
        return FittedLaw(dict(zip(terms, coefficients.tolist(), strict=True)))

    def near_shipped(self) -> FittedLaw:
        """Return a law near the shipped one."""
        coefficients = near_shipped(TERMS, self.features(TERMS), self.steps_s)
        return FittedLaw(dict(zip(TERMS, coefficients.tolist(), strict=True)))

    def error_on(self, law: FittedLaw, network: str) -> float:
        """Return the mean relative error of a law on the steps of a network."""
        relative = [
            abs(law.step_s(self.counts[network], setting.samples) / setting.step_s - 1)
            for setting in self.settings
            if setting.network == network
        ]
        return math.fsum(relative) / len(relative)


def _one_speed(data: _Steps) -> FittedLaw:
    law = data.law(("speed",))
    if law is None:
        raise AssertionError("training takes time")
    return law


def _is_better(law: FittedLaw, than: FittedLaw) -> bool:
    """Return whether a law with at least as many terms predicts networks left out well enough to replace another."""
    if law.left_out_error is None or than.left_out_error is None or than.left_out_error <= EXACT:
        return False
    further = len(law.coefficients) - len(than.coefficients)
    return law.left_out_error < than.left_out_error * WORTH**further


def _tried(terms: tuple[str, ...], data: _Steps, networks: Sequence[str]) -> FittedLaw | None:
    """Return the law of some terms and its error; None if the steps cannot tell one of them."""
    law = data.law(terms)
    if law is None:
        return None
    errors: list[float] = []
    for network in networks:
        part = data.without(network).law(terms)
        if part is None:
            return None
        errors.append(data.error_on(part, network))
    return FittedLaw(law.coefficients, math.fsum(errors) / len(errors))


def _features(terms: tuple[str, ...], counts: NetworkCounts, samples: float) -> list[float]:
    forward = counts.forward
    own = {"matmul": forward.matmul_macs, "grouped": forward.grouped_macs}
    rest = forward.convolution_macs
    for kind, macs in own.items():
        if kind not in terms:
            rest += macs
    passes = counts.passes * samples
    amounts = {
        "speed": OPERATIONS * passes * rest,
        "step_s": 1.0,
        "group_s": passes / USUAL_PASSES * forward.groups,
        "matmul": OPERATIONS * passes * forward.matmul_macs,
        "bandwidth": passes * forward.activation_bytes,
        "grouped": OPERATIONS * passes * forward.grouped_macs,
    }
    return [amounts[term] for term in terms]


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
