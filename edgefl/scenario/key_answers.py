"""Answers to unknown keys of a scenario: the key that is meant, or the form to write it in."""

import re
from collections.abc import Mapping
from typing import Any

from edgefl.core.section import dotted, shown
from edgefl.scenario import presets
from edgefl.scenario.key_index import DATASET, keys_of_members, keys_of_sections, places
from edgefl.scenario.key_words import guessed_keys, inside, meant_keys, plain_word, sentence, sweep_keys, synonyms
from edgefl.scenario.number_forms import plain
from edgefl.scenario.sections import Sections
from edgefl.scenario.written_units import converted, stem_and_unit
from edgefl.scenario.wrong import CONTAINERS, NAMES_OF_KINDS, NO_WORDS, UNKNOWN_KEY, Wrong, preset_named, value_at
from edgefl.scenario.yaml_reader import on_one_line

WRAPPERS = frozenset({"scenario", "config", "experiment", "edgefl"})  # keys around a whole scenario


def option(wrong: Wrong) -> str | None:
    """Answer a key at the top that is an option of the command line, or a key of a sweep file."""
    word = plain_word(wrong.name)
    is_section = isinstance(wrong.value, Mapping) and word in synonyms("sections")
    meant = synonyms("options").get(word, ())
    if len(wrong.path) == 1 and meant and not is_section:
        return f"{UNKNOWN_KEY}: it is an option of the command line: {meant[0]}"
    if len(wrong.path) == 1 and word in sweep_keys():
        text = "it belongs to a sweep file, which names its scenario as `base`"
        return f"{UNKNOWN_KEY}: {text}: run that with `edgefl sweep`"
    return None


def wrapper(wrong: Wrong) -> str | None:
    """Answer a key around a whole scenario."""
    inner = {*WRAPPERS, *Sections.model_fields}
    if wrong.name in WRAPPERS and isinstance(wrong.value, Mapping) and wrong.value.keys() & inner:
        return f"{UNKNOWN_KEY}: keys of a scenario stand at the top: leave this line out, and indent the others less"
    return None


def switched_off(wrong: Wrong) -> str | None:
    """Answer an unknown key that is switched off."""
    return f"{UNKNOWN_KEY}: leave it out" if str(wrong.value).lower() in NO_WORDS else None


def not_indented(wrong: Wrong) -> str | None:
    """Answer a key beside its empty section."""
    beside = value_at(wrong.raw, wrong.path[:-1])
    key = "kind" if wrong.key == DATASET else wrong.name  # a dataset's name may stand under it, too
    if not isinstance(beside, Mapping) or (key != "kind" and not wrong.text.startswith(UNKNOWN_KEY)):
        return None  # a known key with a wrong value stands where it belongs
    for name, content in beside.items():
        section = dotted((*wrong.path[:-1], name))
        inner = f"{section}.{key}"
        is_kind = key == "kind" and key in beside and section in places()
        if content is None and (is_kind or inner in keys_of_sections() or inner in keys_of_members()):
            where = "" if wrong.section else " at the top"
            fault = f"{UNKNOWN_KEY}{where}" if wrong.text.startswith(UNKNOWN_KEY) else wrong.fault
            return f"{fault}: indent {key}, as it belongs to {section}"
    return None


def dotted_key(wrong: Wrong) -> str | None:
    """Answer a key with the sections around it, such as radio.bandwidth_hz or training/lr."""
    name = re.sub(r"[/\[:>-]+|__", ".", wrong.name.rstrip("]"))
    if name not in keys_of_sections() or "." not in name:
        return None
    *sections, leaf = name.split(".")
    nested = f"{leaf}: {shown(wrong.value)}"
    for section in reversed(sections):
        nested = f"{section}: {{{nested}}}"
    return f"{UNKNOWN_KEY}: dots stand for sections only in settings and sweeps: write {nested}"


def key_of_member(wrong: Wrong) -> str | None:
    """Answer a key among those of a member that names or holds the member, or holds keys of it."""
    catalogue = places().get(wrong.section)
    if isinstance(wrong.value, Mapping) and wrong.name in CONTAINERS and wrong.section:
        return f"{UNKNOWN_KEY}: leave it out, and write {on_one_line(wrong.value).strip('{}')} in its place"
    if catalogue is None:
        return None
    if isinstance(wrong.value, str) and wrong.name in NAMES_OF_KINDS:
        return f"{UNKNOWN_KEY}: write kind: {wrong.value}"
    if isinstance(wrong.value, Mapping) and wrong.name in catalogue.members:
        return f"{UNKNOWN_KEY}: write {on_one_line({'kind': wrong.name, **wrong.value})}"
    return None


