"""The words that people write for keys and members of a scenario, and what they mean."""

import difflib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from edgefl.scenario.key_index import Key, keys_of_members, keys_of_sections, places
from edgefl.scenario.written_units import stem_and_unit
from edgefl.scenario.yaml_reader import parse

FILE = Path(__file__).with_name("synonyms.yaml")
MOST_HINTS = 3
CLOSE = 0.8  # least ratio of equal letters for a word to be a known one, mistyped

LEAST_LETTERS = 6  # of a word that may be mistyped: shorter ones resemble too many
MOST_DOTS = 1  # of a guess: keys deeper in sections are less known
LEAST_PART_LETTERS = 2  # of a known word within a longer one, such as clients in num_clients


def plain_word(name: str) -> str:
    """Return a name as `synonyms.yaml` has it: numClients and num-clients are num_clients."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
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


@cache
def sweep_keys() -> frozenset[str]:
    """Return the keys that only sweep files have."""
    return frozenset(_file()["of_sweeps"]) - {"seeds"}  # which is an option beside a scenario


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
        section: the dotted section around it; only keys of this section count if there are any.
        value: its value; a mapping stands for a section.
    """
    word = plain_word(name)
    found = _meant(word, section, value)
    return found if len(found) <= MOST_HINTS else []


def guessed_keys(name: str, section: str = "", value: Any = None) -> list[str]:
    """Return what a name without a meaning may mean, as `meant_keys` does: by a part of it, or by a similar word."""
    word = plain_word(name)
    if _meant(word, section, value):
        return []  # too many meanings
    found: list[str] = []
    for part in _parts(word):
        found = found or [key for key in _meant(part, section, value) if key.count(".") <= MOST_DOTS or ": " in key]
    if not found or len(found) > MOST_HINTS:
        return close_keys(word)
    return found


def _parts(word: str) -> list[str]:
    """Return the words within a longer one, the longest first: dirichlet in dirichlet_beta."""
    names = word.split("_")
    spans = [(begin, end) for begin in range(len(names)) for end in range(begin + 1, len(names) + 1)]
    parts = ["_".join(names[begin:end]) for begin, end in spans if end - begin < len(names)]
    return sorted((part for part in parts if len(part) >= LEAST_PART_LETTERS), key=len, reverse=True)


def _meant(word: str, section: str, value: Any) -> list[str]:
    found: list[str] = []
    if isinstance(value, Mapping):
        found += synonyms("sections").get(word, ())
    found = found or list(synonyms("keys").get(f"{section}.{word}", ()))
    found = found or list(synonyms("keys").get(word, ()))
    found = found or [key.dotted for key in keys_of_sections().values() if key.leaf == word]
    found = found or [key.dotted for key in keys_of_sections().values() if stem_and_unit(key.leaf)[0] == word]
    found = inside(section, found)
    if not found:
        keys = [key for same in keys_of_members().values() for key in same if key.leaf == word]
        found = inside(section, [_written(key) for key in keys])
    return found


def inside(section: str, meant: list[str]) -> list[str]:
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


def sentence(hints: Sequence[str]) -> str:
    """Return a hint as a message ends: "did you mean training.lr?", or "write data.partition: iid"."""
    either = " or ".join(dict.fromkeys(hints))
    if all(": " in hint for hint in hints):
        return f"write {either}"
    return f"did you mean {either}?"


def meant_member(noun: str, name: str) -> str | None:
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
    meant = [(kind, meant_member(catalogue.noun, word)) for kind, catalogue in kinds.items()]
    return [(kind, name) for kind, name in meant if name is not None]
