"""What `edgefl explain` says of keys, members, columns and files of results, presets, and other words for them."""

import itertools
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from edgefl.cli import guides
from edgefl.cli.listing import CATALOGUES, PLACES, entries, kind_of, meaning_of_kind
from edgefl.cli.member_page import NO_EXAMPLE, example, kinds_of, page, preset_pages
from edgefl.core.errors import InputError
from edgefl.core.key_notes import DEPENDS, KeyNote, key_notes, meanings, with_short_numbers
from edgefl.core.per_device import PerDevice
from edgefl.core.section import Section, nearest
from edgefl.records.columns import ResultColumn
from edgefl.records.quantities import INDEX_COLUMNS, WHAT_IF_COLUMNS
from edgefl.scenario import presets
from edgefl.scenario.examples import default_value, example_of_key
from edgefl.scenario.key_index import Key, catalogue_of, keys_of_members, keys_of_sections, sections_in, walk
from edgefl.scenario.key_words import meant_keys, meant_members, plain_word, synonyms
from edgefl.scenario.sweep_file import SweepFile
from edgefl.scenario.written_units import stem_and_unit, unit_of

COLUMNS_PAGE = "results/README.md"
LINE_WIDTH = 100
NAME_WIDTH = 9
MOST_IN_FULL = 3  # of several meanings of a word; more of them get a line each


@dataclass(frozen=True)
class Explanation:
    """One thing that a word names; texts are empty where they do not apply."""

    name: str
    what: str  # key, member, column, file, preset, scenario, catalogue
    meaning: str
    unit: str = ""
    type: str = ""  # with the bounds
    default: str = ""
    where: str = ""
    parts: tuple[str, ...] = ()  # the keys of a section or member, the columns of a file, the members of a catalogue
    example: str = ""  # YAML
    guide: str = ""  # page of the documentation
    text: str = ""  # the whole, if there is more than the above

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as JSON has it: what does not apply is missing."""
        return {name: value for name, value in asdict(self).items() if value not in ("", ())}

    def in_full(self) -> str:
        """Return the explanation as lines."""
        if self.text:
            return self.text
        lines = textwrap.wrap(f"{self.name} ({self.what}): {self.meaning}", LINE_WIDTH, break_on_hyphens=False)
        lines += _row("unit", self.unit) + _row("type", self.type) + _row("default", self.default)
        lines += _row("where", self.where) + _row(_PARTS.get(self.what, "keys"), ", ".join(self.parts))
        for number, line in enumerate(self.example.splitlines()):  # which can be copied as they are
            lines.append(f"{'' if number else 'example':<{NAME_WIDTH}}{line}")
        return "\n".join(lines + _row("guide", self.guide))

    def in_short(self) -> str:
        """Return the explanation as one line."""
        return f"{self.name} ({self.what}): {self.meaning}"


_PARTS = {"result file": "columns", "catalogue": "members"}


def _row(name: str, text: str) -> list[str]:
    pieces = textwrap.wrap(text, LINE_WIDTH - NAME_WIDTH, break_on_hyphens=False, break_long_words=False)
    heads = [name, *[""] * len(pieces)]
    return [f"{head:<{NAME_WIDTH}}{piece}" for head, piece in zip(heads, pieces, strict=False)]


def explain(word: str) -> list[Explanation]:
    """Return the explanations of a word: all things of this name, or else what it means as a synonym.

    Raises:
        InputError: nothing has this name.
    """
    found = _named(word)
    if not found:
        section, _, name = word.rpartition(".")
        found = [one for meant in meant_keys(name, section) for one in _meant(meant)]
    if not found:
        found = [one for kind, name in meant_members(word) for one in _members(name, kind)]
    if word == "capacity":  # of a cell, before that of a battery
        found = [_capacity(), *found]
    if word not in keys_of_sections():
        found += [one for one in _columns_and_files() if stem_and_unit(one.name)[0] == word]  # without its unit
    found = found or _of_keys(key for key in _every_key() if word in walk(key.field)) or _other(word)
    if not found:
        raise InputError(f'explain: unknown "{word}"{nearest(plain_word(word), names())}; `edgefl list` has the kinds')
    return list(dict.fromkeys(found))


def text_of(word: str, found: list[Explanation]) -> str:
    """Return explanations as text; many of them get a line each."""
    if len(found) > MOST_IN_FULL:
        more = f"`edgefl explain {found[0].name}` says more"
        return "\n".join(
            [*(one.in_short() for one in found), f"{word} has {len(found)} meanings; {more} about the first"]
        )
    return "\n\n".join(one.in_full() for one in found)


def names() -> Iterator[str]:
    """Yield all names that can be explained."""
    yield from keys_of_sections()
    yield from keys_of_members()
    yield from (key.leaf for key in _every_key())
    for kind, catalogue in CATALOGUES.items():
        yield kind
        yield from catalogue.members
    for section in presets.SECTIONS:
        yield from presets.names(section)
    yield from synonyms("keys")
    yield from (one.name for one in _columns_and_files())


def _named(word: str) -> list[Explanation]:
    if word in keys_of_sections():
        return [_key(keys_of_sections()[word])]
    exact = [key for same in keys_of_members().values() for key in same if word in {key.dotted, _short(key)}]
    found = _of_keys(exact or (key for key in _every_key() if key.leaf == word))
    found += [one for kind in CATALOGUES for one in _members(word, kind)]
    found += [_preset(section, word) for section in presets.SECTIONS if word in presets.names(section)]
    found += [one for one in _columns_and_files() if one.name == word]
    if word in CATALOGUES:
        found.append(_catalogue(word))
    if word in SweepFile.model_fields and word not in keys_of_sections():
        found.append(_sweep_key(word))
    return found


def _every_key() -> Iterator[Key]:
    yield from keys_of_sections().values()
    yield from itertools.chain.from_iterable(keys_of_members().values())


def _of_keys(keys: Iterable[Key]) -> list[Explanation]:
    alike: dict[tuple[str, str], list[Key]] = {}  # that several members have from one base class
    for key in keys:
        alike.setdefault((key.dotted, meanings(key.owner).get(key.leaf, "")), []).append(key)
    return [_key(*same) for same in alike.values()]


def _other(word: str) -> list[Explanation]:
    """Return the explanations of what takes long to look up: plug-ins, scenarios and recipes of this name."""
    found = [Explanation(word, "plug-in", page(kind, word)) for kind in kinds_of(word)]
    for kind in ("scenarios", "recipes"):
        found += [Explanation(name, kind[:-1], about) for name, about in entries(kind) if name == word]
    return found + [_catalogue(kind) for kind in CATALOGUES if kind_of(word) == kind]


def _meant(meant: str) -> list[Explanation]:
    """Return the explanations of what a synonym means: a dotted key, or a line of YAML."""
    name, colon, value = meant.partition(": ")
    if not colon:
        return _named(name)
    member = value.removeprefix("{kind: ").partition(",")[0].rstrip("}")
    kinds = [kind for kind, place in PLACES.items() if place == name]
    return [one for kind in kinds for one in _members(member, kind)] or _named(name)


def _short(key: Key) -> str:
    """Return the name of a member's key as `edgefl explain` takes it: fedprox.mu."""
    place = "data" if key.kind == "datasets" else PLACES[key.kind]
    return f"{key.member}{key.dotted.removeprefix(place)}"


