"""One study from what a user names: a sweep, several sweeps over the same keys, or points and runs of sweeps."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgefl.core.errors import InputError
from edgefl.core.units import PLAIN
from edgefl.results.differing_keys import differing_keys
from edgefl.results.integrity import MANIFEST_FILE
from edgefl.results.reader import text_of, yaml_of
from edgefl.results.report.sweep.selection import with_points
from edgefl.results.report.sweep.study import (
    SCENARIO_FILE,
    Study,
    StudyPoint,
    SweptKey,
    is_sweep,
    load,
    study_of,
    swept_paths,
)
from edgefl.results.scenario_tree import ScenarioTree

MOST_LEVELS = 3  # from a run's folder up to that of its sweep


class StudyPart(NamedTuple):
    """A folder that a user names: the study that it is of, and the rows of its runs; all of them for a sweep."""

    name: str
    study: Study
    rows: Sequence[int]
    whole: bool


def sweep_above(folder: Path) -> Path | None:
    """Return the sweep's folder of a point or a run; None without one."""
    for above in list(folder.resolve().parents)[:MOST_LEVELS]:
        if is_sweep(above):
            return above
    return None


def has_points(folders: Sequence[Path]) -> bool:
    """Return whether any folder is a sweep's, or that of a point: one without results, but with folders of runs."""
    for folder in folders:
        is_point = folder.is_dir() and not (folder / MANIFEST_FILE).exists() and sweep_above(folder) is not None
        if is_point or is_sweep(folder):
            return True
    return False


def gathered(folders: Sequence[Path]) -> Study:
    """Return the study of a sweep's folder; or of several folders, which are the values of its first key.

    Several sweeps must vary the same keys over the same values, so that their runs can be paired. If they share no run,
    they are the parts of one sweep, such as the seeds of a SLURM array. Points and runs are paired by their seeds only.

    Raises:
        InputError: a folder is not of a sweep, cannot be read, or does not go with the others.
    """
    if len(folders) == 1 and is_sweep(folders[0]):
        return load(folders[0])
    parts = [_part(folder) for folder in folders]
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name} is named twice: name different folders")
    if all(part.whole for part in parts):
        return _of_sweeps(parts)
    for part in parts:
        if part.whole:
            raise InputError(f"{part.name} is a whole sweep: name points of sweeps, or sweeps, but not both")
    return _of_points(parts)


def _part(folder: Path) -> StudyPart:
    if is_sweep(folder):
        study = load(folder)
        return StudyPart(str(folder), study, range(len(study.texts["folder"])), whole=True)
    above = sweep_above(folder)
    if above is None:
        raise InputError(
            f"{folder}: is not of a sweep: compare runs with runs, or sweeps and their points with each other"
        )
    study = load(above)
    inner = folder.resolve().relative_to(above).as_posix()
    rows = [row for row, name in enumerate(study.texts["folder"]) if f"{name}/".startswith(f"{inner}/")]
    if not rows:
        raise InputError(f"{folder}: {above.name}/index.csv lists no run in this folder")
    return StudyPart(str(folder), study, rows, whole=False)


def _of_sweeps(parts: Sequence[StudyPart]) -> Study:
    """Return the study whose first key is the sweep, and the others those of the sweeps; one sweep of its parts."""
    first = parts[0].study
    paths = swept_paths(first.folder)
    runs = [run for part in parts for run in _runs(part.study)]
    if len(set(runs)) == len(runs) and all(swept_paths(part.study.folder) == paths for part in parts):
        return _of_parts_of_one(parts, paths)
    for part in parts[1:]:
        for own, other in zip(part.study.keys, first.keys, strict=False):
            if (own.path, own.cells) != (other.path, other.cells):
                raise InputError(f"{part.name}: {own.path}: its values must be those of {parts[0].name}")
        if len(part.study.keys) != len(first.keys):
            raise InputError(f"{part.name}: must vary the same keys as {parts[0].name}")
    points = []
    for level, (part, offset) in enumerate(zip(parts, _offsets(parts), strict=True)):
        for point in part.study.points:
            rows = [offset + row for row in point.rows]
            points.append(StudyPoint(f"{part.name}/{point.label}", (level, *point.value_indices), rows))
    return _joined(parts, [_folder_key(parts, "sweep"), *first.keys], points)


