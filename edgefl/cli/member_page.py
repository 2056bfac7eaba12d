"""The page of a member for `edgefl list NAME`: its summary, its keys, and a valid example."""

from typing import Any

from pydantic import BaseModel

from edgefl.cli import guides
from edgefl.cli.listing import CATALOGUES, PLACES, entries
from edgefl.core.distributions import Constant
from edgefl.core.key_notes import key_notes
from edgefl.core.plugins import installed
from edgefl.core.words import words_of
from edgefl.scenario import presets
from edgefl.scenario.examples import as_yaml

EXAMPLES = "member_examples.yaml"
NO_EXAMPLE = {("datasets", "arrays")}  # only from Python
MOST_EXAMPLE_KEYS = 3  # besides those without a default


def kinds_of(name: str) -> list[str]:
    """Return the catalogues that have a member of this name, or an installed plug-in of it."""
    found = [kind for kind, catalogue in CATALOGUES.items() if name in catalogue.members]
    return found or [kind for kind in CATALOGUES if name in names_of(kind)]


def names_of(kind: str) -> list[str]:
    """Return the names of a catalogue's members, then those of installed plug-ins."""
    return list(dict.fromkeys([*CATALOGUES[kind].members, *(point.name for point in installed(kind))]))


def page(kind: str, name: str) -> str:
    """Return the page of a member of a catalogue; a plug-in is not imported for it."""
    if name not in CATALOGUES[kind].members:
        about = "; ".join(summary for listed, summary in entries(kind) if listed == name)
        return f"{name} ({kind}): {about}"
    cls: type[BaseModel] = CATALOGUES[kind].load(name)
    lines = [
        f"{name} ({kind}): {CATALOGUES[kind].summary(name)}",
        f"key     {PLACES[kind]}",
        f"guide   {guides.guide_of_key(PLACES[kind])}",
        f"source  {cls.__module__}:{cls.__qualname__}",
    ]
    notes = key_notes(cls)
    if not notes:
        lines.append("keys    none")
    for note in notes:
        text = f"  {note.name}: {note.type}; default {note.default}"
        if note.default == "required":
            text = f"  {note.name}: {note.type}; required"
        lines.append(text)
        if note.meaning:
            lines.append(f"      {note.meaning}")
    if (kind, name) not in NO_EXAMPLE:
        lines += ["example", *(f"  {line}" for line in example(kind, name).splitlines())]
    return "\n".join(lines)


def preset_pages(name: str) -> list[str]:
    """Return the files of the presets of a name, with keys and sources."""
    found = [section for section in presets.SECTIONS if name in presets.names(section)]
    return [f"{section}: {{preset: {name}}}\n\n{presets.text(section, name).rstrip()}" for section in found]


def example(kind: str, name: str, used: str = "") -> str:
    """Return YAML that uses a member, as a scenario or a part of one; `used` is a key that it must have, if it can."""
    keys: dict[str, Any] = dict(words_of(__file__, EXAMPLES)["keys"].get(kind, {}).get(name, {}))
    cls = CATALOGUES[kind].load(name)
    fields = cls.model_fields
    # Keys that the base class does not have come first.
    ordered = sorted(fields.items(), key=lambda item: (item[0] != used, item[0] not in cls.__annotations__))
    for key, field in ordered:
        value = field.default
        if isinstance(value, Constant) and key == used:
            value = value.value
        simple = isinstance(value, int | float | str)
        if simple and not field.exclude and key not in keys and (len(keys) < MOST_EXAMPLE_KEYS or key == used):
            keys[key] = value
    *sections, last = PLACES[kind].split(".")
    content: dict[str, Any] = {last: {"kind": name, **keys}}
    if kind == "datasets":  # its keys stand beside it
        content = {last: name, **keys}
    elif not keys:
        content = {last: name}
    if kind == "measures":  # the key holds a list of them
        content = {last: [content[last]]}
    for section in reversed(sections):
        content = {section: content}
    others = words_of(__file__, EXAMPLES)["sections"].get(kind, {})
    for section, more in others.get(name, {}).items():
        content[section] = {**content.get(section, {}), **more}
    return as_yaml(content)
