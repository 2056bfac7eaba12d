"""Sweep files: a base scenario, the keys that vary, and how; each point is a scenario."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, NonNegativeInt, ValidationError, model_validator

from edgefl.core.errors import InputError
from edgefl.core.plugin_import import Access
from edgefl.core.section import KeyPath, Section, dotted, fault, fault_at, shown
from edgefl.core.value_ranges import is_range, values_of_range
from edgefl.scenario import shipped
from edgefl.scenario.answers import in_sweep
from edgefl.scenario.load import content, load
from edgefl.scenario.number_forms import with_remedy
from edgefl.scenario.overrides import Override, list_of_overrides
from edgefl.scenario.python_values import as_in_yaml
from edgefl.scenario.scenario import Scenario
from edgefl.scenario.sections import Sections
from edgefl.scenario.source import Source, read
from edgefl.scenario.sweep_names import point_names, short_text

MOST_SWEEP_POINTS = 100_000

DottedKey = Annotated[str, Field(pattern=r"^[\w-]+(\.[\w-]+)*$")]

_LIKE_A_RANGE = re.compile(r"\s*([-+.\deE]*\d)\s*(?:-|–|:|to)\s*([-+]?[\d.][-+.\deE]*)\s*")


def _listed(value: Any) -> Any:
    """Return the values of a range such as 5e6..100e6; other values unchanged."""
    if isinstance(value, Mapping):
        raise fault(
            "must be a list or a range, got a mapping: write dotted keys, as in radio.bandwidth_hz: [5e6, 10e6]"
        )
    if not isinstance(value, str):
        return value
    if is_range(value):
        try:
            return tuple(values_of_range(value))
        except ValueError as error:
            raise fault(f"{value.strip()}: {error}") from None
    instead = ""
    if match := _LIKE_A_RANGE.fullmatch(value):
        instead = f": write {match[1]}..{match[2]}"
    raise fault(f"must be a list, or a range such as 5e6..100e6, got {shown(value)}{instead}")


def _listed_seeds(value: Any) -> Any:
    """Return the seeds of a range such as 1..5; other values unchanged."""
    if isinstance(value, int) and not isinstance(value, bool):
        raise fault(f"must be a list or a range, got {value}: write [{value}], or 1..{value} for {value} seeds")
    match = re.fullmatch(r"\s*(\d+)\s*\.\.\s*(\d+)\s*", str(value))
    if match is None:
        return _listed(value)
    first = int(match[1])
    last = int(match[2])
    if last - first >= MOST_SWEEP_POINTS:
        raise fault(f"has more than {MOST_SWEEP_POINTS} seeds: divide it into several sweeps")
    return tuple(range(first, last + 1))  # all of them, as seeds lie on no axis


Values = Annotated[
    tuple[Any, ...],
    Field(strict=False, min_length=1),
    BeforeValidator(_listed, json_schema_input_type=Annotated[list[Any], Field(min_length=1)] | str),
]
Assigned = dict[str, Any]  # dotted key -> value


class Piece(NamedTuple):
    """The values of a point that come from one place of the sweep file."""

    assigned: Assigned
    path: KeyPath  # the place


PointPieces = list[Piece]  # a point without its seeds


class SweepFile(Section):
    """A sweep file. Its points are all combinations of a row of `points`, a row of `zip` and one of `grid`."""

    base: str  # Scenario file, relative to the sweep file, or the name of one that comes with edgefl.
    # Name of the sweep, and of its folder in results/.
    name: Annotated[str, Field(pattern=r"^[\w-][\w .-]{0,99}$")] | None = None
    set: dict[DottedKey, Any] = Field(default_factory=dict)  # Keys that all points have instead of the base's.
    # Values of each key, combined with each value of the others.
    grid: dict[DottedKey, Values] = Field(default_factory=dict)
    zip: dict[DottedKey, Values] = Field(default_factory=dict)  # Values that go together, lists of equal length.
    points: Annotated[tuple[dict[DottedKey, Any], ...], Field(strict=False)] = ()  # Points listed one by one.
    # Seeds of each point; by default that of the base.
    seeds: Annotated[
        tuple[NonNegativeInt, ...],
        Field(strict=False),
        BeforeValidator(_listed_seeds, json_schema_input_type=list[NonNegativeInt] | str),
    ] = ()
    train: bool = True  # Whether models learn; otherwise only the world is priced.

    @model_validator(mode="before")
    @classmethod
    def _check_places(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        for key in value:
            if "." in str(key):
                raise fault_at((str(key),), "write it under grid, or under set if all points have the same value")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> SweepFile:
        lengths = {key: len(values) for key, values in self.zip.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{key} has {length}" for key, length in lengths.items())
            raise fault_at(("zip",), f"lists must have the same length: {shown}")
        if len(set(self.seeds)) < len(self.seeds):
            raise fault_at(("seeds",), f"must differ, got {list(self.seeds)}")
        self._check_keys()
        count = len(self.rows()) * max(1, len(self.seeds))
        if count > MOST_SWEEP_POINTS:
            raise fault(f"has {count} points, more than {MOST_SWEEP_POINTS}: divide it into several sweeps")
        return self

    def _check_keys(self) -> None:
        """Refuse a seed that varies like any other key, and a key that varies in two ways."""
        keys_of = {
            "grid": list(self.grid),
            "zip": list(self.zip),
            "points": list(dict.fromkeys(key for point in self.points for key in point)),
        }
        for section, keys in keys_of.items():
            for key in keys:
                if key == "seed":
                    raise fault_at((section, key), "write it under seeds, over which statistics are computed")
                if sum(key in others for others in keys_of.values()) > 1:
                    raise fault_at((section, key), "is in two of grid, zip and points: leave one out")

    def rows(self) -> list[PointPieces]:
        """Return the points without their seeds.

        Raises:
            PydanticCustomError: there are too many.
        """
        listed: list[PointPieces] = [[Piece(point, ("points", number))] for number, point in enumerate(self.points)]
        length = len(next(iter(self.zip.values()), ()))
        zipped: list[PointPieces] = [
            [Piece({key: values[number]}, ("zip", key, number)) for key, values in self.zip.items()]
            for number in range(length)
        ]
        axes: list[PointPieces] = []
        for key, values in self.grid.items():
            axes.append([Piece({key: value}, ("grid", key, number)) for number, value in enumerate(values)])
        # Without `points`, or without `zip`, one empty row stands for it in the product.
        listed = listed or [[]]
        zipped = zipped or [[]]
        # Counted before the product is made: ten keys with ten values each would fill the memory.
        if len(listed) * len(zipped) * math.prod(len(axis) for axis in axes) > MOST_SWEEP_POINTS:
            raise fault(f"has more than {MOST_SWEEP_POINTS} points: divide it into several sweeps")
        combinations = itertools.product(listed, zipped, itertools.product(*axes))
        return [[*point, *zip_row, *grid_row] for point, zip_row, grid_row in combinations]


@dataclass(frozen=True)
class SweepPoint:
    """One run of a sweep."""

    label: str  # names its values and its folder; the same for all seeds
    values: Mapping[str, Any]  # values of the keys that vary
    scenario: Scenario

    @property
    def place(self) -> Path:
        """Its result folder within the sweep's folder."""
        return Path(self.label) / f"seed-{self.scenario.seed}"


