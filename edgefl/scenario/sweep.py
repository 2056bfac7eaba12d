"""Sweep files: a base scenario, the keys that vary, and how; each point is a scenario of its own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, NonNegativeInt, ValidationError, model_validator

from edgefl.core.errors import InputError
from edgefl.core.section import Section, fault, fault_at
from edgefl.scenario.load import Override, Source, load, read
from edgefl.scenario.schema import Scenario

MOST_POINTS = 100_000

Key = Annotated[str, Field(pattern=r"^[\w-]+(\.[\w-]+)*$")]
Values = Annotated[tuple[Any, ...], Field(strict=False, min_length=1)]
Assigned = dict[str, Any]  # dotted key -> value


class SweepFile(Section):
    """What a sweep file holds. Points are all combinations of a row of `points`, a row of `zip` and one of `grid`."""

    base: str  # scenario file, from here
    name: Annotated[str, Field(pattern=r"^[\w-][\w .-]{0,99}$")] | None = None
    set: dict[Key, Any] = Field(default_factory=dict)  # the same for all points
    grid: dict[Key, Values] = Field(default_factory=dict)  # every value with every other key's
    zip: dict[Key, Values] = Field(default_factory=dict)  # lists of one length, whose values go together
    points: Annotated[tuple[dict[Key, Any], ...], Field(strict=False)] = ()  # listed
    seeds: Annotated[tuple[NonNegativeInt, ...], Field(strict=False)] = ()  # each point with each; the base's own else
    train: bool = True  # or only price the world

    @model_validator(mode="after")
    def _consistent(self) -> SweepFile:
        lengths = {key: len(values) for key, values in self.zip.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{key} has {length}" for key, length in lengths.items())
            raise fault_at(("zip",), f"lists must have one length: {shown}")
        if len(set(self.seeds)) < len(self.seeds):
            raise fault_at(("seeds",), f"must differ, got {list(self.seeds)}")
        listed = {key for point in self.points for key in point}
        for section in ("grid", "zip", "points"):
            for key in listed if section == "points" else getattr(self, section):
                if key == "seed":
                    raise fault_at((section, key), "stands under seeds, so that statistics are over them")
                if (key in self.grid) + (key in self.zip) + (key in listed) > 1:
                    raise fault_at((section, key), "stands in two of grid, zip and points: leave one out")
        count = len(self.rows()) * max(1, len(self.seeds))
        if count > MOST_POINTS:
            raise fault(f"has {count} points, more than {MOST_POINTS}")
        return self

    def rows(self) -> list[list[tuple[Assigned, tuple[str | int, ...]]]]:
        """The points without their seeds: pieces of assignments, each with its place in the file."""
        listed = [[(point, ("points", number))] for number, point in enumerate(self.points)] or [[]]
        length = len(next(iter(self.zip.values()), ()))
        zipped: list[list[tuple[Assigned, tuple[str | int, ...]]]] = [
            [({key: values[number]}, ("zip", key, number)) for key, values in self.zip.items()]
            for number in range(length)
        ] or [[]]
        axes = [[({key: value}, ("grid", key, number)) for number, value in enumerate(values)]
                for key, values in self.grid.items()]  # fmt: skip
        if len(listed) * len(zipped) * _product(map(len, axes)) > MOST_POINTS:
            raise fault(f"has more than {MOST_POINTS} points")
        return [[*one, *two, *three] for one, two, three in itertools.product(listed, zipped, itertools.product(*axes))]


def _product(numbers: Iterator[int]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result


@dataclass(frozen=True)
class Point:
    """One run of a sweep."""

    label: str  # of its values, the same for all seeds: the name of its folder
    values: Mapping[str, Any]  # of the keys that vary
    scenario: Scenario

    @property
    def place(self) -> Path:
        """Its result folder in that of the sweep."""
        return Path(self.label) / f"seed-{self.scenario.seed}"


@dataclass(frozen=True)
class Sweep:
    """All of them."""

    name: str
    keys: tuple[str, ...]  # that vary, in the order of the file
    points: tuple[Point, ...]
    train: bool


def is_sweep(source: str | Path) -> bool:
    """Whether a file is a sweep's, not a scenario's: it has a base.

    Raises:
        InputError: it cannot be read, is no YAML, or is no mapping.
    """
    return "base" in read(Path(source))[0]


def load_sweep(source: str | Path, overrides: Sequence[str] = ()) -> Sweep:
    """A sweep from its file; every point is checked.

    Args:
        source: path of the file.
        overrides: "dotted.key=value" each, for all points.

    Raises:
        InputError: one finished line for every fault.
    """
    path = Path(source)
    raw, origin = read(path)
    try:
        file = SweepFile.model_validate(raw)
    except ValidationError as error:
        faults = [origin.fault(item["loc"], item["msg"]) for item in error.errors(include_url=False)]
        raise InputError(*dict.fromkeys(faults)) from None
    base = path.parent / file.base
    if not base.is_file():
        raise InputError(
            origin.fault(("base",), f"{base} is not there: must be a scenario file, named from {path.parent}/")
        )
    name = file.name or re.sub(r"[^\w.-]", "-", path.stem)
    rows = file.rows()
    labels = _labels([_merged(row) for row in rows])
    points, faults = [], []
    for row, label in zip(rows, labels, strict=True):
        for seed in file.seeds or (None,):
            try:
                scenario = load(base, [*_assignments(file, row, seed, origin), *overrides])
                points.append(Point(label, _merged(row), scenario))
            except InputError as error:
                faults += error.faults
    if faults:
        raise InputError(*dict.fromkeys(faults))
    keys = dict.fromkeys(key for row in rows for key in _merged(row))
    return Sweep(name, tuple(keys), tuple(points), file.train)


def _merged(row: Sequence[tuple[Assigned, Any]]) -> Assigned:
    return {key: value for piece, _ in row for key, value in piece.items()}


def _assignments(
    file: SweepFile, row: Sequence[tuple[Assigned, tuple[str | int, ...]]], seed: int | None, origin: Source
) -> list[Override]:
    """All that a point has in place of the base's values, with its line in the sweep file."""
    placed = [({key: value}, ("set", key)) for key, value in file.set.items()] + list(row)
    found = [
        Override(tuple(key.split(".")), value, f"{origin.name}:{origin.line(place)}")
        for piece, place in placed
        for key, value in piece.items()
    ]
    return found if seed is None else [*found, Override(("seed",), seed, f"{origin.name}:{origin.line(('seeds',))}")]


