"""What is wrong with a text that is not YAML, in words of its author: the parser speaks of tokens and blocks.

The parser says where it had to give up, which is often a line below the fault. So the lines up to there are looked at.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import yaml

_OPEN = {"[": "]", "{": "}"}
_KEY_WITHOUT_SPACE = re.compile(r"([A-Za-z_][\w.-]*):([^\s:/\\].*)")
_KEY = re.compile(r"""\s*(?:- +)*(?:"[^"]*"|'[^']*'|[^\s"'#\[\]{},][^#]*?):(?:[ \t]|$)""")
_INI = re.compile(r"([A-Za-z_][\w.-]*)\s*=\s*(.*)")
_HARD_SPACE = re.compile(r"([A-Za-z_][\w.-]*):[\u00a0\u2007\u202f\u3000]\s*(.*)")
_WIDE_COLON = re.compile(r"([A-Za-z_][\w.-]*)\s*\uff1a\s*(.*)")

UNKNOWN = "cannot be read: look at the indentation, the quotes and the brackets of this line and the one above"


class YamlFault(NamedTuple):
    """A line, from 1, and what is wrong there."""

    line: int
    text: str


class RefusedNode(yaml.MarkedYAMLError):
    """A part of a text that is YAML, and is refused nevertheless."""

    def __init__(self, problem: str, node: yaml.Node) -> None:
        super().__init__(problem=problem, problem_mark=node.start_mark)


class _Stop(NamedTuple):
    """Where the parser gave up, and what it says."""

    lines: list[str]  # of the text
    at: int  # the number of the line, from 0
    column: int  # in it, from 0
    problem: str  # in the parser's words
    context: str
    begin: int  # the line where what it was reading begins

    @property
    def line(self) -> str:
        return _line(self.lines, self.at)

    @property
    def above(self) -> int:
        """The number of the last line above that is neither blank nor a comment; -1 if there is none."""
        for number in range(min(self.at, len(self.lines)) - 1, -1, -1):
            stripped = self.lines[number].strip()
            if stripped and not stripped.startswith("#"):
                return number
        return -1


def explained(text: str, error: yaml.MarkedYAMLError) -> YamlFault:
    """Return the fault at which PyYAML's parser stopped in a text."""
    mark = error.problem_mark or error.context_mark
    at = column = begin = 0
    if mark is not None:
        at = begin = mark.line
        column = mark.column
    if error.context_mark is not None:
        begin = error.context_mark.line
    if isinstance(error, RefusedNode):
        return YamlFault(at + 1, str(error.problem))
    stop = _Stop(text.splitlines(), at, column, str(error.problem), str(error.context or ""), begin)
    for look in _LOOKS:
        fault = look(stop)
        if fault is not None:
            return YamlFault(fault.line + 1, fault.text)
    return YamlFault(at + 1, UNKNOWN)


def odd_key(key: str, *, is_alone: bool) -> str | None:
    """Return what is wrong with a key that no author means; None for other keys.

    Args:
        key: the key.
        is_alone: it has no value.
    """
    found = _KEY_WITHOUT_SPACE.fullmatch(key)
    if found and is_alone:
        return f"a space is missing after the colon: write {found[1]}: {found[2]}"
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


def _line(lines: list[str], number: int) -> str:
    return lines[number] if 0 <= number < len(lines) else ""


_WRITTEN_OTHERWISE = (
    (_KEY_WITHOUT_SPACE, "a space is missing after the colon"),
    (_HARD_SPACE, "a non-breaking space follows the colon, as copied from a web page"),
    (_WIDE_COLON, "the colon is a wide one (U+FF1A)"),
    (_INI, "a colon and a space end a key, not an equals sign"),
)


def _no_key(line: str) -> str | None:
    """Return what a line lacks to begin with a key; None if it has one, or if that is unknown."""
    stripped = line.strip()
    if _KEY.match(line):
        return None
    if re.match(r"-[^\s-]", stripped):
        return f"a space is missing after the dash: write - {stripped[1:]}"
    for form, fault in _WRITTEN_OTHERWISE:
        if found := form.fullmatch(stripped):
            return f"{fault}: write {found[1]}: {found[2]}"
    if stripped.startswith(("//", "/*", ";")):
        return "comments begin with #"
    if stripped.startswith("<"):
        return "this is a page or XML: name the scenario file"
    return None


