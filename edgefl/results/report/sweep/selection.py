"""The choices that the page of a sweep, `edgefl export` and `edgefl compare` share: which points, and where they go.

Keys may be named by their path, or its last part; values as texts show them, or as YAML writes them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.section import nearest
from edgefl.core.units import as_number
from edgefl.results.report.sweep.asked import asked
from edgefl.results.report.sweep.study import Study, StudyPoint, SweptKey, parsed

INTERVALS = ("ci95", "sd")
WIDTHS = ("single", "double")  # columns of a paper


@dataclass(frozen=True)
class StudyChoice:
    """The choices of a user; empty ones leave it to the study."""

    where: Sequence[str] = ()  # KEY=V,V
    over: str | None = None  # the key on the horizontal axis
    facet: Sequence[str] = ()  # keys with a panel for each value
    rows: Sequence[str] = ()  # keys whose values are rows of panels, or of a table
    columns: Sequence[str] = ()  # keys whose values are columns of them
    baseline: Sequence[str] = ()  # a method, KEY=V, a point or a run
    target: str | None = None  # an accuracy, a limit of a column, or `none` for the whole run
    at: str | None = None  # the end of the rounds that count
    measure: Sequence[str] = ()
    interval: str | None = None  # one of `INTERVALS`
    width: str | None = None  # of a figure: one of `WIDTHS`

    @property
    def is_made(self) -> bool:
        """Return whether any choice has been made."""
        return self != NO_CHOICE


NO_CHOICE = StudyChoice()


class Layout(NamedTuple):
    """The places of keys in a chart, as their numbers: along the axis, as lines, and as panels."""

    over: int | None
    lines: Sequence[int]
    rows: Sequence[int]
    columns: Sequence[int]
    facets: Sequence[int]  # panels that follow each other; none beside rows or columns


def key_number(study: Study, name: str, option: str) -> int:
    """Return the number of a key that an option names.

    Raises:
        InputError: the sweep has no such key, or several.
    """
    paths = [key.path for key in study.keys]
    if name in paths:
        return paths.index(name)
    found = [number for number, key in enumerate(study.keys) if name in {key.path.rpartition(".")[2], key.title}]
    if len(found) == 1:
        return found[0]
    raise InputError(f"{option}: {name} is not a key of the sweep{nearest(name, paths)}: use one of {', '.join(paths)}")


def value_numbers(key: SweptKey, text: str, option: str) -> list[int]:
    """Return the numbers of the values that a text names, separated by commas.

    Raises:
        InputError: the key has no such value.
    """
    parts = text.split(",")
    found = []
    start = 0
    while start < len(parts):
        # A value may contain commas, such as "FedProx (mu 0.1, ...)": the longest text that is a value counts.
        for end in range(len(parts), start, -1):
            number = _value_number(key, ",".join(parts[start:end]))
            if number is not None:
                found.append(number)
                start = end
                break
        else:
            known = "; ".join(key.texts)
            raise InputError(f"{option}: {parts[start].strip()!r} is not a value of {key.path}: use one of {known}")
    return found


def _value_number(key: SweptKey, text: str) -> int | None:
    """Return the number of a value; None for a text that is none, or that several values share."""
    wanted = _plain(text)
    for spellings in (key.cells, key.texts, [_kind(cell) for cell in key.cells]):
        found = [number for number, spelling in enumerate(spellings) if _plain(spelling) == wanted]
        if len(found) == 1:
            return found[0]
    value = as_number(text)
    if value is None or key.numbers is None:
        return None
    for number, own in enumerate(key.numbers):
        if math.isclose(own * key.unit.size, value, rel_tol=1e-9):
            return number
    return None


def _kind(cell: str) -> str:
    """Return the kind of a block, of a class from outside without its module; any other value as it stands."""
    value = parsed(cell)
    if isinstance(value, Mapping):
        value = value.get("kind", "")
    return str(value).rpartition(":")[2]


def _plain(text: str) -> str:
    """Return a text without what a user may write differently: spaces, capitals, the minus sign."""
    return "".join(text.split()).casefold().replace("−", "-")


def chosen_study(study: Study, choice: StudyChoice) -> Study:
    """Return the points of a study that a user selects, with the targets and the end that they ask for.

    Raises:
        InputError: the sweep has no such key, value, point, target or end.
    """
    return asked(selected(study, choice.where), choice.target, choice.at)


def selected(study: Study, where: Sequence[str]) -> Study:
    """Return the points of a study whose keys have the values of ``KEY=V,V``; keys with one value left are dropped.

    Raises:
        InputError: the sweep has no such key or value, or no such point.
    """
    if not where:
        return study
    wanted: dict[int, set[int]] = {}
    for condition in where:
        option = f"--where {condition}"
        name, equals, text = condition.partition("=")
        if not equals:
            raise InputError(f"{option}: must be KEY=VALUE, such as {_example(study)}")
        number = key_number(study, name.strip(), option)
        wanted[number] = wanted.get(number, set()) | set(value_numbers(study.keys[number], text, option))
    points = [point for point in study.points if _passes(point, wanted)]
    if not points:
        raise InputError(f"--where {' --where '.join(where)}: the sweep has no such point")
    return with_points(study, points)


def _example(study: Study) -> str:
    if not study.keys:
        return "algorithm=fedavg"
    return f"{study.keys[0].path}={study.keys[0].cells[0]}"


def _passes(point: StudyPoint, wanted: dict[int, set[int]]) -> bool:
    return all(point.value_indices[number] in values for number, values in wanted.items())


def with_points(study: Study, points: Sequence[StudyPoint]) -> Study:
    """Return a study of some of its points, with the keys and values that still vary among them."""
    kept_values = [sorted({point.value_indices[number] for point in points}) for number in range(len(study.keys))]
    kept_keys = [number for number, values in enumerate(kept_values) if len(values) > 1]
    keys = []
    for number in kept_keys:
        key = study.keys[number]
        values = kept_values[number]
        numbers = None
        if key.numbers is not None:
            numbers = [key.numbers[value] for value in values]
        cells = [key.cells[value] for value in values]
        keys.append(key._replace(cells=cells, texts=[key.texts[value] for value in values], numbers=numbers))
    fewer = []
    for point in points:
        indices = tuple(kept_values[number].index(point.value_indices[number]) for number in kept_keys)
        fewer.append(point._replace(value_indices=indices))
    return replace(study, keys=keys, points=fewer)


def layout_of(study: Study, choice: StudyChoice) -> Layout:
    """Return where each key goes: the first range of numbers along the axis, methods as lines, other keys as panels.

    With chosen panels, the keys that are left become lines: nothing is left out.

    Raises:
        InputError: the sweep has no such key, or a key would be in two places.
    """
    over = _over(study, choice)
    places: dict[str, list[int]] = {}
    taken = {over: "--over"}
    for option in ("rows", "columns", "facet"):
        places[option] = []
        for name in split(getattr(choice, option)):
            number = key_number(study, name, f"--{option} {name}")
            if number in taken:
                raise InputError(f"--{option} {name}: the key is in {taken[number]} already: choose another one")
            taken[number] = f"--{option}"
            places[option].append(number)
    rest = [number for number in range(len(study.keys)) if number not in taken]
    facets = places["facet"]
    lines = rest
    if not any(places.values()):
        lines = _default_lines(study, rest)
        facets = [number for number in rest if number not in lines]
    return Layout(over, lines, places["rows"], places["columns"], facets)


def facet_keys(study: Study, choice: StudyChoice) -> list[int]:
    """Return the numbers of the keys that a user chooses as facets.

    Raises:
        InputError: the sweep has no such key.
    """
    return [key_number(study, name, f"--facet {name}") for name in split(choice.facet)]


def split(names: Iterable[str]) -> list[str]:
    """Return names; an option may have several with commas between them."""
    return [part.strip() for name in names for part in name.split(",")]


def _over(study: Study, choice: StudyChoice) -> int | None:
    """Return the key along the axis: the first range of numbers, else the first category that is not the method."""
    if choice.over is not None:
        return key_number(study, choice.over, f"--over {choice.over}")
    named = split([*choice.rows, *choice.columns, *choice.facet])
    elsewhere = {key_number(study, name, f"--facet {name}") for name in named}
    free = [number for number in range(len(study.keys)) if number not in elsewhere]
    ranges = [number for number in free if study.keys[number].has_range]
    categories = [number for number in free if number != study.method]
    for candidates in (ranges, categories, free):
        if candidates:
            return candidates[0]
    return None


def _default_lines(study: Study, rest: Sequence[int]) -> list[int]:
    """Return the key whose values are lines: the method, else the key with the fewest values."""
    method = study.method
    if method is not None and method in rest:
        return [method]
    if not rest:
        return []
    return [min(rest, key=lambda number: len(study.keys[number].texts))]


def settings_of(study: Study, numbers: Sequence[int], points: Iterable[int]) -> list[tuple[int, ...]]:
    """Return the settings of some keys that occur among points, in the order of their values."""
    found = {tuple(study.points[point].value_indices[number] for number in numbers) for point in points}
    return sorted(found)


def setting_text(study: Study, numbers: Sequence[int], setting: Sequence[int]) -> str:
    """Return the values of some keys in words, such as ``FedAvg · bandwidth 5 MHz``."""
    return " · ".join(study.keys[number].named_texts[value] for number, value in zip(numbers, setting, strict=True))


def baseline_levels(study: Study, baseline: Sequence[str]) -> list[int]:
    """Return for each key the number of its baseline value; by default its first one.

    A baseline is a value of the method's key, ``KEY=V``, the only value of that text among all keys, a point or a run.

    Raises:
        InputError: there is no such value, point or run.
    """
    levels = [0] * len(study.keys)
    for text in baseline:
        for number, value in _baseline(study, text).items():
            levels[number] = value
    return levels


def _baseline(study: Study, text: str) -> dict[int, int]:
    option = f"--baseline {text}"
    name, equals, value = text.partition("=")
    short_names = {key.path.rpartition(".")[2] for key in study.keys} | {key.path for key in study.keys}
    if equals and name.strip() in short_names:
        number = key_number(study, name.strip(), option)
        return {number: value_numbers(study.keys[number], value, option)[0]}
    ordered = list(range(len(study.keys)))
    if study.method is not None:
        ordered.sort(key=lambda number: number != study.method)
    values = [(number, _value_number(study.keys[number], text)) for number in ordered]
    found = [(number, value) for number, value in values if value is not None]
    if found and (found[0][0] == study.method or len(found) == 1):
        return dict(found[:1])
    if len(found) > 1:
        keys = " or ".join(f"{study.keys[number].path}={text}" for number, _ in found)
        raise InputError(f"{option}: several keys have this value: write {keys}")
    for point in study.points:
        folders = {study.texts["folder"][row].rstrip("/") for row in point.rows}
        if text.rstrip("/") in {point.label, *folders}:
            return dict(enumerate(point.value_indices))
    known = ", ".join(study.keys[ordered[0]].texts) if study.keys else "none"
    raise InputError(f"{option}: is not a value, point or run of the sweep: use one of {known}")