def name_of_member(wrong: Wrong) -> str | None:
    """Answer the name of a member, such as server.over_selection."""
    word = plain_word(wrong.name)
    found = inside(wrong.section, [place for place, catalogue in places().items() if word in catalogue.members])
    if not found or meant_keys(wrong.name, wrong.section, wrong.value):
        return None
    if "did you mean" in wrong.text and not found[0].startswith(f"{wrong.section}."):
        return None
    return f"{UNKNOWN_KEY}: write {found[0]}: {word}"


def preset(wrong: Wrong) -> str | None:
    """Answer the name of a preset under another key."""
    if wrong.section not in presets.SECTIONS or not isinstance(wrong.value, str):
        return None
    meant = preset_named(wrong.section, wrong.value)
    if wrong.name == "preset" or meant is None:
        return None
    return f"{wrong.fault}: write preset: {meant}"


def in_other_unit(wrong: Wrong) -> str | None:
    """Answer a key that ends in another unit, such as bandwidth_mhz."""
    stem, written = stem_and_unit(plain_word(wrong.name))
    if not stem or isinstance(wrong.value, bool) or not isinstance(wrong.value, int | float):
        return None
    known = {key: stem_and_unit(key.rpartition(".")[2]) for key in (*keys_of_sections(), *keys_of_members())}
    same = inside(wrong.section, [key for key, (other, _) in known.items() if other == stem])
    same.sort(key=lambda key: key.count("."))  # the nearest first
    for key in [*same, *meant_keys(stem, wrong.section), *guessed_keys(stem, wrong.section)]:
        example = re.search(r"(\w+): [\d.]+}$", key)
        leaf = example[1] if example is not None else key.rpartition(".")[2]
        _, unit = stem_and_unit(leaf)
        number = converted(float(wrong.value), written, unit)
        if unit not in {"", written} and number is not None:
            name = key if example is None else leaf
            return f"{UNKNOWN_KEY}: the key is {name}, in {unit}: write {leaf}: {plain(number)}"
    return None


def meant(wrong: Wrong) -> str | None:
    """Answer a key by another name, mistyped, or in another section."""
    hints = meant_keys(wrong.name, wrong.section, wrong.value)
    if not hints and ("did you mean" not in wrong.text or (not wrong.section and "_" in wrong.name)):
        hints = guessed_keys(wrong.name, wrong.section, wrong.value)
    hints = [hint for hint in hints if hint != f"{wrong.section}.{wrong.name}"]
    if not wrong.section and plain_word(wrong.name) in Sections.model_fields:
        hints = [plain_word(wrong.name)]
    here = (f"{wrong.path[0]}.", f"{wrong.path[0]}: ")
    # Keys of one name in several other sections say less than the keys that are known here.
    if not hints or (wrong.section and len(hints) > 1 and not any(hint.startswith(here) for hint in hints)):
        return None
    is_inner = len(wrong.path) > 2 or wrong.section in places()
    if is_inner and not any(hint.startswith(here) for hint in hints):
        return None
    if hints[0].endswith(": ..}") and wrong.section:  # another member has the key
        return f"{wrong.text}; or {sentence(hints)}"
    where = "" if wrong.section else " at the top"
    return f"{UNKNOWN_KEY}{where}: {sentence(hints)}"


def value_of_member(wrong: Wrong) -> str | None:
    """Answer a key whose value is the name of a member of one catalogue, such as `channel: rayleigh`."""
    word = plain_word(str(wrong.value))
    found = [place for place, catalogue in places().items() if word in catalogue.members]
    if len(found) != 1 or wrong.section:
        return None
    return f"{UNKNOWN_KEY} at the top: did you mean {found[0]}?"


def inner_keys(wrong: Wrong) -> str | None:
    """Answer an unknown section by the places of its keys, unless they are in a section by another name."""
    if wrong.section or not isinstance(wrong.value, Mapping):
        return None
    if any(key in places() for key in meant_keys(wrong.name)):
        return None
    sections = _meanings(wrong.name, wrong.value)
    if any(
        f"{section}.{plain_word(str(inner))}" in keys_of_sections() for section in sections for inner in wrong.value
    ):
        return None
    meant = {inner: _meanings(str(inner), item) for inner, item in wrong.value.items()}
    places_of = [f"{inner} is {keys[0]}" for inner, keys in meant.items() if keys]
    return f"unknown section: {', '.join(places_of)}" if places_of else None


def _meanings(name: str, value: Any) -> list[str]:
    """Return what a name at the top means, or may mean."""
    return meant_keys(name, value=value) or guessed_keys(name, value=value)