def _key(key: Key, *alike: Key) -> Explanation:
    field = key.field
    note = next(note for note in key_notes(key.owner) if note.name == key.leaf)
    sections = sections_in(field)
    catalogue = catalogue_of(field)
    name = key.dotted
    where = f"section {name.rpartition('.')[0]}" if "." in name else "at the top of the file"
    guide = guides.guide_of_key(name)
    if catalogue is not None:
        guide = guides.guide_of_key(PLACES[catalogue.kind])
    if key.member:
        name = key.dotted if alike else _short(key)
        members = ", ".join(same.member for same in (key, *alike))
        where = f"{CATALOGUES[key.kind].noun} {members} ({PLACES[key.kind]})"
        guide = guides.guide_of_key(PLACES[key.kind])
        shown = _example(key.kind, key.member, key.leaf)
    else:
        shown = example_of_key(name)
    default = _default(note, field)
    if sections and note.default != "none":  # that of its keys
        default = ""
    return Explanation(
        name=name,
        what="key",
        meaning=note.meaning,
        unit=unit_of(key.leaf),
        type=_type(note, field),
        default=default,
        where=where,
        parts=_inner_keys(sections),
        example=shown,
        guide=guide,
    )


def _capacity() -> Explanation:
    from edgefl.runs.emulation import Options
    from edgefl.runs.forecast import forecast
    from edgefl.scenario import load

    meaning = "models of 20 MB that a cell carries in a minute: the bytes sent, over the time that they filled its"
    defaults = dict(forecast(load({}), Options(train=False), Path()))["capacity"]
    meaning = f"{meaning} band (load_down, load_up). With the defaults of all keys: {defaults}"
    where = "`edgefl run --dry-run`, and the card of the cell's load on the page of a run"
    return Explanation("capacity", "term", meaning, where=where, guide="docs/what-if.md")


