"""Tables of keys: type and bounds, default, meaning."""

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from edgefl.core.catalogue import Catalogue, Member
from edgefl.core.distributions import Constant, Distribution
from edgefl.core.key_notes import DEPENDS, KeyNote, key_notes
from edgefl.core.section import Section
from site_pages.markdown_text import code, escaped, link, slug, table, with_short_numbers

HEAD = ("key", "type", "default", "meaning")
CATALOGUES = "reference/catalogues"  # the folder of the pages of members
PER_DEVICE = "reference/scenario/README.md#numbers-of-each-device"


class Part(NamedTuple):
    """A section within a section: the dotted key that holds it, and its class."""

    key: str
    section: type[Section]


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


def parts_of(cls: type[BaseModel], place: str) -> list[Part]:
    """Return the sections in the keys of a class."""
    found: list[Part] = []
    for name, field in cls.model_fields.items():
        found += [Part(_dotted(place, name), section) for section in _sections_in(field)]
    return found


def inner_tables(parts: Sequence[Part], own: str, outer: Part | None = None) -> list[str]:
    """Return headings and tables of the sections within a section, at any depth."""
    texts = []
    for key in dict.fromkeys(part.key for part in parts):
        texts.append(f"## `{key}`")
        alternatives = list(dict.fromkeys(part for part in parts if part.key == key))
        deeper: list[Part] = []
        for part in alternatives:
            inherited = inherited_keys(outer, part)
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


def inherited_keys(outer: Part | None, inner: Part) -> tuple[str, ...]:
    """Return the keys that an inner section inherits from a base class of the outer one."""
    if outer is None:
        return ()
    for base in inner.section.__mro__:
        if base is not Section and issubclass(base, Section) and base in outer.section.__mro__:
            return tuple(base.model_fields)
    return ()


def _type(note: KeyNote, field: FieldInfo, place: str, own: str) -> str:
    """Return the type of a key, with a link to its page or table."""
    catalogue = next((found for found in _walk(field) if isinstance(found, Catalogue)), None)
    if catalogue is not None:
        return link(
            f"{escaped(catalogue.noun)}: one of {len(catalogue.members)}", own, f"{CATALOGUES}/{catalogue.kind}.md"
        )
    sections = _sections_in(field)
    if any(isinstance(found, type) and issubclass(found, Distribution) for found in _walk(field)):
        return link("number for each device", own, PER_DEVICE)
    if sections:
        key = _dotted(place, note.name)
        target = own if place else f"reference/scenario/{note.name}.md"
        if place:
            target = f"{own}#{slug(key)}"
        words = "list of mappings" if "list of {" in note.type else "mapping"
        others = [text for text in note.type.split(" or ") if "{" not in text]
        return " or ".join([*map(escaped, map(with_short_numbers, others)), link(words, own, target)])
    choices = [choice for found in _walk(field) if get_origin(found) is Literal for choice in get_args(found)]
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
        catalogue = next((found for found in _walk(field) if isinstance(found, Catalogue)), None)
        if catalogue is not None:
            return code(catalogue.name_of(value))
    if isinstance(value, Section) and not isinstance(value, Distribution):
        return "its keys' defaults"
    if note.default in {"none", "[]", "{}"}:
        return "none"
    return code(with_short_numbers(note.default))


def _sections_in(field: FieldInfo) -> list[type[Section]]:
    found = []
    for item in _walk(field):
        is_section = isinstance(item, type) and issubclass(item, Section)
        if is_section and not issubclass(item, Member | Distribution):
            found.append(item)
    return list(dict.fromkeys(found))


def _walk(field: FieldInfo) -> Iterator[Any]:
    """Return the classes and catalogues in a field's type."""
    yield from _inside(field.annotation)
    yield from field.metadata


def _inside(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _inside(part)


def _dotted(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
