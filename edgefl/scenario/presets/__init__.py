"""Presets: named sets of keys of the sections `radio` and `devices`, each a YAML file with its sources.

`radio: {preset: nr}` stands for the keys of `radio/nr.yaml` in this folder, which other keys of the section override.
`devices: {profile: mine.yaml}` does the same with a file of a user.
To add one: a file in the section's folder, its name in the section's field `preset`, and a row in `docs/realism.md`.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError

from edgefl.core.files import read_bytes
from edgefl.core.paths import NamedPath, written_in
from edgefl.core.section import KeyPath, dotted, fault_at, nearest
from edgefl.core.written_yaml import NotYaml
from edgefl.scenario.merging import merged
from edgefl.scenario.yaml_reader import parse
from edgefl.world.devices_section import Hardware

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


def filled_in(raw: Mapping[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Return a scenario's keys with those of its presets and profiles filled in.

    Raises:
        ValidationError: a profile cannot be read.
    """
    filled = dict(raw)
    for section in SECTIONS:
        if section in raw:
            filled[section] = _expanded((section,), raw[section], info)
    devices = filled.get("devices")
    if isinstance(devices, dict) and isinstance(devices.get("groups"), list | tuple):
        groups = [_expanded(("devices", "groups", row), group, info) for row, group in enumerate(devices["groups"])]
        filled["devices"] = {**devices, "groups": groups}
    return filled


def named_in(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the preset that each section of a scenario names, by section."""
    sections = {section: raw[section] for section in SECTIONS if isinstance(raw.get(section), Mapping)}
    return {section: keys["preset"] for section, keys in sections.items() if isinstance(keys.get("preset"), str)}


def _expanded(where: KeyPath, given: Any, info: ValidationInfo) -> Any:
    """Return a section with the keys of its preset or profile filled in; given keys override them."""
    if not isinstance(given, dict):
        return given
    if where[0] == "devices" and isinstance(given.get("profile"), str | Path):
        if given.get("preset") is not None:
            raise fault_at((*where, "profile"), "gives the keys that preset gives, too: leave one of them out")
        keys = {key: value for key, value in given.items() if key != "profile"}
        return merged(_profile(where, given["profile"], info), keys)
    if not isinstance(given.get("preset"), str):
        return given
    return merged(read(str(where[0]), given["preset"]), given)


def _profile(where: KeyPath, name: str | Path, info: ValidationInfo) -> Mapping[str, Any]:
    """Return the keys of a profile; a path in it is looked for beside it."""
    where = (*where, "profile")
    try:
        path = NamedPath(is_file=True)(name, info)
        keys, lines = parse(read_bytes(path).decode())
    except PydanticCustomError as error:
        raise fault_at(where, error.message()) from None
    except OSError as error:
        raise fault_at(where, f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise fault_at(where, f"{name} is not a text in UTF-8: name the file of a profile") from None
    except NotYaml as error:
        raise fault_at(where, f"{name}:{error.line}: not valid YAML: {error.problem}") from None
    if not isinstance(keys, dict):
        raise fault_at(where, f"{name} must be a mapping of keys of devices to values")
    keys.setdefault("source", path.stem)
    located: dict[str, Any] = written_in(path.parent, keys)
    try:
        Hardware.model_validate(located, context=info.context)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = first["loc"]
        text = first["msg"]
        if first["type"] == "extra_forbidden":
            text = f"unknown key{nearest(str(key[-1]), Hardware.model_fields)}"
        line = next((lines[key[:depth]] for depth in range(len(key), 0, -1) if key[:depth] in lines), 1)
        raise fault_at(where, f"{name}:{line}: {dotted(key)}: {text}") from None
    return located
