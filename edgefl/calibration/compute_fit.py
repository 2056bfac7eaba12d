"""The time of a training step of one type of device: a law over what networks compute, or a table of what was measured.

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

# The order in which a term is taken rather than a later one. A kind without a speed of its own has the one speed.
TERMS = ("speed", "step_s", "group_s", "matmul", "bandwidth", "grouped")
WORTH = 0.9  # a further term must lower the error of networks left out to this share of it, or less
NO_LIMIT = 1e18  # operations a second of a kind of layer whose operations take no time beside its bytes
GOOD = 0.05  # few networks that a law of few terms predicts so well need no other law
EXACT = 1e-9  # a lower error is rounding


class Setting(NamedTuple):
    """The mean of what was measured of one unit with one network and batch size."""

    device: str
    network: str
    batch_size: float
    samples: float  # a step: fewer than the batch size where last batches are smaller
    step_s: float


@dataclass(frozen=True)
class FittedLaw:
    """The law of one type's steps at its highest clock: seconds per unit of each of its terms."""

    coefficients: Mapping[str, float]
    left_out_error: float | None = None  # mean relative error of networks left out in turn; None: there is only one
    near_shipped: bool = False  # whether it is one near the law that is shipped

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
    """The seconds of a step by network and batch size, where nothing is known of what networks compute."""

    table: Mapping[tuple[str, float], float]

    def step_s(self, network: str, batch_size: float) -> float | None:
        """Return the seconds of a step; None if neither a row nor a line through two batch sizes tells them."""
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

    A row at a lower clock counts with the time that it would take at the highest one: time goes with 1 / f.
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
    """Return the settings of a typical unit: of units with the same training the geometric mean.

    It has the median of their speeds, which a lognormal distribution around 1 keeps.
    """
    found: dict[tuple[str, float, float], list[Setting]] = {}
    for setting in settings:
        found.setdefault((setting.network, setting.batch_size, setting.samples), []).append(setting)
    return [units[0]._replace(step_s=_geometric_mean([unit.step_s for unit in units])) for units in found.values()]


def _geometric_mean(numbers: Sequence[float]) -> float:
    first = numbers[0]  # relative to which a single number is itself, without rounding
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
    """Return the law with the terms that predict networks best that are left out of the fit.

    All sets of terms with the one speed among them are tried, small ones first. With k networks at one batch size a law
    has at most k - 1 terms, as each network is left out in turn. Where that predicts a few networks badly, the law is
    one near that of the presets (`shipped_law`), as it is with a single network of a single batch size. Several batch
    sizes of one network tell a time of a step and a speed.
    """
    networks = list(dict.fromkeys(setting.network for setting in settings))
    if len(networks) == 1:
        if len({setting.samples for setting in settings}) > 1:
            return _law(("speed", "step_s"), settings, counts) or _one_speed(settings, counts)
        return FittedLaw(_near_shipped(settings, counts), near_shipped=True)
    best: FittedLaw | None = None
    for size in range(len(TERMS)):
        for further in combinations(TERMS[1:], size):
            law = _tried(("speed", *further), settings, counts, networks)
            if law is not None and (best is None or _is_better(law, best)):
                best = law
    is_good = best is not None and best.left_out_error is not None and best.left_out_error < GOOD
    if len(networks) <= len(TERMS) and not is_good:
        return FittedLaw(
            _near_shipped(settings, counts), _error_near_shipped(settings, counts, networks), near_shipped=True
        )
    return best or _one_speed(settings, counts)


def _near_shipped(settings: Sequence[Setting], counts: Mapping[str, NetworkCounts]) -> dict[str, float]:
    """Return the coefficients of a law near the one that is shipped."""
    features = np.array([_features(TERMS, counts[setting.network], setting.samples) for setting in settings])
    coefficients = near_shipped(TERMS, features, np.array([setting.step_s for setting in settings]))
    return dict(zip(TERMS, coefficients.tolist(), strict=True))