@dataclass(frozen=True)
class Sweep:
    """All runs of a sweep file."""

    name: str
    keys: tuple[str, ...]  # keys that vary, in the order of the file
    points: tuple[SweepPoint, ...]
    train: bool
    not_in_folders: tuple[str, ...] = ()  # keys for whose values the names of folders have no room


def is_sweep(source: str | Path) -> bool:
    """Return whether a file is a sweep file, which has a key `base`, and not a scenario file.

    Raises:
        InputError: it cannot be read, is not YAML, or is not a mapping.
    """
    raw, _ = read(shipped.find(source))
    return "base" in raw


def load_sweep(
    source: str | Path | Mapping[str, Any], overrides: Sequence[str] = (), access: Access | None = None
) -> Sweep:
    """Return the sweep of a file or of a mapping; every point is checked.

    Args:
        source: path of the file, or its content as nested mappings, whose paths are relative to the working directory
            and whose `base` may be the mapping of a scenario, or a loaded scenario.
        overrides: "dotted.key=value" each, for all points.
        access: whether code from outside that points name is imported; notes what was not.

    Raises:
        InputError: one finished line for every fault.
    """
    overrides = list_of_overrides(overrides)
    here = Path.cwd()  # before any code that a point names, which may change it
    raw, origin, path = _content(source, here)
    base: Path | Mapping[str, Any] | None = None
    if isinstance(source, Mapping) and isinstance(raw.get("base"), Mapping):
        base = raw["base"]
        raw["base"] = "mapping"  # instead of a file's name
    try:
        file = SweepFile.model_validate(raw)
    except ValidationError as error:
        items = error.errors(include_url=False)
        texts = [with_remedy(item["msg"], item["loc"], item["input"]) for item in items]
        lines = [
            origin.fault(item["loc"], in_sweep(text, item["loc"])) for item, text in zip(items, texts, strict=True)
        ]
        raise InputError(*dict.fromkeys(lines)) from None
    if base is None:
        base = _base_file(file.base, path.parent, origin)
    # A module that a point names may be in the folder of the base scenario or of the sweep file.
    access = access or Access()
    access = replace(access, folders=(*access.folders, path.resolve().parent))
    _check_seed(file, overrides, origin)
    rows = file.rows()
    values = [dict(item for piece in row for item in piece.assigned.items()) for row in rows]
    points: list[SweepPoint] = []
    faults: list[str] = []
    row_of: dict[str, PointPieces] = {}  # by scenario
    named = point_names(values)
    for row, assigned, label in zip(rows, values, named.names, strict=True):
        for seed in file.seeds or (None,):
            try:
                settings: list[str | Override] = [*_overrides(file, row, seed, origin), *overrides]
                scenario = load(base, settings, access, here, needs_files=True)
                points.append(SweepPoint(label, assigned, scenario))
                unlabelled = scenario.model_copy(update={"label": None})
                same = row_of.setdefault(unlabelled.model_dump_json(), row)
                if same is not row:
                    faults.append(_repetition(same, row, origin, overrides))
            except InputError as error:
                faults += error.faults
    if faults:
        raise InputError(*dict.fromkeys(faults))  # without duplicates: points share most of their faults
    keys = tuple(dict.fromkeys(key for assigned in values for key in assigned))
    return Sweep(
        file.name or re.sub(r"[^\w.-]", "-", path.stem), keys, tuple(points), file.train, tuple(named.left_out)
    )


