"""Markdown: texts, tables, links between pages."""

import posixpath
import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
_MANY_ZEROS = 1e5  # from here on a number reads better with an exponent


def escaped(text: str) -> str:
    """Return a text on one line for a cell of a table, in which only backticks are markup."""
    # YAML in a text, such as {kind: time}, is code, too.
    parts = re.split(r"(`+[^`]*`+|\{[^{}`]*\})", " ".join(text.split()))
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = code(part.strip("`"))
        else:
            parts[number] = re.sub(r"([|*\[])", r"\\\1", part).replace("<", "&lt;")
    return "".join(parts)


def code(text: str) -> str:
    """Return a text as code in a cell of a table."""
    return "`" + text.replace("|", "\\|") + "`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are Markdown already."""
    lines = [list(head), ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def link(text: str, own: str, target: str) -> str:
    """Return a link from one page to another; both are paths in docs/."""
    path, _, anchor = target.partition("#")
    href = posixpath.relpath(path, posixpath.dirname(own))
    if anchor:
        href = f"#{anchor}" if path == own else f"{href}#{anchor}"
    return f"[{text}]({href})"


def words(name: str) -> str:
    """Return the words of a link to a page in docs/: the name of its file."""
    return posixpath.basename(name).removesuffix(".md").replace("-", " ")


def slug(heading: str) -> str:
    """Return the anchor that both renderers give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def with_short_numbers(text: str) -> str:
    """Return a text with short numbers: 3.5e9, not 3500000000.0."""
    return _NUMBER.sub(lambda match: _short(match[0]), text)


def _short(digits: str) -> str:
    value = float(digits)
    is_whole_number = "." not in digits and "e" not in digits
    if is_whole_number and abs(value) < _MANY_ZEROS:
        return digits
    text = f"{value:.15g}"
    if abs(value) >= _MANY_ZEROS:
        exponent = len(f"{abs(value):.0f}") - 1
        mantissa = f"{value / 10**exponent:.10g}"
        text = f"{mantissa}e{exponent}"
    return re.sub(r"e([-+])0*(\d)", lambda match: f"e{match[1].strip('+')}{match[2]}", text)


def page(title: str, *parts: str) -> str:
    """Return a page: its title, and its parts with an empty line between them."""
    texts = [part.strip("\n") for part in parts if part.strip()]
    return "\n\n".join([f"# {title}", *texts]) + "\n"
