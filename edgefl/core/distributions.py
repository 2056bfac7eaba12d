"""Distributions that give every device a number once, by its key.

Each distribution turns one uniform number into one value (inverse transform sampling), so a device's value does not
depend on the number of devices. A new distribution is a subclass of `Distribution`, with its name in YAML as its field,
and a line in `PerDevice.kinds` (`per_device.py`).
"""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator, model_validator

from edgefl.core.arrays import Floats, Ids
from edgefl.core.data_files import csv_rows, faults_in, number_in
from edgefl.core.errors import InputError
from edgefl.core.mapping_files import in_order, read_mapping
from edgefl.core.paths import DataFile, UserFile
from edgefl.core.section import Section, fault, shown

TwoNumbers = Annotated[tuple[float, float], Field(strict=False)]


class Distribution(Section):
    """Base class of all distributions that devices draw a number from."""

    needs_draws: ClassVar[bool] = True
    """Values depend on the uniform numbers."""

    def span(self) -> tuple[float, float]:
        """Return the least and the greatest value that can be drawn; infinite without a bound."""
        raise NotImplementedError

    def quantile(self, u: Floats, ids: Ids) -> Floats:
        """Return the values [n] of devices [n] whose uniform numbers are `u` [n]."""
        raise NotImplementedError


class Constant(Distribution):
    """The same number for every device."""

    needs_draws: ClassVar[bool] = False

    value: float  # of every device

    def span(self) -> tuple[float, float]:
        return self.value, self.value

    def quantile(self, u: Floats, ids: Ids) -> Floats:
        return np.broadcast_to(self.value, u.shape)  # takes no memory a device


class UniformDistribution(Distribution):
    """{uniform: [a, b]}."""

    uniform: TwoNumbers  # [a, b]: any number between them, all equally likely

    @field_validator("uniform")
    @classmethod
    def _check_order(cls, value: tuple[float, float]) -> tuple[float, float]:
        low, high = value
        if low > high:
            raise ValueError(f"[a, b] needs a <= b, got [{low:g}, {high:g}]")
        return value

    def span(self) -> tuple[float, float]:
        return self.uniform

    def quantile(self, u: Floats, ids: Ids) -> Floats:
        low, high = self.uniform
        return low + (high - low) * u


def _standard_normal(u: Floats) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(u))


def _check_standard_deviation(value: tuple[float, float]) -> tuple[float, float]:
    if value[1] < 0:
        raise ValueError(f"the second number is a standard deviation and must be >= 0, got {value[1]:g}")
    return value


class NormalDistribution(Distribution):
    """{normal: [mean, std]}."""

    normal: TwoNumbers  # [mean, standard deviation]

    _check = field_validator("normal")(_check_standard_deviation)

    def span(self) -> tuple[float, float]:
        mean, std = self.normal
        if std > 0:
            return -np.inf, np.inf
        return mean, mean

    def quantile(self, u: Floats, ids: Ids) -> Floats:
        mean, std = self.normal
        return mean + std * _standard_normal(u)


class LogNormalDistribution(Distribution):
    """{lognormal: [mean, sigma]}: exp of a normal with that mean and standard deviation."""

    lognormal: TwoNumbers  # [mean, standard deviation] of the logarithm

    _check = field_validator("lognormal")(_check_standard_deviation)

    def span(self) -> tuple[float, float]:
        # Values are positive, but tighter bounds are checked only when they are drawn.
        return -np.inf, np.inf

    def quantile(self, u: Floats, ids: Ids) -> Floats:
        mean, sigma = self.lognormal
        with np.errstate(over="ignore"):  # an infinite value is refused when it is drawn
            return np.exp(mean + sigma * _standard_normal(u))


class ChoiceDistribution(Distribution):
    """{choice: [..]}: each equally likely."""

    # The numbers that each device draws one of.
    choice: Annotated[tuple[float, ...], Field(strict=False, min_length=1)]

    def span(self) -> tuple[float, float]:
        return min(self.choice), max(self.choice)

    def quantile(self, u: Floats, ids: Ids) -> Floats:
        rows = (u * len(self.choice)).astype(np.int64)
        return np.asarray(self.choice)[rows]


class FileDistribution(Distribution):
    """Base class of distributions whose values stand in a file."""

    def _values(self) -> Floats:
        """Return all values of the file; raise `InputError` if it cannot be read."""
        raise NotImplementedError

    def span(self) -> tuple[float, float]:
        """Return the least and the greatest value of the file."""
        try:
            values = self._values()
        except InputError as error:
            raise fault(str(error)) from None
        return float(values.min()), float(values.max())


