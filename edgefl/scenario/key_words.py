"""The words that people write for keys and members of a scenario, and what they mean."""

import difflib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from edgefl.core.section import KeyPath, Section, dotted, shown
from edgefl.scenario import presets
from edgefl.scenario.key_index import Key, keys_of_members, keys_of_sections, places
from edgefl.scenario.sections import Sections
from edgefl.scenario.yaml_reader import on_one_line, parse

FILE = Path(__file__).with_name("synonyms.yaml")
UNKNOWN_KEY = "unknown key"  # the beginning of messages about one
A_MAPPING = "must be a mapping of keys to values"
A_LIST = "must be a list, got "
A_MEMBER = "must be a name or {kind: name, ...}, got "
MOST_HINTS = 3
CLOSE = 0.8  # ratio of equal letters from which a word is a known one, mistyped

NO_WORDS = frozenset({"no", "off", "none", "false", "disabled", "never"})
YES_WORDS = frozenset({"yes", "on", "true", "enabled", "auto", "default"})
WRAPPERS = frozenset({"scenario", "config", "experiment", "edgefl"})  # keys around a whole scenario
LEAST_LETTERS = 5  # of a word that may be mistyped: shorter ones resemble too many
NAMES_OF_KINDS = ("name", "type", "method", "model", "class", "mode")  # what other programs call `kind`

_UNKNOWN_MEMBER = re.compile(r'unknown (?P<noun>[^"]+) "(?P<name>[^"]+)"(?: \(did you mean [^)]*\))?')


def plain_word(name: str) -> str:
    """Return a name as `synonyms.yaml` has it: numClients and num-clients are num_clients."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[\s-]+", "_", spaced.strip()).lower()


@cache
def _file() -> Mapping[str, Any]:
    content, _ = parse(FILE.read_text(encoding="utf-8"))
    return dict(content)


@cache
def synonyms(part: str) -> Mapping[str, Sequence[str]]:
    """Return what the words in a part of the file mean: dotted keys, or what to write."""
    return _by_word(_file()[part])


@cache
def member_synonyms() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the names of members by other words for them, for each catalogue."""
    return {kind: _by_word(members) for kind, members in _file()["members"].items()}