def _sweep_key(name: str) -> Explanation:
    note = next(note for note in key_notes(SweepFile) if note.name == name)
    return Explanation(name, "key", note.meaning, "", note.type, note.default, "a sweep file", guide="docs/sweeps.md")


def _inner_keys(sections: Iterable[type[Section]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for section in sections for name in section.keys()))  # noqa: SIM118


def _type(note: KeyNote, field: FieldInfo) -> str:
    catalogue = catalogue_of(field)
    per_device = next((found for found in walk(field) if isinstance(found, PerDevice)), None)
    if catalogue is not None:
        known = ", ".join(catalogue.members)
        return f"{catalogue.noun}, by name or {{kind: name, ...}}: {known} (`edgefl list {catalogue.kind}`)"
    if per_device is not None:
        bounds = with_short_numbers(f"from {per_device.least:g} to {per_device.most:g}")
        return f"number {bounds} for each device: one for all, or a distribution such as {{uniform: [a, b]}}"
    if sections_in(field):
        others = [text for text in note.type.split(" or ") if "{" not in text]
        kind = "list of mappings" if "list of {" in note.type else "mapping"
        return " or ".join([*map(with_short_numbers, others), kind])
    return with_short_numbers(note.type)


def _default(note: KeyNote, field: FieldInfo) -> str:
    """Return the default of a key as YAML has it; a member by its name."""
    if field.is_required():
        return "none: it is required"
    if note.default == DEPENDS:
        return DEPENDS
    value = default_value(field)
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return with_short_numbers(str(value))
    if note.default in {"[]", "{}"}:
        return "none"
    return with_short_numbers(note.default)


def _members(name: str, kind: str) -> list[Explanation]:
    if name not in CATALOGUES[kind].members:
        return []
    cls: type[BaseModel] = CATALOGUES[kind].load(name)
    return [
        Explanation(
            name=name,
            what=CATALOGUES[kind].noun,
            meaning=CATALOGUES[kind].summary(name),
            where=PLACES[kind],
            parts=tuple(note.name for note in key_notes(cls)),
            example=_example(kind, name),
            guide=guides.guide_of_key(PLACES[kind]),
            text=page(kind, name),
        )
    ]


def _example(kind: str, name: str, used: str = "") -> str:
    """Return YAML that uses a member and, if given, one of its keys; "" of a member that only Python has."""
    if (kind, name) in NO_EXAMPLE:
        return ""
    return example(kind, name, used)


def _catalogue(kind: str) -> Explanation:
    return Explanation(
        name=kind,
        what="catalogue",
        meaning=meaning_of_kind(kind),
        where=PLACES[kind],
        parts=tuple(CATALOGUES[kind].members),
        guide=guides.guide_of_key(PLACES[kind]),
    )


def _preset(section: str, name: str) -> Explanation:
    (text,) = [page for page in preset_pages(name) if page.startswith(f"{section}:")]
    about = presets.about(section, name)
    shown = f"{section}: {{preset: {name}}}"
    return Explanation(name, "preset", about, where=section, example=shown, guide="docs/realism.md", text=text)


@cache
def _columns_and_files() -> list[Explanation]:
    from edgefl.results.result_tables import columns_of_files, result_files

    found = []
    for file in result_files():
        names = tuple(column.name for column in file.columns)
        found.append(Explanation(file.name, "result file", file.meaning, parts=names, guide=COLUMNS_PAGE))
    tables = {**columns_of_files(), "index.csv of a sweep": INDEX_COLUMNS, "what_if.csv": WHAT_IF_COLUMNS}
    columns: dict[tuple[str, str], Explanation] = {}  # by name and meaning: several files share some
    for name, listed in tables.items():
        for column in listed:
            new = _column(column, name)
            same = columns.get((new.name, new.meaning))
            if same is not None:
                new = replace(same, where=f"{same.where}; {new.where}")
            columns[new.name, new.meaning] = new
    return [*found, *columns.values()]


_TYPES = {bool: "true or false", int: "whole number", float: "number", str: "text"}


def _column(column: ResultColumn, file: str) -> Explanation:
    where = f"{file}, only with {column.when}" if column.when else file
    return Explanation(
        column.name, "column", column.meaning, column.unit, _TYPES[column.type], where=where, guide=COLUMNS_PAGE
    )
