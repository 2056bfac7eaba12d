"""Answers to wrong sections, lists and members of a scenario: the form to write them in."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from edgefl.core.catalogue import Catalogue
from edgefl.core.section import Section
from edgefl.scenario import presets
from edgefl.scenario.key_index import DATASET, keys_of_sections, places
from edgefl.scenario.key_words import meant_member, plain_word, synonyms
from edgefl.scenario.number_forms import DIGITS, remedy
from edgefl.scenario.wrong import CONTAINERS, NAMES_OF_KINDS, NO_WORDS, Wrong, preset_named, value_at
from edgefl.scenario.yaml_reader import on_one_line, parse

YES_WORDS = frozenset({"yes", "on", "true", "enabled", "auto", "default"})
_CALL = re.compile(r"(\w+)\s*\((.+)\)")
_UNKNOWN_MEMBER = re.compile(r'unknown (?P<noun>[^"]+) "(?P<name>[^"]+)"(?: \(did you mean [^)]*\))?')


def switch(wrong: Wrong) -> str | None:
    """Answer a word such as `off` where a section, a list or a member belongs."""
    word = str(wrong.value).lower()
    is_section = "mapping" in wrong.text and len(wrong.path) == 1
    if word in NO_WORDS and (is_section or _is_optional(wrong.key)):
        return f"{wrong.fault}: leave it out"
    if word in YES_WORDS:
        return re.sub(r": write .*| \(did you mean [^)]*\)", "", wrong.text)
    return None


def _is_optional(name: str) -> bool:
    """Return whether a key has nothing by default."""
    key = keys_of_sections().get(name)
    return key is not None and not isinstance(key.field.default, Section) and not key.field.default


def groups(wrong: Wrong) -> str | None:
    """Answer a list where a section with groups belongs."""
    value = wrong.value
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(entry, dict) for entry in value):
        return None
    if together := _together(value):
        return f"{wrong.fault}: write {wrong.key}: {on_one_line(together)}"
    if f"{wrong.key}.groups" in keys_of_sections():
        return f"{wrong.fault}: write {wrong.key}: {{groups: [...]}} around the list"
    return None


def single_value(wrong: Wrong) -> str | None:
    """Answer a section with a single value, such as `devices: 100`."""
    inner = synonyms("plain_values").get(wrong.key, ())
    value = wrong.value
    if isinstance(value, list) and inner and not any(isinstance(entry, Mapping) for entry in value):
        return _grid(wrong, inner[0])
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if wrong.key in presets.SECTIONS and isinstance(value, str):
        meant = preset_named(wrong.key, value)
        return f"{wrong.fault}: write {wrong.key}: {{preset: {meant}}}" if meant is not None else None
    suitable = [key for key in inner if len(inner) == 1 or _fits(key, value)]
    if not suitable:
        return None
    section, _, leaf = suitable[0].rpartition(".")
    return f"{wrong.fault}: write {section}: {{{leaf}: {value}}}"


def _together(entries: list[Any]) -> dict[Any, Any]:
    """Return the keys of several mappings; {} if they are none, or have a key in common."""
    if not all(isinstance(entry, Mapping) for entry in entries):
        return {}
    together = {key: item for entry in entries for key, item in entry.items()}
    return together if len(together) == sum(map(len, entries)) else {}


def _fits(key: str, value: Any) -> bool:
    """Return whether a key takes a value."""
    declared = keys_of_sections()[key]
    try:
        declared.owner.model_validate({declared.leaf: value})
    except ValidationError as error:
        return all(item["loc"][:1] != (declared.leaf,) for item in error.errors(include_url=False))
    return True


def _grid(wrong: Wrong, key: str) -> str:
    """Return a message about several values where one is needed."""
    return f"{wrong.fault}: one is needed; a sweep file runs several, as grid: {{{key}: {on_one_line(wrong.value)}}}"


def dashes(wrong: Wrong) -> str | None:
    """Answer entries whose dashes have no space behind them."""
    if not isinstance(wrong.value, str) or not re.match(r"-\S", wrong.value):
        return None
    return f"{wrong.fault}: a space is missing after each dash: write - {wrong.value[1:].split()[0]}"


def single_entry(wrong: Wrong) -> str | None:
    """Answer a number, or several in one text, where a list belongs."""
    value = wrong.value
    if isinstance(value, Mapping):
        return None
    if f"{wrong.key}.name" in keys_of_sections():
        return f'{wrong.fault}: begin each of its entries with "- name: ..."'
    number = remedy(str(value), "") if isinstance(value, str) else f"write {value}"
    several = re.split(r"[,;\s]+", str(value))
    if len(several) > 1 and all(re.fullmatch(DIGITS, one) for one in several) and not re.match("0,", value):
        number = f"write {', '.join(several)}"
    if number is None or not number.startswith("write ") or isinstance(value, bool):
        return None
    return f"{wrong.fault}: write [{number.removeprefix('write ')}]"


def entries(wrong: Wrong) -> str | None:
    """Answer keys where a list belongs, such as {phone: {count: 10}}."""
    if not isinstance(wrong.value, Mapping):
        return None
    listed: list[Any] = list(wrong.value.values())
    if f"{wrong.key}.name" in keys_of_sections() and all(isinstance(entry, Mapping) for entry in listed):
        listed = [{"name": name, **entry} for name, entry in wrong.value.items()]
    elif not all(isinstance(entry, int | float) for entry in listed):
        return None
    return f"{wrong.fault}: write {on_one_line(listed)}"


def list_of_lists(wrong: Wrong) -> str | None:
    """Answer numbers where lists of them belong, such as positions_m: [0, 0]."""
    around = value_at(wrong.raw, wrong.path[:-1])
    if isinstance(around, list) and all(isinstance(entry, int | float) for entry in around):
        return f"must be a list within the list: write {wrong.path[-2]}: {on_one_line([around])}"
    return None


def other_word(wrong: Wrong) -> str | None:
    """Answer another word for one of a few names."""
    for meant in synonyms("values").get(f"{wrong.key}.{plain_word(str(wrong.value))}", ()):
        return f'{wrong.fault} (did you mean "{meant}"?)'
    return None


def dataset(wrong: Wrong) -> str | None:
    """Answer a dataset with its keys within it."""
    if not isinstance(wrong.value, Mapping):
        return None
    for key, name in wrong.value.items():
        if key in {"kind", *NAMES_OF_KINDS} and isinstance(name, str):
            rest = {other: item for other, item in wrong.value.items() if other != key}
            written = {"dataset": meant_member("dataset", name) or name, **rest}
            return f"{wrong.fault}: write data: {on_one_line(written)}"
    return None


def kind(wrong: Wrong) -> str | None:
    """Answer a member whose name is not under `kind`."""
    catalogue = places().get(wrong.key)
    if isinstance(wrong.value, list) and len(wrong.value) > 1:
        together = _together(wrong.value)
        return f"{wrong.fault}: write {on_one_line(together)}" if together else _grid(wrong, wrong.key)
    if catalogue is None or not isinstance(wrong.value, Mapping):
        return off(wrong)
    for written in _written_members(catalogue, wrong.value):
        return f"{wrong.fault}: write {written}"
    return None


def off(wrong: Wrong) -> str | None:
    """Answer a member that is switched off by another word than its name."""
    catalogue = places().get(wrong.key)
    name = meant_member(catalogue.noun, "none") if catalogue is not None else None
    if name is None or str(wrong.value).lower() not in NO_WORDS:
        return None
    return f'{wrong.fault} (did you mean "{name}"?)'


def _written_members(catalogue: Catalogue[Any], value: Mapping[Any, Any]) -> Iterator[str]:
    for key, inner in value.items():
        rest: dict[Any, Any] = {}
        for name, item in value.items():
            if name in CONTAINERS and isinstance(item, Mapping):
                rest |= item
            elif name != key:
                rest[name] = item
        if key in NAMES_OF_KINDS and isinstance(inner, str):
            yield on_one_line({"kind": meant_member(catalogue.noun, inner) or inner, **rest})
        if key in catalogue.members and isinstance(inner, Mapping | None):
            yield on_one_line({"kind": key, **(inner or {}), **rest})
        if key in catalogue.members and not rest:
            yield from _with_value(catalogue, key, inner)


def _with_value(catalogue: Catalogue[Any], name: str, value: Any) -> Iterator[str]:
    """Yield how a member with a single value is written, such as {kind: dirichlet, alpha: 0.3}."""
    cls = catalogue.load(name)
    inherited = getattr(cls.__mro__[1], "model_fields", {})
    for key in sorted(cls.model_fields, key=inherited.__contains__):  # its own first
        with suppress(ValidationError):
            cls.model_validate({key: value})
            yield on_one_line({"kind": name, key: value})


def called(wrong: Wrong) -> str | None:
    """Answer a member as a call, such as dirichlet(0.3), or as the name of its file."""
    catalogue = places().get(wrong.key)
    if catalogue is None or not isinstance(wrong.value, str):
        return None
    call = _CALL.fullmatch(wrong.value)
    if call is not None and call[1] in catalogue.members:
        for written in _with_value(catalogue, call[1], parse(call[2])[0]):
            return f"{wrong.fault}: write {written}"
    suffix = Path(wrong.value).suffix.removeprefix(".")
    if wrong.key == DATASET and suffix in catalogue.members:
        return f"{wrong.fault}: write data: {on_one_line({'dataset': suffix, 'path': wrong.value})}"
    for name in (suffix, "trace", "file"):
        if suffix and name in catalogue.members and "path" in catalogue.load(name).model_fields:
            return f"{wrong.fault}: write {on_one_line({'kind': name, 'path': wrong.value})}"
    return None


def member(wrong: Wrong) -> str | None:
    """Answer another word for a member."""
    match = _UNKNOWN_MEMBER.match(wrong.text)
    name = meant_member(match["noun"], match["name"]) if match else None
    if match is None or name is None:
        return None
    return f'unknown {match["noun"]} "{match["name"]}" (did you mean "{name}"?){wrong.text[match.end() :]}'