# Each looks for one kind of fault, and returns None if it is not that. The lines of these faults count from 0.


def _tab(stop: _Stop) -> YamlFault | None:
    if "'\\t'" not in stop.problem:
        return None
    if not stop.line[: stop.column + 1].strip():
        return YamlFault(stop.at, "a tab indents the line: write spaces, two for each level")
    return YamlFault(stop.at, "a tab stands where only spaces may be: write a space")


def _character(stop: _Stop) -> YamlFault | None:
    found = re.match(r"found character '(.+)' that cannot start any token", stop.problem)
    if found is None:
        return None
    if stop.line.lstrip().startswith("```"):
        return YamlFault(stop.at, "``` is Markdown: remove these lines around the YAML")
    word = re.split(r"[\s,\]}#]", stop.line[stop.column :])[0]
    return YamlFault(stop.at, f'a text cannot begin with {found[1]}: write it in quotes, "{word}"')


def _open_quote(stop: _Stop) -> YamlFault | None:
    """Find a quote that is not closed on its line; a later quote may have closed it in the parser's eyes."""
    first = min(stop.begin, stop.at)
    for number in range(first, min(stop.at + 1, len(stop.lines))):
        found = re.match(r"""[^#"']*?[:\[{,-]\s*(["'])""", stop.lines[number])
        if found and found[1] not in stop.lines[number][found.end() :]:
            return YamlFault(number, f"the quote {found[1]} is not closed: write another at the end of the text")
    if "quoted" in stop.context and "end of stream" in stop.problem:
        return YamlFault(stop.begin, "a quote is not closed: write another at the end of the text, or remove it")
    return None


def _escape(stop: _Stop) -> YamlFault | None:
    if "escape" not in stop.problem:
        return None
    text = "in double quotes a backslash begins an escape: write it in single quotes, or a path with / as in C:/data"
    return YamlFault(stop.at, text)


def _quote_ends_early(stop: _Stop) -> YamlFault | None:
    if "<scalar>" not in stop.problem or not re.search("[\"']", stop.line[: stop.column]):
        return None
    text = "text follows a closing quote: write the whole text in quotes, and a quote within it twice ('it''s')"
    return YamlFault(stop.at, text)


def _brackets(stop: _Stop) -> YamlFault | None:
    if "flow" not in stop.context and "node content" not in stop.problem:
        return None
    closing = re.search(r"(?:got|found) '([\]}])'", stop.problem)
    if closing:
        return YamlFault(stop.at, f"{closing[1]} closes a bracket of the other kind: [ needs ], and {{ needs }}")
    opened = _left_open(stop.lines, stop.begin)
    if opened is not None:
        number, bracket = opened
        return YamlFault(number, f"the bracket {bracket} is not closed: write {_OPEN[bracket]} at its end")
    if "found ','" in stop.problem:
        return YamlFault(stop.at, "a comma too many: write one between two entries")
    return YamlFault(stop.at, "a comma is missing between two entries, as in {policy: synchronous, participants: 10}")


def _left_open(lines: list[str], first: int) -> tuple[int, str] | None:
    """Return the line and the kind of the outermost bracket from a line on that is never closed; None without one."""
    stack: list[tuple[int, str]] = []
    for number in range(first, len(lines)):
        bare = re.sub(r""""[^"]*"|'[^']*'|(?:^|\s)#.*""", "", lines[number])
        for character in bare:
            if character in _OPEN:
                stack.append((number, character))
            elif stack and character == _OPEN[stack[-1][1]]:
                stack.pop()
                if not stack:
                    return None  # what the parser was reading ends here
    return stack[0] if stack else None


def _closed_too_often(stop: _Stop) -> YamlFault | None:
    found = re.search(r"found '([\]}])'", stop.problem)
    if found is None:
        return None
    return YamlFault(stop.at, f"{found[1]} closes a bracket that is not open: remove it")