def _error_near_shipped(
    settings: Sequence[Setting], counts: Mapping[str, NetworkCounts], networks: Sequence[str]
) -> float:
    """Return the mean relative error of networks left out in turn by laws near the one that is shipped."""
    errors = []
    for network in networks:
        part = FittedLaw(_near_shipped([setting for setting in settings if setting.network != network], counts))
        errors.append(_error_on(part, settings, counts, network))
    return math.fsum(errors) / len(errors)


def _error_on(law: FittedLaw, settings: Sequence[Setting], counts: Mapping[str, NetworkCounts], network: str) -> float:
    """Return the mean relative error of a law on the settings of a network."""
    relative = [
        abs(law.step_s(counts[network], setting.samples) / setting.step_s - 1)
        for setting in settings
        if setting.network == network
    ]
    return math.fsum(relative) / len(relative)


def _one_speed(settings: Sequence[Setting], counts: Mapping[str, NetworkCounts]) -> FittedLaw:
    law = _law(("speed",), settings, counts)
    if law is None:
        raise AssertionError("training takes time")
    return law


def _is_better(law: FittedLaw, than: FittedLaw) -> bool:
    """Return whether a law with as many terms, or more, predicts networks left out well enough to be taken instead."""
    if law.left_out_error is None or than.left_out_error is None or than.left_out_error <= EXACT:
        return False
    further = len(law.coefficients) - len(than.coefficients)
    return law.left_out_error < than.left_out_error * WORTH**further


def _tried(
    terms: tuple[str, ...],
    settings: Sequence[Setting],
    counts: Mapping[str, NetworkCounts],
    networks: Sequence[str],
) -> FittedLaw | None:
    """Return a law of some terms and its error; None if the rows cannot tell one of them."""
    law = _law(terms, settings, counts)
    if law is None:
        return None
    errors: list[float] = []
    for network in networks:
        kept = [setting for setting in settings if setting.network != network]
        without = _coefficients(terms, kept, counts)
        if without is None:
            return None
        part = FittedLaw(dict(zip(terms, without.tolist(), strict=True)))
        errors.append(_error_on(part, settings, counts, network))
    return FittedLaw(law.coefficients, math.fsum(errors) / len(errors))


def _law(terms: tuple[str, ...], settings: Sequence[Setting], counts: Mapping[str, NetworkCounts]) -> FittedLaw | None:
    """Return the law of some terms; None if the rows cannot tell one of them."""
    coefficients = _coefficients(terms, settings, counts)
    if coefficients is None:
        return None
    return FittedLaw(dict(zip(terms, coefficients.tolist(), strict=True)))


def _coefficients(
    terms: tuple[str, ...], settings: Sequence[Setting], counts: Mapping[str, NetworkCounts]
) -> Floats | None:
    """Return the coefficients [terms]; None if the rows cannot tell one of them from the others."""
    features = np.array([_features(terms, counts[setting.network], setting.samples) for setting in settings])
    steps_s = np.array([setting.step_s for setting in settings])
    relative = features / steps_s[:, None]
    size = np.linalg.norm(relative, axis=0)
    if not size.all() or np.linalg.matrix_rank(relative / size) < len(terms):
        return None
    return relative_fit(features, steps_s)


def _features(terms: tuple[str, ...], counts: NetworkCounts, samples: float) -> list[float]:
    """Return how much of each term a step has."""
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
    """Return a type's table: that of a typical unit."""
    alike = [setting._replace(samples=setting.batch_size) for setting in settings]
    return MeasuredSteps({(of.network, of.batch_size): of.step_s for of in typical(alike)})


def jitter_of(rows: Sequence[LogRow]) -> float | None:
    """Return the coefficient of variation of a step's time from round to round, pooled over settings.

    None where no setting was repeated.
    """
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
    # A network that only some units have trained says nothing of the others: units count against their mean on it.
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