def _labels(rows: Sequence[Assigned]) -> list[str]:
    """A short name for each point: a number, and its values as far as a file name can have them."""
    width = len(str(len(rows)))
    keys = list(dict.fromkeys(key for row in rows for key in row))
    short = {key: _shortest(key, keys) for key in keys}
    texts = [",".join(f"{short[key]}={_text(value)}" for key, value in row.items()) for row in rows]
    named = [re.sub(r"[^\w.,=+-]", "_", text)[:80] for text in texts]
    return [f"{number:0{width}d}-{text}" if text else f"{number:0{width}d}" for number, text in enumerate(named, 1)]


def _shortest(key: str, keys: Sequence[str]) -> str:
    """The last parts of a dotted key, as many as it takes to tell it from the others."""
    parts = key.split(".")
    for count in range(1, len(parts)):
        tail = ".".join(parts[-count:])
        if sum(other == tail or other.endswith(f".{tail}") for other in keys) == 1:
            return tail
    return key


def _text(value: Any) -> str:
    """A value in a few characters."""
    if isinstance(value, Mapping):
        kind = [str(value["kind"])] if "kind" in value else []
        return "-".join([*kind, *(f"{key}{_text(item)}" for key, item in value.items() if key != "kind")])
    if isinstance(value, (list, tuple)):
        return "-".join(map(_text, value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}" if abs(value) < 1e5 else f"{value:.6g}".replace("e+0", "e").replace("e+", "e")
    return str(value)