def _line_without_key(stop: _Stop) -> YamlFault | None:
    """Find a line that lacks the space after its colon, or the colon: the parser stops only at the next key."""
    for number in (stop.begin, stop.above, stop.at):
        words = _no_key(_line(stop.lines, number))
        if words is not None:
            return YamlFault(number, words)
    text = "a colon is missing after a key: write key: value, or # before a comment"
    if "could not find expected ':'" in stop.problem:
        return YamlFault(stop.begin, text)
    above = _line(stop.lines, stop.above)
    if "mapping values" in stop.problem and above and not _KEY.match(above) and not above.lstrip().startswith("-"):
        return YamlFault(stop.above, text)
    return None


def _two_colons(stop: _Stop) -> YamlFault | None:
    if "mapping values" not in stop.problem or not re.search(r":\s.*:(\s|$)", stop.line[: stop.column + 2]):
        return None
    text = "a second colon on the line: write a text in quotes, or an inner key on a line of its own, indented"
    return YamlFault(stop.at, text)


def _indentation(stop: _Stop) -> YamlFault | None:
    """Find a line that is indented further than the line above allows, or less, but not as any line around it."""
    spaces = _indent(stop.line)
    if "mapping values" in stop.problem and stop.above >= 0 and spaces > _indent(stop.lines[stop.above]):
        beside = _indent(stop.lines[stop.above])
        text = f"the line is indented by {spaces} spaces, and the one above, which has a value, by {beside}"
        text = f"{text}: write {beside or 'no'} spaces"
        return YamlFault(stop.at, text)
    if "<block end>" not in stop.problem and "block" not in stop.problem:
        return None
    if "'-'" in stop.problem or "sequence" in stop.problem or stop.line.lstrip().startswith("- "):
        text = 'a list entry ("- ") stands among keys, or in another column than the entries above: begin all alike'
        return YamlFault(stop.at, text)
    if "sequence" in stop.context or _line(stop.lines, stop.above).lstrip().startswith("- "):
        return YamlFault(
            stop.at, 'a key stands among list entries: begin it with "- ", or in the column of its section'
        )
    outer = {_indent(line) for line in stop.lines[: stop.at] if line.strip() and not line.lstrip().startswith("#")}
    fitting = sorted(outer - {spaces})
    columns = " or ".join(str(number) for number in fitting)
    text = f"the line is indented by {spaces} spaces, which fits no section above: write {columns}"
    return YamlFault(stop.at, text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _alias(stop: _Stop) -> YamlFault | None:
    found = re.match(r"found undefined alias '(.*)'", stop.problem)
    if found is None:
        return None
    return YamlFault(
        stop.at,
        f'*{found[1]} refers to an anchor &{found[1]}, which is not above: write a text in quotes, "*{found[1]}"',
    )


def _sign(stop: _Stop) -> YamlFault | None:
    """Find a sign that means an anchor or a list entry, and stands elsewhere."""
    if "anchor" in stop.context or "alias" in stop.context:
        return YamlFault(stop.at, "& and * begin names of anchors: write a text that begins with them in quotes")
    if "sequence entries" in stop.problem:
        return YamlFault(stop.at, 'a list entry ("- ") begins a line: write it on a line of its own, or [a, b]')
    return None


def _document(stop: _Stop) -> YamlFault | None:
    if "another document" not in stop.problem:
        return None
    return YamlFault(stop.at, "--- begins a second scenario: write each in a file of its own")


def _tag(stop: _Stop) -> YamlFault | None:
    found = re.search(r"for the tag '(.*)'", stop.problem)
    if found is None:
        return None
    tag = found[1].replace("tag:yaml.org,2002:", "!!")
    if "numpy" in tag:
        return YamlFault(stop.at, "a number of NumPy: write the number, or convert it with .item() before yaml.dump")
    if tag.endswith(("/tuple", "!!set")):
        return YamlFault(stop.at, f"the tag {tag} is unknown: write a list, as list(...) and yaml.safe_dump do")
    if "pathlib" in tag:
        return YamlFault(stop.at, "a path of Python: write it as text, or convert it with str() before yaml.dump")
    return YamlFault(stop.at, f"the tag {tag} is unknown: only plain values are read; leave it out")


_LOOKS: tuple[Callable[[_Stop], YamlFault | None], ...] = (
    _tab,
    _character,
    _escape,
    _alias,
    _sign,
    _document,
    _tag,
    _open_quote,
    _quote_ends_early,
    _two_colons,
    _brackets,
    _closed_too_often,
    _line_without_key,
    _indentation,
)