def _by_word(words_of: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for meant, words in words_of.items():
        for word in words:
            found.setdefault(word, []).append(meant)
    return found


def meant_keys(name: str, section: str = "", value: Any = None) -> list[str]:
    """Return what a name may mean, the likeliest first: dotted keys, or what to write; an empty list if unknown.

    Args:
        name: a key without the sections around it.
        section: the dotted section in which it was written; keys of this section alone count if there are any.
        value: its value; a mapping stands for a section.
    """
    word = plain_word(name)
    found: list[str] = []
    if isinstance(value, Mapping):
        found += synonyms("sections").get(word, ())
    found = found or list(synonyms("keys").get(f"{section}.{word}", ()))
    found = found or list(synonyms("keys").get(word, ()))
    found = found or [key.dotted for key in keys_of_sections().values() if key.leaf == word]
    found = _inside(section, found)
    if not found:
        keys = [key for same in keys_of_members().values() for key in same if key.leaf == word]
        found = _inside(section, [_written(key) for key in keys])
    return found if len(found) <= MOST_HINTS else []


def _inside(section: str, meant: list[str]) -> list[str]:
    """Return those of several meanings that belong to a section, or to the nearest one around it; else all."""
    while section:
        found = [one for one in meant if one.startswith((f"{section}.", f"{section}: "))]
        if found:
            return found
        section = section.rpartition(".")[0]
    return meant


def _written(key: Key) -> str:
    """Return how a member's key is written in a scenario: `algorithm: {kind: fedprox, mu: ..}`."""
    place, _, leaf = key.dotted.rpartition(".")
    name = "dataset" if key.kind == "datasets" else "kind"  # a dataset's keys stand beside it
    return f"{place}: {{{name}: {key.member}, {leaf}: ..}}"


def close_keys(name: str) -> list[str]:
    """Return what a mistyped name may mean, as `meant_keys` does."""
    leaves = [key.leaf for key in keys_of_sections().values()]
    words = [*synonyms("keys"), *synonyms("sections"), *leaves]
    if len(name) < LEAST_LETTERS:
        return []
    for match in difflib.get_close_matches(plain_word(name), words, n=1, cutoff=CLOSE):
        return meant_keys(match)
    return []


def with_place(text: str, path: KeyPath, value: Any) -> str:
    """Return a message about an unknown key or member with the one that is meant, if that is known."""
    return _of_switch(text, path, value) or _with_meant(text, path, value)


def _of_switch(text: str, path: KeyPath, value: Any) -> str | None:
    """Return a message about a word such as `off` where a section or a list belongs; None for other words."""
    word = str(value).lower()
    is_part = text.startswith((A_MAPPING, A_LIST))
    if word in NO_WORDS and _is_optional(path) and (is_part or _UNKNOWN_MEMBER.match(text)):
        return f"{text.partition(';')[0].partition(': write')[0]}: leave it out"
    if word in YES_WORDS and is_part:
        return text.partition(": write")[0]
    return None


def _with_meant(text: str, path: KeyPath, value: Any) -> str:
    if text.startswith(UNKNOWN_KEY):
        return _not_of_a_scenario(path, value) or _placed(text, path, value)
    if text.startswith(A_MAPPING):
        return _with_inner_key(text, path, value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if text.startswith(A_LIST) and is_number and "write" not in text:
        return f"{text}: write [{value}]"
    if text.startswith(A_MEMBER) and isinstance(value, Mapping):
        return _with_kind(text, path, value)
    match = _UNKNOWN_MEMBER.match(text)
    if match is not None:
        name = _meant_member(match["noun"], match["name"])
        if name is not None:
            known = f'unknown {match["noun"]} "{match["name"]}" (did you mean "{name}"?)'
            return known + text[match.end() :]
    return text


def _is_optional(path: KeyPath) -> bool:
    """Return whether a key has nothing by default."""
    key = keys_of_sections().get(dotted(path))
    return key is not None and not isinstance(key.field.default, Section) and not key.field.default


def _not_of_a_scenario(path: KeyPath, value: Any) -> str | None:
    """Return a message about a key at the top that is an option, or stands around a whole scenario; None for others."""
    name = str(path[-1])
    options = synonyms("options").get(plain_word(name), ())
    if len(path) == 1 and options and not isinstance(value, Mapping):
        return f"{UNKNOWN_KEY}: it is an option of the command line: {options[0]}"
    if name in WRAPPERS and isinstance(value, Mapping) and value.keys() & Sections.model_fields.keys():
        return f"{UNKNOWN_KEY}: keys of a scenario stand at the top: leave this line out, and indent the others less"
    return None


def _placed(text: str, path: KeyPath, value: Any) -> str:
    """Return a message about an unknown key with the key that is meant, or in the form in which it is written."""
    name = str(path[-1])
    if name in keys_of_sections() and "." in name:
        *sections, leaf = name.split(".")
        nested = f"{leaf}: {shown(value)}"
        for section in reversed(sections):
            nested = f"{section}: {{{nested}}}"
        return f"{UNKNOWN_KEY}: dots stand for sections only in settings and sweeps: write {nested}"
    if dotted(path[:-1]) in places() and name in NAMES_OF_KINDS and isinstance(value, str):
        return f"{UNKNOWN_KEY}: write kind: {value}"
    section = dotted(tuple(part for part in path[:-1] if isinstance(part, str)))
    hints = meant_keys(name, section, value)
    if not hints and "did you mean" not in text:
        hints = close_keys(name)
    hints = [hint for hint in hints if hint != f"{section}.{name}"]
    if not hints:
        return text
    # Keys of one name in several other sections say less than the keys that are known here.
    if section and len(hints) > 1 and not any(hint.startswith((f"{path[0]}.", f"{path[0]}: ")) for hint in hints):
        return text
    where = "" if section else " at the top"
    return f"{UNKNOWN_KEY}{where}: {sentence(hints)}"


def in_sweep(text: str, path: KeyPath) -> str:
    """Return a message about an unknown key of a sweep file; a key of the scenario stands under `set` or `grid`."""
    if not text.startswith(UNKNOWN_KEY) or len(path) > 1 or "did you mean" in text:
        return text
    name = str(path[0])
    if name in Sections.model_fields or meant_keys(name):
        advice = "write it under `set`, or with a list of values under `grid`"
        return f"{UNKNOWN_KEY} of a sweep file: it is a key of the scenario: {advice}"
    return text


def sentence(hints: Sequence[str]) -> str:
    """Return a hint as a message ends: "did you mean training.lr?", or "write data.partition: iid"."""
    either = " or ".join(dict.fromkeys(hints))
    if all(": " in hint for hint in hints):
        return f"write {either}"
    return f"did you mean {either}?"


def _with_kind(text: str, path: KeyPath, value: Mapping[Any, Any]) -> str:
    """Return a message about a member whose name is not under `kind`, with the form in which it stands there."""
    catalogue = places().get(dotted(path))
    if catalogue is None:
        return text
    for key, inner in value.items():
        rest = {name: item for name, item in value.items() if name != key}
        if key in NAMES_OF_KINDS and isinstance(inner, str):
            meant = _meant_member(catalogue.noun, inner) or inner
            return f"{text.partition('; known')[0]}: write {on_one_line({'kind': meant, **rest})}"
        if key in catalogue.members and isinstance(inner, Mapping | None):
            return f"{text.partition('; known')[0]}: write {on_one_line({'kind': key, **(inner or {}), **rest})}"
    return text


def _with_inner_key(text: str, path: KeyPath, value: Any) -> str:
    """Return a message about a section that has a single value, such as `devices: 100`, with the key that is meant."""
    inner = synonyms("plain_values").get(dotted(path))
    if inner is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        return text
    section, _, leaf = inner[0].rpartition(".")
    if section in presets.SECTIONS and value in presets.names(section):
        leaf = "preset"
    return f"{text.partition(';')[0]}: write {section}: {{{leaf}: {value}}}"


def _meant_member(noun: str, name: str) -> str | None:
    """Return the name of the member that a word means; None if it is unknown."""
    word = plain_word(name)
    for catalogue in places().values():
        if catalogue.noun == noun:
            meant = member_synonyms().get(catalogue.kind, {}).get(word)
            spelled = {member.replace("_", ""): member for member in catalogue.members}
            return meant[0] if meant else spelled.get(word.replace("_", ""))
    return None


def meant_members(word: str) -> list[tuple[str, str]]:
    """Return the members that a word means by another name, each with its catalogue."""
    kinds = {catalogue.kind: catalogue for catalogue in places().values()}
    meant = [(kind, _meant_member(catalogue.noun, word)) for kind, catalogue in kinds.items()]
    return [(kind, name) for kind, name in meant if name is not None]
