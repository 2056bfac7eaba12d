"""Messages of argparse about a wrong command line, with what to write instead."""

import difflib
import re

_CHOICE = re.compile(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)")
_TYPE = re.compile(r"(argument \S+): invalid (int|float) value: '(.*)'")
_LEFT = re.compile(r"unrecognized arguments: (.*)")
_WORDS = {"int": "must be a whole number", "float": "must be a number"}


def in_words(message: str) -> str:
    """Return a message of argparse, more helpful where that is possible."""
    if found := _TYPE.fullmatch(message):
        return f'{found[1]}: {_WORDS[found[2]]}, got "{found[3]}"'
    if found := _CHOICE.fullmatch(message):
        known = re.findall(r"'(.*?)'", found[3])
        nearest = difflib.get_close_matches(found[2], known, n=1)
        hint = f' (did you mean "{nearest[0]}"?)' if nearest else ""
        return f"argument {found[1]}: invalid choice: '{found[2]}'{hint} (choose from {found[3]})"
    if found := _LEFT.fullmatch(message):
        return f"{message}{_setting(found[1].split())}"
    return message


def _setting(words: list[str]) -> str:
    """Return how to write left arguments that were meant as the setting of a key."""
    first = words[0]
    if first.startswith("--") and re.fullmatch(r"--[a-z][\w.]*(=.*)?", first):
        key, _, value = first.removeprefix("--").partition("=")
        value = value or (words[1] if len(words) > 1 else "VALUE")
        return f": if {key} is a key of the scenario, write --set {key}={value}"
    if first.endswith((".yaml", ".yml")):
        return ": name one file at a time"
    if not first.startswith("-"):
        return ": a setting is one word without spaces, such as --set rounds=5"
    return ""