def _content(source: str | Path | Mapping[str, Any], here: Path) -> tuple[dict[str, Any], Source, Path]:
    """Return the content of a sweep file, the places of its keys, and its path; a mapping counts as a file `sweep`."""
    if isinstance(source, Mapping):
        raw = as_in_yaml(source, "sweep")
        if isinstance(raw.get("base"), Path):
            raw["base"] = str(raw["base"])
        if isinstance(raw.get("base"), Scenario):
            raw["base"] = content(raw["base"])
        return raw, Source("sweep"), here / "sweep"
    path = shipped.find(source)
    raw, origin = read(path)
    # A file with keys of a scenario and none of a sweep gets a single fault.
    if not raw.keys() & (SweepFile.model_fields.keys() - Sections.model_fields.keys()):
        raise InputError(f"{path}: is a scenario file, not a sweep file: run it with `edgefl run {source}`")
    return raw, origin, path


def _check_seed(file: SweepFile, overrides: Sequence[str], origin: Source) -> None:
    """Refuse an override of the seed if the sweep has seeds: all runs of a point would be the same."""
    for override in overrides:
        if file.seeds and override.partition("=")[0].strip() == "seed":
            raise InputError(f"--set {override}: {origin.name} has its own seeds: leave it out, or change seeds there")


def _repetition(first: PointPieces, second: PointPieces, origin: Source, overrides: Sequence[str]) -> str:
    """Return the fault of a point with the scenario of an earlier one: its result would have the same bytes."""
    # They differ in place, as their values may be equal, or written differently: 20 and 20.0.
    earlier, later = next(pair for pair in zip(first, second, strict=True) if pair[0].path != pair[1].path)
    shown = [", ".join(short_text(value) for value in piece.assigned.values()) for piece in (earlier, later)]
    text = f"{shown[1]} gives the same scenario as {shown[0]} before it: leave one out"
    if overrides:
        text = f"{text}, or one of --set {', --set '.join(overrides)}"
    return origin.fault(later.path, text)


def _base_file(base: str, folder: Path, origin: Source) -> Path:
    try:
        path = shipped.find(base, folder)
    except InputError as error:
        raise InputError(*(origin.fault(("base",), text) for text in error.faults)) from None
    if not path.is_file():
        text = f"{path} does not exist: name a scenario file, relative to {folder}/"
        raise InputError(origin.fault(("base",), text))
    if is_sweep(path):
        raise InputError(origin.fault(("base",), f"{path} is a sweep file itself: name a scenario file"))
    return path


def _overrides(file: SweepFile, row: PointPieces, seed: int | None, origin: Source) -> list[Override]:
    pieces = [Piece({key: value}, ("set", key)) for key, value in file.set.items()] + row
    if seed is not None:
        pieces.append(Piece({"seed": seed}, ("seeds",)))
    overrides: list[Override] = []
    for piece in pieces:
        where = f"{origin.name}: {dotted(piece.path)}"
        if origin.lines:
            where = f"{origin.name}:{origin.line(piece.path)}"
        overrides += [Override(tuple(key.split(".")), value, where) for key, value in piece.assigned.items()]
    return overrides
