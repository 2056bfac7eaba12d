"""Answers to a wrong command line: what is wrong in words, and what the user may have meant."""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches

SCENARIO_SUFFIXES = (".yaml", ".yml")
CLOSE = 0.7  # least ratio of equal letters for an option to be a known one, mistyped
_CHOICE = re.compile(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)")
_DASHES = "–—−"  # editors and web pages put them instead of two hyphens
_TYPE = re.compile(r"(argument \S+): invalid (int|float) value: '(.*)'")
_NUMBERS = {"int": "must be a whole number", "float": "must be a number"}


def in_words(message: str) -> str:
    """Return a message of argparse, more helpful where that is possible."""
    if found := _TYPE.fullmatch(message):
        return f'{found[1]}: {_NUMBERS[found[2]]}, got "{found[3]}"{_as_whole(found[3])}'
    if found := _CHOICE.fullmatch(message):
        close = get_close_matches(found[2], re.findall(r"'(.*?)'", found[3]), n=1)
        hint = f' (did you mean "{close[0]}"?)' if close else ""
        return f"argument {found[1]}: invalid choice: '{found[2]}'{hint} (choose from {found[3]})"
    return message


def _as_whole(text: str) -> str:
    """Return what to write instead of a number such as 1e3, as the end of a message; "" if it is not whole."""
    try:
        value = float(text)
    except ValueError:
        return ""
    if not value.is_integer():
        return ""
    return f": write {value:.0f}"


def with_options(words: Sequence[str]) -> Sequence[str]:
    """Return a command line whose first word, `help` or `version`, is the option that it means."""
    match words:
        case ["help", *verb]:
            return [*verb, "--help"]
        case ["version"]:
            return ["--version"]
    return words


def unknown_verb(word: str, verbs: Sequence[str]) -> str:
    """Return the fault of an unknown first word."""
    from edgefl.core.section import nearest
    from edgefl.scenario import shipped

    advice = f"{nearest(word, verbs)}; known: {', '.join(verbs)}"
    if word.endswith(SCENARIO_SUFFIXES) or word in shipped.scenarios():
        advice = f": write `edgefl run {word}`"
    elif word in shipped.sweeps():
        advice = f": write `edgefl sweep {word}`"
    return f'unknown verb "{word}"{advice}'


def unknown_words(verb: str, parser: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """Return the fault of words that a verb does not take; a key of the scenario is set with --set."""
    from edgefl.scenario.key_words import meant_keys, plain_word, synonyms

    first = words[0]
    see = f"see edgefl {verb} --help"
    if first.startswith(tuple(_DASHES)):
        return f"{first}: options begin with two hyphens: write --{first.lstrip(_DASHES)}; {see}"
    if not first.startswith("-"):
        advice = "a setting is one word without spaces, such as --set rounds=5"
        if first.endswith(SCENARIO_SUFFIXES):
            advice = "name one file at a time"
        elif "=" in first[1:]:
            settings = [f'--set "{word}"' for word in words if "=" in word]
            advice = f"--set takes one setting: write {' '.join(settings)}"
        return f"unrecognized arguments: {' '.join(words)}: {advice}; {see}"
    name, _, value = first.partition("=")
    options = [option for action in parser._actions for option in action.option_strings]  # noqa: SLF001
    if not value and len(words) > 1 and not words[1].startswith("-"):
        value = words[1]
    value = value or "VALUE"
    option = synonyms("options").get(plain_word(name.lstrip("-")))
    if option is not None:
        return f"{name}: unknown option: write {option[0]}; {see}"
    keys = meant_keys(name.lstrip("-"))
    if keys and "--set" in options:
        key, colon, written = keys[0].partition(": ")
        shown = f"{key}={value}"
        if colon:
            shown = f'"{key}={written}"'
        return f"{name}: unknown option: keys of the scenario are set with --set {shown}; {see}"
    close = get_close_matches(name, options, n=1, cutoff=CLOSE)
    if close:
        return f'{name}: unknown option (did you mean "{close[0]}"?); {see}'
    return f"{name}: unknown option; {see}"
