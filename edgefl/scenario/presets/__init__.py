"""Presets: named sets of keys of the sections `radio` and `devices`, each a YAML file with its sources.

`radio: {preset: nr}` stands for the keys of `radio/nr.yaml` in this folder, which other keys of the section override.
To add one: a file in the section's folder, its name in the section's field `preset`, and a row in `docs/realism.md`.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from edgefl.scenario.merging import merged
from edgefl.scenario.yaml_reader import parse

SECTIONS = ("radio", "devices")
FOLDER = Path(__file__).parent


def names(section: str) -> list[str]:
    """Return the names of a section's presets."""
    return sorted(path.stem for path in (FOLDER / section).glob("*.yaml"))


def text(section: str, name: str) -> str:
    """Return a preset as it is written, with its sources."""
    return (FOLDER / section / f"{name}.yaml").read_text(encoding="utf-8")


def about(section: str, name: str) -> str:
    """Return the first line of a preset's comment, which says what it is."""
    return text(section, name).partition("\n")[0].removeprefix("# ")


@cache
def read(section: str, name: str) -> Mapping[str, Any]:
    """Return the keys and values of a preset; an empty mapping if there is no such preset."""
    if name not in names(section):
        return {}  # the section's own field refuses the name
    keys, _ = parse(text(section, name))
    return dict(keys)


def filled_in(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario's keys with those of its presets filled in."""
    filled = dict(raw)
    for section in SECTIONS:
        if section in raw:
            filled[section] = expanded(section, raw[section])
    devices = filled.get("devices")
    if isinstance(devices, dict) and isinstance(devices.get("groups"), list | tuple):
        groups = [expanded("devices", group) for group in devices["groups"]]
        filled["devices"] = {**devices, "groups": groups}
    return filled


def named_in(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the preset that each section of a scenario names, by section."""
    sections = {section: raw[section] for section in SECTIONS if isinstance(raw.get(section), Mapping)}
    return {section: keys["preset"] for section, keys in sections.items() if isinstance(keys.get("preset"), str)}


def expanded(section: str, given: Any) -> Any:
    """Return a section with the keys of its preset filled in; given keys override them."""
    if not isinstance(given, dict) or not isinstance(given.get("preset"), str):
        return given
    return merged(read(section, given["preset"]), given)