def _runs(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield the values of the swept keys and the seed of each run."""
    return zip(*(study.texts[column] for column in study.key_columns), study.numbers["seed"], strict=True)


def _of_parts_of_one(parts: Sequence[StudyPart], paths: Sequence[str]) -> Study:
    base = _base(parts[0].study, paths)
    for part in parts[1:]:
        other = _base(part.study, paths)
        for key in differing_keys([base, other]) if base and other else ():
            text = f"{key.path}: is not that of {parts[0].name}, which has no run with the same keys and seed"
            raise InputError(f"{part.name}: {text}, so they cannot be compared")
    joined = _joined(parts, [], [])
    # Parts with different points may use one label for two of them.
    cells_of_runs = list(zip(*(joined.texts[column] for column in parts[0].study.key_columns), strict=True))
    label_of: dict[tuple[str, ...], str] = {}
    for cells, label in zip(cells_of_runs, joined.texts["point"], strict=True):
        taken = label in label_of.values()
        label_of.setdefault(cells, f"{label} ({len(label_of) + 1})" if taken else label)
    texts = {**joined.texts, "point": [label_of[cells] for cells in cells_of_runs]}
    return study_of(joined.folder, joined.name, paths, texts, joined.numbers)


def _base(study: Study, paths: Sequence[str]) -> ScenarioTree:
    """Return the scenario of the first run that has one, without the swept keys; an empty one if none has."""
    for row in range(len(study.texts["folder"])):
        folder = study.run_folder(row)
        if (folder / SCENARIO_FILE).is_file():
            scenario: ScenarioTree = yaml_of(folder, SCENARIO_FILE, text_of(folder, SCENARIO_FILE))
            for path in paths:
                scenario = _without(scenario, path.removesuffix(".kind"))  # the keys beside a kind go with it
            return scenario
    return {}


def _without(tree: ScenarioTree, path: str) -> ScenarioTree:
    name, _, inner = path.partition(".")
    rest = {key: value for key, value in tree.items() if key != name}
    if inner and isinstance(tree.get(name), Mapping):
        rest[name] = _without(tree[name], inner)
    return rest


def _of_points(parts: Sequence[StudyPart]) -> Study:
    parts = _named_by_values(parts)
    points = []
    for level, (part, offset) in enumerate(zip(parts, _offsets(parts), strict=True)):
        seeds = part.study.numbers["seed"][list(part.rows)]
        if len(set(seeds.tolist())) < len(seeds):
            raise InputError(f"{part.name}: has several runs with the same seed: name one point")
        points.append(StudyPoint(part.name, (level,), [offset + row for row in part.rows]))
    return _joined(parts, [_folder_key(parts, "point")], points)


def _named_by_values(parts: Sequence[StudyPart]) -> Sequence[StudyPart]:
    """Return the points of one sweep with the values that tell them apart as their names."""
    study = parts[0].study
    if any(part.study.folder != study.folder for part in parts):
        return parts
    point_of_row = {row: number for number, point in enumerate(study.points) for row in point.rows}
    numbers = [point_of_row[part.rows[0]] for part in parts]
    if len(set(numbers)) < len(parts):  # runs of one point
        return parts
    chosen = with_points(study, [study.points[number] for number in numbers])
    return [part._replace(name=chosen.point_text(place)) for place, part in enumerate(parts)]


def _offsets(parts: Sequence[StudyPart]) -> list[int]:
    counts = [len(part.study.texts["folder"]) for part in parts]
    return [sum(counts[:number]) for number in range(len(parts))]


def _folder_key(parts: Sequence[StudyPart], title: str) -> SweptKey:
    names = [part.name for part in parts]
    return SweptKey(title, title, names, names, None, PLAIN[0])


def _joined(parts: Sequence[StudyPart], keys: Sequence[SweptKey], points: Sequence[StudyPoint]) -> Study:
    """Return a study with the rows of all parts below each other; a column that one lacks is unknown there."""
    studies = [part.study for part in parts]
    numbers = {}
    for name in dict.fromkeys(name for study in studies for name in study.numbers):
        pieces = [study.numbers.get(name, np.full(len(study.texts["folder"]), np.nan)) for study in studies]
        numbers[name] = np.concatenate(pieces)
    texts = {}
    for name in ("point", "status", "error", *studies[0].key_columns):
        texts[name] = [text for study in studies for text in study.texts.get(name, [""] * len(study.texts["point"]))]
    above = Path(os.path.commonpath([study.folder.resolve() for study in studies]))
    folders = [study.run_folder(row).resolve() for study in studies for row in range(len(study.texts["folder"]))]
    texts["folder"] = [folder.relative_to(above).as_posix() for folder in folders]
    return replace(studies[0], folder=above, keys=keys, points=points, texts=texts, numbers=numbers, key_columns=[])
