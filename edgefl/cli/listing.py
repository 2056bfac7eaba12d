"""Lists for `edgefl list`: members of catalogues, presets, shipped scenarios and recipes, a line each."""

from typing import Any, NamedTuple

from edgefl.core.catalogue import Catalogue
from edgefl.core.key_notes import meanings
from edgefl.core.plugins import Installed, installed, installed_kinds
from edgefl.core.section import nearest
from edgefl.core.units import percent
from edgefl.scenario import presets, shipped
from edgefl.scenario.key_index import keys_of_sections, places

CATALOGUES = {catalogue.kind: catalogue for catalogue in places().values()}
PLACES = {catalogue.kind: key for key, catalogue in places().items()}
"""The key of a scenario that holds a member, by its catalogue."""


OTHER_KINDS = {
    "presets": ("radio.preset, devices.preset", "Sets of keys with their sources."),
    "devices": ("devices.preset", "Presets of devices, with the errors of their laws on numbers left out of the fit."),
    "scenarios": ("", "Scenarios and sweeps that come with edgefl: `edgefl run NAME`, `edgefl sweep NAME`."),
    "recipes": ("", "Published tables and figures: `edgefl reproduce NAME`."),
}
"""Lists of other things than members: the key that takes one, if any, and what they are."""


class Kind(NamedTuple):
    """A list of `edgefl list`."""

    kind: str
    key: str  # that takes one of its names; "" if none does
    size: int
    meaning: str


def kinds() -> list[str]:
    """Return the kinds that `edgefl list` takes."""
    return [*CATALOGUES, *OTHER_KINDS]


def kind_of(word: str) -> str | None:
    """Return the kind that a word names, in the singular or in the plural; None if it names none."""
    for kind in kinds():
        if word in {kind, f"{kind}s", kind.removesuffix("s"), kind.removesuffix("es"), f"{kind.removesuffix('ies')}y"}:
            return kind
    return None


def unknown_groups() -> list[str]:
    """Return a warning for each group of installed plug-ins, `edgefl.KIND`, whose kind is unknown."""
    known = [f"edgefl.{kind}" for kind in CATALOGUES]
    lines = []
    for kind in installed_kinds():
        if kind not in CATALOGUES:
            group = f"edgefl.{kind}"
            packages = ", ".join(dict.fromkeys(point.distribution for point in installed(kind)))
            meant = nearest(group, known)
            lines.append(f"{packages}: unknown group of entry points {group}{meant}; known: {', '.join(known)}")
    return lines


def overview() -> list[Kind]:
    """Return all lists, each with its key, the number of its names and what these are."""
    from edgefl.reproductions.library import Library

    counts = {
        "presets": sum(len(presets.names(section)) for section in presets.SECTIONS),
        "devices": len(presets.names("devices")),
        "scenarios": len(shipped.scenarios()) + len(shipped.sweeps()),
        "recipes": len(Library().names),
    }
    found = [
        Kind(kind, PLACES[kind], len(catalogue.members) + len(installed(kind)), meaning_of_kind(kind))
        for kind, catalogue in CATALOGUES.items()
    ]
    return found + [Kind(kind, key, counts[kind], meaning) for kind, (key, meaning) in OTHER_KINDS.items()]


def meaning_of_kind(kind: str) -> str:
    """Return what the members of a catalogue are for: the meaning of the key that holds one."""
    key = keys_of_sections()[PLACES[kind]]
    return meanings(key.owner)[key.leaf]


def entries(kind: str) -> list[tuple[str, str]]:
    """Return the names of a kind, each with a summary and its source."""
    other_kinds = {"scenarios": _scenarios, "recipes": _recipes, "presets": _presets, "devices": _devices}
    if kind in other_kinds:
        return other_kinds[kind]()
    catalogue = CATALOGUES[kind]
    # A summary comes from the member's docstring, so that the list cannot differ from the code.
    rows = [(name, catalogue.summary(name)) for name in catalogue.members]
    return rows + [_installed(point, catalogue) for point in installed(kind)]


def _recipes() -> list[tuple[str, str]]:
    from edgefl.reproductions.library import Library

    return [(entry.name, f"{entry.recipe.title} ({entry.recipe.source})") for entry in Library().all()]


def _installed(point: Installed, catalogue: Catalogue[Any]) -> tuple[str, str]:
    origin = f"{point.path}, of {point.distribution} {point.version}"
    if point.name in catalogue.members:
        return point.path, f"{origin}, which calls it {point.name}: that name is taken, so write {point.path}"
    return point.name, origin


def _presets() -> list[tuple[str, str]]:
    return [
        (name, f"{section}: {{preset: {name}}}: {presets.about(section, name)}")
        for section in presets.SECTIONS
        for name in presets.names(section)
    ]


def _devices() -> list[tuple[str, str]]:
    return [(name, f"{presets.about('devices', name)} {_errors(name)}") for name in presets.names("devices")]


def _errors(name: str) -> str:
    """Return the held-out errors of a preset of devices in words."""
    held_out = presets.read("devices", name).get("held_out", {})
    laws = {f"computing, {kind.replace('_', ' ')}": error for kind, error in held_out.get("compute", {}).items()}
    if "power" in held_out:
        laws["power"] = held_out["power"]
    if not laws:
        return "No error was measured."
    texts = [f"{law} {percent(error['sigma'])} ({error['numbers']} numbers)" for law, error in laws.items()]
    return f"Held-out errors: {'; '.join(texts)}."


def _scenarios() -> list[tuple[str, str]]:
    rows = [(name, shipped.about(path)) for name, path in shipped.scenarios().items()]
    rows += [(name, f"(sweep) {shipped.about(path)}") for name, path in shipped.sweeps().items()]
    return rows
