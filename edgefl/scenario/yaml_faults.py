"""What is wrong with a text that is not YAML, in words of its author: the parser speaks of tokens and blocks."""

import re
from typing import NamedTuple

import yaml

from edgefl.core.words import words_of
from edgefl.core.written_yaml import RefusedNode

FILE = "yaml_faults.yaml"
UNKNOWN = "cannot be read: look at the indentation, the quotes and the brackets of this line and the one above"


class YamlFault(NamedTuple):
    """A line, from 1, and what is wrong there."""

    line: int
    text: str


def explained(text: str, error: yaml.MarkedYAMLError) -> YamlFault:
    """Return the fault at which PyYAML's parser stopped in a text."""
    mark = error.problem_mark or error.context_mark
    at = begin = 0
    if mark is not None:
        at = begin = mark.line
    if error.context_mark is not None:
        begin = error.context_mark.line
    if isinstance(error, RefusedNode):
        return YamlFault(at + 1, str(error.problem))
    lines = text.splitlines()
    said = f"{error.problem}; {error.context}"
    found = _looked_up("problems", said, at, begin)
    if found is not None:
        return found
    above = _above(lines, at)
    for number in (begin, above, at):
        if 0 <= number < len(lines):
            words = _no_key(lines[number])
            if words is not None:
                return YamlFault(number + 1, words)
    if "mapping values" in said:
        return YamlFault(at + 1, _colons(lines, above, at))
    return _looked_up("of_structure", said, at, begin) or YamlFault(at + 1, UNKNOWN)


def odd_key(key: str, *, is_alone: bool) -> str | None:
    """Return what is wrong with a key that no author means; None for other keys."""
    if is_alone and ":" in key:
        return _no_key(key)
    if found := re.match(r"([A-Za-z_][\w.-]*):[{\[]", key):
        return f"a space is missing after the colon of {found[1]}"
    if is_alone and ")" in key and "(" not in key:
        return "a comma within ( ) begins the next key: write a list in brackets, as in {uniform: [1e9, 2e9]}"
    if key != key.strip():
        return "non-breaking spaces (U+00A0) stand before the key, as copied from a web page: write plain spaces"
    return None


def no_mapping(text: str) -> YamlFault | None:
    """Return why a text without a single key is none, such as `rounds = 60`; None if that is unknown."""
    for number, line in enumerate(text.splitlines()):
        if line.strip() and not line.lstrip().startswith("#"):
            words = _no_key(line)
            return YamlFault(number + 1, words) if words else None
    return None


def _looked_up(table: str, said: str, at: int, begin: int) -> YamlFault | None:
    """Return what a table says of a problem in the parser's words, at one of two lines from 0."""
    for row in words_of(__file__, FILE)[table]:
        match = re.search(row["form"], said)
        if match is not None:
            line = begin if row.get("at_begin") else at
            return YamlFault(line + 1, row["words"].format(*match.groups()))
    return None


def _no_key(line: str) -> str | None:
    """Return what a line lacks to begin with a key; None if it has one, or if that is unknown."""
    for row in words_of(__file__, FILE)["lines"]:
        match = re.fullmatch(row["form"], line.strip())
        if match is not None:
            return str(row["words"].format(*match.groups()))
    return None


def _above(lines: list[str], at: int) -> int:
    """Return the number of the last line above that is neither blank nor a comment; -1 if there is none."""
    for number in range(min(at, len(lines)) - 1, -1, -1):
        stripped = lines[number].strip()
        if stripped and not stripped.startswith("#"):
            return number
    return -1


def _colons(lines: list[str], above: int, at: int) -> str:
    line = lines[at]
    if re.search(r":\s.*:(?:\s|$)", line):
        return "a second colon on the line: write a text in quotes, or an inner key on a line of its own, indented"
    if above >= 0 and _indent(line) > _indent(lines[above]):
        value = lines[above].partition(": ")[2].strip()
        said = "the line is indented more than the one above, which has a value: begin both in one column"
        if not value.isidentifier():
            return said
        return f"{said}, or, if it belongs to {value}, write that as kind: {value} on a line of its own, indented"
    return "the line above has no colon: write key: value, or # before a comment"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
