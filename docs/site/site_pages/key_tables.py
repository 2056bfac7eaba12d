"""Tables of keys: type and bounds, default, meaning."""

import inspect
import re
from collections.abc import Sequence
from typing import Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from edgefl.core.catalogue import Member
from edgefl.core.distributions import Constant, Distribution
from edgefl.core.key_notes import DEPENDS, KeyNote, key_notes, with_short_numbers
from edgefl.core.section import Section
from edgefl.scenario.key_index import Part, catalogue_of, inherited_keys, joined, parts_of, sections_in, walk
from site_pages.markdown_text import code, escaped, link, slug, table

HEAD = ("key", "type", "default", "meaning")
CATALOGUES = "reference/catalogues"  # the folder of the pages of members
PER_DEVICE = "reference/scenario/README.md#numbers-of-each-device"


def key_table(cls: type[BaseModel], place: str, own: str, without: tuple[str, ...] = ()) -> str:
    """Return the table of a class's keys.

    Args:
        cls: a section, or a member of a catalogue.
        place: the dotted key that holds it; empty: the top of the file.
        own: path of the page in docs/.
        without: keys that another table has.
    """
    rows = key_rows(cls, place, own, without)
    if not rows:
        return "It has no keys.\n"
    return table(HEAD, [[code(name), *cells] for name, *cells in rows])


def key_rows(cls: type[BaseModel], place: str, own: str, without: tuple[str, ...] = ()) -> list[list[str]]:
    """Return name, type, default and meaning of a class's keys; the arguments are those of `key_table`."""
    rows = []
    for note in key_notes(cls):
        if note.name in without:
            continue
        field = cls.model_fields[note.name]
        default = "required" if field.is_required() else _default(note, field)
        meaning = re.sub(r"\bNone\b", "none", note.meaning)  # YAML's word
        rows.append([note.name, _type(note, field, place, own), default, escaped(meaning)])
    return rows


def inner_tables(parts: Sequence[Part], own: str, outer: Part | None = None) -> list[str]:
    """Return headings and tables of the sections within a section, at any depth."""
    texts = []
    for key in dict.fromkeys(part.key for part in parts):
        texts.append(f"## `{key}`")
        alternatives = list(dict.fromkeys(part for part in parts if part.key == key))
        deeper: list[Part] = []
        for part in alternatives:
            inherited = inherited_keys(outer.section if outer else None, part.section)
            texts.append(escaped(summary(part.section)))
            if outer is not None and inherited:
                texts.append(f"All keys of `{outer.key}` that describe a device, and these:")
            else:
                deeper += parts_of(part.section, key)
            texts.append(key_table(part.section, key, own, inherited))
        texts += inner_tables(deeper, own)
    return texts


def summary(section: type[BaseModel]) -> str:
    """Return the first paragraph of a section's docstring."""
    return " ".join(inspect.cleandoc(section.__doc__ or "").partition("\n\n")[0].split())


def _type(note: KeyNote, field: FieldInfo, place: str, own: str) -> str:
    """Return the type of a key, with a link to its page or table."""
    catalogue = catalogue_of(field)
    if catalogue is not None:
        return link(
            f"{escaped(catalogue.noun)}: one of {len(catalogue.members)}", own, f"{CATALOGUES}/{catalogue.kind}.md"
        )
    sections = sections_in(field)
    if any(isinstance(found, type) and issubclass(found, Distribution) for found in walk(field)):
        return link("number for each device", own, PER_DEVICE)
    if sections:
        key = joined(place, note.name)
        target = own if place else f"reference/scenario/{note.name}.md"
        if place:
            target = f"{own}#{slug(key)}"
        words = "list of mappings" if "list of {" in note.type else "mapping"
        others = [text for text in note.type.split(" or ") if "{" not in text]
        return " or ".join([*map(escaped, map(with_short_numbers, others)), link(words, own, target)])
    choices = [choice for found in walk(field) if get_origin(found) is Literal for choice in get_args(found)]
    if choices and note.type.split(", ")[:2] == [str(choice) for choice in choices[:2]]:
        return ", ".join(code(str(choice)) for choice in choices)
    return escaped(with_short_numbers(note.type))


def _default(note: KeyNote, field: FieldInfo) -> str:
    """Return a key's default as YAML has it; a member by its name."""
    if note.default == DEPENDS:
        return DEPENDS
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Constant):
        return code(with_short_numbers(str(value.value)))
    if isinstance(value, Member):
        catalogue = catalogue_of(field)
        if catalogue is not None:
            return code(catalogue.name_of(value))
    if isinstance(value, Section) and not isinstance(value, Distribution):
        return "its keys' defaults"
    if note.default in {"none", "[]", "{}"}:
        return "none"
    return code(with_short_numbers(note.default))
