"""What is wrong with a text that is not YAML, in words of its author: the parser speaks of tokens and blocks."""

import re
from typing import NamedTuple

import yaml

from edgefl.core.written_yaml import RefusedNode

# Forms of lines that have no key, or a key in another form. {0} and {1} are the groups.
_LINES = (
    (r"([A-Za-z_][\w.-]*):([^\s:/\\].*)", "a space is missing after the colon: write {0}: {1}"),
    (r"([A-Za-z_][\w.-]*):[\u00a0\u202f\u3000]\s*(.*)", "a non-breaking space follows the colon: write {0}: {1}"),
    (r"([A-Za-z_][\w.-]*)\s*=\s*(.*)", "a colon and a space end a key, not an equals sign: write {0}: {1}"),
    (r"-([^\s-].*)", "a space is missing after the dash: write - {0}"),
    (r"(?://|/\*|;).*", "comments begin with #"),
    (r"<[A-Za-z!?/].*", "this is a page or XML: name the scenario file"),
)

# What the parser says; whether its fault lies where the value in question begins, not where it stopped; what to say.
_PROBLEMS = (
    (r"'\\t'", False, "a tab stands where only spaces may be: write spaces, two for each level"),
    (
        r"found character '`'",
        False,
        "` belongs to Markdown: remove the lines around the YAML, or write a text in quotes",
    ),
    (r"found character '(.+)' that cannot start", False, "a text cannot begin with {0}: write it in quotes"),
    (r"escape", False, "in double quotes a backslash begins an escape: write single quotes, or / as in C:/data"),
    (r"undefined alias '(.*)'", False, '*{0} needs an anchor &{0} above: write a text in quotes, "*{0}"'),
    (r"anchor|alias", False, "& and * begin names of anchors: write a text that begins with them in quotes"),
    (r"for merging", False, "<< takes the anchor of a mapping, or of mappings: write &name before one, and <<: *name"),
    (r"sequence entries", False, 'a list entry ("- ") begins a line: write it on a line of its own, or [a, b]'),
    (r"another document", False, "--- begins a second scenario: write each in a file of its own"),
    (
        r"for the tag '(?:tag:yaml.org,2002:)?(.*)'",
        False,
        "the tag {0} is unknown: only plain values are read; leave it out",
    ),
    (r"quoted", True, "a quote is not closed: write another at the end of the text, or remove it"),
    (r"flow (?:mapping|sequence)|node content", True, "a bracket is not closed, or a comma is missing or too many"),
    (r"found '([\]}])'", False, "{0} closes a bracket that is not open: remove it"),
)

# The same for problems that a line without a key above explains better.
_OF_STRUCTURE = (
    (r"<scalar>", False, "text follows a closing quote: write a quote within quotes twice ('it''s')"),
    (r"could not find expected ':'", True, "a colon is missing after a key: write key: value, or # before a comment"),
    (r"'-'|sequence", False, 'a list entry ("- ") stands among keys, or a key among list entries'),
    (r"block", False, "the indentation fits no line above: begin the line in the column of the other keys"),
)

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
    found = _looked_up(_PROBLEMS, said, at, begin)
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
    return _looked_up(_OF_STRUCTURE, said, at, begin) or YamlFault(at + 1, UNKNOWN)


def odd_key(key: str, *, is_alone: bool) -> str | None:
    """Return what is wrong with a key that no author means; None for other keys."""
    if is_alone and ":" in key:
        return _no_key(key)
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


def _looked_up(table: tuple[tuple[str, bool, str], ...], said: str, at: int, begin: int) -> YamlFault | None:
    """Return what a table says of a problem in the parser's words, at one of two lines from 0."""
    for form, is_at_begin, words in table:
        match = re.search(form, said)
        if match is not None:
            line = begin if is_at_begin else at
            return YamlFault(line + 1, words.format(*match.groups()))
    return None


def _no_key(line: str) -> str | None:
    """Return what a line lacks to begin with a key; None if it has one, or if that is unknown."""
    for form, words in _LINES:
        match = re.fullmatch(form, line.strip())
        if match is not None:
            return words.format(*match.groups())
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
        return "the line is indented further than the one above, which has a value: begin both in one column"
    return "the line above has no colon: write key: value, or # before a comment"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