class ColumnDistribution(FileDistribution):
    """{file: devices.csv, column: cpu_hz}: row i is device i."""

    needs_draws: ClassVar[bool] = False

    file: UserFile  # a CSV file whose row i is device i
    column: str  # of the file

    def _values(self) -> Floats:
        return read_column(self.file, self.column)

    def quantile(self, u: Floats, ids: Ids) -> Floats:
        values = self._values()
        needed = int(ids.max()) + 1 if ids.size else 0
        if needed > len(values):
            text = f"has rows for {len(values)} devices, the scenario has {needed}"
            raise InputError(f"{self.file}: {text}: add rows, or lower devices.count")
        return values[ids]


def read_column(file: Path, column: str) -> Floats:
    """Return the numbers [rows] of one column of a CSV file with a header.

    Raises:
        InputError: the file or column does not exist, or a cell is not a number.
    """
    with faults_in(file):
        values = [number_in(row, column) for row in csv_rows(file, [column])]
    if not values:
        raise InputError(f'{file}: column "{column}" must hold at least one number')
    return np.array(values)


class FedScaleDistribution(FileDistribution):
    """{fedscale: client_device_capacity, median: 1.5e9} or {..., cycles: 4e7}: device i is the i-th client.

    FedScale's file has the `computation` of each client, the milliseconds of an inference. A value is inversely
    proportional to it: the client with the file's median has `median`; or a client takes `cycles` for an inference.
    """

    fedscale: DataFile  # FedScale's file of clients
    median: Annotated[float, Field(gt=0)] | None = None  # value of a client with the file's median
    cycles: Annotated[float, Field(gt=0)] | None = None  # clock cycles of an inference, instead of a median

    @model_validator(mode="after")
    def _check_scale(self) -> FedScaleDistribution:
        if (self.median is None) == (self.cycles is None):
            raise fault("needs either median (the value of a client with median speed) or cycles (of an inference)")
        return self

    def _values(self) -> Floats:
        inference_s = _computation_ms(self.fedscale, _stamp(self.fedscale)) / 1000
        if self.median is not None:
            return np.asarray(self.median * np.median(inference_s) / inference_s)
        assert self.cycles is not None  # noqa: S101 - checked above
        return np.asarray(self.cycles / inference_s)

    def quantile(self, u: Floats, ids: Ids) -> Floats:
        values = self._values()
        needed = int(ids.max()) + 1 if ids.size else 0
        if needed > len(values):
            text = f"has {len(values)} clients, the scenario has {needed} devices"
            raise InputError(f"{self.fedscale}: {text}: lower devices.count")
        return values[ids]


class BenchmarkDistribution(FileDistribution):
    """{ai_benchmark: benchmark2score.json, median: 1.5e9}: each phone of the file equally likely.

    The file has a score for each phone; higher is faster. A value is proportional to it; the median phone has `median`.
    """

    ai_benchmark: DataFile  # a file with a score for each phone
    median: Annotated[float, Field(gt=0)]  # value of the phone with the median score

    def _values(self) -> Floats:
        scores = _scores(self.ai_benchmark, _stamp(self.ai_benchmark))
        return np.asarray(self.median * scores / np.median(scores))

    def quantile(self, u: Floats, ids: Ids) -> Floats:
        values = self._values()
        return values[(u * len(values)).astype(np.int64)]


def _stamp(path: Path) -> int:
    """Return when a file was last changed [ns], 0 if it does not exist: a changed file is read again."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=4)
def _computation_ms(path: Path, stamp: int) -> Floats:
    """Return the milliseconds [clients] of an inference, by the numbers of the clients."""
    values = []
    for name, entry in in_order(read_mapping(path)):
        if not isinstance(entry, dict) or "computation" not in entry:
            text = 'must have "computation", as in FedScale\'s client_device_capacity'
            raise InputError(f"{path}: client {name}: {text}")
        values.append(_positive(entry["computation"], f"{path}: client {name}: computation"))
    return np.array(values)


@lru_cache(maxsize=4)
def _scores(path: Path, stamp: int) -> Floats:
    """Return the scores [phones] of an AI-Benchmark list, in the order of the file."""
    return np.array([_positive(score, f"{path}: {name}") for name, score in in_order(read_mapping(path))])


def _positive(value: Any, where: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= sys.float_info.max:  # integers may be larger
        raise InputError(f"{where}: must be a number > 0, got {shown(value)}")
    return float(value)
