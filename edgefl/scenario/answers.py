"""Answers to wrong keys and members of a scenario, by the beginnings of the messages about them."""

from collections.abc import Callable, Mapping
from typing import Any

from edgefl.core.section import KeyPath
from edgefl.scenario import key_answers, value_answers
from edgefl.scenario.key_words import meant_keys, plain_word, synonyms
from edgefl.scenario.sections import Sections
from edgefl.scenario.wrong import UNKNOWN_KEY, Wrong, value_at

# The beginnings of messages.
A_MAPPING = "must be a mapping of keys to values"
A_LIST = "must be a list, got "
A_NAME = "must be a name, got "
A_MEMBER = "must be a name or {kind: name, ...}, got "
ONE_OF = "must be '"

ANSWERS: Mapping[str, tuple[Callable[[Wrong], str | None], ...]] = {
    UNKNOWN_KEY: (
        key_answers.option,
        key_answers.wrapper,
        key_answers.switched_off,
        key_answers.not_indented,
        key_answers.dotted_key,
        key_answers.key_of_member,
        key_answers.preset,
        key_answers.in_other_unit,
        key_answers.inner_keys,
        key_answers.name_of_member,
        key_answers.meant,
        key_answers.value_of_member,
    ),
    A_MAPPING: (value_answers.switch, value_answers.groups, value_answers.single_value),
    A_LIST: (
        value_answers.switch,
        value_answers.list_of_lists,
        value_answers.dashes,
        value_answers.single_entry,
        value_answers.entries,
    ),
    A_NAME: (value_answers.dataset,),
    A_MEMBER: (value_answers.kind,),
    ONE_OF: (value_answers.switch, key_answers.not_indented, value_answers.other_word, key_answers.preset),
    "must be a number": (value_answers.switch,),
    "unknown ": (
        key_answers.not_indented,
        value_answers.switch,
        value_answers.off,
        value_answers.called,
        value_answers.member,
    ),
}
"""What may answer a message, by its beginning; the first that knows an answer gives it."""


def with_place(text: str, path: KeyPath, value: Any, raw: Mapping[str, Any]) -> str:
    """Return a message with the key or member that is meant, or with the form to write it in, if that is known.

    Args:
        text: the message.
        path: the key.
        value: its value.
        raw: the whole scenario.
    """
    if value is None:  # as in faults of a section that name one of its keys
        value = value_at(raw, path)
    wrong = Wrong(text, path, value, raw)
    for beginning, answers in ANSWERS.items():
        if path and text.startswith(beginning):
            return next((found for answer in answers if (found := answer(wrong)) is not None), text)
    return text


def in_sweep(text: str, path: KeyPath) -> str:
    """Return a message about an unknown key of a sweep file; a key of the scenario stands under `set` or `grid`."""
    if not text.startswith(UNKNOWN_KEY) or len(path) > 1:
        return text
    name = str(path[0])
    for meant in synonyms("of_sweeps").get(plain_word(name), ()):
        return f"{UNKNOWN_KEY}: did you mean {meant}?"
    if "did you mean" not in text and (name in Sections.model_fields or meant_keys(name)):
        advice = "write it under `set`, or with a list of values under `grid`"
        return f"{UNKNOWN_KEY} of a sweep file: it is a key of the scenario: {advice}"
    return text
